//! What is served, seen through a real socket.

use std::collections::HashSet;

use tempfile::TempDir;

use crate::program::{Run, Serve, keyrack};

#[test]
fn metrics_follow_the_openmetrics_text_format() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start(dir.path());
    redis::cmd("SET").arg("k").arg(1).exec(&mut serve.redis()).expect("acknowledged");
    serve.get("/");
    let (head, body) = serve.get("/metrics");
    assert!(head.to_lowercase().contains("content-type: application/openmetrics-text"), "{head}");
    let body = body.strip_suffix("# EOF\n").expect("the mark of the end");

    let mut types = HashSet::new();
    let mut samples = HashSet::new();
    for line in body.lines() {
        if let Some(name) = line.strip_prefix("# TYPE ") {
            let name = name.split(' ').next().expect("a name");
            assert!(types.insert(name.to_owned()), "{name} is declared twice");
            continue;
        }
        if line.starts_with("# ") {
            continue;
        }
        let (series, value) = line.rsplit_once(' ').expect("a name and a value");
        value.parse::<f64>().unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(samples.insert(series.to_owned()), "{series} is there twice");
        let name = series.split('{').next().expect("a name");
        let is_declared =
            |suffix: &&str| name.strip_suffix(*suffix).is_some_and(|stem| types.contains(stem));
        let suffixes = ["", "_total", "_info", "_bucket", "_sum", "_count"];
        assert!(suffixes.iter().any(is_declared), "{name} has no type");
    }
    for series in [
        "keyrack_store_up",
        "keyrack_store_keys{db=\"0\"}",
        "keyrack_store_undeclared_keys",
        "process_resident_memory_bytes",
        "keyrack_http_requests_total{method=\"GET\",route=\"/\",status=\"200\"}",
    ] {
        assert!(samples.contains(series), "no {series} in:\n{body}");
    }
}

#[test]
fn first_page_counts_keys_by_family() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start(dir.path());
    let mut redis = serve.redis();
    for i in 0..1_234 {
        let key = format!("trace:u{i}:bar:1");
        redis::cmd("HSET").arg(&[&key, "f", "1"]).exec(&mut redis).expect("acknowledged");
    }
    redis::cmd("SET").arg("stray").arg(1).exec(&mut redis).expect("acknowledged");
    let (head, page) = serve.get("/");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(page.contains("1,234"), "{page}");
    assert!(page.contains("1 key belongs to no family"), "{page}");
    let (_, family) = serve.get("/keys/progress.trace");
    assert!(family.contains("1,234"), "{family}");
}

#[test]
fn commands_on_empty_pages_work_while_the_server_runs() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start(dir.path());
    for (path, empty) in [
        ("/jobs", "No queue yet"),
        ("/progress", "No progress bar yet"),
        ("/journeys", "No journey yet"),
        ("/files", "No file waits"),
        ("/updates", "Nothing was announced yet"),
    ] {
        let (_, page) = serve.get(path);
        assert!(page.contains(empty), "{path}: {page}");
        let codes = page.split("<code>keyrack ").skip(1);
        let mut codes = codes.map(|rest| rest.split("</code>").next().expect("an end"));
        // Whoever follows does so for good.
        let command = codes.find(|code| !code.contains(" follow ")).expect("a command");
        let command = command.replace("&#39;", "'").replace("&#34;", "\"");
        let mut shell = std::process::Command::new("sh");
        let program = keyrack(dir.path());
        shell.args(["-c", &format!("\"$0\" \"$@\" {command}")]);
        shell.arg(program.get_program()).args(program.get_args());
        let run = Run::of(shell);
        assert_eq!(run.code, Some(0), "{path}: {command}: {run:?}");
        let (_, page) = serve.get(path);
        assert!(!page.contains(empty), "{path}: {command} has changed nothing");
    }
}
