//! The commands of docs/jobs-http.md, run as they stand there.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use keyrack_testkit::{Port, Process, clients, wait_for, wait_until};
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::program::Serve;

const PAGE: &str = include_str!("../../../../docs/jobs-http.md");

/// A block of code, and what stands right below it.
struct Block {
    language: String,
    code: String,
    expected: Option<String>,
}

fn blocks() -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<(String, String)> = None;
    let mut follows_code = false;
    for line in PAGE.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((language.to_owned(), String::new())),
            (None, None) => follows_code = false,
            (Some((_, code)), None) => code.extend([line, "\n"]),
            (Some(_), Some(_)) => {
                let (language, code) = open.take().expect("just seen");
                match blocks.last_mut() {
                    Some(last) if follows_code && language == "json" => last.expected = Some(code),
                    _ => blocks.push(Block { language, code, expected: None }),
                }
                follows_code = true;
            }
        }
    }
    blocks
}

/// Compares with what the page shows, where "…" stands for anything, and as a key for any others.
#[track_caller]
fn check(shown: &Json, real: &Json, context: &str) {
    match (shown, real) {
        (Json::String(any), _) if any == "…" => {}
        (Json::Object(shown), Json::Object(real)) => {
            for (key, value) in shown.iter().filter(|(key, _)| *key != "…") {
                let real = real.get(key).unwrap_or_else(|| panic!("no \"{key}\" in {context}"));
                check(value, real, context);
            }
            let is_whole = shown.contains_key("…") || shown.len() == real.len();
            assert!(is_whole, "more than shown in {context}");
        }
        (Json::Array(shown), Json::Array(real)) => {
            assert_eq!(shown.len(), real.len(), "{context}");
            shown.iter().zip(real).for_each(|(shown, real)| check(shown, real, context));
        }
        _ => assert_eq!(shown, real, "{context}"),
    }
}

fn values(text: &str) -> Vec<Json> {
    let values = serde_json::Deserializer::from_str(text).into_iter();
    values.map(|value| value.unwrap_or_else(|error| panic!("{error} in {text}"))).collect()
}

fn run(script: &str, serve: &Serve, dir: &Path) -> String {
    let mut bash = Command::new("bash");
    bash.args(["-euc", script]).current_dir(dir).env("KEYRACK", format!("http://{}", serve.http()));
    let output = bash.output().expect("bash runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    assert!(output.status.success(), "{}\n{}", text(output.stdout), text(output.stderr));
    text(output.stdout)
}

#[test]
fn every_command_answers_as_the_page_says() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start(dir.path());
    // The first block starts the server.
    let blocks: Vec<Block> =
        blocks().into_iter().filter(|block| block.language == "sh").skip(1).collect();
    assert!(blocks.len() > 15, "{} blocks", blocks.len());
    // One script, so that variables last; what listens in the background ends with it.
    let mut script = "trap 'kill $(jobs -p)' EXIT\n".to_owned();
    for block in &blocks {
        script.push_str(&block.code);
        script.push_str("echo; echo ======\n");
    }
    let output = run(&script, &serve, dir.path());
    let answers: Vec<&str> = output.split("======\n").collect();
    assert_eq!(answers.len(), blocks.len() + 1, "{output}");
    for (block, answer) in blocks.iter().zip(answers) {
        let (shown, real) = (values(block.expected.as_deref().unwrap_or_default()), values(answer));
        let context = format!("{}\n{answer}", block.code);
        assert_eq!(shown.len(), real.len(), "{context}");
        shown.iter().zip(&real).for_each(|(shown, real)| check(shown, real, &context));
    }
}

/// The worker of the page, with some of its code replaced.
fn worker(dir: &Path, address: SocketAddr, replaced: &[(&str, &str)]) -> Process {
    let worker = blocks().into_iter().find(|block| block.language == "python").expect("a worker");
    let lines = worker.code.lines().filter(|line| !line.is_empty()).count();
    assert!(lines <= 30, "{lines} lines");
    let code = replaced.iter().fold(worker.code, |code, (old, new)| {
        assert!(code.contains(old), "no {old:?} in the worker");
        code.replace(old, new)
    });
    fs::write(dir.join("worker.py"), code).expect("written");
    let mut python = clients::python();
    python.arg("worker.py").current_dir(dir).env("KEYRACK", format!("http://{address}"));
    Process::spawn("the worker", python)
}

fn outcome(jid: &str, serve: &Serve, dir: &Path) -> Json {
    wait_for("the job to end", || {
        let script = format!("curl -s \"$KEYRACK/api/1/jobs/{jid}/outcome?wait_s=10\"");
        let outcome = values(&run(&script, serve, dir)).remove(0);
        (outcome["ended"] == true).then(|| outcome["job"].clone())
    })
}

#[test]
fn the_worker_in_thirty_lines_runs_jobs() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start(dir.path());
    let _worker = worker(dir.path(), serve.http(), &[]);
    let submit = r#"curl -s $KEYRACK/api/1/queues/thumbnails/jobs -d '[
        {"jid": "good", "data": ["cat.jpg", 64]}, {"jid": "bad", "data": ["cat.jpg"], "retries": 0}
    ]'"#;
    run(submit, &serve, dir.path());
    let good = outcome("good", &serve, dir.path());
    assert_eq!(good["result"], serde_json::json!({"path": "cat-64.jpg"}));
    let bad = outcome("bad", &serve, dir.path());
    let reason = bad["failedReason"].as_str().expect("a reason");
    assert!(reason.contains("missing 1 required positional argument"), "{reason}");
}

/// A job that goes on until a file is there.
const WAITS_FOR_FILE: (&str, &str) = (
    "    return {\"path\"",
    "    while path == \"wait\" and not os.path.exists(f\"end-{size}\"):\n        time.sleep(0.01)\n    return {\"path\"",
);

#[test]
fn the_worker_in_thirty_lines_outlives_outages_cancels_and_long_jobs() {
    let dir = TempDir::new().expect("a folder");
    let port = Port::lease();
    let address = SocketAddr::from(([127, 0, 0, 1], port.number()));
    // Its first claim meets a server that cannot serve.
    let away = TcpListener::bind(address).expect("the port");
    let (short_pauses, short_lock) =
        (("time.sleep(20)", "time.sleep(0.1)"), ("lock_s=60", "lock_s=1"));
    let _worker = worker(dir.path(), address, &[short_pauses, short_lock, WAITS_FOR_FILE]);
    for _ in 0..2 {
        let (mut stream, _) = away.accept().expect("a request");
        let mut head = [0; 1024];
        assert!(stream.read(&mut head).expect("a head") > 0);
        stream
            .write_all(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .expect("answered");
    }
    drop(away);
    let serve = Serve::start_with(dir.path(), &format!("--http {address}"), &[]);

    let submit = |jid: &str, data: &str| {
        let body = format!(r#"{{"jid": "{jid}", "data": {data}}}"#);
        run(
            &format!("curl -s $KEYRACK/api/1/queues/thumbnails/jobs -d '{body}'"),
            &serve,
            dir.path(),
        );
    };
    let job = |jid: &str| {
        values(&run(&format!("curl -s $KEYRACK/api/1/jobs/{jid}"), &serve, dir.path())).remove(0)
    };
    submit("canceled", r#"["wait", 1]"#);
    wait_until("the job to run", || job("canceled")["status"] == "running");
    run("curl -s -X DELETE $KEYRACK/api/1/jobs/canceled", &serve, dir.path());
    fs::write(dir.path().join("end-1"), "").expect("written");
    submit("next", r#"["cat.jpg", 64]"#);
    assert_eq!(outcome("next", &serve, dir.path())["status"], "completed");

    submit("long", r#"["wait", 2]"#);
    wait_until("the job to run", || job("long")["status"] == "running");
    // Twice as long as its lock.
    let begun = Instant::now();
    wait_until("the lock to be over", || {
        assert_eq!(job("long")["status"], "running");
        begun.elapsed() > Duration::from_secs(2)
    });
    fs::write(dir.path().join("end-2"), "").expect("written");
    let long = outcome("long", &serve, dir.path());
    assert_eq!((&long["status"], &long["attempts"]), (&"completed".into(), &1.into()));
}
