//! The printed user can do what keyrack does, and nothing else.

mod sources;

use std::collections::BTreeSet;
use std::fs;

use keyrack_jobs::{bee::keys as bee, hot::keys as hot};
use keyrack_lint::{InferOptions, Options};
use keyrack_store::{Event, Script, Store, script};
use keyrack_testkit::{RedisCluster, RedisServer};

use super::*;

/// Nothing here may need shell quoting or survive in the printed line.
const PASSWORD: &str = "a secret >with #everything";

/// What the command prints for these services and projects, both separated by commas.
fn line_for(layout: Layout, services: &str, projects: &str) -> String {
    let names = |text: &str| -> Vec<String> {
        text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let args = Args {
        user: "keyrack".to_owned(),
        password: Some(PASSWORD.to_owned()),
        cluster: layout == Layout::Cluster,
        services: names(services),
        projects: names(projects),
        program: None,
    };
    super::line(&args).unwrap_or_else(|failure| panic!("{failure:?}"))
}

fn line(layout: Layout) -> String {
    line_for(layout, "", "1,2")
}

/// Gives the user to a running server.
fn set_user(server: &RedisServer, line: &str) {
    let rules = line.strip_prefix("user ").expect("a line of an ACL file");
    let mut cmd = redis::cmd("ACL");
    cmd.arg("SETUSER").arg(rules.split(' ').collect::<Vec<_>>());
    cmd.exec(&mut server.connection()).expect("the rules are accepted");
}

fn login() -> String {
    format!("keyrack:{}", PASSWORD.replace(' ', "%20").replace('>', "%3E").replace('#', "%23"))
}

async fn open(addresses: &str) -> Store {
    let url = addresses.replace("://", &format!("://{}@", login()));
    Store::open(&url).await.unwrap_or_else(|error| panic!("could not open {url}: {error}"))
}

fn server() -> RedisServer {
    RedisServer::builder().config("databases", "128").start()
}

#[test]
fn password_is_not_printed() {
    assert!(!line(Layout::Documented).contains("everything"));
}

#[test]
fn foreign_keys_are_for_reading_only() {
    let line = line(Layout::Documented);
    let words: Vec<&str> = line.split(' ').collect();
    assert!(words.contains(&"%R~bee:scripts") && !words.contains(&"~bee:scripts"));
    assert!(words.contains(&"~bee:ss:queue:*") && words.contains(&"&bee:ch:q:*"));
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_files_are_read_and_not_written() {
    let text = "[document]\nname = \"shop\"\n[parts]\nid = \"integer\"\n[keys.visits]\n\
                template = \"visits:<id>\"\ntype = \"stream\"\nmax_items = 5\n\
                fields = { at = \"unix-ms\" }\n";
    let source = keyrack_keys::file::Source { name: "shop.keys.toml", text };
    let documents = keyrack_keys::file::read(&[source]).unwrap();
    let mut families: Vec<&[&'static Family]> = vec![documents[0].families.as_slice()];
    families.extend(keyrack_contract::own());
    let registry = Registry::new(&families);
    let user = AclUser {
        name: "keyrack",
        password: Some(PASSWORD),
        layout: Layout::Documented,
        projects: AclProjects::Named(&[]),
    };
    let line = acl_user(&user, &registry);
    let words: Vec<&str> = line.split(' ').collect();
    assert!(words.contains(&"%R~visits:[0-9]*") && !words.contains(&"~visits:[0-9]*"), "{line}");
    let server = server();
    set_user(&server, &line);
    let mut add = redis::cmd("XADD");
    add.arg(&["visits:7", "*", "at", "soon"]).exec(&mut server.connection()).unwrap();
    let store = open(&server.url()).await;
    let report = keyrack_lint::lint(&store, &registry, &Options::default(), |_| {}).await.unwrap();
    let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("KL08 visits:7: field \"at\""), "{found:?}");
    let mut newest = redis::cmd("XREVRANGE");
    newest.arg(&["visits:7", "+", "-", "COUNT", "1"]);
    newest.query_async::<redis::Value>(&mut store.connection()).await.unwrap();
    let deleted = redis::cmd("DEL").arg("visits:7").exec_async(&mut store.connection()).await;
    assert_eq!(deleted.unwrap_err().code(), Some("NOPERM"));
    assert!(!line_for(Layout::Documented, "", "").contains("+xrevrange"));
}

#[tokio::test(flavor = "multi_thread")]
async fn line_loads_from_an_acl_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("users.acl");
    fs::write(&file, format!("user default on nopass ~* &* +@all\n{}\n", line(Layout::Documented)))
        .unwrap();
    let server = RedisServer::builder().config("aclfile", &file.display().to_string()).start();
    open(&server.url()).await.ping().await.unwrap();
}

static MOVE: Script = script!("tests/move.lua");

/// Keys of other programs, some of which look like keys of calculations.
const OTHERS: &[&str] = &[
    "cache:product:5:v2",
    "cache:product:5:17",
    "bull:emails:job:17",
    "bull:emails:job:set",
    "sessions:alice",
    "3:job-skills:python:17",
    "{tag}cache:product:5:17",
    "set:3:rules",
    "hash:3:job-skills:python:values",
    "queue",
];

/// Every way to touch a key: reading, writing, deleting, and inside a script with the key declared or not.
const TOUCHES: &[&str] = &[
    "TYPE KEY",
    "DEL KEY",
    "UNLINK KEY",
    "EXPIRE KEY 1",
    "SET KEY 1",
    "GET KEY",
    "HSET KEY a b",
    "LPUSH KEY a",
    "SADD KEY a",
    "ZADD KEY 1 a",
    "EVAL return(redis.call('DEL',KEYS[1])) 1 KEY",
    "EVAL return(redis.call('DEL',ARGV[1])) 0 KEY",
];

async fn assert_cannot_touch(store: &Store, key: &str) {
    for touch in TOUCHES {
        let words = touch.replace("KEY", key).replace(&format!("{key}S[1]"), "KEYS[1]");
        let error = ask(store, &words).await.expect_err(&words);
        let text = error.to_string();
        let is_refused = ["NoPerm", "NOPERM", "can't access", "non local key"]
            .iter()
            .any(|told| text.contains(told));
        assert!(is_refused, "{words}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_other_programs_cannot_be_touched_on_a_server() {
    for (services, projects) in
        [("", ""), ("", "1,2"), ("calculations", "2"), ("jobs,progress", "")]
    {
        let server = server();
        set_user(&server, &line_for(Layout::Documented, services, projects));
        let store = open(&server.url()).await;
        for key in OTHERS {
            redis::cmd("SET").arg(key).arg(1).exec(&mut server.connection()).unwrap();
            assert_cannot_touch(&store, key).await;
            let value: String = redis::cmd("GET").arg(key).query(&mut server.connection()).unwrap();
            assert_eq!(value, "1");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_other_programs_cannot_be_touched_on_a_cluster() {
    let cluster = RedisCluster::start();
    cluster.nodes().iter().for_each(|node| set_user(node, &line(Layout::Cluster)));
    let store = open(&cluster.url()).await;
    for key in OTHERS {
        assert_cannot_touch(&store, key).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn user_of_some_services_cannot_touch_the_keys_of_the_others() {
    let server = server();
    set_user(&server, &line_for(Layout::Documented, "jobs,progress", ""));
    let store = open(&server.url()).await;
    work(&store).await;
    store.probe().await.unwrap();
    ask(&store, "SADD pbars:alice import").await.unwrap();
    for family in registry().families() {
        let is_granted = ["jobs", "progress", STORE].contains(&family.owner_crate());
        if !is_granted {
            assert_cannot_touch(&store, family.example).await;
        }
    }
}

#[test]
fn service_that_does_not_exist_is_refused_with_those_that_do() {
    let failure = registry_of(&["job".to_owned()]).unwrap_err();
    let told = format!("{failure:?}");
    assert!(
        told.contains("there is no service \\\"job\\\"") && told.contains("jobs, progress"),
        "{told}"
    );
}

/// What the services do with a store: scripts, pipelines, messages, blocking pops.
async fn work(store: &Store) {
    let (queue, group) = (bee::QueueName::new("q").unwrap(), bee::Group::new("g").unwrap());
    let (waiting, delayed) = (bee::queue(&queue, &group), bee::delayed(&queue, &group));
    let mut pipeline = redis::pipe();
    pipeline.atomic();
    for (key, score) in [(&waiting, 1), (&delayed, 1_600_000_000_000_i64)] {
        pipeline.cmd("ZADD").arg(&*store.place(key)).arg(score).arg("j1").ignore();
    }
    pipeline.exec_async(&mut store.connection()).await.unwrap();

    let channel = bee::queue_events(&queue, &group);
    let mut subscription = store.subscribe(std::slice::from_ref(&channel)).await.unwrap();
    let call = MOVE.call(store).key("from", &waiting).key("to", &delayed).key("channel", &channel);
    let left: u64 =
        call.arg("member", "j1").arg("score", 1_600_000_000_001_i64).run().await.unwrap();
    assert_eq!(left, 0);
    match subscription.next().await {
        Some(Event::Message(message)) => assert_eq!(message.payload, b"j1"),
        other => panic!("no message but {other:?}"),
    }
    store.publish(&channel, "by hand").await.unwrap();

    // A plain job goes in by a transaction, one with a priority by a script.
    let hive = keyrack_jobs::bee::Hive::named(store.clone(), "host:1:acl");
    let job = || keyrack_jobs::bee::Submission::to(queue.clone());
    hive.submit(job()).await.unwrap();
    hive.submit(job().priority(10.0)).await.unwrap();

    let hot = store.place(&hot::hot()).into_owned();
    redis::cmd("RPUSH").arg(&hot).arg("job").exec_async(&mut store.connection()).await.unwrap();
    let mut pop = redis::cmd("BLPOP");
    let popped: (String, String) =
        pop.arg(&hot).arg(5).query_async(&mut store.blocking()).await.unwrap();
    assert_eq!(popped.1, "job");
}

/// What the tools do with a store.
async fn look_around(store: &Store) {
    store.info().await.unwrap();
    keyrack_lint::lint(store, registry(), &Options::default(), |_| {}).await.unwrap();
    let all = InferOptions { all: true, ..InferOptions::default() };
    keyrack_lint::infer(store, registry(), &all, |_| {}).await.unwrap();
}

#[track_caller]
fn assert_refused(reply: redis::RedisResult<redis::Value>) {
    let error = reply.expect_err("not allowed");
    assert_eq!(error.code(), Some("NOPERM"), "{error}");
}

async fn ask(store: &Store, words: &str) -> redis::RedisResult<redis::Value> {
    let mut words = words.split(' ');
    let mut cmd = redis::cmd(words.next().unwrap());
    words.for_each(|word| {
        cmd.arg(word);
    });
    cmd.query_async(&mut store.connection()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn user_can_do_what_keyrack_does_on_a_server() {
    let server = server();
    set_user(&server, &line(Layout::Documented));
    let store = open(&server.url()).await;
    work(&store).await;
    ask(&store.database(100).await.unwrap(), "SADD set:projects 1").await.unwrap();
    ask(&store, "HGETALL bee:scripts").await.unwrap();
    look_around(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn user_can_do_what_keyrack_does_on_a_cluster() {
    let cluster = RedisCluster::start();
    cluster.nodes().iter().for_each(|node| set_user(node, &line(Layout::Cluster)));
    let store = open(&cluster.url()).await;
    work(&store).await;
    look_around(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn user_is_refused_everything_else() {
    let server = server();
    set_user(&server, &line(Layout::Documented));
    let store = open(&server.url()).await;
    for words in [
        "GET somebody:elses",
        "SET somebody:elses 1",
        "HSET bee:scripts a b",
        "PUBLISH somebody:elses 1",
        "EVAL return(redis.call('GET','x')) 1 somebody:elses",
        "FLUSHALL",
        "CONFIG GET *",
        "KEYS *",
        "ACL LIST",
    ] {
        assert_refused(ask(&store, words).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lint_under_this_user_still_tells_of_keys_that_do_not_belong() {
    let server = server();
    redis::cmd("SET").arg("somebody:elses").arg(1).exec(&mut server.connection()).unwrap();
    set_user(&server, &line(Layout::Documented));
    let store = open(&server.url()).await;
    let report = keyrack_lint::lint(&store, registry(), &Options::default(), |_| {}).await.unwrap();
    let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["KL01 somebody:elses: belongs to no declared family"]);
}

/// Words in a file that are sent to no server: what the engine in this process is told, and codes of errors.
const NOT_SENT: &[(&str, &str)] = &[
    ("keyrack/src/serve.rs", "config"),
    // The title of a column.
    ("keyrack/src/token/list.rs", "role"),
    ("store/src/reply.rs", "readonly"),
    // The name of Lua's table.
    ("store/src/script/assemble.rs", "keys"),
    ("store/src/sentinel.rs", "readonly"),
    // A migration changes keys of other programs, as a user of theirs.
    ("keyrack/src/keys/migrate/apply.rs", "renamenx"),
    // Streams are copied whole, by whoever may do that on both stores.
    ("keyrack/src/store/copy/pass.rs", "dump"),
    ("keyrack/src/store/copy/pass.rs", "restore"),
    ("keyrack/src/store/value.rs", "xrange"),
    // The title of a column.
    ("keyrack/src/store/verify.rs", "keys"),
    ("keyrack/src/keys/migrate/apply.rs", "dump"),
    ("keyrack/src/keys/migrate/apply.rs", "restore"),
    ("keyrack/src/keys/migrate/place.rs", "dump"),
    ("keyrack/src/keys/migrate/place.rs", "lset"),
    // For types and sizes that only keys files declare.
    ("dashboard/src/key/content.rs", "xlen"),
    ("dashboard/src/key/content.rs", "xrevrange"),
    ("lint/src/content.rs", "xrange"),
    ("lint/src/infer/guess.rs", "xrange"),
    ("lint/src/subject.rs", "strlen"),
    ("lint/src/subject.rs", "xlen"),
];

/// Methods of the `redis` crate's pipelines that send a command of another name, or whose name nothing else has.
const TYPED_METHODS: &[&str] = &[
    "hset_multiple",
    "zadd_multiple",
    "hget_all",
    "hset_nx",
    "set_multiple",
    "mset",
    "mset_nx",
    "set_ex",
    "pset_ex",
    "set_nx",
    "zincr",
    "hincr",
    "zrange_withscores",
    "zrangebyscore",
    "lrange",
    "smembers",
    "sadd",
    "srem",
    "zadd",
    "zrem",
    "hset",
    "hdel",
    "hget",
    "rpush",
    "lpush",
];

#[test]
fn every_command_in_the_sources_is_listed() {
    let server = RedisServer::start();
    let known: Vec<String> =
        redis::cmd("COMMAND").arg("LIST").query(&mut server.connection()).unwrap();
    let known: BTreeSet<String> = known.into_iter().collect();
    let line = line(Layout::Documented);
    let listed: BTreeSet<&str> =
        line.split(' ').filter_map(|word| word.strip_prefix('+')).collect();
    let containers: BTreeSet<&str> = listed
        .iter()
        .filter_map(|name| name.split_once('|'))
        .map(|(container, _)| container)
        .collect();
    let sources = sources::all();
    assert!(sources.len() > 40, "only {} files found", sources.len());
    for source in sources {
        for command in source.commands() {
            let not_sent =
                NOT_SENT.iter().any(|(file, word)| source.path.ends_with(file) && *word == command);
            let is_listed = listed.contains(&*command) || containers.contains(&*command);
            assert!(
                is_listed || not_sent || !known.contains(&command),
                "{} uses {}, which the store's acl/commands.rs does not list",
                source.path.display(),
                command.to_uppercase(),
            );
        }
        // That of info.rs is a question that touches no key. The others are about keys of another program: one, which is in one
        // place even while its slot moves, or a list and what was taken from it, on a server that is no cluster.
        let may_eval = [
            "store/src/script.rs",
            // It only names what the former does.
            "store/src/traced.rs",
            "store/src/info.rs",
            "keyrack/src/keys/migrate/place.rs",
            "keyrack/src/import/place.rs",
        ];
        let is_store = may_eval.iter().any(|file| source.path.ends_with(file));
        assert!(
            is_store || !source.commands().iter().any(|name| name.starts_with("eval")),
            "{}: scripts are run by the store, which keeps them whole in a moving slot",
            source.path.display(),
        );
        for method in TYPED_METHODS {
            assert!(
                !source.text.contains(&format!(".{method}(")),
                "{}: name the command behind {method} with cmd, so that it can be found and listed",
                source.path.display(),
            );
        }
        assert!(
            !source.text.contains("AsyncCommands") && !source.text.contains("redis::Commands"),
            "{}: name commands with redis::cmd, so that they can be found and listed",
            source.path.display(),
        );
    }
}
