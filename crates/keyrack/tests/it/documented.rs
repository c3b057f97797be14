//! The commands of docs/jobs-http.md, run as they stand there.

use std::{fs, path::Path, process::Command};

use keyrack_testkit::{Process, clients, wait_for};
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

#[test]
fn the_worker_in_thirty_lines_runs_jobs() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start(dir.path());
    let worker = blocks().into_iter().find(|block| block.language == "python").expect("a worker");
    let lines = worker.code.lines().filter(|line| !line.is_empty()).count();
    assert!(lines <= 30, "{lines} lines");
    fs::write(dir.path().join("worker.py"), worker.code).expect("written");
    let mut python = clients::python();
    python.arg("worker.py").current_dir(dir.path());
    python.env("KEYRACK", format!("http://{}", serve.http()));
    let _worker = Process::spawn("the worker", python);

    let submit = r#"curl -s $KEYRACK/api/1/queues/thumbnails/jobs -d '[
        {"jid": "good", "data": ["cat.jpg", 64]}, {"jid": "bad", "data": ["cat.jpg"], "retries": 0}
    ]'"#;
    run(submit, &serve, dir.path());
    let outcome = |jid: &str| {
        wait_for("the job to end", || {
            let script = format!("curl -s \"$KEYRACK/api/1/jobs/{jid}/outcome?wait_s=10\"");
            let outcome = values(&run(&script, &serve, dir.path())).remove(0);
            (outcome["ended"] == true).then(|| outcome["job"].clone())
        })
    };
    assert_eq!(outcome("good")["result"], serde_json::json!({"path": "cat-64.jpg"}));
    let bad = outcome("bad");
    let reason = bad["failedReason"].as_str().expect("a reason");
    assert!(reason.contains("missing 1 required positional argument"), "{reason}");
}
