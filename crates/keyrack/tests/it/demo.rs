//! `keyrack demo` and `keyrack serve --demo`.

use keyrack_testkit::{Process, RedisServer, wait_for};
use tempfile::TempDir;

use crate::program::{Run, Serve, keyrack};

fn folder() -> TempDir {
    TempDir::new().expect("a folder")
}

/// What stands on each page once the demo has begun.
const PAGES: [(&str, &str); 13] = [
    ("/", "demo/archive"),
    ("/jobs", "demo/mail"),
    ("/queues/demo%2Freports", "demo/reports"),
    ("/recurring", "demo.check_health"),
    ("/progress", "import customers"),
    ("/calculations", "demo-shop"),
    ("/calculations/demo/demo-shop", "page-views"),
    ("/entitlements?user=demo-ada-0000", "demo-ada-0000"),
    ("/files", "demo-invoices"),
    ("/journeys", "Demo: how was your week?"),
    ("/updates", "demo-"),
    ("/recommender", "Pool by day and category"),
    ("/keys", "bee:ss:queue:"),
];

#[test]
fn every_page_shows_something() {
    let dir = folder();
    let mut serve = Serve::start_with(dir.path(), "--demo --speed 5", &[]);
    for (path, expected) in PAGES {
        wait_for(&format!("\"{expected}\" on {path}"), || {
            let (head, body) = serve.get(path);
            assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}");
            body.contains(expected).then_some(())
        });
    }
    assert_eq!(serve.process.terminate().code(), Some(0));
    assert!(serve.words().contains("cleaned up after the demo: "), "{}", serve.words());

    let mut again = Serve::start(dir.path());
    let keys: Vec<String> =
        redis::cmd("KEYS").arg("*demo*").query(&mut again.redis()).expect("an answer");
    assert_eq!(keys, [""; 0]);
    again.process.terminate();
}

#[test]
fn without_a_store_it_runs_in_memory() {
    let dir = folder();
    let mut command = keyrack(dir.path());
    command.args(["demo"]).envs([("KEYRACK_HTTP", "127.0.0.1:0"), ("KEYRACK_RESP", "127.0.0.1:0")]);
    let log = dir.path().join("log");
    command.stderr(std::fs::File::create(&log).expect("a log"));
    let mut demo = Process::spawn("keyrack demo", command);
    let words = || std::fs::read_to_string(&log).expect("the log");
    wait_for("the demo to be ready", || words().contains("ready; ").then_some(()));
    assert!(words().contains("  store  embedded:memory"), "{}", words());
    assert_eq!(demo.terminate().code(), Some(0));
    assert!(!dir.path().join("keyrack-data").exists());
}

#[test]
fn data_of_others_is_refused_unless_yes() {
    let (dir, server) = (folder(), RedisServer::start());
    redis::cmd("SET").arg("mine").arg(1).exec(&mut server.connection()).expect("set");
    let url = server.url();
    let run = Run::line_in(dir.path(), &format!("demo --store {url}"));
    assert_eq!(run.code, Some(4), "{run:?}");
    let (error, hint) = run.failure();
    assert_eq!(error, "error: the store holds other data, such as the key \"mine\"");
    assert!(hint.is_some_and(|hint| hint.contains("--yes")), "{run:?}");
    let keys: u64 = redis::cmd("DBSIZE").query(&mut server.connection()).expect("a number");
    assert_eq!(keys, 1);
}

#[test]
fn what_a_killed_demo_has_left_is_cleaned_up() {
    let (dir, server) = (folder(), RedisServer::start());
    redis::cmd("SET").arg("mine").arg(1).exec(&mut server.connection()).expect("set");
    let mut command = keyrack(dir.path());
    command.args(["demo", "--yes", "--quiet", "--store", &server.url()]);
    let mut demo = Process::spawn("keyrack demo", command);
    let size =
        || -> u64 { redis::cmd("DBSIZE").query(&mut server.connection()).expect("a number") };
    wait_for("the demo to write", || (size() > 50).then_some(()));
    demo.kill();
    let run = Run::line_in(dir.path(), &format!("demo --clean --store {}", server.url()));
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.starts_with("cleaned up after the demo: "), "{run:?}");
    assert_eq!(size(), 1);
}

#[test]
fn options_of_a_demo_without_one_are_refused() {
    let run = Run::line("serve --speed 3");
    assert_eq!(run.code, Some(2), "{run:?}");
    assert_eq!(run.failure().1, Some("hint: add --demo"));
}
