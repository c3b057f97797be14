//! Calculations from the command line.

use std::{fs, process::Command};

use serde_json::json;

use crate::{program::Run, world::World};

const COLUMNS: &str = "account,project,dimension,key,value,created_at,interval,calculation";

/// A row for each of some days.
fn rows(days: std::ops::RangeInclusive<u32>) -> String {
    days.map(|day| {
        format!("7,2,job-skills,python,{day},2014-10-{day:02} 08:00:00 -0400,days;months,\"sum|count|linear_regression\"\n")
    })
    .collect()
}

fn line(value: &str, day: u32) -> String {
    json!({
        "account": "7", "project": "2", "dimension": "job-skills", "key": "python", "value": value,
        "created_at": format!("2014-10-{day:02} 08:00:00 -0400"), "interval": ["days"], "calculation": ["sum"],
    })
    .to_string()
}

#[test]
fn a_table_is_imported_shown_and_verified() {
    let world = World::new();
    fs::write(world.path("skills.csv"), format!("{COLUMNS}\n{}", rows(1..=9))).expect("written");
    let run = world.run("calc import skills.csv");
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (Some(0), "9 events stored, 0 refused\n"),
        "{run:?}"
    );
    assert!(!world.path("skills.csv.import").exists());

    let accounts = world.json("calc list");
    assert_eq!(accounts, json!([{"account": "7", "database": 0}]));
    let keys = world.json("calc list --account 7");
    assert_eq!(keys[0]["values"], 9);

    let shown = world.printed("calc show --account 7 2 job-skills python -n 2");
    assert!(shown.contains("  sum  ▁▂▃▄▅▅▆▇█  2014-10-01 to 2014-10-09\n"), "{shown}");
    assert!(shown.contains("   2014-10-09      9\n"), "{shown}");
    assert!(shown.contains("rising at 99 %, by 9 buckets; next 10.00 ± 0.00"), "{shown}");
    let json = world.json("calc show --account 7 2 job-skills python --interval months");
    assert_eq!(json["months"]["series"]["sum"], json!([{"bucket": "2014-10", "value": "45"}]));

    let run = world.run("calc verify --account 7");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{run:?}");
    assert!(run.stderr.contains("0 differences"), "{run:?}");
}

#[test]
fn damage_ends_verify_with_10_and_is_mended() {
    let world = World::new();
    fs::write(world.path("e.ndjson"), line("5", 1)).expect("written");
    assert_eq!(world.run("calc import e.ndjson").code, Some(0));
    let key = "{7}hash:2:job-skills:python:sum:days";
    let mut connection = world.server.connection();
    let damage = redis::cmd("HSET").arg(key).arg("2014-10-01").arg("6").exec(&mut connection);
    damage.expect("damaged");
    let run = world.run("calc verify --account 7 2");
    assert_eq!(run.code, Some(10), "{run:?}");
    let words = "hash:2:job-skills:python:sum:days 2014-10-01: 6 is stored, the values say 5\n";
    assert_eq!(run.stdout, words);
    assert_eq!(world.run("calc recompute --account 7 2 job-skills python").code, Some(0));
    assert_eq!(world.run("calc verify --account 7").code, Some(0));
}

#[test]
fn values_and_keys_are_deleted_and_results_follow() {
    let world = World::new();
    let lines = format!("{}\n{}\n", line("5", 1), line("7", 2));
    fs::write(world.path("e.ndjson"), lines).expect("written");
    assert_eq!(world.run("calc import e.ndjson").code, Some(0));
    let delete = "calc delete --account 7 2 job-skills python";
    let day = |day: u32| -> Option<String> {
        let key = "{7}hash:2:job-skills:python:sum:days";
        let field = format!("2014-10-{day:02}");
        let sum = redis::cmd("HGET").arg(key).arg(field).query(&mut world.server.connection());
        sum.expect("an answer")
    };
    assert_eq!((day(1), day(2)), (Some("5".to_owned()), Some("7".to_owned())));
    let mut one = world.keyrack(delete);
    one.args(["--at", "2014-10-01T08:00:00-04:00", "--yes"]);
    assert_eq!(Run::of(one).code, Some(0));
    assert_eq!((day(1), day(2)), (None, Some("7".to_owned())));
    assert_eq!(world.run("calc verify --account 7").code, Some(0));
    assert_eq!(world.run(&format!("{delete} --yes")).code, Some(0));
    assert_eq!(day(2), None);
    assert_eq!(world.run(&format!("{delete} --yes")).code, Some(3));
}

#[test]
fn bad_lines_are_told_and_the_others_stored() {
    let world = World::new();
    let lines = [&line("5", 1), "", "{oops", &line("many", 2), &line("7", 3)].join("\n");
    fs::write(world.path("e.ndjson"), lines).expect("written");
    let run = world.run("calc import e.ndjson");
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.starts_with("line 3: line: not an event"), "{run:?}");
    assert!(run.stderr.contains("line 4: value: \"many\" is no number"), "{run:?}");
    assert!(run.stderr.contains("2 events stored, 2 refused\n"), "{run:?}");
    let shown = world.json("calc show --account 7 2 job-skills python");
    assert_eq!(shown["days"]["series"]["sum"].as_array().map(Vec::len), Some(3));
    assert_eq!(world.run("calc import nothing.csv").code, Some(3));
}

#[test]
fn an_interrupted_import_goes_on_where_it_was() {
    let world = World::new();
    let (first, rest) = (format!("{COLUMNS}\n{}", rows(1..=4)), rows(5..=9));
    fs::write(world.path("skills.csv"), format!("{first}{rest}")).expect("written");
    // The note that an import leaves after its first four rows.
    let note = json!({
        "bytes": first.len(), "line": 5, "stored": 4, "refused": 0, "file_bytes": first.len() + rest.len(),
    });
    fs::write(world.path("skills.csv.import"), note.to_string()).expect("written");
    let run = world.run("calc import skills.csv");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.starts_with("resuming the interrupted import after line 5"), "{run:?}");
    assert!(run.stderr.ends_with("9 events stored, 0 refused\n"), "{run:?}");
    assert_eq!(
        world.json("calc list --account 7")[0]["values"],
        5,
        "the first four were done with"
    );
    let run = world.run("calc import skills.csv --restart");
    assert!(run.stderr.ends_with("9 events stored, 0 refused\n"), "{run:?}");
    assert_eq!(world.json("calc list --account 7")[0]["values"], 9);
}

#[test]
fn events_come_from_stdin_and_from_a_list_too() {
    let world = World::new();
    fs::write(world.path("lines"), line("5", 1)).expect("written");
    let mut import: Command = world.keyrack("calc import -");
    import.stdin(fs::File::open(world.path("lines")).expect("the lines"));
    assert_eq!(Run::of(import).code, Some(0));
    let mut connection = world.server.connection();
    let pushed =
        redis::cmd("RPUSH").arg("calculations:intake:in").arg(line("7", 2)).exec(&mut connection);
    pushed.expect("pushed");
    let run = world.run("calc ingest --list in --drain");
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (Some(0), "1 event stored, 0 refused\n"),
        "{run:?}"
    );
    assert_eq!(world.json("calc list --account 7")[0]["values"], 2);
}

#[test]
fn settings_tokens_and_unknown_names_are_told() {
    let world = World::new();
    let token = world.printed("calc token create 7 2");
    assert_eq!(token.trim().len(), 36);
    assert_eq!(world.run("calc token create 7 2").code, Some(4));
    assert_eq!(world.run("calc token delete 7 2").code, Some(0));
    assert_eq!(world.run("calc token delete 7 2").code, Some(3));
    assert_eq!(world.run("calc token add-admin short").code, Some(2));
    let settings = world.json("calc settings --account 7 2 gaps=calendar");
    assert_eq!((&settings["gaps"], &settings["zone"]), (&json!("calendar"), &json!("event")));
    let run = world.run("calc settings --account 7 2 gaps=none");
    assert_eq!(
        (run.code, run.failure().0),
        (Some(2), "error: gaps: \"none\" is none of \"skip\", \"calendar\"")
    );
    assert_eq!(world.run("calc show --account 8 2 d k").code, Some(3));
    assert_eq!(world.run("calc show --account 7 2 d k").code, Some(3));
    assert_eq!(world.run("calc show --account 7 2 d:e k").code, Some(2));
}
