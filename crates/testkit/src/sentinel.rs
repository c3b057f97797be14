//! A throw-away Sentinel group: a master, a replica, and three sentinels that watch them.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use crate::server::RedisServer;
use crate::wait::{wait_until, wait_until_or};

const MASTER_NAME: &str = "mymaster";
const SENTINELS: usize = 3;
const QUORUM: usize = 2;
/// Short enough that a switch takes seconds, long enough that a busy machine rarely causes one.
const DOWN_AFTER: Duration = Duration::from_secs(1);
/// Applies during a planned failover. A new master that a busy machine keeps from answering for
/// [`DOWN_AFTER`] would be replaced by the old one, which then never becomes a replica.
const DOWN_AFTER_IN_FAILOVER: Duration = Duration::from_secs(30);
/// After a split vote the sentinels wait for twice this long before they vote again.
const FAILOVER_TIMEOUT: Duration = Duration::from_secs(2);
/// Sentinels look at servers every ten seconds and at each other every two, which suits months of
/// operation and not a test. Two periods must not become too short:
///
/// - The ping period stays: a replica that has not answered for five of them is not eligible.
/// - Four publish periods after a replica reports that it is a master, a sentinel that has not heard of
///   the failover makes it a replica again. The sentinel that leads the failover looks at the promoted
///   replica once a second, whatever the periods are, and tells the others only then. So four publish
///   periods are well above a second.
///
/// A sentinel that did not run for two seconds, as when a busy disk holds up its fsync, changes nothing
/// for the tilt period, which is 30 s by default. A sentinel that is restarted goes back to its own
/// periods.
const PERIODS: [(&str, Duration); 3] = [
    ("info-period", Duration::from_millis(200)),
    ("publish-period", Duration::from_millis(750)),
    ("tilt-period", Duration::from_secs(2)),
];

/// A running group of two servers and three sentinels.
///
/// ```no_run
/// let mut group = keyrack_testkit::Sentinel::start();
/// let before = group.master_addr();
/// let after = group.kill_master();
/// assert_ne!(before, after);
/// ```
#[derive(Debug)]
pub struct Sentinel {
    sentinels: Vec<RedisServer>,
    servers: [RedisServer; 2],
}

impl Sentinel {
    /// Starts the group and waits until every sentinel knows the replica and the other sentinels.
    pub fn start() -> Self {
        // A master without a file is empty when it comes back, and Sentinel may promote it before it is a
        // replica again. Everything would be lost, whatever clients do.
        let master = RedisServer::builder().append_only().start();
        let replica = RedisServer::builder().append_only().replica_of(&master).start();
        // A sentinel asks a master for its replicas when it first meets it, so they come first.
        replica.wait_until_in_sync();
        let sentinels = (0..SENTINELS).map(|_| start_sentinel(master.port())).collect();
        let group = Self { sentinels, servers: [master, replica] };
        group.wait_until_watched();
        group
    }

    /// The name under which the sentinels know the master.
    pub fn master_name(&self) -> &'static str {
        MASTER_NAME
    }

    /// `redis+sentinel://host:port,host:port,host:port/mymaster`.
    pub fn url(&self) -> String {
        let addrs: Vec<String> = self.sentinels.iter().map(|it| it.addr().to_string()).collect();
        format!("redis+sentinel://{}/{MASTER_NAME}", addrs.join(","))
    }

    /// The sentinels, in the order of the URL.
    pub fn sentinels(&self) -> &[RedisServer] {
        &self.sentinels
    }

    /// One sentinel, to kill, pause or restart it.
    pub fn sentinel_mut(&mut self, index: usize) -> &mut RedisServer {
        &mut self.sentinels[index]
    }

    /// The address of the master that the sentinels agree on.
    pub fn master_addr(&self) -> SocketAddr {
        self.servers[self.master_index()].addr()
    }

    /// The server that the sentinels agree is master.
    pub fn master(&self) -> &RedisServer {
        &self.servers[self.master_index()]
    }

    /// The server that is not master, be it a replica or dead.
    pub fn other(&self) -> &RedisServer {
        &self.servers[1 - self.master_index()]
    }

    /// The server that is not master, to restart it after [`Sentinel::kill_master`].
    pub fn other_mut(&mut self) -> &mut RedisServer {
        &mut self.servers[1 - self.master_index()]
    }

    /// Kills the master and waits until the sentinels have replaced it; returns the new address.
    pub fn kill_master(&mut self) -> SocketAddr {
        let old = self.master_index();
        self.servers[old].kill();
        let new = &self.servers[1 - old];
        wait_until("the sentinels to agree on a new master", || {
            let mut masters = self.sentinels.iter().filter_map(master_port).peekable();
            masters.peek().is_some() && masters.all(|port| port == new.port())
        });
        wait_until("the new master to take writes", || {
            new.try_info("role").as_deref() == Some("master")
        });
        new.addr()
    }

    /// Has the sentinels swap master and replica, as an operator does before maintenance, and waits
    /// until they agree and the old master follows the new one.
    pub fn fail_over(&self) -> SocketAddr {
        self.wait_until_watched();
        self.set_down_after(DOWN_AFTER_IN_FAILOVER);
        let old = self.master_index();
        let mut cmd = redis::cmd("SENTINEL");
        cmd.arg("FAILOVER").arg(MASTER_NAME);
        // They refuse for as long as the last failover is not over for all of them.
        wait_until("the sentinels to begin a failover", || {
            cmd.exec(&mut self.sentinels[0].connection()).is_ok()
        });
        let new = &self.servers[1 - old];
        wait_until("the sentinels to agree on a new master", || {
            self.sentinels.iter().filter_map(master_port).all(|port| port == new.port())
        });
        // It hangs up on everybody when it is told to follow, so INFO is asked of it with patience.
        wait_until_or(
            "the old master to follow the new one",
            || self.servers[old].try_info("master_link_status").as_deref() == Some("up"),
            || self.describe(),
        );
        self.set_down_after(DOWN_AFTER);
        new.addr()
    }

    /// What every server and sentinel thinks of the group, with the end of its log.
    fn describe(&self) -> String {
        let mut text = String::new();
        for server in &self.servers {
            let role = server.try_info("role");
            let (master, link) =
                (server.try_info("master_port"), server.try_info("master_link_status"));
            text += &format!(
                "\nserver {}: role {role:?}, master {master:?}, link {link:?}\n{}",
                server.port(),
                log_end(server),
            );
        }
        for sentinel in &self.sentinels {
            let (master, replicas) =
                (ask::<Fields>(sentinel, "MASTER"), ask::<Vec<Fields>>(sentinel, "REPLICAS"));
            text += &format!(
                "\nsentinel {}: tilt {:?}, master {master:?}, replicas {replicas:?}\n{}",
                sentinel.port(),
                sentinel.try_info("sentinel_tilt"),
                log_end(sentinel),
            );
        }
        text
    }

    fn set_down_after(&self, down_after: Duration) {
        let mut set = redis::cmd("SENTINEL");
        set.arg("SET").arg(MASTER_NAME);
        set.arg("down-after-milliseconds").arg(down_after.as_millis() as u64);
        for sentinel in &self.sentinels {
            set.exec(&mut sentinel.connection()).unwrap_or_else(|error| {
                panic!("could not set the down-after period of a sentinel: {error}")
            });
        }
    }

    /// Waits until every sentinel sees a healthy replica and both other sentinels.
    pub fn wait_until_watched(&self) {
        wait_until("the sentinels to know the group", || {
            self.sentinels.iter().all(|sentinel| {
                let known =
                    |field, count: usize| master_field(sentinel, field) == Some(count.to_string());
                known("num-slaves", 1)
                    && known("num-other-sentinels", SENTINELS - 1)
                    && replica_is_healthy(sentinel)
            })
        });
    }

    fn master_index(&self) -> usize {
        let port = self.sentinels.iter().find_map(master_port);
        let port = port.expect("a sentinel runs and knows the master");
        let index = self.servers.iter().position(|server| server.port() == port);
        index.expect("the master is one of our servers")
    }
}

/// The last lines that a server has logged.
fn log_end(server: &RedisServer) -> String {
    const LINES: usize = 25;
    let log = server.log();
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

fn start_sentinel(master_port: u16) -> RedisServer {
    let monitor = format!("monitor {MASTER_NAME} 127.0.0.1 {master_port} {QUORUM}");
    let option =
        |name: &str, value: Duration| format!("{name} {MASTER_NAME} {}", value.as_millis());
    let sentinel = RedisServer::builder()
        .sentinel()
        .config("sentinel", &monitor)
        .config("sentinel", &option("down-after-milliseconds", DOWN_AFTER))
        .config("sentinel", &option("failover-timeout", FAILOVER_TIMEOUT))
        .start();
    let mut look_often = redis::cmd("SENTINEL");
    look_often.arg("DEBUG");
    for (period, length) in PERIODS {
        look_often.arg(period).arg(length.as_millis() as u64);
    }
    look_often
        .exec(&mut sentinel.connection())
        .unwrap_or_else(|error| panic!("could not set the periods of a sentinel: {error}"));
    sentinel
}

type Fields = HashMap<String, String>;

/// Asks one sentinel; `None` when it is dead or does not know.
fn ask<T: redis::FromRedisValue>(sentinel: &RedisServer, question: &str) -> Option<T> {
    let mut connection = redis::Client::open(sentinel.url()).ok()?.get_connection().ok()?;
    redis::cmd("SENTINEL").arg(question).arg(MASTER_NAME).query(&mut connection).ok()
}

fn master_port(sentinel: &RedisServer) -> Option<u16> {
    let (_host, port): (String, u16) = ask(sentinel, "GET-MASTER-ADDR-BY-NAME")?;
    Some(port)
}

fn master_field(sentinel: &RedisServer, field: &str) -> Option<String> {
    let mut fields: Fields = ask(sentinel, "MASTER")?;
    fields.remove(field)
}

fn replica_is_healthy(sentinel: &RedisServer) -> bool {
    let Some(replicas) = ask::<Vec<Fields>>(sentinel, "REPLICAS") else { return false };
    replicas.iter().all(|replica| {
        let is = |field, value| replica.get(field).is_some_and(|it| it == value);
        is("flags", "slave") && is("master-link-status", "ok")
    })
}
