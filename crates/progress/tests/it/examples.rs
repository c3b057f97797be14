//! The example job. Time is tokio's and stands still while anything is done, so these run in no time.

use keyrack_progress::{HANDLE_EXAMPLE_JOB, NewTrace, Progress, Trace};
use keyrack_store::ServiceError as _;
use keyrack_testkit::simulated_store;
use serde_json::{Map, Value, json};

use crate::rig::{NOW, NOW_MS, ProgressTest, hot_queue, starts, user};

const BAR: &str = "example_1";
const UID: &str = "ep_t_1";

async fn rig() -> ProgressTest {
    let (store, clock) = simulated_store(NOW_MS, 1).await;
    let rig = ProgressTest {
        progress: Progress::seeded(store, hot_queue(), 1),
        clock,
        user: user("example"),
    };
    let new = NewTrace { pbar_name: BAR.into(), uid: UID.into(), ..starts("queuing") };
    rig.create(&new).await.expect("created");
    rig
}

fn kwargs(duration: u64, stdev: f64) -> Map<String, Value> {
    let kwargs = json!({
        "sub": "example", "pbar_name": BAR, "uid": UID, "duration": duration, "stdev": stdev,
    });
    let Value::Object(kwargs) = kwargs else { unreachable!("it is an object") };
    kwargs
}

async fn trace(rig: &ProgressTest) -> Trace {
    let trace = rig.progress.trace(&rig.user, BAR, UID).await.expect("an answer");
    trace.expect("the trace")
}

#[tokio::test(start_paused = true)]
async fn an_example_takes_its_time_and_finds_a_number() {
    let rig = rig().await;
    let begun = tokio::time::Instant::now();
    rig.progress.handle(HANDLE_EXAMPLE_JOB, &kwargs(5, 1.0)).await.expect("done");
    let seconds = begun.elapsed().as_secs_f64();
    assert!((2.0..8.0).contains(&seconds), "it took {seconds} s");
    let trace = trace(&rig).await;
    assert!(trace.done);
    let steps: Vec<_> = trace
        .steps
        .iter()
        .map(|step| (&*step.step_name, step.iteration, step.iterations))
        .collect();
    assert_eq!(steps, [("queuing", 0, 0), ("calculating", 5, 5)]);
    let number = rig.progress.example(UID).await.expect("an answer").expect("a number");
    assert!((1..=999).contains(&number));
    assert_eq!(rig.queued().await.len(), 1, "the trace is handed over like any other");
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_example_goes_on_where_it_was() {
    let rig = rig().await;
    let limit = std::time::Duration::from_millis(3_500);
    let arguments = kwargs(6, 0.0);
    let run = rig.progress.handle(HANDLE_EXAMPLE_JOB, &arguments);
    tokio::time::timeout(limit, run).await.expect_err("it is interrupted");
    assert_eq!(trace(&rig).await.current().iteration, 3);
    assert_eq!(rig.progress.example(UID).await.expect("an answer"), None);
    let begun = tokio::time::Instant::now();
    rig.progress.handle(HANDLE_EXAMPLE_JOB, &arguments).await.expect("done");
    assert_eq!(begun.elapsed().as_secs(), 3);
    assert!(trace(&rig).await.done);
    // Once more does no harm either.
    rig.progress.handle(HANDLE_EXAMPLE_JOB, &arguments).await.expect("nothing left to do");
    assert_eq!(trace(&rig).await.last_updated_at, NOW);
}

#[tokio::test]
async fn examples_without_end_are_refused() {
    let rig = rig().await;
    for (duration, stdev) in [(0, 1.0), (11, 1.0), (5, -1.0), (5, 4.0)] {
        let refused = rig.progress.handle(HANDLE_EXAMPLE_JOB, &kwargs(duration, stdev)).await;
        assert_eq!(refused.expect_err("a refusal").code(), "invalid");
    }
    assert_eq!(trace(&rig).await.steps.len(), 1);
}
