//! The same test on every kind of store.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use keyrack_engine::{SimulatedHost, SystemTimeSource, TimeSource};
use keyrack_store::{Options, Store};

use crate::{cluster::RedisCluster, server::RedisServer};

/// Runs a test on an embedded engine in memory, one on disk, a Redis server and a cluster.
///
/// On the server and the cluster it runs as the user that `keyrack keys acl` prints: a key that is not declared, or a
/// command that is not listed, is refused with NOPERM. After a change of either, `cargo xtask docs` renews that user.
///
/// Each has a world of its own. A panic names the store it happened on.
///
/// ```
/// # tokio_test();
/// # #[tokio::main(flavor = "current_thread")] async fn tokio_test() {
/// keyrack_testkit::on_every_store(async |store| {
///     let mut connection = store.connection();
///     let pong: String = redis::cmd("PING").query_async(&mut connection).await.unwrap();
///     assert_eq!(pong, "PONG");
/// })
/// .await;
/// # }
/// ```
///
/// # Panics
/// When the test does, or when a store cannot be started.
pub async fn on_every_store(test: impl AsyncFn(Store)) {
    Worlds::start(Rights::OfPrintedUser).run(&test).await;
}

/// Runs a test on every kind of store as a user who may do everything, for keys that are not declared.
///
/// # Panics
/// As [`on_every_store`].
pub async fn on_every_store_unrestricted(test: impl AsyncFn(Store)) {
    Worlds::start(Rights::All).run(&test).await;
}

/// Runs a test on every kind of store, each with a clock that stands at `now_ms` until it is moved.
///
/// This is the clock of the program: what the store itself does by time, such as expiry, goes by its own.
///
/// # Panics
/// As [`on_every_store`].
pub async fn on_every_store_at(now_ms: u64, test: impl AsyncFn(Store, SimulatedHost)) {
    let worlds = Worlds::start(Rights::OfPrintedUser);
    for url in worlds.urls() {
        let clock = SimulatedHost::new(now_ms, 0);
        let options = Options { clock: Some(Arc::new(clock.clone())), ..Options::default() };
        let store = Store::open_with(url.parse().expect("a good URL"), options).await;
        let store = store.unwrap_or_else(|error| panic!("could not open \"{url}\": {error}"));
        let named = OnPanic(&url);
        test(store, clock).await;
        std::mem::forget(named);
    }
}

/// The clocks of this machine, one of which a test sets as an operator would.
#[derive(Debug, Default)]
pub struct SetClock {
    offset_us: AtomicI64,
}

impl SetClock {
    /// Sets the time forward or back.
    pub fn step_ms(&self, ms: i64) {
        self.offset_us.fetch_add(ms * 1000, Ordering::SeqCst);
    }
}

impl TimeSource for SetClock {
    fn monotonic_us(&self) -> u64 {
        SystemTimeSource.monotonic_us()
    }

    fn wall_us(&self) -> u64 {
        SystemTimeSource.wall_us().saturating_add_signed(self.offset_us.load(Ordering::SeqCst))
    }
}

/// Runs a test on every kind of store, as two processes see it: one on a healthy machine, and one on a machine whose time the test sets.
///
/// An embedded store is in one process only, so there the two are the same.
///
/// # Panics
/// As [`on_every_store`].
pub async fn on_every_store_with_set_clock(test: impl AsyncFn(Store, Store, Arc<SetClock>)) {
    let worlds = Worlds::start(Rights::OfPrintedUser);
    for url in worlds.urls() {
        let clock = Arc::new(SetClock::default());
        let options = Options { time_source: Some(clock.clone()), ..Options::default() };
        let set = Store::open_with(url.parse().expect("a good URL"), options).await;
        let set = set.unwrap_or_else(|error| panic!("could not open \"{url}\": {error}"));
        let healthy = match set.engine() {
            Some(_) => set.clone(),
            None => Store::open(&url).await.expect("a store that was opened just now"),
        };
        let named = OnPanic(&url);
        test(healthy, set, clock).await;
        std::mem::forget(named);
    }
}

/// What the user may do as whom a test runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rights {
    All,
    /// Those of the user that `keyrack keys acl` prints, so that every test also shows that they suffice.
    OfPrintedUser,
}

/// One store of each kind.
struct Worlds {
    folder: tempfile::TempDir,
    server: RedisServer,
    cluster: RedisCluster,
    rights: Rights,
}

/// The printed user on a server and on a cluster, whose password is its name; written by `cargo xtask docs`.
const USERS: &str = include_str!("stores/users.acl");
const LOGIN: &str = "keyrack:keyrack@";

/// What tests do to look behind the scenes; keyrack sends none of these.
const COMMANDS_OF_TESTS: &[&str] = &[
    "+acl",
    "+client",
    "+command",
    "+config",
    "+debug",
    "+dump",
    "+echo",
    "+flushall",
    "+flushdb",
    "+keys",
    "+object",
    "+script",
];

impl Worlds {
    fn start(rights: Rights) -> Worlds {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (server, cluster) = (RedisServer::start(), RedisCluster::start());
        if rights == Rights::OfPrintedUser {
            let mut lines = USERS.lines();
            let mut line = || lines.next().expect("a line for each layout");
            give_user(&server, line());
            let line = line();
            cluster.nodes().iter().for_each(|node| give_user(node, line));
        }
        Worlds { folder, server, cluster, rights }
    }

    fn urls(&self) -> [String; 4] {
        let login = |url: String| match self.rights {
            Rights::All => url,
            Rights::OfPrintedUser => url.replace("://", &format!("://{LOGIN}")),
        };
        [
            "embedded:memory".to_owned(),
            format!("embedded:{}", self.folder.path().display()),
            login(self.server.url()),
            login(self.cluster.url()),
        ]
    }

    async fn run(&self, test: &impl AsyncFn(Store)) {
        for url in self.urls() {
            on_store(&url, test).await;
        }
    }
}

fn give_user(server: &RedisServer, line: &str) {
    let rules = line.strip_prefix("user ").expect("a line of an ACL file");
    let mut cmd = redis::cmd("ACL");
    cmd.arg("SETUSER").arg(rules.split(' ').collect::<Vec<_>>()).arg(COMMANDS_OF_TESTS);
    cmd.exec(&mut server.connection()).expect("the rules are accepted");
}

/// Runs a test on one store. A panic names it.
///
/// # Panics
/// When the test does, or when the store cannot be opened.
pub async fn on_store(url: &str, test: &impl AsyncFn(Store)) {
    let store =
        Store::open(url).await.unwrap_or_else(|error| panic!("could not open \"{url}\": {error}"));
    let named = OnPanic(url);
    test(store).await;
    std::mem::forget(named);
}

/// Says which store a test was running on, if it panics.
struct OnPanic<'a>(&'a str);

impl Drop for OnPanic<'_> {
    #[expect(clippy::print_stderr, reason = "the test runner shows it with the panic")]
    fn drop(&mut self) {
        eprintln!("this happened on the store \"{}\"", self.0);
    }
}

/// An embedded store in memory on a clock that is moved by hand.
///
/// After moving the clock, `store.engine()`'s `tick` makes timeouts and expiry happen. The same `seed` gives the same run.
///
/// # Panics
/// Never: an engine in memory always opens.
pub async fn simulated_store(now_ms: u64, seed: u64) -> (Store, SimulatedHost) {
    let clock = SimulatedHost::new(now_ms, seed);
    let options = Options {
        clock: Some(Arc::new(clock.clone())),
        host: Some(Box::new(clock.clone())),
        ..Options::default()
    };
    let url = "embedded:memory".parse().expect("a good URL");
    let store = Store::open_with(url, options).await.expect("an engine in memory opens");
    (store, clock)
}
