//! What a jump of the store's clock means for the schedule.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use keyrack_engine::SimulatedHost;
use keyrack_jobs::{
    bee::Hive,
    recurring::{Recurring, Scheduler, Settings, keys},
};
use keyrack_store::{Clock, Options, Store};
use parking_lot::Mutex;

use super::run::Warnings;
use super::world::{NOW, minutely, unix};

/// A clock that can jump back.
#[derive(Debug)]
struct JumpingClock {
    forward: SimulatedHost,
    /// How far it was set back, and when.
    back: Mutex<(u64, Option<Instant>)>,
}

impl Clock for JumpingClock {
    fn now_ms(&self) -> u64 {
        self.forward.now_ms() - self.back.lock().0
    }

    fn last_jump(&self) -> Option<Instant> {
        self.back.lock().1
    }
}

#[tokio::test]
async fn recurring_jobs_go_on_after_the_clock_was_an_hour_ahead_for_a_while() {
    let warnings = Warnings::default();
    let _listening = tracing::subscriber::set_default(warnings.clone());
    let forward = SimulatedHost::new(unix(NOW).unsigned_abs() * 1000, 0);
    let clock = Arc::new(JumpingClock { forward: forward.clone(), back: Mutex::new((0, None)) });
    let options = Options { clock: Some(clock.clone()), ..Options::default() };
    let url = "embedded:memory".parse().expect("a URL");
    let store = Store::open_with(url, options).await.expect("a store");
    let hive = Hive::named(store.clone(), "host:1:hive");
    let recurring = Recurring::new(hive, vec![minutely("a")]).expect("a good list");
    let mut scheduler = Scheduler::new(recurring, Settings::default());
    scheduler.turn().await.expect("a turn");

    forward.advance_ms(3_600_000);
    assert_eq!(scheduler.turn().await.expect("a turn").fired.queued, 1, "as is due by then");
    assert_eq!(warnings.0.load(Ordering::Relaxed), 0);
    *clock.back.lock() = (3_600_000, Some(Instant::now()));
    for _ in 0..2 {
        scheduler.turn().await.expect("a turn");
        assert_eq!(warnings.0.load(Ordering::Relaxed), 1, "it says so once");
    }

    let mut cmd = redis::cmd("ZRANGE");
    cmd.arg(keys::rjobs().name()).arg(0).arg(-1).arg("WITHSCORES");
    let scheduled: Vec<(String, i64)> =
        cmd.query_async(&mut store.connection()).await.expect("a schedule");
    assert_eq!(scheduled[0].1, unix(NOW) + 60, "a minute from now, not an hour");
    forward.advance_ms(60_000);
    assert_eq!(scheduler.turn().await.expect("a turn").fired.queued, 1);
}

#[tokio::test]
async fn jobs_defined_at_run_time_go_on_after_the_clock_was_an_hour_ahead_for_a_while() {
    let forward = SimulatedHost::new(unix(NOW).unsigned_abs() * 1000, 0);
    let clock = Arc::new(JumpingClock { forward: forward.clone(), back: Mutex::new((0, None)) });
    let options = Options { clock: Some(clock.clone()), ..Options::default() };
    let url = "embedded:memory".parse().expect("a URL");
    let store = Store::open_with(url, options).await.expect("a store");
    let hive = Hive::named(store.clone(), "host:1:hive");
    let recurring = Recurring::new(hive, Vec::new()).expect("an empty list");
    recurring.create(minutely("a")).await.expect("created");
    let mut scheduler = Scheduler::without_list(recurring.clone(), Settings::default());

    forward.advance_ms(3_600_000);
    assert_eq!(scheduler.turn().await.expect("a turn").fired.queued, 1, "as is due by then");
    *clock.back.lock() = (3_600_000, Some(Instant::now()));
    assert_eq!(scheduler.turn().await.expect("a turn").fired.queued, 0);
    let next = recurring.list().await.expect("a list").jobs[0].next_run.expect("a run");
    assert_eq!(next.as_second(), unix(NOW) + 60, "a minute from now, not an hour");
    forward.advance_ms(60_000);
    assert_eq!(scheduler.turn().await.expect("a turn").fired.queued, 1);
}
