//! Clocks that somebody sets: of a machine that runs a server or a worker, and of the store itself.

use keyrack_jobs::bee::{Hive, Submission, keys::QueueName};
use keyrack_testkit::on_every_store_with_set_clock;

use super::fixture::{TIMEOUTS, queue};

/// Steps of a clock, in milliseconds.
const STEPS_MS: [i64; 5] = [60_000, 300_000, 3_600_000, -60_000, -3_600_000];

async fn taken_away(hive: &Hive, queue: &QueueName) -> u64 {
    hive.sweep(queue, &TIMEOUTS, "", &[]).await.expect("swept").taken_away
}

#[tokio::test]
async fn a_process_whose_clock_is_set_takes_no_job_and_starts_none_early_on_every_store() {
    on_every_store_with_set_clock(async |healthy, set, clock| {
        let healthy = Hive::open(healthy).await.expect("a hive");
        let hive = Hive::open(set).await.expect("a hive");
        for (n, step) in STEPS_MS.into_iter().enumerate() {
            let queue = queue(&format!("q{n}"));
            let worker = healthy.new_worker(&queue).expect("a worker");
            healthy.submit(Submission::to(queue.clone())).await.expect("submitted");
            let delayed = Submission::to(queue.clone()).delay_ms(50_000.0);
            healthy.submit(delayed).await.expect("submitted");
            let claimed = healthy.claim(&queue, &worker, 5, TIMEOUTS.lock).await.expect("claimed");
            assert_eq!(claimed.jobs.len(), 1, "one runs, one is delayed");

            clock.step_ms(step);
            let apart = hive.now_ms().abs_diff(healthy.now_ms());
            assert!(apart < 1000, "{apart} ms after a step of {step} ms");
            assert_eq!(taken_away(&hive, &queue).await, 0, "after a step of {step} ms");
            let thief = hive.new_worker(&queue).expect("a worker");
            let claimed = hive.claim(&queue, &thief, 5, TIMEOUTS.lock).await.expect("claimed");
            assert!(claimed.jobs.is_empty(), "started early after a step of {step} ms");

            clock.step_ms(-step);
            assert_eq!(taken_away(&hive, &queue).await, 0, "after the step back");
            let kept =
                healthy.heartbeat(&queue, &worker, TIMEOUTS.lock, None).await.expect("alive");
            assert_eq!(kept.len(), 1, "the job is still its worker's");
        }
    })
    .await;
}
