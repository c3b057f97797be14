//! How long jobs waited and ran: what is counted equals what the jobs' own histories tell, and stays within its bounds.

mod expected;
mod load;

use std::collections::BTreeMap;

use keyrack_jobs::bee::{
    End, Hive, Submission,
    keys::{self, QueueName},
    times::{Record, Resolution, Times, TimesQuery},
};
use keyrack_store::Store;
use keyrack_testkit::simulated_store;

use self::{
    expected::{assert_equal, expected_minutes},
    load::Load,
};
use super::fixture::{
    Fixture, NOW, TIMEOUTS, completed, everywhere, failed, failed_for_good, worker,
};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

async fn times(fixture: &Fixture, last_ms: u64, resolution: Resolution) -> Times {
    let query = TimesQuery {
        resolution: Some(resolution),
        ..TimesQuery::last(last_ms, fixture.hive.now_ms())
    };
    fixture.hive.times(&fixture.queue, &query).await.expect("the times")
}

#[tokio::test]
async fn histograms_equal_those_of_the_jobs_own_histories() {
    let seed = std::env::var("KEYRACK_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| std::process::id().into());
    #[expect(clippy::print_stderr, reason = "shown with a failure, so that it can be repeated")]
    {
        eprintln!("KEYRACK_SEED={seed}");
    }
    everywhere(async |fixture| {
        let mut load = Load::new(seed, fixture.clone());
        load.run(250).await;
        for round in ["before", "after"] {
            // A sweep ends jobs that should have started.
            let expected = expected_minutes(&load.histories().await);
            let told = times(&fixture, DAY_MS, Resolution::Minute).await;
            for record in &told.records {
                let of_histories = expected.get(&record.at).cloned().unwrap_or_default();
                assert_equal(record, &of_histories, &format!("{round} the last fold"));
            }
            let n_told: u64 = told.records.iter().map(|record| record.wait.count()).sum();
            let n_expected: u64 = expected.values().map(|record| record.wait.count()).sum();
            assert_eq!(n_told, n_expected, "{round} the last fold");
            assert!(n_told > 20, "the load is worth its name: {n_told}");
            for resolution in [Resolution::Quarter, Resolution::Hour] {
                let coarser = times(&fixture, DAY_MS, resolution).await.sum;
                let sums = (coarser.wait, coarser.run, coarser.submitted);
                let expected = (&told.sum.wait, &told.sum.run, told.sum.submitted);
                assert_eq!((&sums.0, &sums.1, sums.2), expected, "{resolution:?}");
            }
            let total = fixture.hive.times_total(&fixture.queue).await.expect("the total");
            assert_eq!((&total.wait, &total.run), (&told.sum.wait, &told.sum.run));
            fixture.clock.advance_ms(20 * MINUTE_MS);
            fixture.sweep().await;
        }
    })
    .await;
}

#[tokio::test]
async fn the_slowest_attempts_of_an_hour_are_known() {
    everywhere(async |fixture| {
        for n in 0..30u64 {
            fixture.submit(fixture.job().arg(n)).await;
            let job = fixture.claim_one().await;
            fixture.clock.advance_ms(n * 37 % 30 * 100);
            // Some are completed in the quick way, and some fail.
            let end = match n % 3 {
                0 => End::Completed { result: "1".into(), ttl_ms: Some(1_800_000) },
                1 => completed("1"),
                _ => failed_for_good("no"),
            };
            fixture.settle(&job, end).await;
        }
        let told = times(&fixture, HOUR_MS, Resolution::Minute).await;
        let runs: Vec<u64> = told.slowest.iter().map(|attempt| attempt.run_ms).collect();
        assert_eq!(runs, (20..30).rev().map(|n| n * 100).collect::<Vec<u64>>());
        fixture.clock.advance_ms(26 * HOUR_MS);
        fixture.submit(fixture.job()).await;
        let job = fixture.claim_one().await;
        fixture.settle(&job, completed("1")).await;
        let hours: u64 = fixture.ask("HLEN", &fixture.of_queue(keys::slowest), &[]).await;
        assert_eq!(hours, 1, "older hours are forgotten");
    })
    .await;
}

#[tokio::test]
async fn a_shortened_history_and_a_foreign_one_have_times_too() {
    everywhere(async |fixture| {
        let jid = fixture.submit(fixture.job().retries(20).retry_delay_ms(0.0, false)).await;
        for n in 0..12u64 {
            fixture.clock.advance_ms(8);
            let job = fixture.claim_one().await;
            fixture.clock.advance_ms(4);
            fixture.settle(&job, failed(&format!("{n} {}", "x".repeat(4_000)))).await;
        }
        let history = fixture.fields(&jid).await["history"].clone();
        assert!(history.contains(r#""trimmed""#), "{} bytes", history.len());
        // As Node writes it: the members of an entry in any order.
        let ready = fixture.now();
        let foreign = format!(
            r#"[{{"timestamp":{ready},"hive":"n","event":"queued"}},{{"hive":"n","timestamp":{},"event":"popped"}}]"#,
            ready + 64
        );
        fixture.clock.advance_ms(1);
        let job = fixture.claim_one().await;
        let key = keys::job(&jid, &jid.group());
        fixture.ask::<()>("HSET", &key, &["history", &foreign]).await;
        fixture.clock.advance_ms(63 + 256);
        fixture.settle(&job, completed("1")).await;
        let sum = times(&fixture, HOUR_MS, Resolution::Minute).await.sum;
        assert_eq!((sum.wait.count(), sum.run.count()), (13, 13));
        assert_eq!(sum.run.sum_ms(), 12 * 4 + 256);
        // A job that is tried again waits from when a claim has found it due.
        assert_eq!(sum.wait.sum_ms(), 8 + 64);
        assert_eq!((sum.retried, sum.completed, sum.failed), (12, 1, 0));
    })
    .await;
}

#[tokio::test]
async fn records_of_a_year_stay_within_their_bounds() {
    let (store, clock) = simulated_store(NOW, 7).await;
    let hive = Hive::open(store).await.expect("a hive");
    let queue = QueueName::new("emails").expect("a queue");
    let year = Year { hive, queue, worker: worker("w1", "emails") };
    let mut n_jobs = 0;
    // Most of a year with a few jobs a day, then a week with one each quarter of an hour, then a day with one each minute.
    for (step_ms, steps) in [(5 * HOUR_MS, 365 * 24 / 5), (15 * MINUTE_MS, 672), (MINUTE_MS, 1500)]
    {
        for step in 0..steps {
            clock.advance_ms(step_ms);
            year.run_one(step % 50).await;
            n_jobs += 1;
            if step % 100 == 0 {
                year.assert_bounds().await;
            }
        }
    }
    year.assert_bounds().await;
    assert_eq!(year.hive.times_total(&year.queue).await.expect("the total").completed, n_jobs);
    clock.advance_ms(91 * DAY_MS);
    year.hive.store().engine().expect("embedded").tick();
    for key in year.keys() {
        let mut cmd = redis::cmd("EXISTS");
        cmd.arg(&*year.hive.store().place(&key));
        let exists: bool =
            cmd.query_async(&mut year.hive.store().connection()).await.expect("asked");
        assert!(!exists, "{} of an idle queue is gone", key.name());
    }
}

/// A queue through a year.
struct Year {
    hive: Hive,
    queue: QueueName,
    worker: keys::WorkerId,
}

impl Year {
    async fn run_one(&self, n: u64) {
        self.hive.submit(Submission::to(self.queue.clone()).arg(n)).await.expect("submitted");
        let claimed = self.hive.claim(&self.queue, &self.worker, 1, TIMEOUTS.lock).await;
        let job = claimed.expect("claimed").jobs.remove(0);
        let end = End::Completed { result: "1".into(), ttl_ms: Some(1_000) };
        let outcome = keyrack_jobs::bee::Outcome::of(&job, end);
        let settled =
            self.hive.settle(&self.queue, &self.worker, &[outcome], 0, TIMEOUTS.lock).await;
        settled.expect("settled");
        self.hive.sweep(&self.queue, &TIMEOUTS, "", &[]).await.expect("swept");
    }

    fn keys(&self) -> [keyrack_keys::Key; 5] {
        let group = self.queue.group();
        [
            keys::minutes(&self.queue, &group),
            keys::times_minutes(&self.queue, &group),
            keys::times_quarters(&self.queue, &group),
            keys::times_hours(&self.queue, &group),
            keys::slowest(&self.queue, &group),
        ]
    }

    /// So many records are kept, those of the hour until the next drop, and the total; and so many bytes.
    async fn assert_bounds(&self) {
        let fields_max = [12 * 16, 1440 + 60, 672 + 4, 2160 + 2, 25];
        let mut bytes = 0;
        for (key, most) in self.keys().iter().zip(fields_max) {
            let mut cmd = redis::cmd("HGETALL");
            cmd.arg(&*self.hive.store().place(key));
            let fields: BTreeMap<String, String> =
                cmd.query_async(&mut self.hive.store().connection()).await.expect("the fields");
            assert!(fields.len() <= most, "{} has {} fields", key.name(), fields.len());
            bytes += fields.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        }
        assert!(bytes < 1_500_000, "{bytes} bytes");
    }
}

#[tokio::test]
async fn restarts_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("embedded:{}", folder.path().display());
    let queue = QueueName::new("emails").expect("a queue");
    let mut before: Option<Record> = None;
    for round in 1..=3u64 {
        let store = Store::open(&url).await.expect("a store");
        let hive = Hive::open(store.clone()).await.expect("a hive");
        if let Some(before) = before {
            assert_eq!(hive.times_total(&queue).await.expect("the total"), before);
        }
        let year = Year { hive, queue: queue.clone(), worker: worker("w1", "emails") };
        year.run_one(round).await;
        let total = year.hive.times_total(&queue).await.expect("the total");
        assert_eq!((total.completed, total.run.count()), (round, round));
        before = Some(total);
        drop((year, store));
    }
}
