//! How many workers a queue needs, from what is stored about it.

use keyrack_jobs::bee::{Limits, WAIT_TARGET_MS, WorkerInfo};

use super::fixture::{Fixture, TIMEOUTS, completed, everywhere};

const MINUTE_MS: u64 = 60_000;

async fn wanted(fixture: &Fixture, target_ms: Option<u64>) -> keyrack_jobs::bee::Scaling {
    fixture.hive.scaling(&fixture.queue, target_ms).await.expect("a number")
}

#[tokio::test]
async fn a_queue_wants_as_many_workers_as_its_own_history_asks_for() {
    everywhere(async |fixture| {
        assert_eq!(wanted(&fixture, None).await.workers, 0, "nobody uses it");
        // One after the other, half a minute each: one runs at any time.
        for _ in 0..60 {
            fixture.run_for(30_000).await;
        }
        let per_second = 60.0 / (30.0 * 60.0);
        let idle = wanted(&fixture, None).await;
        assert!(idle.arrivals_per_s >= per_second * 0.9, "{idle:?}");
        let run_ms = idle.run_mean_ms.expect("known");
        assert!((29_000.0..31_000.0).contains(&run_ms), "{run_ms}");
        assert_eq!(idle.wait_target_ms, WAIT_TARGET_MS);
        assert!((1..=4).contains(&idle.workers), "{idle:?}");

        // Ninety more wait: half a minute each, within a minute, takes 45 slots.
        for n in 0..90 {
            fixture.put(&format!("waits-{n}")).await;
        }
        let busy = wanted(&fixture, Some(1_000)).await;
        assert_eq!((busy.waiting, busy.wait_target_ms), (90, 1_000));
        assert!((45..=65).contains(&busy.slots), "{busy:?}");
        assert_eq!(busy.workers, busy.slots, "nobody is there");

        // A worker that runs ten at once is worth ten.
        let info = WorkerInfo {
            started_at: fixture.now(),
            concurrency: 10,
            lock_ms: 10_000,
            listens: false,
            isolates: false,
            stop_ms: None,
            version: None,
        };
        let told =
            fixture.hive.heartbeat(&fixture.queue, &fixture.worker, TIMEOUTS.lock, Some(&info));
        told.await.expect("known");
        let tens = wanted(&fixture, Some(1_000)).await;
        assert_eq!((tens.workers_alive, tens.slots), (1, busy.slots));
        assert_eq!(tens.workers, busy.slots.div_ceil(10));

        let limits =
            Limits { concurrency: Some(20), wait_target_ms: Some(5_000), ..Limits::default() };
        fixture.hive.set_limits(&fixture.queue, &limits).await.expect("set");
        let limited = wanted(&fixture, None).await;
        assert_eq!((limited.slots, limited.workers, limited.wait_target_ms), (20, 2, 5_000));
        fixture.hive.pause(&fixture.queue).await.expect("paused");
        assert_eq!(wanted(&fixture, None).await.workers, 0, "nothing may start");
        let refused = fixture.hive.scaling(&fixture.queue, Some(0)).await;
        assert!(refused.expect_err("no time").to_string().contains("wait_target_ms"));
    })
    .await;
}

impl Fixture {
    /// Submits a job and runs it for a time.
    async fn run_for(&self, ms: u64) {
        self.submit(self.job()).await;
        let job = self.claim_one().await;
        self.clock.advance_ms(ms);
        self.settle(&job, completed("1")).await;
    }
}

#[tokio::test]
async fn an_old_rush_is_forgotten_after_an_hour() {
    everywhere(async |fixture| {
        for _ in 0..20 {
            fixture.run_for(1_000).await;
        }
        assert!(wanted(&fixture, None).await.workers >= 1);
        fixture.clock.advance_ms(70 * MINUTE_MS);
        let later = wanted(&fixture, None).await;
        assert_eq!((later.workers, later.arrivals_per_s), (0, 0.0));
    })
    .await;
}
