//! Commands that are stopped: by a canceled job, by their time limit, by the worker's end.

use serde_json::json;

use crate::world::{World, wait_until_gone};

/// Waits with a child of its own; writes both process ids.
const SLEEPS: &str = "sleep 300 & echo $$ $! > pids; wait";

fn assert_all_gone(pids: &str) {
    pids.split_whitespace().for_each(wait_until_gone);
}

#[test]
fn attempt_that_takes_too_long_fails_and_everything_it_started_is_ended() {
    let world = World::new();
    let jid = world.submit("1 --retries 0");
    world.drain("--timeout 300ms", SLEEPS);
    assert_all_gone(&world.written("pids"));
    let history = world.job(&jid)["history"].to_string();
    assert!(history.contains("the command took longer than 300ms and was stopped"), "{history}");
    assert_eq!(world.status(&jid), "failed");
}

#[test]
fn time_limit_of_a_job_counts_before_that_of_its_worker() {
    let world = World::new();
    let jid = world.submit("1 --retries 0 --timeout 300ms");
    world.drain("--timeout 1h", SLEEPS);
    assert_all_gone(&world.written("pids"));
    let history = world.job(&jid)["history"].to_string();
    assert!(history.contains("the command took longer than 300ms and was stopped"), "{history}");
}

#[test]
fn command_says_when_its_job_is_to_be_run_again() {
    let world = World::new();
    let snoozed = world.submit("1 --retries 0");
    world.drain("", "echo 'snooze: 1h' >&2; exit 75");
    let job = world.job(&snoozed);
    assert_eq!((job["status"].as_str(), job["retries"].as_u64()), (Some("new"), Some(0)), "{job}");
    assert!(job["history"].to_string().contains("snoozed"), "{job}");
    let retried = world.submit("2 --retry-delay 1s");
    world.drain("", "echo 'retry-in: 1h' >&2; exit 1");
    let job = world.job(&retried);
    assert_eq!(job["status"], "retried");
    let history = job["history"].as_array().expect("a list");
    let last = history.last().expect("an entry");
    let wait = last["till"].as_f64().expect("a time") - last["timestamp"].as_f64().expect("a time");
    assert_eq!(wait, 3_600_000.0, "{last}");
}

#[test]
fn what_a_command_leaves_behind_is_ended_with_it() {
    let world = World::new();
    let jid = world.submit("1");
    world.drain("", "sleep 300 & echo $! > pids; echo 7");
    assert_all_gone(&world.written("pids"));
    assert_eq!(world.job(&jid)["result"], json!(7));
}

#[test]
fn canceled_job_gets_sigterm() {
    let world = World::new();
    let jid = world.submit("1");
    let work =
        world.work("", "trap 'echo told > told; exit 1' TERM; echo $$ > pids; sleep 300 & wait");
    let pids = world.written("pids");
    assert_eq!(world.run(&format!("jobs cancel {jid}")).code, Some(0));
    assert_eq!(world.written("told"), "told\n");
    assert_all_gone(&pids);
    keyrack_testkit::wait_until("the end to be told", || work.words().contains("canceled after "));
    assert_eq!(world.status(&jid), "canceled");
}

#[test]
fn command_that_ignores_sigterm_is_killed_after_the_grace() {
    let world = World::new();
    let jid = world.submit("1");
    let _work = world
        .work("--grace 200ms", "trap '' TERM; echo $$ > pids; while true; do sleep 0.05; done");
    let pids = world.written("pids");
    assert_eq!(world.run(&format!("jobs cancel {jid}")).code, Some(0));
    assert_all_gone(&pids);
}

#[test]
fn first_signal_lets_a_running_job_finish() {
    let world = World::new();
    let (jid, next) = (world.submit("1"), world.submit("2"));
    let mut work = world.work("", "echo $$ > pids; until [ -e go ]; do sleep 0.02; done; echo 1");
    world.written("pids");
    work.signal("TERM");
    keyrack_testkit::wait_until("the worker to stop", || {
        work.words().contains("SIGTERM: stopping")
    });
    std::fs::write(world.path("go"), "").expect("written");
    assert_eq!(work.code(), Some(0));
    assert!(work.words().ends_with("stopped: 1 completed\n"), "{}", work.words());
    assert_eq!(world.status(&jid), "completed");
    assert_eq!(world.status(&next), "queued", "nothing new is begun");
}

#[test]
fn job_that_does_not_finish_in_time_is_given_back_without_a_failure() {
    let world = World::new();
    let jid = world.submit("1");
    let mut work = world.work("--finish 0", SLEEPS);
    let pids = world.written("pids");
    work.signal("INT");
    assert_eq!(work.code(), Some(0));
    assert_all_gone(&pids);
    assert!(work.words().contains(&format!("[{jid}] given back after ")), "{}", work.words());
    let job = world.job(&jid);
    assert_eq!((&job["status"], &job["retries"]), (&json!("queued"), &json!(0)));
    assert!(!job["history"].to_string().contains("exception"), "{job}");
}

#[test]
fn second_signal_ends_everything_at_once() {
    let world = World::new();
    world.submit("1");
    let mut work = world.work("", "trap '' TERM; echo $$ > pids; while true; do sleep 0.05; done");
    let pids = world.written("pids");
    work.signal("INT");
    keyrack_testkit::wait_until("the worker to stop", || work.words().contains("SIGINT: stopping"));
    work.signal("INT");
    assert_eq!(work.code(), Some(130));
    assert_all_gone(&pids);
}

#[test]
fn process_that_leaves_the_group_and_holds_stdout_open_fails_the_attempt() {
    let world = World::new();
    let (held, failed) = (world.submit("1 --retries 0"), world.submit("2 --retries 0"));
    // A process in a session of its own is not ended with the command.
    let exec = "me=left.$KEYRACK_JOB_ID; \
                setsid sh -c \"touch $me; while [ -e hold ]; do sleep 0.05; done\" & \
                until [ -e $me ]; do sleep 0.02; done; \
                read -r job; case $job in *'[2]'*) exit 9;; esac; echo 1";
    std::fs::write(world.path("hold"), "").expect("written");
    world.drain("--concurrency 2", exec);
    std::fs::remove_file(world.path("hold")).expect("removed");
    let history = world.job(&held)["history"].to_string();
    assert!(history.contains("a process that it left behind keeps its output open"), "{history}");
    let history = world.job(&failed)["history"].to_string();
    assert!(history.contains("the command ended with exit code 9"), "{history}");
}

#[test]
fn a_canceled_command_keeps_its_place_under_the_limit_until_it_is_gone() {
    let world = World::new();
    world.printed("jobs limits q --create --concurrency 1");
    let first = world.submit("1");
    world.submit("2");
    let exec = r#"if [ -e first ]; then
            if kill -0 $(cat first) 2>/dev/null; then echo alive >second; else echo gone >second; fi
        else
            trap '' TERM; echo $$ >first; while :; do sleep 0.05; done
        fi"#;
    let _worker = world.work("--concurrency 2 --grace 1s", exec);
    world.written("first");
    assert_eq!(world.run(&format!("jobs cancel {first}")).code, Some(0));
    assert_eq!(world.written("second").trim(), "gone");
}
