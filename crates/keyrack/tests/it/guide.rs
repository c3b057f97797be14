//! The guides, typed as they are printed.

use std::{env, fs, path::Path, process::Command};

use tempfile::TempDir;

use crate::program::{Run, Serve};

/// The `sh` blocks of a page, but for the one that starts the server.
pub(crate) fn lines_to_type(page: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let text = fs::read_to_string(&path).expect("the page");
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.filter(|block| !block.starts_with("keyrack serve")).collect()
}

/// Types lines into a shell, with a server at hand; everything has to go well.
pub(crate) fn type_lines(lines: &str) -> (TempDir, Serve, Run) {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start(dir.path());
    let program = Path::new(env!("CARGO_BIN_EXE_keyrack")).parent().expect("a folder");
    let path = env::var("PATH").expect("a PATH");
    let lines = lines.replace("127.0.0.1:7701", &serve.resp().to_string());
    let lines = lines.replace("127.0.0.1:7700", &serve.http().to_string());
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &lines]).current_dir(dir.path());
    shell.env("PATH", format!("{}:{path}", program.display()));
    let run = Run::of(shell);
    assert_eq!(run.code, Some(0), "{run:?}");
    (dir, serve, run)
}

#[test]
fn guide_to_jobs_can_be_typed_as_it_is_printed() {
    let lines = lines_to_type("docs/jobs.md");
    let (dir, serve, run) = type_lines(&lines);
    assert!(run.stdout.contains("\"hello Alan\"\n"), "{run:?}");
    let store = format!("--store redis://{}", serve.resp());
    let listed = Run::line_in(dir.path(), &format!("jobs list greetings --json {store}")).stdout;
    for result in ["hello Ada", "hello Grace", "hello Alan"] {
        assert!(listed.contains(result), "{listed}");
    }
    assert_eq!(fs::read_to_string(dir.path().join("ids")).expect("the ids").lines().count(), 1000);
}

#[test]
fn guide_to_calculations_can_be_typed_as_it_is_printed() {
    let lines = lines_to_type("docs/calculations.md");
    let (_dir, _serve, run) = type_lines(&lines);
    let sums = r#"{"2014-W41":"5","2014-W42":"8","2014-W44":"12","2014-W45":"22.07"}"#;
    assert!(run.stdout.contains(sums), "{run:?}");
    assert!(run.stdout.contains(r#""calculated_value":"50""#), "{run:?}");
    assert!(run.stderr.contains("0 differences"), "{run:?}");
}

#[test]
fn guide_to_files_can_be_typed_as_it_is_printed() {
    let (_dir, _serve, run) = type_lines(&lines_to_type("docs/files.md"));
    assert!(run.stdout.contains("not a cat"), "{run:?}");
    assert!(run.stdout.contains("\"unexpected\": 1"), "{run:?}");
}

#[test]
fn guide_to_updates_can_be_typed_as_it_is_printed() {
    let (_dir, _serve, run) = type_lines(&lines_to_type("docs/updates.md"));
    assert!(run.stdout.contains("updated backend\n"), "{run:?}");
}

#[test]
fn guide_to_webhooks_can_be_typed_as_it_is_printed() {
    let (dir, serve, run) = type_lines(&lines_to_type("docs/webhooks.md"));
    assert!(run.stdout.contains("https://hooks.example.com  json"), "{run:?}");
    let created = fs::read_to_string(dir.path().join("created")).expect("what was printed");
    assert!(created.starts_with("wh_") && created.contains("\nwhsec_"), "{created}");
    assert!(run.stderr.contains("evt_") && run.stderr.contains(" deleted\n"), "{run:?}");
    let store = format!("--store redis://{}", serve.resp());
    let listed = Run::line_in(dir.path(), &format!("webhooks list --json {store}")).stdout;
    assert!(listed.contains("https://hooks.slack.com") && !listed.contains("XXXX"), "{listed}");
    assert!(
        listed.contains("https://events.pagerduty.com") && !listed.contains("R0123"),
        "{listed}"
    );
}

#[test]
fn guide_to_journeys_can_be_typed_as_it_is_printed() {
    let (_dir, _serve, run) = type_lines(&lines_to_type("docs/journeys.md"));
    assert!(run.stdout.contains("how are you?"), "{run:?}");
}

#[test]
fn readme_can_be_typed_as_it_is_printed() {
    let (_dir, _serve, run) = type_lines(&lines_to_type("README.md"));
    assert!(run.stdout.contains("  completed  "), "{run:?}");
    assert!(run.stdout.contains(r#""result":"hello Ada""#), "{run:?}");
    assert!(run.stdout.contains("part 3\n"), "{run:?}");
    assert!(run.stdout.contains("trace:<user_sub>:<bar>:<trace_uid>:step:<position>"), "{run:?}");
}

#[test]
fn guide_to_the_demo_can_be_typed_as_it_is_printed() {
    let (_dir, serve, run) = type_lines(&lines_to_type("docs/demo.md"));
    assert!(run.stdout.contains("demo/mail") && run.stdout.contains("demo/archive"), "{run:?}");
    assert!(run.stdout.contains("cleaned up after the demo: "), "{run:?}");
    assert!(run.stderr.contains("no demo data found\n"), "{run:?}");
    let left: Vec<String> =
        redis::cmd("KEYS").arg("*demo*").query(&mut serve.redis()).expect("an answer");
    assert_eq!(left, [""; 0]);
}

#[test]
fn guide_for_operators_can_be_typed_as_it_is_printed() {
    let (_dir, _serve, run) = type_lines(&lines_to_type("docs/operating.md"));
    assert!(run.stdout.contains("keyrack_store_up 1\n"), "{run:?}");
    assert!(run.stdout.contains("\"Ada\""), "the job is in the copy: {run:?}");
}

#[test]
fn guide_to_entitlements_can_be_typed_as_it_is_printed() {
    let lines = lines_to_type("docs/entitlements.md");
    let (dir, serve, run) = type_lines(&lines);
    assert!(run.stdout.contains("assumed (RevenueCat is unavailable)\n"), "{run:?}");
    assert!(run.stdout.contains("RevenueCat is available\n"), "one failure is not many: {run:?}");
    let store = format!("--store redis://{}", serve.resp());
    let shown = Run::line_in(dir.path(), &format!("entitlements show alice --json {store}")).stdout;
    assert_eq!(shown.trim(), "[]", "purged");
}

#[test]
fn guide_to_progress_bars_can_be_typed_as_it_is_printed() {
    let lines = lines_to_type("docs/progress.md");
    let (dir, serve, run) = type_lines(&lines);
    assert!(run.stdout.contains("connected\n") && !run.stdout.contains("tick"), "{run:?}");
    for bar in ["import", "resize"] {
        assert!(run.stderr.contains(&format!("\"{bar}\" completed after ")), "{run:?}");
    }
    let store = format!("--store redis://{}", serve.resp());
    let listed = Run::line_in(dir.path(), &format!("progress list --json {store}")).stdout;
    assert!(listed.contains("\"import\"") && !listed.contains("\"numbers\""), "{listed}");
}

#[test]
fn guide_to_access_can_be_typed_as_it_is_printed() {
    let (_dir, _serve, run) = type_lines(&lines_to_type("docs/access.md"));
    assert_eq!(run.stdout.matches("\"type\":\"forbidden\"").count(), 2, "{run:?}");
    assert_eq!(run.stdout.matches("\"type\":\"invalid\"").count(), 1, "revoked: {run:?}");
    assert!(run.stdout.contains("token_deleted"), "{run:?}");
}
