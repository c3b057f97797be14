//! Putting jobs in.

use std::fs;

use serde_json::{Value as Json, json};

use crate::world::World;

#[test]
fn every_option_reaches_the_job() {
    let world = World::new();
    let (before, parent) = (world.submit("0"), world.submit("0"));
    let jid = world.submit(&format!(
        "1 \"two\" [3] --priority -2.5 --delay 5m --tag a --tag b --after {before} --after-tags --parent {parent} \
         --tenant acme --limit gpu --limit api.example.com --host worker-7 --retries 2 --retry-delay 1m30s --progressive --ttl 7d --id my-own"
    ));
    assert_eq!(jid, "my-own");
    let job = world.job(&jid);
    assert_eq!(job["data"], json!([1, "two", [3]]));
    assert_eq!(
        job["options"],
        json!({
            "priority": -2.5, "delay": 300_000, "dependencies": [before], "dependenciesOnTags": true,
            "preferredHostname": "worker-7", "retries": 2, "retryDelay": 90_000, "progressiveDelay": true,
            "ttl": 604_800_000, "limits": ["gpu", "api.example.com"],
        })
    );
    assert_eq!((&job["tags"], &job["tenant"]), (&json!(["a", "b"]), &json!("acme")));
    assert_eq!(job["parent"], json!(parent));
    assert_eq!(world.json("jobs submit q --id other"), json!({ "jid": "other" }));
}

#[test]
fn a_job_stands_for_equal_ones_and_the_answer_says_so() {
    let world = World::new();
    let first = world.submit("1 --unique user:42");
    let second = world.run("jobs submit q 2 --unique user:42");
    assert_eq!(second.stdout.trim(), first);
    assert_eq!(second.stderr, format!("{first} was submitted before\n"));
    let answer = |line: &str| world.json(&format!("jobs submit q {line}"));
    assert_eq!(
        answer("3 --unique user:42 --unique-until started"),
        json!({ "jid": first, "outcome": "existing" })
    );
    assert_eq!(world.job(&first)["data"], json!([1]));

    let burst = "--unique index --debounce 1h --debounce-max 2h";
    let job = answer(&format!("1 {burst}"));
    assert_eq!(job["outcome"], "created");
    assert_eq!(answer(&format!("2 {burst}")), json!({ "jid": job["jid"], "outcome": "replaced" }));
    assert_eq!(world.job(job["jid"].as_str().expect("an id"))["data"], json!([2]));

    assert_eq!(answer("--id sync --unique-by id")["outcome"], "created");
    assert_eq!(answer("--id sync --unique-by id --unique-for 1m")["outcome"], "existing");
    assert_eq!(answer("7 --throttle 1h")["outcome"], "created");
    assert_eq!(answer("7 --throttle 1h")["outcome"], "existing", "by its arguments");
    fs::write(world.path("jobs"), r#"{"data": [8], "unique": {"key": "user:42"}}"#)
        .expect("written");
    assert_eq!(world.run("jobs submit q --many jobs").stdout.trim(), first);
}

#[test]
fn a_job_says_which_submissions_it_stands_for() {
    let world = World::new();
    for (options, unique, words) in [
        (
            "--unique user:42",
            json!({ "key": "user:42", "until": "ended" }),
            "submissions with the key \"user:42\", until it has ended",
        ),
        (
            "--unique k --unique-until started",
            json!({ "key": "k", "until": "started" }),
            "submissions with the key \"k\", until it starts",
        ),
        (
            "--unique-by args --unique-for 90s",
            json!({ "by": "args", "for": 90_000 }),
            "submissions with its arguments, for 1m30s after its submission",
        ),
        (
            "--unique-by id --id mine",
            json!({ "by": "id", "until": "ended" }),
            "submissions with its id, until it has ended",
        ),
        (
            "--unique burst --debounce 2s",
            json!({ "key": "burst", "debounce": 2_000, "debounceMax": 20_000 }),
            "submissions with the key \"burst\", until it starts; debounced: 2s after the last, 20s after the first",
        ),
        (
            "--unique api --throttle 5s",
            json!({ "key": "api", "throttle": 5_000 }),
            "submissions with the key \"api\", for 5s; throttled: others are dropped",
        ),
        (
            "--unique fold --throttle 5s --fold",
            json!({ "key": "fold", "throttle": 5_000, "fold": true }),
            "submissions with the key \"fold\", for 5s; throttled: others are folded into one more",
        ),
    ] {
        let jid = world.submit(&format!("1 {options}"));
        let job = world.job(&jid);
        assert_eq!((&job["unique"], &job["options"]["unique"]), (&unique, &unique), "{options}");
        let shown = world.printed(&format!("jobs show {jid}"));
        let line = shown.lines().find_map(|line| line.trim_start().strip_prefix("stands for  "));
        assert_eq!(line, Some(words), "{shown}");
    }
    let plain = world.submit("9");
    assert_eq!(world.job(&plain)["unique"], json!(null));
    assert!(!world.printed(&format!("jobs show {plain}")).contains("stands for"));
}

#[test]
fn other_arguments_end_what_a_job_stands_for_by_its_arguments() {
    let world = World::new();
    let jid = world.submit("1 --unique-by args");
    assert_eq!(world.run(&format!("jobs change {jid} --args [1]")).code, Some(0));
    assert_eq!(world.job(&jid)["unique"]["by"], "args", "they are the same");
    assert_eq!(world.run(&format!("jobs change {jid} --args [2]")).code, Some(0));
    assert_eq!(world.job(&jid)["unique"], json!(null));
    assert_ne!(world.submit("1 --unique-by args"), jid);
    let by_key = world.submit("3 --unique k");
    assert_eq!(world.run(&format!("jobs change {by_key} --args [4] --priority 2")).code, Some(0));
    assert_eq!(world.job(&by_key)["unique"]["key"], "k", "it goes on");
}

#[test]
fn what_makes_no_sense_is_refused_and_nothing_is_stored() {
    let world = World::new();
    let long = format!("\"{}\"", "x".repeat(2 << 20));
    fs::write(world.path("long"), format!("[{long}]\n")).expect("written");
    for (line, words) in [
        ("jobs submit q alice", "a string needs its quotes, as in '\"alice\"'"),
        ("jobs submit q 1 --delay -5s", "less than 0"),
        ("jobs submit q 1 --delay 11h61y", "write a number and a unit"),
        ("jobs submit q 1 --after-tags", "the job has no tags"),
        ("jobs submit mail/send 1 --after x", "only jobs of one group"),
        ("jobs submit q 1 --id a:b", "\"a:b\" has characters other than"),
        ("jobs submit q 1 --many long", "cannot be used with"),
        ("jobs submit q 1 --unique-by name", "give id or args"),
        ("jobs submit q 1 --unique-by id", "unique.by: id, but the job has none"),
        ("jobs submit q 1 --debounce 5s --debounce-max 1s", "unique.debounceMax: 1000 ms"),
        ("jobs submit q 1 --debounce 5s --throttle 1s", "cannot be used with"),
        ("jobs submit q 1 --debounce 5s --delay 1s", "delay: not with unique.debounce"),
        ("jobs submit q 1 --unique-for 0s", "0"),
        ("jobs submit q 1 --fold", "--throttle"),
    ] {
        let run = world.run(line);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{line}: {run:?}");
        assert!(run.stderr.contains(words), "{line}: {run:?}");
    }
    let run = world.run("jobs submit q --many long");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.stderr.contains("line 1: more than "), "{run:?}");
    assert_eq!(world.run("jobs list q").code, Some(3), "there is no such queue");
}

#[test]
fn taken_id_ends_with_4() {
    let world = World::new();
    world.submit("--id mine");
    let run = world.run("jobs submit q --id mine");
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.failure().0.contains("there is a job \"mine\" already"));
}

#[test]
fn waiting_prints_the_result_and_ends_as_the_job_does() {
    let world = World::new();
    let _work =
        world.work("", "read -r job; case $job in *'[0]'*) echo '{\"sum\":3}';; *) exit 65;; esac");
    let run = world.run("jobs submit q 0 --wait=20s");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "{\"sum\":3}\n"), "{run:?}");
    let run = world.run("jobs submit q 1 --wait --quiet");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.failure().0.ends_with("ended as failed: the command ended with exit code 65"));
    let job = world.run("jobs submit q 0 --wait --quiet --json");
    let job: Json = serde_json::from_str(&job.stdout).expect("JSON");
    assert_eq!((&job["status"], &job["result"]), (&json!("completed"), &json!({ "sum": 3 })));
}

#[test]
fn patience_of_a_wait_ends() {
    let world = World::new();
    let run = world.run("jobs submit q 0 --wait=50ms --id slow");
    assert_eq!(run.code, Some(1), "{run:?}");
    let expected = "error: job \"slow\" did not end within 50 ms";
    assert_eq!(
        run.failure(),
        (expected, Some("hint: \"keyrack jobs why slow\" shows what it is waiting for"))
    );
}

#[test]
fn many_jobs_come_from_lines_and_bad_lines_are_told() {
    let world = World::new();
    let lines = "[1]\n\n{\"data\":[2],\"priority\":3,\"jid\":\"two\"}\nthree\n{\"email\":4}\n[5]";
    fs::write(world.path("jobs.ndjson"), lines).expect("written");
    let run = world.run("jobs submit q --many jobs.ndjson");
    assert_eq!(run.code, Some(1), "{run:?}");
    let jids: Vec<&str> = run.stdout.lines().collect();
    assert_eq!((jids.len(), jids[1]), (3, "two"));
    assert!(run.stderr.starts_with(
        "line 4: neither a list of arguments nor an object\nline 5: unknown field `email`"
    ));
    assert!(
        run.stderr.ends_with("3 jobs submitted, 2 refused\nerror: 2 lines not submitted\n"),
        "{run:?}"
    );
    assert_eq!(world.job(jids[2])["data"], json!([5]));
    assert_eq!(world.job("two")["options"]["priority"], 3);

    let run = world.run("jobs submit q --many jobs.ndjson --json");
    let answers: Vec<Json> =
        run.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let numbers: Vec<&Json> = answers.iter().map(|answer| &answer["line"]).collect();
    assert_eq!(numbers, [1, 3, 4, 5, 6]);
    assert!(answers[1]["error"].as_str().is_some_and(|error| error.contains("\"two\" already")));
    assert_eq!(world.run("jobs submit q --many nothing").code, Some(3));
}

#[test]
fn many_jobs_come_from_stdin_too() {
    let world = World::new();
    let lines = (0..5_000).map(|i| format!("[{i}]\n")).collect::<String>();
    fs::write(world.path("lines"), lines).expect("written");
    let mut command = world.keyrack("jobs submit q --many -");
    command.stdin(fs::File::open(world.path("lines")).expect("the lines"));
    let run = crate::program::Run::of(command);
    assert_eq!((run.code, run.stdout.lines().count()), (Some(0), 5_000));
    assert_eq!(run.stderr, "5,000 jobs submitted, 0 refused\n");
    assert_eq!(world.json("jobs stats q")[0]["queued"], 5_000);
}
