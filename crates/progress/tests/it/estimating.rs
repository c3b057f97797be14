//! What the retained traces say about one that is under way.

use keyrack_progress::{NewTrace, TraceFailure, Update};

use crate::rig::{
    BAR, NOW, ProgressTest, TRACE, done, everywhere, goes_on, iterated, starts, user,
};

/// Far enough apart that each is retained. Tests follow each other, as the clock does not go back.
const APART: f64 = 10_000.0;

#[tokio::test]
async fn past_runs_tell_how_long_a_trace_will_take() {
    everywhere(async |rig| {
        nothing_is_known_of_a_bar_that_is_not_there(&rig.of("nobody")).await;
        a_trace_is_estimated_from_the_runs_before(&rig.of("known")).await;
        a_slow_end_of_every_run_is_expected(&rig.of("slow")).await;
        a_run_that_failed_teaches_nothing(&rig.of("failed")).await;
    })
    .await;
}

async fn nothing_is_known_of_a_bar_that_is_not_there(rig: &ProgressTest) {
    let model = rig.progress.model(&rig.user, BAR).await.expect("an answer");
    assert_eq!((model.runs(), model.whole_run()), (0, None));
    rig.of("somebody").run("r", NOW, &[("load", 0, 5.0)]).await;
    let model = rig.progress.model(&user("nobody"), BAR).await.expect("an answer");
    assert_eq!(model.runs(), 0, "others' runs are theirs");
}

/// Of 8 items the last two take ten times as long as the others.
async fn a_slow_end_of_every_run_is_expected(rig: &ProgressTest) {
    let ends = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 16.0, 26.0];
    for run in 0..6 {
        let start = NOW + APART * f64::from(20 + run);
        let uid = format!("r{run}");
        begin(rig, &uid, start).await;
        for (at, after) in (1..).zip(ends) {
            item(rig, &uid, at, start + after).await;
        }
        rig.count(&uid).await;
    }
    let start = NOW + APART * 30.0;
    begin(rig, TRACE, start).await;
    for (at, after) in (1..=4).zip(ends) {
        item(rig, TRACE, at, start + after).await;
    }
    let model = rig.progress.model(&rig.user, BAR).await.expect("an answer");
    let trace = rig.find(TRACE).await.expect("the trace");
    let left = model.estimate_trace(&trace, start + 4.0).expect("an estimate");
    assert!((left.p50 - 22.0).abs() < 2.0, "a linear bar would say 4: {left:?}");
}

async fn begin(rig: &ProgressTest, uid: &str, at: f64) {
    rig.wait_until(at);
    let new = NewTrace { uid: uid.into(), iterations: Some(8), now: at, ..starts("read") };
    rig.create(&new).await.expect("created");
}

async fn item(rig: &ProgressTest, uid: &str, iteration: u64, at: f64) {
    rig.wait_until(at);
    let update = Update { trace_uid: uid.into(), now: at, ..iterated("read", iteration, 8) };
    rig.accept(&if iteration == 8 { done(update) } else { update }).await;
}

async fn a_run_that_failed_teaches_nothing(rig: &ProgressTest) {
    rig.run("good", NOW + APART * 40.0, &[("read", 8, 10.0)]).await;
    let start = NOW + APART * 41.0;
    begin(rig, TRACE, start).await;
    item(rig, TRACE, 1, start + 500.0).await;
    let failure = TraceFailure { at: start + 501.0, exit_code: Some(1), signal: None };
    rig.progress.fail_trace(&rig.user, BAR, TRACE, failure).await.expect("failed");
    rig.count(TRACE).await;
    let model = rig.progress.model(&rig.user, BAR).await.expect("an answer");
    assert_eq!(model.runs(), 1);
    let whole = model.whole_run().expect("an estimate");
    assert!((whole.p50 - 10.0).abs() < 1.0, "{whole:?}");
}

/// Each run loads for 5 s, copies for 2 s and a tenth for each of some files, and tidies up for 3 s.
async fn a_trace_is_estimated_from_the_runs_before(rig: &ProgressTest) {
    for (at, n) in [100_u64, 400, 200, 300, 150, 350].into_iter().enumerate() {
        let copying = 2.0 + 0.1 * n as f64;
        let legs = [("load", 0, 5.0), ("copy", n, copying), ("tidy", 0, 3.0)];
        rig.run(&format!("r{at}"), NOW + APART * at as f64, &legs).await;
    }
    let model = rig.progress.model(&rig.user, BAR).await.expect("an answer");
    assert_eq!(model.runs(), 6);
    assert_eq!(model.steps().collect::<Vec<_>>(), ["load", "copy", "tidy"]);
    assert_eq!(model.usual_iterations(1), Some(300));

    let start = NOW + APART * 10.0;
    rig.wait_until(start);
    rig.create(&NewTrace { now: start, ..starts("load") }).await.expect("created");
    rig.wait_until(start + 5.0);
    rig.accept(&Update { now: start + 5.0, ..iterated("copy", 0, 1_000) }).await;
    rig.wait_until(start + 57.0);
    rig.accept(&Update { now: start + 57.0, ..iterated("copy", 500, 1_000) }).await;
    let trace = rig.find(TRACE).await.expect("the trace");
    let left = model.estimate_trace(&trace, start + 57.0).expect("an estimate");
    assert!((left.p50 - 53.0).abs() < 4.0, "{left:?}");
    assert!(left.p10 <= left.p50 && left.p50 <= left.p90, "{left:?}");

    rig.accept(&Update { now: start + 57.5, ..goes_on("something new") }).await;
    let trace = rig.find(TRACE).await.expect("the trace");
    assert_eq!(model.estimate_trace(&trace, start + 58.0), None, "it has other steps now");
}
