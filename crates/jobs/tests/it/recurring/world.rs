//! Stores with a clock that stands still until a test moves it, and what a test looks at in them.

use std::sync::Arc;

use jiff::Timestamp;
use keyrack_engine::SimulatedHost;
use keyrack_jobs::{
    bee::Hive,
    hot::keys::hot,
    recurring::{
        CronSchedule, Definition, Filters, Interval, Recurring, Scheduler, Settings, keys,
    },
};
use keyrack_keys::{Key, Registry};
use keyrack_store::{Options, Store};
use keyrack_testkit::{RedisCluster, RedisServer};
use redis::{FromRedisValue, ToRedisArgs};

/// A Monday in winter, when US/Pacific is eight hours behind UTC.
pub(crate) const NOW: &str = "2022-12-05T12:00:00.5Z";

/// A command that takes nothing but its key.
pub(crate) const ALONE: &[&str] = &[];

/// A store and its clock.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) store: Store,
    clock: SimulatedHost,
}

/// Runs a test on every kind of store at a moment of its own.
pub(crate) async fn on_every_store_at(now: &str, test: impl AsyncFn(World)) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = RedisServer::start();
    let cluster = RedisCluster::start();
    let urls = [
        "embedded:memory".to_owned(),
        format!("embedded:{}", folder.path().display()),
        server.url(),
        cluster.url(),
    ];
    for url in urls {
        let world = World::open(&url, now).await;
        test(world).await;
    }
}

/// A moment in unix seconds.
pub(crate) fn unix(moment: &str) -> i64 {
    moment.parse::<Timestamp>().expect("a moment").as_second()
}

impl World {
    pub(crate) async fn open(url: &str, now: &str) -> World {
        let now: Timestamp = now.parse().expect("a moment");
        let clock = SimulatedHost::new(now.as_millisecond().unsigned_abs(), 0);
        let options = Options {
            clock: Some(Arc::new(clock.clone())),
            host: Some(Box::new(clock.clone())),
            ..Options::default()
        };
        let store = Store::open_with(url.parse().expect("a URL"), options).await;
        World { store: store.unwrap_or_else(|error| panic!("{url}: {error}")), clock }
    }

    pub(crate) async fn in_memory() -> World {
        World::open("embedded:memory", NOW).await
    }

    pub(crate) fn advance_s(&self, seconds: u64) {
        self.clock.advance_ms(seconds * 1000);
    }

    /// The list, by the world's clock.
    pub(crate) fn recurring(&self, jobs: Vec<Definition>) -> Recurring {
        let hive = Hive::named(self.store.clone(), "host:1:hive");
        Recurring::new(hive, jobs).expect("a good list")
    }

    pub(crate) fn scheduler(&self, jobs: Vec<Definition>) -> Scheduler {
        Scheduler::new(self.recurring(jobs), Settings::default())
    }

    /// A scheduler that has no list.
    pub(crate) fn scheduler_without_list(&self) -> Scheduler {
        Scheduler::without_list(self.recurring(Vec::new()), Settings::default())
    }

    pub(crate) async fn command<T: FromRedisValue>(
        &self,
        name: &str,
        key: &Key,
        args: impl ToRedisArgs,
    ) -> T {
        let mut cmd = redis::cmd(name);
        cmd.arg(&*self.store.place(key)).arg(args);
        cmd.query_async(&mut self.store.connection())
            .await
            .unwrap_or_else(|error| panic!("{name} on {}: {error}", self.store))
    }

    /// The schedule, soonest first.
    pub(crate) async fn rjobs(&self) -> Vec<(String, i64)> {
        self.command("ZRANGE", &keys::rjobs(), &["0", "-1", "WITHSCORES"]).await
    }

    pub(crate) async fn set_score(&self, job: &str, score: i64) {
        let _: i64 = self.command("ZADD", &keys::rjobs(), (score, job)).await;
    }

    pub(crate) async fn digest(&self) -> Option<String> {
        self.command("GET", &keys::digest(), ALONE).await
    }

    pub(crate) async fn purgatory(&self) -> Vec<String> {
        let mut members: Vec<String> = self.command("SMEMBERS", &keys::purgatory(), ALONE).await;
        members.sort();
        members
    }

    pub(crate) async fn exists(&self, key: &Key) -> bool {
        self.command("EXISTS", key, ALONE).await
    }

    /// What waits in the hot queue.
    pub(crate) async fn hot(&self) -> Vec<String> {
        self.command("LRANGE", &hot(), (0, -1)).await
    }

    /// The names of what waits in the hot queue.
    pub(crate) async fn hot_names(&self) -> Vec<String> {
        let entries = self.hot().await;
        let name = |entry: &String| -> String {
            let entry: serde_json::Value = serde_json::from_str(entry).expect("JSON");
            entry["name"].as_str().expect("a name").to_owned()
        };
        entries.iter().map(name).collect()
    }

    /// Proves that everything in the store is as its declaration says.
    pub(crate) async fn assert_clean(&self) {
        let registry = Registry::new(&[
            keyrack_jobs::bee::keys::FAMILIES,
            keyrack_jobs::hot::keys::FAMILIES,
            keyrack_jobs::recurring::keys::FAMILIES,
        ]);
        let report = keyrack_lint::lint(&self.store, &registry, &Default::default(), |_| {}).await;
        let findings = report.expect("a report").findings;
        assert!(findings.is_empty(), "{findings:?}");
    }
}

fn interval(zone: &str, filters: &Filters) -> Interval {
    Interval::new(zone, filters).expect("a good interval")
}

/// Runs each minute.
pub(crate) fn minutely(name: &str) -> Definition {
    let filters = Filters { seconds: Some(vec![0]), ..Filters::default() };
    Definition::new(name, interval("UTC", &filters))
}

/// Runs at midnight of its zone.
pub(crate) fn daily(name: &str, zone: &str) -> Definition {
    let filters = Filters {
        hours: Some(vec![0]),
        minutes: Some(vec![0]),
        seconds: Some(vec![0]),
        ..Filters::default()
    };
    Definition::new(name, interval(zone, &filters))
}

/// Runs each hour, by cron.
pub(crate) fn hourly(name: &str) -> Definition {
    Definition::new(name, CronSchedule::new("UTC", "0 * * * *").expect("a good expression"))
}

/// The list of the original program, in its order.
pub(crate) fn original() -> Vec<Definition> {
    let at = |seconds: &[u8]| {
        interval("US/Pacific", &Filters { seconds: Some(seconds.to_vec()), ..Filters::default() })
    };
    vec![
        Definition::new("runners.example", at(&[0])).kwarg("message", "Ping from recurring_jobs"),
        daily("runners.sweep_partial_file_uploads", "US/Pacific"),
        Definition::new("runners.revenue_cat.sweep_open_stripe_checkout_sessions", at(&[0, 30])),
    ]
}

/// The digests of the original's jobs and of its list, in winter.
pub(crate) const WINTER: ([&str; 3], &str) = (
    ["18080596565217940053", "15215491021367002535", "3729345068580280250"],
    "9002109888067321013",
);
/// The same in summer.
pub(crate) const SUMMER: ([&str; 3], &str) = (
    ["18080598042437162853", "15215917937722391735", "3729370181307067850"],
    "9009819495191114213",
);
