//! The scheduler as a service that runs until told to stop.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use keyrack_jobs::{
    bee::Hive,
    hot::Producer,
    recurring::{Recurring, Scheduler, Settings},
};
use keyrack_store::{Clock, Options, Store};
use keyrack_testkit::{RedisServer, wait_until_async};
use tokio::{sync::oneshot, time::Instant};

use super::world::{NOW, World, minutely, unix};

/// The clock of tokio, which jumps ahead by itself when everything sleeps.
#[derive(Debug)]
struct TokioClock {
    started: Instant,
    started_ms: u64,
}

impl Clock for TokioClock {
    fn now_ms(&self) -> u64 {
        self.started_ms + self.started.elapsed().as_millis() as u64
    }
}

async fn store_in_tokio_time() -> Store {
    let started_ms = unix(NOW).unsigned_abs() * 1000 + 500;
    let clock = TokioClock { started: Instant::now(), started_ms };
    let options = Options { clock: Some(Arc::new(clock)), ..Options::default() };
    Store::open_with("embedded:memory".parse().expect("a URL"), options).await.expect("a store")
}

fn scheduler(store: &Store, name: &str) -> Scheduler {
    let hive = Hive::named(store.clone(), "host:1:hive");
    let recurring = Recurring::new(hive, vec![minutely(name)]).expect("a good list");
    Scheduler::new(recurring, Settings::default())
}

#[tokio::test(start_paused = true)]
async fn a_day_of_two_schedulers_has_each_run_once_and_in_time() {
    let store = store_in_tokio_time().await;
    let producer = Producer::new(store.clone());
    let day = || tokio::time::sleep(Duration::from_secs(86_400));
    tokio::join!(scheduler(&store, "a").run(day()), scheduler(&store, "a").run(day()));
    assert_eq!(producer.depth().await.expect("a depth"), 1440);
    let mut cmd = redis::cmd("LRANGE");
    cmd.arg("jobs:hot").arg(0).arg(-1);
    let entries: Vec<String> = cmd.query_async(&mut store.connection()).await.expect("entries");
    for (n, entry) in entries.iter().enumerate() {
        let entry: serde_json::Value = serde_json::from_str(entry).expect("JSON");
        let due = unix(NOW) as f64 + 60.0 * (n + 1) as f64;
        let late = entry["queued_at"].as_f64().expect("a time") - due;
        assert!((0.0..0.01).contains(&late), "run {n} was {late} s late");
    }
}

/// Counts what is told as a warning or worse in this thread.
#[derive(Clone, Default)]
pub(super) struct Warnings(pub(super) Arc<AtomicUsize>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }

    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_whose_list_was_replaced_says_so_once_and_goes_on_within_ten_seconds_of_its_return()
 {
    let warnings = Warnings::default();
    let _listening = tracing::subscriber::set_default(warnings.clone());
    let store = store_in_tokio_time().await;
    let producer = Producer::new(store.clone());
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(scheduler(&store, "a").run(async { drop(stopped.await) }));
    tokio::time::sleep(Duration::from_secs(90)).await;
    scheduler(&store, "b").turn().await.expect("another list is in force");
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(producer.depth().await.expect("a depth"), 1);
    assert_eq!(warnings.0.load(Ordering::Relaxed), 1);
    scheduler(&store, "a").turn().await.expect("the first list is in force again");
    tokio::time::sleep(Duration::from_secs(70)).await;
    assert_eq!(producer.depth().await.expect("a depth"), 2);
    stop.send(()).expect("it still runs");
    running.await.expect("it stops");
}

#[tokio::test]
async fn a_scheduler_goes_on_within_two_seconds_of_a_servers_return() {
    let mut server = RedisServer::builder().append_only().start();
    let world = World::open(&server.url(), NOW).await;
    let (stop, stopped) = oneshot::channel::<()>();
    // It looks often, because the clock of this test moves by hand.
    let settings = Settings { look_every: Duration::from_millis(50), ..Settings::default() };
    let scheduler = Scheduler::new(world.recurring(vec![minutely("a")]), settings);
    let running = tokio::spawn(scheduler.run(async { drop(stopped.await) }));
    wait_until_async("the list to be in force", async || world.digest().await.is_some()).await;
    server.kill();
    world.advance_s(60);
    server.restart();
    let returned = std::time::Instant::now();
    let producer = Producer::new(world.store.clone());
    wait_until_async("the job to be queued", async || matches!(producer.depth().await, Ok(1)))
        .await;
    assert!(returned.elapsed() < Duration::from_secs(2), "{:?}", returned.elapsed());
    stop.send(()).expect("it still runs");
    running.await.expect("it stops");
}
