//! Steps whose number of iterations is only found out on the way.

use keyrack_progress::CountOutcome;
use keyrack_store::ServiceError as _;

use crate::rig::{BAR, ProgressTest, TRACE, done, everywhere, goes_on, iterated};

#[tokio::test]
async fn number_of_iterations_can_be_corrected_within_the_program() {
    everywhere(async |rig| {
        a_step_becomes_iterated(&rig.of("becomes")).await;
        progress_beyond_the_new_number_is_cut(&rig.of("cut")).await;
        only_the_current_step_can_be_corrected(&rig.of("current")).await;
    })
    .await;
}

async fn recount(
    rig: &ProgressTest,
    step: &str,
    iterations: Option<u64>,
) -> Result<(), &'static str> {
    let recounted = rig.progress.recount_step(&rig.user, BAR, TRACE, step, iterations).await;
    recounted.map_err(|error| error.code())
}

async fn a_step_becomes_iterated(rig: &ProgressTest) {
    rig.start("run").await;
    recount(rig, "run", Some(7)).await.expect("recounted");
    rig.accept(&iterated("run", 3, 7)).await;
    let finished = rig.progress.finish_trace(&rig.user, &done(iterated("run", 7, 7))).await;
    assert!(!matches!(finished.expect("finished"), CountOutcome::Nothing));
    let samples = rig.progress.samples(&rig.user, BAR).await.expect("an answer").expect("a bar");
    assert!(samples.steps[1].iterated);
    assert_eq!(samples.traces[0].steps[0].iterations, Some(7));
}

async fn progress_beyond_the_new_number_is_cut(rig: &ProgressTest) {
    rig.start("open").await;
    rig.accept(&iterated("copy", 0, 10)).await;
    rig.accept(&iterated("copy", 9, 10)).await;
    recount(rig, "copy", Some(5)).await.expect("recounted");
    let trace = rig.trace().await;
    assert_eq!((trace.current().iteration, trace.current().iterations), (5, 5));
}

async fn only_the_current_step_can_be_corrected(rig: &ProgressTest) {
    assert_eq!(recount(rig, "open", Some(2)).await, Err("trace_not_found"));
    rig.start("open").await;
    rig.accept(&goes_on("close")).await;
    let before = rig.trace().await;
    assert_eq!(recount(rig, "open", Some(2)).await, Err("missing_start_time"));
    assert_eq!(recount(rig, "close", Some(0)).await, Err("invalid"));
    assert_eq!(rig.trace().await, before);
    rig.accept(&done(goes_on("close"))).await;
    assert_eq!(recount(rig, "close", Some(2)).await, Err("trace_completed"));
}
