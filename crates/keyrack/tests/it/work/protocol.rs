//! What a command is given, and what is made of its end.

use keyrack_testkit::{wait_for, wait_until};
use serde_json::json;

use crate::{program::Run, world::World};

#[test]
fn command_gets_the_job_and_its_stdout_is_the_result() {
    let world = World::new();
    let jid = world.submit(r#"{"z":1.00000000000000000001,"a":[]} --tag t"#);
    let run = world.drain(
        "",
        r#"read -r job; echo "[\"$KEYRACK_JOB_ID\", \"$KEYRACK_QUEUE\", $KEYRACK_ATTEMPT, $job]""#,
    );
    assert!(run.stderr.contains(&format!("[{jid}] completed in ")), "{run:?}");
    let shown = world.run(&format!("jobs show {jid} --json")).stdout;
    assert!(
        shown.contains(r#""data":[{"a":[],"z":1.00000000000000000001}]"#),
        "all digits: {shown}"
    );
    let result = world.job(&jid)["result"].clone();
    assert_eq!((&result[0], &result[1], &result[2]), (&json!(jid), &json!("q"), &json!(1)));
    assert_eq!((&result[3]["jid"], &result[3]["tags"]), (&json!(jid), &json!(["t"])));
}

#[test]
fn program_with_arguments_runs_without_a_shell_and_nothing_on_stdout_is_null() {
    let world = World::new();
    let jid = world.submit("1");
    let mut command = world.keyrack("work q --drain");
    command.args(["--", "test", "$HOME; echo 1", "=", "$HOME; echo 1"]);
    let run = Run::of(command);
    assert_eq!(run.code, Some(0), "{run:?}");
    let job = world.job(&jid);
    assert_eq!((&job["status"], &job["result"]), (&json!("completed"), &json!(null)));
}

#[test]
fn stdout_that_is_not_json_fails_the_attempt_and_stores_no_result() {
    let world = World::new();
    let jid = world.submit("1 --retries 0");
    world.drain("", "echo done");
    let job = world.job(&jid);
    assert_eq!((&job["status"], &job["result"]), (&json!("failed"), &json!(null)));
    let history = job["history"].to_string();
    assert!(history.contains("stdout is not JSON") && history.contains(r#"\"done\""#), "{history}");
}

#[test]
fn exit_code_decides_whether_a_job_is_tried_again() {
    let world = World::new();
    let fatal = world.submit("65 --retry-delay 0");
    let later = world.submit("75 --retry-delay 1h");
    let often = world.submit("3 --retry-delay 0 --retries 2");
    world.drain("", r#"read -r job; code=${job#*data\":[}; echo "no luck" >&2; exit ${code%%]*}"#);
    assert_eq!(world.job(&fatal)["failedReason"], "the command ended with exit code 65: no luck");
    assert_eq!(world.job(&fatal)["attempts"], 1);
    assert_eq!(world.status(&later), "retried");
    assert_eq!(
        (world.status(&often), &world.job(&often)["attempts"]),
        ("failed".into(), &json!(3))
    );
}

#[test]
fn command_need_not_read_its_job_and_may_write_much() {
    let world = World::new();
    let data = format!("\"{}\"", "x".repeat(100_000));
    let small = world.submit(&data);
    world.drain("", r#"printf '"'; head -c 1000000 /dev/zero | tr '\0' x; printf '"'"#);
    assert_eq!(world.status(&small), "completed");
    let large = world.submit(&data);
    world.drain("", r#"printf '"'; head -c 1100000 /dev/zero | tr '\0' x; printf '"'"#);
    let reason = world.job(&large)["failedReason"].to_string();
    assert!(reason.contains("stdout has more than 1048576 bytes"), "{reason}");
}

#[test]
fn progress_lines_become_events_and_others_are_passed_on() {
    let world = World::new();
    let mut connection = world.server.connection();
    let mut listener = connection.as_pubsub();
    listener.subscribe("bee:ch:q:q").expect("subscribed");
    let jid = world.submit("1");
    // The second is told only when the first was, so that neither is left out.
    let exec = "echo 'progress: 40' >&2; echo 'half \u{1b}[31mway' >&2; \
                until [ -e heard ]; do sleep 0.02; done; echo 'progress: {\"step\":2}' >&2";
    let mut work = world.work("", exec);
    let mut progress = || {
        wait_for("progress to be told", || {
            let message: String = listener.get_message().ok()?.get_payload().ok()?;
            let event: serde_json::Value = serde_json::from_str(&message).ok()?;
            (event["type"] == "progress").then_some(event)
        })
    };
    let event = progress();
    assert_eq!((&event["jid"], &event["progress"]), (&json!(jid), &json!(40)));
    std::fs::write(world.path("heard"), "").expect("written");
    assert_eq!(progress()["progress"], json!({ "step": 2 }));
    work.process.terminate();
    let words = work.words();
    assert!(words.contains(&format!("[{jid}] half way\n")), "{words}");
    assert!(!words.contains("progress"), "{words}");
}

#[test]
fn unique_leaves_out_jobs_with_the_data_of_an_earlier_one() {
    let world = World::new();
    let (first, second, other) = (world.submit("1"), world.submit("1"), world.submit("2"));
    world.drain("--unique", "true");
    assert_eq!(world.status(&first), "completed");
    assert_eq!(world.job(&second)["duplicate"], json!(first));
    assert_eq!(world.status(&other), "completed");
}

#[test]
fn unique_asks_again_at_once_after_a_claim_that_brought_only_duplicates() {
    let world = World::new();
    let (equal, other) = (vec!["{\"data\":[1]}\n"; 200].concat(), "{\"data\":[2]}\n");
    std::fs::write(world.path("jobs"), equal + other).expect("written");
    assert_eq!(world.run("jobs submit q --many jobs").code, Some(0));
    // A worker that waited for its next look after each of them would be at it for minutes.
    let work = world.work("--unique", "true");
    wait_until("the last job to run", || work.words().matches("] completed in ").count() == 2);
    assert_eq!(world.json("jobs stats q")[0]["queued"], 0, "{}", work.words());
}

#[test]
fn as_many_run_at_once_as_were_asked_for() {
    let world = World::new();
    let jids: Vec<String> = (0..3).map(|_| world.submit("1")).collect();
    // Each waits for all three to have started.
    let exec =
        "touch started.$KEYRACK_JOB_ID; until [ $(ls started.* | wc -l) = 3 ]; do sleep 0.02; done";
    world.drain("--concurrency 3 --timeout 20s", exec);
    assert!(jids.iter().all(|jid| world.status(jid) == "completed"));
}

#[test]
fn what_a_command_says_is_in_the_log_of_its_job() {
    let world = World::new();
    let jid = world.submit("1 --retries 1 --retry-delay 0");
    let line = r#"read -r job; printf 'try %s\n\n\033[31mred\n' "$KEYRACK_ATTEMPT" >&2; echo "progress: 70" >&2; test "$KEYRACK_ATTEMPT" = 2"#;
    world.drain("", line);
    let lines = world.run(&format!("jobs logs {jid} --json")).stdout;
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told: Vec<_> = lines.iter().map(|line| (&line["attempt"], &line["text"])).collect();
    let expected = [(1, "try 1"), (1, "red"), (2, "try 2"), (2, "red")];
    let expected: Vec<_> =
        expected.iter().map(|(attempt, text)| (json!(attempt), json!(text))).collect();
    assert_eq!(told, expected.iter().map(|(a, t)| (a, t)).collect::<Vec<_>>());
    assert_eq!(world.job(&jid)["progress"]["value"], 70);
    let followed = world.run(&format!("jobs logs {jid} --follow --last 1")).stdout;
    assert!(followed.ends_with("#2  info   red\n") && followed.lines().count() == 1, "{followed}");
    let shown = world.run(&format!("jobs show {jid}")).stdout;
    assert!(shown.contains("progress    70  (attempt 2"), "{shown}");
}

#[test]
fn file_has_commands_for_many_queues_in_one_process() {
    let world = World::new();
    let submit = |queue: &str, n: usize| {
        let run = world.run(&format!("jobs submit {queue} {n}"));
        run.stdout.trim().to_owned()
    };
    let jobs: Vec<String> = (0..3).map(|n| submit("mail/send", n)).collect();
    let other = submit("reports", 7);
    let file = world.path("work.toml");
    let text = r#"
        concurrency = 2
        [queues.'mail/send']
        exec = 'echo "\"$KEYRACK_QUEUE\""'
        weight = 3
        [queues.reports]
        command = ['echo', '{"done": true}']
        concurrency = 2
        timeout = '1m'
    "#;
    std::fs::write(&file, text).expect("written");
    let run = world.run("work --drain --file work.toml");
    assert!(run.stderr.contains("working on \"mail/send\", \"reports\""), "{run:?}");
    for jid in &jobs {
        assert_eq!(world.job(jid)["result"], "mail/send");
    }
    assert_eq!(world.job(&other)["result"], json!({"done": true}));
}

#[test]
fn file_that_makes_no_sense_runs_nothing_and_says_why() {
    let world = World::new();
    let jid = world.submit("1");
    for (text, code, expected) in [
        ("[queues.q]\nexec = 'true'\nweight = 0\n", 2, "queues.\"q\".weight: 0; give 1 to 100"),
        ("[queues.q]\nexec = 'true'\nretries = 1\n", 2, "unknown field `retries`"),
        ("concurrency = 1\n", 2, "it names no queue"),
        ("[queues.q]\ncommand = ['no-such-program']\n", 3, "there is no program"),
    ] {
        std::fs::write(world.path("work.toml"), text).expect("written");
        let run = Run::of(world.keyrack("work --drain --file work.toml"));
        assert_eq!(run.code, Some(code), "{run:?}");
        assert!(run.stderr.contains(expected), "{run:?}");
    }
    let both = Run::of(world.keyrack("work q --file work.toml --exec true"));
    assert_eq!(both.code, Some(2), "{both:?}");
    let missing = Run::of(world.keyrack("work --file no.toml"));
    assert_eq!(missing.code, Some(3), "{missing:?}");
    assert_eq!(world.status(&jid), "queued");
}
