//! Which settings win, as `config show` tells it.

use std::fs;

use tempfile::TempDir;

use crate::program::{Run, keyrack};

#[test]
fn origins_are_told_and_secrets_are_not() {
    let dir = TempDir::new().expect("a folder");
    let file = "http = '127.0.0.1:9001'\nresp = '127.0.0.1:9002'\nresp-password = 'hush'\n";
    fs::write(dir.path().join("keyrack.toml"), file).expect("the file is written");
    let mut command = keyrack(dir.path());
    command.args(["config", "show", "--origin", "--store", "redis://u:hush@h:1"]);
    command.env("KEYRACK_HTTP", "127.0.0.1:9003");
    let run = Run::of(command);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(!run.stdout.contains("hush"), "{run:?}");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let told: Vec<String> =
        run.stdout.lines().filter(|line| !line.ends_with("# by default")).map(words).collect();
    let expected = [
        "# store = \"redis://u:***@h:1\" # on the command line",
        "http = \"127.0.0.1:9003\" # in the environment, KEYRACK_HTTP",
        "resp = \"127.0.0.1:9002\" # in keyrack.toml",
        "# resp-password = \"***\" # in keyrack.toml",
    ];
    assert_eq!(told, expected);
    assert!(run.stdout.lines().any(|line| words(line) == "timings = \"keyrack\" # by default"));
}

#[test]
fn what_is_shown_can_be_used_as_a_file() {
    let dir = TempDir::new().expect("a folder");
    let shown = Run::line_in(dir.path(), "config show --data ./elsewhere").stdout;
    let recurring = "\n[[recurring]]\nname = \"ping\"\nzone = \"UTC\"\nseconds = [0]\n";
    let shown = shown + recurring;
    fs::write(dir.path().join("other.toml"), &shown).expect("the file is written");
    let again = Run::line_in(dir.path(), "config show --config other.toml");
    assert_eq!(again.stdout, shown, "{again:?}");
}

#[test]
fn json_has_every_setting() {
    let run = Run::line("config show --json");
    let shown: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let keys = shown.as_array().expect("a list").iter().map(|line| line["key"].as_str());
    let keys: Vec<&str> = keys.collect::<Option<_>>().expect("names");
    let lines = Run::line("config show").stdout;
    let name = |line: &str| line.trim_start_matches("# ").split(' ').next().map(str::to_owned);
    let in_lines: Vec<String> = lines.lines().filter_map(name).collect();
    assert_eq!(keys, in_lines);
    assert!(keys.len() >= 12 && keys[0] == "store", "{keys:?}");
}

#[test]
fn unknown_key_in_the_file_is_refused_with_the_nearest_one() {
    let dir = TempDir::new().expect("a folder");
    fs::write(dir.path().join("keyrack.toml"), "htp = 'x'\n").expect("the file is written");
    let run = Run::line_in(dir.path(), "config show");
    assert_eq!(run.code, Some(2));
    let expected = "error: in \"keyrack.toml\": there is no setting \"htp\"";
    assert_eq!(run.failure(), (expected, Some("hint: did you mean \"http\"?")));
}

#[test]
fn file_that_was_named_has_to_be_there() {
    let run = Run::line("config show --config nothing.toml");
    assert_eq!(run.code, Some(2));
    assert!(run.failure().0.contains("could not read the settings file \"nothing.toml\""));
}
