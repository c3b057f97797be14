//! `keyrack recommend`, from tables in files to a list and its reasons.

use std::{fs, path::Path};

use serde_json::json;
use tempfile::TempDir;

use crate::{
    guide::lines_to_type,
    program::{Run, Serve},
};

/// Two public challenges and a private one, with today's posts.
fn app() -> TempDir {
    let dir = TempDir::new().expect("a folder");
    let export = dir.path().join("export");
    fs::create_dir(&export).expect("a folder");
    let today = jiff::Timestamp::now().to_string();
    let challenges = format!(
        "id,category,is_public,duration,created_time\n1,0,1,30,{today}\n2,1,1,30,{today}\n3,1,0,30,{today}\n"
    );
    let posts = format!(
        "id,user_id,challenge_id,created_time,written_text\n10,a,1,{today},Ran\n11,b,2,{today},Swam\n12,c,3,{today},Between us\n13,c,1,{today},Ran too\n"
    );
    fs::write(export.join("challenge.csv"), challenges).expect("a file");
    fs::write(export.join("post.csv"), posts).expect("a file");
    let reactions = "{\"log_id\":1,\"post_id\":10,\"user_id\":\"me\",\"is_cancelled\":false}\n";
    fs::write(export.join("user_reaction_log.ndjson"), reactions).expect("a file");
    dir
}

#[track_caller]
fn run(dir: &TempDir, line: &str, code: i32) -> Run {
    let run = Run::line_in(dir.path(), line);
    assert_eq!(run.code, Some(code), "{line}: {run:?}");
    run
}

#[test]
fn tables_become_a_list_with_reasons() {
    let dir = app();
    let loaded = run(&dir, "recommend sync export --json", 0);
    let loaded: serde_json::Value = serde_json::from_str(&loaded.stdout).expect("JSON");
    assert_eq!((&loaded["posts"], &loaded["private"]), (&json!(3), &json!(1)));

    let list = run(&dir, "recommend for me --json", 0);
    let list: serde_json::Value = serde_json::from_str(&list.stdout).expect("JSON");
    assert_eq!(list["items"][0]["post_id"], 13);
    assert_eq!(list["items"][0]["because"], "you often react to challenge 1");
    assert_eq!(list["items"].as_array().map(Vec::len), Some(2));

    assert!(
        run(&dir, "recommend explain me 10", 0)
            .stdout
            .contains("against it: the user has reacted to it")
    );
    let private = run(&dir, "recommend explain me 12", 3);
    assert!(private.stderr.contains("the post 12 is not in the pool"), "{private:?}");
    assert!(
        run(&dir, "recommend stats", 0).stdout.contains("posts       3, by category 2 1 0 0 0")
    );
    assert!(run(&dir, "recommend for me", 0).stdout.contains("BECAUSE"));
}

#[test]
fn what_cannot_be_loaded_is_told() {
    let dir = app();
    let nowhere = run(&dir, "recommend sync nowhere", 1);
    assert!(nowhere.stderr.contains("\"nowhere\""), "{nowhere:?}");
    let renamed = run(&dir, "recommend sync export --rename posts=x", 2);
    assert!(renamed.stderr.contains("\"posts\" is no table or column"), "{renamed:?}");
    run(&dir, "recommend sync export --zone Atlantis/Nowhere", 2);
    let asked = run(&dir, "recommend rebuild export", 2);
    assert!(asked.stderr.contains("--yes"), "{asked:?}");
    run(&dir, "recommend rebuild export --yes", 0);
}

#[test]
fn guide_can_be_typed_as_it_is_printed() {
    let dir = TempDir::new().expect("a folder");
    let lines = lines_to_type("docs/recommender.md");
    let from = [("KEYRACK_RECOMMEND_FROM", "export")];
    let serve = Serve::start_with(dir.path(), "--recommend-zone UTC", &from);
    let lines = lines.replace("127.0.0.1:7701", &serve.resp().to_string());
    let lines = lines.replace("127.0.0.1:7700", &serve.http().to_string());
    let run = in_shell(&dir, &lines);
    assert_eq!(run.code, Some(0), "{run:?}");
    for said in [
        "you often react to challenge 1",
        "posts       3, by category 2 0 0 1 0",
        "\"taken\":true",
        "the user hid it",
        "Recommendation updated successfully",
        "\"written_text\":\"Swam, and it was cold\"",
        "times the best of the others",
    ] {
        assert!(run.stdout.contains(said), "{said}: {run:?}");
    }
    assert!(!run.stdout.contains("\"taken\":false"), "{run:?}");
    let (_, page) = serve.get("/recommender");
    assert!(page.contains("NDCG@10 is"), "the evaluation is in the dashboard: {page}");
}

#[test]
fn commands_of_the_guide_that_need_a_database_work_with_one() {
    let dir = TempDir::new().expect("a folder");
    let guide = include_str!("../../../../docs/recommender.md");
    let block = guide.split("```sh no-test\n").nth(1).and_then(|rest| rest.split("```").next());
    let commands: Vec<&str> = block.expect("a block").lines().collect();
    assert_eq!(commands.len(), 4, "{commands:?}");
    for (file, posts, body) in [("app.db", "post", "written_text"), ("renamed.db", "posts", "body")]
    {
        let make = MAKE.replace("FILE", file).replace("POSTS", posts).replace("BODY", body);
        let mut python = std::process::Command::new("python3");
        python.args(["-c", &make]).current_dir(dir.path());
        let made = Run::of(python);
        assert_eq!(made.code, Some(0), "{made:?}");
    }
    for command in commands {
        // The tests of the library load from real servers; here the names are what counts.
        let command = command.replace("postgres://reader@db/app", "sqlite:renamed.db");
        let command = command.replace("mysql://reader@db/app", "sqlite:app.db");
        let run = in_shell(&dir, &command);
        assert_eq!(run.code, Some(0), "{command}: {run:?}");
    }
    assert!(run(&dir, "recommend stats", 0).stdout.contains("posts       1, by category 1"));
}

/// Makes a database with a challenge and a post of today.
const MAKE: &str = r#"
import sqlite3
db = sqlite3.connect("FILE")
db.executescript("""
CREATE TABLE challenge (id INTEGER PRIMARY KEY, category INTEGER, is_public BOOLEAN, duration INTEGER, created_time TIMESTAMP);
CREATE TABLE groupchallengemembers (challenge_id INTEGER, user_id INTEGER);
CREATE TABLE POSTS (id INTEGER PRIMARY KEY, user_id INTEGER, challenge_id INTEGER, created_time TIMESTAMP, BODY TEXT);
CREATE TABLE user_reaction_log (log_id INTEGER PRIMARY KEY, post_id INTEGER, user_id INTEGER, is_cancelled BOOLEAN);
CREATE TABLE tracking (follower_id INTEGER, challenge_id INTEGER, is_terminated BOOLEAN);
INSERT INTO challenge VALUES (1, 0, 1, 30, datetime('now'));
INSERT INTO POSTS VALUES (10, 77, 1, datetime('now'), 'Ran');
""")
db.commit()
"#;

/// Types lines into a shell that finds the program.
fn in_shell(dir: &TempDir, lines: &str) -> Run {
    let program = Path::new(env!("CARGO_BIN_EXE_keyrack")).parent().expect("a folder");
    let path = std::env::var("PATH").expect("a PATH");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-e", "-c", lines]).current_dir(dir.path());
    shell.env("PATH", format!("{}:{path}", program.display()));
    Run::of(shell)
}
