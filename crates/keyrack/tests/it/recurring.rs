//! `keyrack recurring`, and what `keyrack serve` makes of it.

use std::{fs, time::Duration};

use keyrack_testkit::{RedisServer, wait_until};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::program::{Run, Serve};

/// A job each second for a Bee queue, one that never came so far for the hot queue.
const FILE: &str = r#"
[[recurring]]
name = "tick"
zone = "UTC"
cron = "* * * * * *"
kwargs = { zoo = 1, ant = "x" }
queue = "ticks"

[[recurring]]
name = "new year"
zone = "Europe/Berlin"
months = [1]
days_of_month = [1]
hours = [0]
minutes = [0]
seconds = [0]
"#;

fn folder(file: &str) -> TempDir {
    let dir = TempDir::new().expect("a folder");
    fs::write(dir.path().join("keyrack.toml"), file).expect("the file is written");
    dir
}

#[track_caller]
fn json(dir: &TempDir, line: &str) -> Json {
    let run = Run::line_in(dir.path(), line);
    assert_eq!(run.code, Some(0), "{run:?}");
    serde_json::from_str(&run.stdout).expect("JSON")
}

#[test]
fn serve_queues_what_is_due() {
    let dir = folder(FILE);
    let serve = Serve::start(dir.path());
    assert!(serve.words().contains("  jobs   2 recurring\n"), "{}", serve.words());
    let store = format!("--store redis://{}", serve.resp());
    let stats = || json(&dir, &format!("jobs stats --json {store}"));
    wait_until("a job to be queued", || stats()[0]["queued"].as_u64() >= Some(1));
    let jobs = json(&dir, &format!("jobs list ticks --json --limit 1 {store}"));
    assert_eq!(jobs["jobs"][0]["data"], json!([{ "zoo": 1, "ant": "x" }]));

    let list = json(&dir, &format!("recurring list --json {store}"));
    assert_eq!(list["in_force"], true);
    let new_year = &list["jobs"][1];
    assert_eq!((&new_year["name"], &new_year["queue"]), (&json!("new year"), &json!(null)));
    // Berlin's new year is an hour before that of UTC.
    assert_eq!(new_year["next_run"].as_u64().map(|ms| ms / 1000 % 3600), Some(0));
    let run = Run::line_in(dir.path(), &format!("recurring list {store}"));
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(
        lines[0].starts_with("NAME      NEXT RUN             TO        DEFINED IN  WHEN"),
        "{run:?}"
    );
    assert!(lines[1].ends_with("ticks     settings    cron * * * * * * in UTC"), "{run:?}");
    assert!(lines[2].contains("  jobs:hot  settings    months 1, "), "{run:?}");
}

#[test]
fn paused_job_is_not_queued_and_can_be_run_by_hand() {
    let dir = folder(FILE);
    let serve = Serve::start(dir.path());
    let store = format!("--store redis://{}", serve.resp());
    let run = |name: &str, verb: &str| {
        let mut command = crate::program::keyrack(dir.path());
        command.args(["recurring", verb, name]).args(store.split(' '));
        Run::of(command)
    };
    assert_eq!(run("new year", "pause").stderr, "recurring job \"new year\" paused\n");
    let list = || json(&dir, &format!("recurring list --json {store}"));
    assert_eq!(list()["jobs"][1]["paused"], true);
    assert_eq!(run("new year", "run").stderr, "1 job queued\n");
    let mut redis = serve.redis();
    let queued: Vec<String> =
        redis::cmd("LRANGE").arg("jobs:hot").arg(0).arg(-1).query(&mut redis).expect("a list");
    assert_eq!(queued.len(), 1);
    assert!(queued[0].starts_with(r#"{"name":"new year","kwargs":{}"#), "{queued:?}");
    assert_eq!(run("new year", "resume").stderr, "recurring job \"new year\" resumed\n");
    assert_eq!(list()["jobs"][1]["paused"], false);

    let missing = run("newyear", "run");
    assert_eq!(missing.code, Some(3), "{missing:?}");
    let expected =
        ("error: there is no recurring job \"newyear\"", Some("hint: did you mean \"new year\"?"));
    assert_eq!(missing.failure(), expected);
}

#[test]
fn list_says_whether_it_runs() {
    let dir = folder(FILE);
    let url = keyrack_testkit::RedisServer::start();
    let store = format!("--store {}", url.url());
    let list = |dir: &TempDir| Run::line_in(dir.path(), &format!("recurring list {store}"));
    assert!(list(&dir).stderr.starts_with("the jobs of the settings are not scheduled yet"));
    let _serve = Serve::start_with(dir.path(), &store, &[]);
    wait_until("the list to run", || list(&dir).stderr.is_empty());
    let other = folder(&FILE.replace("new year", "old year"));
    assert!(list(&other).stderr.starts_with("another list of recurring jobs runs in this store"));
    let none = folder("");
    let said = list(&none).stderr;
    assert!(
        said.starts_with("no recurring jobs; \"keyrack recurring create\" or [[recurring]]"),
        "{said}"
    );
    assert!(said.contains("more recurring jobs run in this store"), "{said}");
    let pause = Run::line_in(other.path(), &format!("recurring pause tick {store}"));
    assert_eq!(pause.code, Some(4), "{pause:?}");
}

#[test]
fn wrong_definition_is_told_with_its_line() {
    let dir = folder("[[recurring]]\nname = 'x'\nzone = 'UTC'\ncron = '99 * * * *'\n");
    let run = Run::line_in(dir.path(), "recurring list");
    assert_eq!(run.code, Some(2), "{run:?}");
    let (error, _) = run.failure();
    let start = "error: in \"keyrack.toml\": line 1: the recurring job \"x\" is not valid: the cron expression \"99 * * * *\"";
    assert!(error.starts_with(start), "{error}");
}

#[test]
fn an_older_settings_file_does_not_put_its_list_back() {
    let server = RedisServer::start();
    let (old, new) = (folder(FILE), folder(&FILE.replace("new year", "old year")));
    let long_ago = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let file = fs::File::options().write(true).open(old.path().join("keyrack.toml"));
    file.and_then(|file| file.set_modified(long_ago)).expect("an older file");
    let store = format!("--store {}", server.url());
    let of_old = Serve::start_with(old.path(), &store, &[]);
    let in_force =
        |dir: &TempDir| json(dir, &format!("recurring list --json {store}"))["in_force"] == true;
    wait_until("the only list to be in force", || in_force(&old));
    drop(of_old);
    let _newer = Serve::start_with(new.path(), &store, &[]);
    wait_until("the newer list to be in force", || in_force(&new));
    let older = Serve::start_with(old.path(), &store, &[]);
    wait_until("the older server to say so", || {
        older.words().contains("a newer list of recurring jobs is in force")
    });
    assert!(in_force(&new), "the newer list stays");
}

#[test]
fn jobs_are_created_changed_and_deleted_while_servers_without_a_list_run_them() {
    let server = RedisServer::start();
    let dir = folder("");
    let store = format!("--store {}", server.url());
    let _serves = [(); 2].map(|()| Serve::start_with(dir.path(), &store, &[]));
    let run = |line: &str| Run::line_in(dir.path(), &format!("recurring {line} {store}"));
    let created = run("create tick --every 1s --queue ticks --kwargs {\"n\":1}");
    assert_eq!(created.code, Some(0), "{created:?}");
    assert!(
        created.stdout.starts_with("recurring job \"tick\" created: version 1, next run "),
        "{created:?}"
    );
    let stats = || json(&dir, &format!("jobs stats --json {store}"));
    wait_until("two runs", || stats()[0]["queued"].as_u64() >= Some(2));

    let shown = json(&dir, &format!("recurring show tick {store}"));
    assert_eq!((&shown["version"], &shown["definition"]["every"]), (&json!(1), &json!("1s")));
    let changed = run("change tick --every 1h --if-version 1 --json");
    let changed: Json = serde_json::from_str(&changed.stdout).expect("JSON");
    assert_eq!((&changed["version"], &changed["queue"]), (&json!(2), &json!("ticks")));
    assert_eq!(changed["kwargs"], json!({"n": 1}), "what is not given stays");
    let conflict = run("change tick --every 2h --if-version 1");
    assert_eq!(conflict.code, Some(4), "{conflict:?}");
    assert!(conflict.stderr.contains("has version 2, not 1"), "{conflict:?}");

    let next = json(&dir, &format!("recurring next --days 1 --limit 5 --json {store}"));
    assert_eq!((next["runs"].as_array().map(Vec::len), &next["more"]), (Some(5), &json!(true)));
    let table = run("next --days 1");
    assert_eq!(table.stdout.lines().count(), 25, "{table:?}");
    assert_eq!(run("delete tick --if-version 1").code, Some(4));
    assert_eq!(run("delete tick").stderr, "recurring job \"tick\" deleted\n");
    assert_eq!(run("show tick").code, Some(3));
}

#[test]
fn what_makes_no_sense_is_refused_and_a_job_of_the_file_is_changed_there() {
    let dir = folder(FILE);
    let refused = |line: &str, code: i32, says: &str| {
        let mut words = vec!["recurring"];
        words.extend(line.split('|'));
        words.extend(["--store", "embedded:memory"]);
        let mut command = crate::program::keyrack(dir.path());
        command.args(words);
        let run = Run::of(command);
        assert_eq!(run.code, Some(code), "{line}: {run:?}");
        assert!(run.stderr.contains(says), "{line}: {run:?}");
    };
    refused("create|x|--queue|q", 2, "has no schedule");
    refused("create|x|--every|1m", 2, "has no queue");
    refused(
        "create|x|--every|0s|--queue|q",
        2,
        "\"every\" is \"0s\"; use whole seconds from 1s to 366d",
    );
    refused("create|x|--cron|0 0 30 2 *|--queue|q", 2, "never comes true");
    refused("create|x|--cron|* * * * *|--zone|Mars|--queue|q", 2, "there is no time zone \"Mars\"");
    refused("create|x|--at|2020-01-01T00:00:00Z|--queue|q", 2, "use a later time");
    refused("create|x|--every|1m|--queue|q|--kwargs|[1]", 2, "no JSON object");
    refused(
        "create|new year|--every|1m|--queue|q",
        4,
        "comes from the server's settings ([[recurring]] in keyrack.toml)",
    );
    refused("delete|new year", 4, "cannot be changed at run time; change it there");
    refused("next|--days|0", 2, "--days");
}
