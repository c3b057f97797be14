//! How a trace ends: completed, failed, or lost.

use keyrack_progress::{NewTrace, Outcome, TraceFailure};
use keyrack_store::ServiceError as _;

use crate::rig::{BAR, NOW, TRACE, everywhere, goes_on, starts};

fn failure(at: f64, exit_code: Option<u64>, signal: Option<u64>) -> TraceFailure {
    TraceFailure { at, exit_code, signal }
}

#[tokio::test]
async fn a_run_that_failed_says_how_and_goes_on_no_more_on_every_store() {
    everywhere(async |rig| {
        rig.start("load").await;
        assert_eq!(rig.progress.running_count().await.expect("a count"), 1);
        let told = failure(NOW + 2.0, Some(3), None);
        rig.progress.fail_trace(&rig.user, BAR, TRACE, told).await.expect("told");
        let trace = rig.trace().await;
        assert_eq!((trace.done, trace.outcome(NOW + 9.0)), (false, Outcome::Failed(told)));
        assert_eq!(trace.outcome(NOW).to_string(), "failed with exit code 3");
        assert_eq!(trace.until(NOW + 9.0), NOW + 2.0);
        rig.refuse(&goes_on("load"), "trace_completed").await;
        assert_eq!(rig.progress.running_count().await.expect("a count"), 0);
        assert_eq!(rig.queued().await, [""; 0], "nothing is learned from it");

        // Told again, the first word counts; begun again, it is forgotten.
        let again = failure(NOW + 3.0, None, Some(9));
        rig.progress.fail_trace(&rig.user, BAR, TRACE, again).await.expect("told");
        assert_eq!(rig.trace().await.failure, Some(told));
        rig.create(&starts("load")).await.expect("created");
        assert_eq!(rig.trace().await.outcome(NOW), Outcome::Running);
    })
    .await;
}

#[tokio::test]
async fn a_run_that_is_completed_or_not_there_cannot_fail_on_every_store() {
    everywhere(async |rig| {
        let fail = async || {
            let told = failure(NOW, Some(1), None);
            rig.progress.fail_trace(&rig.user, BAR, TRACE, told).await
        };
        let refused = fail().await.expect_err("no trace");
        assert_eq!(refused.code(), "trace_not_found");
        rig.start("load").await;
        rig.accept(&crate::rig::done(goes_on("load"))).await;
        let refused = fail().await.expect_err("completed");
        assert_eq!(refused.code(), "trace_completed");
    })
    .await;
}

#[tokio::test]
async fn a_run_that_misses_three_of_its_reports_is_lost_on_every_store() {
    everywhere(async |rig| {
        rig.start("load").await;
        assert_eq!(rig.trace().await.lost_at(), None, "it has promised nothing");
        let new = NewTrace { reports_every: Some(5), ..starts("load") };
        rig.create(&new).await.expect("begun anew");
        let trace = rig.trace().await;
        assert_eq!(trace.outcome(NOW + 14.9), Outcome::Running);
        assert_eq!(trace.outcome(NOW + 15.0), Outcome::Lost { reported_at: NOW });
        // One that is heard of again was not lost.
        rig.clock.advance_ms(20_000);
        rig.accept(&keyrack_progress::Update { now: NOW + 20.0, ..goes_on("load") }).await;
        assert_eq!(rig.trace().await.outcome(NOW + 20.0), Outcome::Running);
    })
    .await;
}
