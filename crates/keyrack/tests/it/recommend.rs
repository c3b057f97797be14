//! `keyrack recommend`, from tables in files to a list and its reasons.

use std::fs;

use serde_json::json;
use tempfile::TempDir;

use crate::program::Run;

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
