//! The nine rules by which a trace moves on, and those that keepers of bars need beside them.

use keyrack_progress::{Error, NewTrace, STEPS_MAX, Update};

use crate::rig::{NOW, ProgressTest, done, everywhere, fields, goes_on, iterated, starts};

#[tokio::test]
async fn a_trace_moves_on_by_the_rules() {
    everywhere(async |rig| {
        unknown_traces_are_not_found(&rig.of("r1")).await;
        completed_traces_stay_as_they_are(&rig.of("r2")).await;
        a_lost_step_is_waited_for(&rig.of("r3")).await;
        a_step_cannot_end_or_go_on_before_it_begins(&rig.of("r4")).await;
        another_name_begins_a_step(&rig.of("r5")).await;
        iterations_cannot_change(&rig.of("r6")).await;
        iterations_only_go_up(&rig.of("r7")).await;
        done_ends_the_step_and_the_trace(&rig.of("r8")).await;
        an_update_without_news_is_noted(&rig.of("r9")).await;
        a_step_is_there_once(&rig.of("repeated")).await;
        steps_have_a_limit(&rig.of("many")).await;
    })
    .await;
}

async fn unknown_traces_are_not_found(rig: &ProgressTest) {
    rig.refuse(&goes_on("open"), "trace_not_found").await;
    rig.of("somebody").start("open").await;
    rig.refuse(&goes_on("open"), "trace_not_found").await;
    assert_eq!(rig.find("t1").await, None);
}

async fn completed_traces_stay_as_they_are(rig: &ProgressTest) {
    rig.start("open").await;
    rig.accept(&done(goes_on("open"))).await;
    for update in [goes_on("open"), done(goes_on("open")), goes_on("close")] {
        rig.refuse(&update, "trace_completed").await;
    }
}

async fn a_lost_step_is_waited_for(rig: &ProgressTest) {
    rig.start("open").await;
    rig.ask::<()>("DEL", &rig.step_key(1), &[]).await;
    rig.refuse(&goes_on("open"), "step_missing").await;
    assert!(rig.update(&goes_on("open")).await.expect_err("a refusal").is_transient());
    assert_eq!(rig.find("t1").await, None, "a trace without its step is gone");
}

async fn a_step_cannot_end_or_go_on_before_it_begins(rig: &ProgressTest) {
    rig.start("open").await;
    rig.refuse(&done(goes_on("read")), "missing_start_time").await;
    rig.refuse(&done(iterated("read", 3, 3)), "missing_start_time").await;
    rig.refuse(&iterated("read", 1, 3), "missing_start_time").await;
    rig.refuse(&iterated("read", 3, 3), "missing_start_time").await;
}

async fn another_name_begins_a_step(rig: &ProgressTest) {
    rig.create(&NewTrace { iterations: Some(5), ..starts("read") }).await.expect("created");
    rig.accept(&iterated("read", 2, 5)).await;
    rig.accept(&Update { now: NOW + 1.5, ..goes_on("sort") }).await;
    let expected = fields([
        ("step_name", "read"),
        ("iteration", "5"),
        ("iterations", "5"),
        ("started_at", "1667950000.0"),
        ("finished_at", "1667950001.5"),
    ]);
    assert_eq!(rig.hash(&rig.step_key(1)).await, expected, "a step that ends is complete");
    let expected = fields([
        ("step_name", "sort"),
        ("iteration", "0"),
        ("iterations", "0"),
        ("started_at", "1667950001.5"),
    ]);
    assert_eq!(rig.hash(&rig.step_key(2)).await, expected);
    let expected = fields([
        ("created_at", "1667950000.0"),
        ("last_updated_at", "1667950001.5"),
        ("current_step", "2"),
        ("done", "0"),
    ]);
    assert_eq!(rig.hash(&rig.trace_key()).await, expected);

    rig.accept(&Update { now: NOW + 2.0, ..iterated("write", 0, 9) }).await;
    let steps = rig.trace().await.steps;
    let seen: Vec<_> = steps
        .iter()
        .map(|step| (&*step.step_name, step.iteration, step.iterations, step.finished_at))
        .collect();
    let expected =
        [("read", 5, 5, Some(NOW + 1.5)), ("sort", 0, 0, Some(NOW + 2.0)), ("write", 0, 9, None)];
    assert_eq!(seen, expected);
}

async fn iterations_cannot_change(rig: &ProgressTest) {
    rig.create(&NewTrace { iterations: Some(5), ..starts("read") }).await.expect("created");
    rig.refuse(&iterated("read", 1, 6), "step_changed").await;
    rig.refuse(&goes_on("read"), "step_changed").await;
    rig.refuse(&done(goes_on("read")), "step_changed").await;
    rig.refuse(&done(iterated("read", 4, 4)), "step_changed").await;
    let error = rig.update(&goes_on("read")).await.expect_err("a refusal").to_string();
    assert!(error.contains("began with 5 iterations"), "{error}");
    rig.accept(&goes_on("sort")).await;
    rig.refuse(&iterated("sort", 0, 1), "step_changed").await;
    let error = rig.update(&iterated("sort", 0, 1)).await.expect_err("a refusal").to_string();
    assert!(error.contains("began with no iterations"), "{error}");
}

async fn iterations_only_go_up(rig: &ProgressTest) {
    rig.create(&NewTrace { iterations: Some(5), ..starts("read") }).await.expect("created");
    rig.accept(&iterated("read", 3, 5)).await;
    rig.refuse(&iterated("read", 2, 5), "backwards_progress").await;
    let error = rig.update(&iterated("read", 0, 5)).await.expect_err("a refusal");
    assert!(matches!(error, Error::BackwardsProgress { reached, .. } if reached == "3"));
    rig.accept(&iterated("read", 3, 5)).await;
    rig.accept(&iterated("read", 5, 5)).await;
    assert!(!rig.trace().await.done, "the last iteration is not the end");
}

async fn done_ends_the_step_and_the_trace(rig: &ProgressTest) {
    rig.create(&NewTrace { iterations: Some(5), ..starts("read") }).await.expect("created");
    let before = rig.queued().await.len();
    rig.accept(&Update { now: NOW + 9.0, ..done(iterated("read", 5, 5)) }).await;
    let step = rig.hash(&rig.step_key(1)).await;
    assert_eq!((&*step["iteration"], &*step["finished_at"]), ("5", "1667950009.0"));
    let trace = rig.hash(&rig.trace_key()).await;
    assert_eq!((&*trace["done"], &*trace["last_updated_at"]), ("1", "1667950009.0"));
    let queued = rig.queued().await;
    assert_eq!(queued.len(), before + 1);
    let entry: serde_json::Value = serde_json::from_str(&queued[before]).expect("JSON");
    let expected = serde_json::json!({
        "name": "runners.handle_completed_trace",
        "kwargs": { "user_sub": "r8", "pbar_name": "import", "trace_uid": "t1" },
        "queued_at": NOW,
    });
    assert_eq!(entry, expected);
}

async fn an_update_without_news_is_noted(rig: &ProgressTest) {
    rig.start("one").await;
    rig.accept(&goes_on("two")).await;
    for key in [rig.trace_key(), rig.step_key(1), rig.step_key(2)] {
        rig.ask::<()>("EXPIRE", &key, &["50"]).await;
    }
    rig.accept(&Update { now: NOW + 4.0, ..goes_on("two") }).await;
    assert_eq!(rig.trace().await.last_updated_at, NOW + 4.0);
    for key in [rig.trace_key(), rig.step_key(1), rig.step_key(2)] {
        rig.assert_expires_in(&key, 86_400).await;
    }
}

async fn a_step_is_there_once(rig: &ProgressTest) {
    rig.start("one").await;
    rig.accept(&goes_on("two")).await;
    rig.refuse(&goes_on("one"), "step_repeated").await;
    rig.refuse(&iterated("one", 0, 3), "step_repeated").await;
    rig.refuse(&goes_on("default"), "step_name_reserved").await;
    rig.accept(&goes_on("three")).await;
    rig.refuse(&goes_on("two"), "step_repeated").await;
}

async fn steps_have_a_limit(rig: &ProgressTest) {
    rig.start("1").await;
    for step in 2..=STEPS_MAX {
        rig.accept(&goes_on(&step.to_string())).await;
    }
    rig.refuse(&goes_on("one more"), "too_many_steps").await;
    assert_eq!(rig.trace().await.steps.len() as u64, STEPS_MAX);
    rig.accept(&done(goes_on(&STEPS_MAX.to_string()))).await;
    rig.count("t1").await;
    assert_eq!(rig.samples().await.steps.len() as u64, STEPS_MAX + 1);
}
