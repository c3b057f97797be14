//! `keyrack store copy` and `store verify`: the same data in stores of every kind, whatever happened on the way.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use keyrack_calculations::{Accounts, Event, account, project};
use keyrack_demo::{Demo, Options};
use keyrack_jobs::bee::{
    Hive, Submission,
    keys::{Jid, QueueName, Tag},
};
use keyrack_store::Store;
use keyrack_testkit::{Process, RedisCluster, RedisServer, wait_for, wait_until_async};
use redis::Commands as _;
use tempfile::TempDir;

use crate::program::{Run, keyrack};

/// Queues of three groups, one of which is that of queues without one.
const QUEUES: [&str; 3] = ["mail", "shop/orders", "shop/refunds"];
const JOBS: usize = 60;

fn queue(name: &str) -> QueueName {
    QueueName::new(name).expect("a queue")
}

#[track_caller]
fn ended_well(run: &Run) {
    assert_eq!(run.code, Some(0), "{run:?}");
}

fn copy(dir: &Path, from: &str, to: &str, more: &str) -> Run {
    Run::line_in(dir, &format!("store copy {from} {to} {more}"))
}

/// Jobs that wait, are delayed, depend on others and carry one tag in all groups; and two accounts. Returns the jobs.
async fn put_jobs(store: &Store) -> BTreeSet<String> {
    let hive = Hive::open(store.clone()).await.expect("a hive");
    let mut jids = BTreeSet::new();
    for name in QUEUES {
        let mut last: Option<Jid> = None;
        for i in 0..JOBS {
            let mut job = Submission::to(queue(name)).arg(i).tag(Tag::new("all").expect("a tag"));
            job = match (i % 3, &last) {
                (1, Some(last)) => job.after(last.clone()),
                (2, _) => job.delay_ms(1.0),
                _ => job,
            };
            let jid = hive.submit(job).await.expect("submitted");
            jids.insert(jid.to_string());
            last = Some(jid);
        }
    }
    let accounts = Accounts::open(store.clone());
    for name in ["7", "3"] {
        let ledger = accounts.ledger(&account(name).expect("an account")).await.expect("a ledger");
        let (at, project) = ("2014-10-17 21:34:07 -0400", project("2").expect("a project"));
        let event = Event::new("skills", name, "8", at, &["weeks"], &["sum"]).expect("an event");
        ledger.record(&project, vec![event]).await.expect("recorded");
    }
    jids
}

/// Runs the demo, which uses every service, until its workers have completed some jobs.
async fn play_demo(store: &Store) {
    let options = Options { beside_others: true, speed: 20.0, ..Options::default() };
    let demo = Demo::open(store.clone(), keyrack_contract::registry(), options).await;
    let hive = Hive::named(store.clone(), "test");
    let worked = async {
        wait_until_async("jobs of the demo to end", async || {
            hive.stats(&queue("demo/mail")).await.expect("stats").ended >= 5
        })
        .await;
    };
    demo.expect("a demo").run(worked).await;
}

fn databases() -> RedisServer {
    RedisServer::builder().config("databases", "128").start()
}

/// What is wrong with a store: rule and family.
fn findings(dir: &Path, url: &str) -> BTreeSet<String> {
    let run = Run::line_in(dir, &format!("keys lint --json --store {url}"));
    let report: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("findings");
    let worse = findings.iter().filter(|finding| finding["severity"] != "info");
    worse.map(|finding| format!("{} {}", finding["code"], finding["family"])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_all_services_moves_from_a_folder_to_a_server_to_a_cluster_and_back() {
    let dir = TempDir::new().expect("a folder");
    let jids = {
        let store = Store::open(&format!("embedded:{}/first", dir.path().display())).await;
        let store = store.expect("a store");
        play_demo(&store).await;
        put_jobs(&store).await
    };
    let (server, cluster) = (databases(), RedisCluster::start());
    let path = |name: &str| format!("embedded:{}/{name}", dir.path().display());
    let stores = [path("first"), server.url(), cluster.url(), path("last")];
    let known = findings(dir.path(), &stores[0]);
    for (i, pair) in stores.windows(2).enumerate() {
        let run = copy(dir.path(), &pair[0], &pair[1], &format!("--cursor cursor{i}"));
        ended_well(&run);
        assert!(run.stderr.contains("equal: "), "{run:?}");
        let found = findings(dir.path(), &pair[1]);
        assert!(found.is_subset(&known), "{}: {found:?}, and at first {known:?}", pair[1]);
    }
    let run = Run::line_in(dir.path(), &format!("store verify {} {}", stores[0], stores[3]));
    ended_well(&run);
    assert!(run.stdout.contains("jobs.bee.tags") && !run.stdout.contains("differs"), "{run:?}");

    // Two rows of accounts, each with its own data.
    let store = Store::open(&stores[2]).await.expect("the cluster");
    for name in ["7", "3"] {
        let account = account(name).expect("an account");
        let ledger = Accounts::open(store.clone()).existing(&account).await.expect("a ledger");
        let (project, event) = (project("2").expect("a project"), "skills");
        let keys = ledger.keys(&project, &event.parse().expect("a dimension")).await;
        assert_eq!(keys.expect("keys").len(), 1, "{name}");
    }
    for name in QUEUES {
        let mut command = keyrack(dir.path());
        let line = format!("work {name} --drain --concurrency 8 --store {}", stores[2]);
        command.args(line.split(' ')).args(["--exec", "echo $KEYRACK_JOB_ID >> ran"]);
        ended_well(&Run::of(command));
    }
    let text = fs::read_to_string(dir.path().join("ran")).expect("jobs ran");
    let ran: Vec<&str> = text.lines().collect();
    assert_eq!(ran.len(), jids.len(), "each ran once");
    assert_eq!(ran.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), jids);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_further_pass_copies_what_has_changed_and_removes_what_has_gone() {
    let (server, cluster, dir) = (databases(), RedisCluster::start(), TempDir::new().unwrap());
    let (near, far) = (server.url(), cluster.url());
    let back = databases();
    let store = Store::open(&near).await.expect("a store");
    put_jobs(&store).await;
    let passes = || {
        let there = copy(dir.path(), &near, &far, "--cursor there");
        ended_well(&there);
        ended_well(&copy(dir.path(), &far, &back.url(), "--cursor back"));
        there
    };
    passes();
    let idle = passes();
    assert!(
        idle.stderr.contains("0 keys copied") && idle.stderr.contains(", 0 removed"),
        "{idle:?}"
    );

    let hive = Hive::open(store.clone()).await.expect("a hive");
    let worker = hive.new_worker(&queue("shop/orders")).expect("a worker");
    hive.claim(&queue("shop/orders"), &worker, 3, Duration::from_secs(600)).await.expect("claimed");
    let tagged = hive.submit(Submission::new("shop/refunds").expect("a queue").arg(1)).await;
    hive.cancel(&tagged.expect("submitted")).await.expect("canceled");
    let mut redis = server.connection();
    let jobs: Vec<String> = redis.smembers("bee:s:tags:all").expect("members");
    // All jobs of one group leave the tag, as if they had been canceled.
    let leaving: Vec<&String> = jobs.iter().filter(|jid| jid.starts_with("shop~")).collect();
    let _: () = redis.srem("bee:s:tags:all", leaving).expect("removed");
    let _: () = redis.del("bee:ss:delayed:mail").expect("removed");
    let run = Run::line_in(dir.path(), &format!("store verify {near} {far}"));
    assert_eq!(run.code, Some(10), "{run:?}");
    assert!(run.stdout.contains("differs"), "{run:?}");
    let pass = passes();
    assert!(!pass.stderr.contains(", 0 removed"), "{pass:?}");
    ended_well(&Run::line_in(dir.path(), &format!("store verify {near} {}", back.url())));
}

/// Keys of every type, long ones too, some of which expire.
fn put_types(redis: &mut redis::Connection) {
    let mut pipe = redis::pipe();
    for i in 0..2_500 {
        pipe.cmd("RPUSH").arg("x:list").arg(i % 7).ignore();
        pipe.cmd("SADD").arg("x:set").arg(format!("member {i}")).ignore();
        pipe.cmd("HSET").arg("x:hash").arg(format!("field {i}")).arg(i).ignore();
        pipe.cmd("ZADD").arg("x:zset").arg(1.0 / f64::from(i + 1)).arg(i).ignore();
        pipe.cmd("XADD").arg("x:stream").arg("*").arg("n").arg(i).ignore();
    }
    pipe.cmd("ZADD").arg("x:zset").arg("-inf").arg("low").arg("inf").arg("high").ignore();
    pipe.cmd("ZADD")
        .arg("x:small")
        .arg("1667950000.123456")
        .arg("at")
        .arg("1e300")
        .arg("b")
        .ignore();
    pipe.cmd("SET").arg("x:bytes").arg(b"\0\xff\r\n\x80").ignore();
    pipe.cmd("SETBIT").arg("x:bits").arg(1_000).arg(1).ignore();
    pipe.cmd("PFADD").arg("x:hll").arg("a").arg("b").arg("c").ignore();
    pipe.cmd("XGROUP").arg("CREATE").arg("x:stream").arg("g").arg("0").ignore();
    pipe.cmd("XREADGROUP").arg("GROUP").arg("g").arg("c").arg("COUNT").arg(5).arg("STREAMS");
    pipe.arg("x:stream").arg(">").ignore();
    for key in ["x:list", "x:bytes", "x:small", "x:stream"] {
        pipe.cmd("EXPIRE").arg(key).arg(5_000).ignore();
    }
    pipe.exec(redis).expect("written");
}

#[test]
fn keys_of_every_type_are_copied_as_they_are() {
    let (server, other, dir) =
        (RedisServer::start(), RedisServer::start(), TempDir::new().unwrap());
    put_types(&mut server.connection());
    let without = copy(dir.path(), &server.url(), &other.url(), "--dry-run");
    ended_well(&without);
    assert!(without.stderr.contains("not copied: 9 keys of no declared family"), "{without:?}");
    let run = copy(dir.path(), &server.url(), &other.url(), "--undeclared");
    ended_well(&run);
    let (mut a, mut b) = (server.connection(), other.connection());
    let names: Vec<String> = a.keys("*").expect("names");
    assert_eq!(names.len(), 9);
    for name in &names {
        let dumps = [&mut a, &mut b].map(|redis| -> Vec<u8> {
            redis::cmd("DUMP").arg(name).query(redis).expect("a value")
        });
        let ttls = [&mut a, &mut b].map(|redis| redis.ttl::<_, i64>(name).expect("a TTL"));
        assert!((ttls[0] - ttls[1]).abs() <= 2, "{name}: {ttls:?}");
        // Long sets and hashes are dumped in an order that differs from server to server.
        if !["x:set", "x:hash"].contains(&name.as_str()) {
            assert!(dumps[0] == dumps[1], "{name}");
        }
    }
    let pending: redis::Value =
        redis::cmd("XPENDING").arg("x:stream").arg("g").query(&mut b).expect("pending");
    let first = pending.as_sequence().and_then(<[_]>::first).cloned();
    assert_eq!(first, Some(redis::Value::Int(5)));
    let again = copy(dir.path(), &server.url(), &other.url(), "--undeclared");
    assert!(again.stderr.contains("0 keys copied, 9 unchanged, 0 removed"), "{again:?}");

    // An embedded store has no streams.
    let embedded = format!("embedded:{}/data", dir.path().display());
    let run = copy(dir.path(), &server.url(), &embedded, "--undeclared --cursor embedded");
    assert_eq!(run.code, Some(10), "{run:?}");
    assert!(run.stderr.contains("could not be copied: 1 key "), "{run:?}");
    assert!(run.stderr.contains("x:stream"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_was_killed_goes_on_where_it_was() {
    let (server, other, dir) = (databases(), databases(), TempDir::new().unwrap());
    put_jobs(&Store::open(&server.url()).await.expect("a store")).await;
    let mut command = keyrack(dir.path());
    let line = format!("store copy {} {} --rate 150", server.url(), other.url());
    command.args(line.split(' '));
    let process = Process::spawn("keyrack store copy", command);
    let file = dir.path().join("keyrack-copy.json");
    wait_for("a cursor", || {
        let text = fs::read_to_string(&file).ok()?;
        let position: serde_json::Value = serde_json::from_str(&text).ok()?;
        (position["at"]["cursor"].as_u64()? > 0).then_some(())
    });
    drop(process);
    let run = Run::line_in(dir.path(), &format!("store verify {} {}", server.url(), other.url()));
    assert_eq!(run.code, Some(10), "it was to be stopped halfway: {run:?}");
    let rest = copy(dir.path(), &server.url(), &other.url(), "--json");
    ended_well(&rest);
    let report: serde_json::Value = serde_json::from_str(&rest.stdout).expect("JSON");
    let total: i64 = redis::cmd("DBSIZE").query(&mut server.connection()).expect("a size");
    assert!(report["keys"].as_i64().expect("keys") < total, "it began anew: {report}");
    assert_eq!(report["comparison"]["equal"], true);
}

#[test]
fn targets_that_a_copy_could_spoil_are_refused() {
    let (server, other, dir) =
        (RedisServer::start(), RedisServer::start(), TempDir::new().unwrap());
    let (mut a, mut b) = (server.connection(), other.connection());
    let _: () = a.set("nextdb", "100").unwrap();
    let _: () = a.sadd("bee:s:queues", "mail").unwrap();
    let _: () = b.set("mine", "1").unwrap();
    let _: () = b.sadd("bee:s:queues", "theirs").unwrap();
    let (from, to) = (server.url(), other.url());
    let refused = |run: Run, code, words: &str| {
        assert_eq!(run.code, Some(code), "{run:?}");
        assert!(run.failure().0.contains(words), "{run:?}");
    };
    refused(copy(dir.path(), &from, &to, ""), 4, "is not empty");
    refused(copy(dir.path(), &from, &from, ""), 2, "are the same store");
    refused(copy(dir.path(), "embedded:nowhere", &to, ""), 3, "does not exist");
    assert!(!dir.path().join("nowhere").exists());
    let cluster = RedisCluster::start();
    refused(copy(dir.path(), &from, &cluster.url(), "--undeclared"), 2, "names change");
    assert_eq!(b.get::<_, String>("mine").unwrap(), "1");

    let run = copy(dir.path(), &from, &to, "--into-nonempty");
    ended_well(&run);
    assert_eq!(b.get::<_, String>("mine").unwrap(), "1");
    assert_eq!(b.smembers::<_, Vec<String>>("bee:s:queues").unwrap(), ["mail"]);
    let _: () = a.del("bee:s:queues").unwrap();
    let run = copy(dir.path(), &from, &to, "");
    assert_eq!(run.code, Some(10), "what was there is not removed: {run:?}");
    assert_eq!(b.smembers::<_, Vec<String>>("bee:s:queues").unwrap(), ["mail"]);
    refused(copy(dir.path(), &from, &cluster.url(), ""), 4, "belongs to the copy from");
}
