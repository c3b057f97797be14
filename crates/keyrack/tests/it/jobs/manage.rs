//! Cancelling, running again, pausing and limiting.

use keyrack_testkit::wait_until;
use serde_json::json;

use crate::world::World;

#[test]
fn one_job_is_canceled_without_a_question_and_its_children_with_it() {
    let world = World::new();
    let parent = world.submit("1");
    let child = world.submit(&format!("2 --parent {parent}"));
    let run = world.run(&format!("jobs cancel {parent}"));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), "2 jobs canceled\n"));
    assert_eq!(
        (world.status(&parent), world.status(&child)),
        ("canceled".into(), "canceled".into())
    );
}

#[test]
fn several_jobs_are_canceled_only_with_yes() {
    let world = World::new();
    let (a, b) = (world.submit("1"), world.submit("2"));
    let run = world.run(&format!("jobs cancel {a} {b}"));
    assert_eq!(run.code, Some(2), "{run:?}");
    assert_eq!(
        run.failure(),
        ("error: to cancel 2 jobs needs to be confirmed", Some("hint: give --yes"))
    );
    assert_eq!(world.status(&a), "queued");
    let run = world.run(&format!("jobs cancel {a} nothing {b} --yes"));
    assert_eq!(run.code, Some(3), "one was not there: {run:?}");
    assert_eq!((world.status(&a), world.status(&b)), ("canceled".into(), "canceled".into()));
}

#[test]
fn jobs_of_a_queue_are_canceled_by_where_they_are_and_what_they_hold() {
    let world = World::new();
    let queued: Vec<String> = (0..3).map(|i| world.submit(&format!("{{\"n\":{i}}}"))).collect();
    let delayed = world.submit("1 --delay 1h --tag later");
    let run = world.run("jobs cancel --queue q --in queued --text \"n\":1 --yes --json");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&run.stdout).expect("JSON")["changed"], 1);
    assert_eq!(world.status(&queued[1]), "canceled");
    assert_eq!(world.run("jobs cancel --queue q --in delayed --tag other").code, Some(3));
    let run = world.run("jobs cancel --queue q");
    assert_eq!(run.failure().0, "error: to cancel 3 jobs needs to be confirmed");
    assert_eq!(world.run("jobs cancel --queue q --yes").stderr, "3 jobs canceled\n");
    assert_eq!(world.status(&delayed), "canceled");
    assert_eq!(world.run("jobs cancel --queue nothing --yes").code, Some(3));
    assert_eq!(world.run("jobs cancel").code, Some(2));
}

#[test]
fn failed_jobs_run_again_and_others_do_not() {
    let world = World::new();
    let jids: Vec<String> = (0..3).map(|_| world.submit("1")).collect();
    world.drain("", "exit 65");
    let done = world.submit("2");
    world.drain("", "true");
    let run = world.run(&format!("jobs retry {}", jids[0]));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), "1 job queued again\n"));
    let run = world.run(&format!("jobs retry {done}"));
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.failure().0.contains("is completed; only a failed, canceled or expired job"));
    assert_eq!(world.run("jobs retry --queue q --yes").stderr, "2 jobs queued again\n");
    assert_eq!(world.json("jobs stats q")[0]["queued"], 3);
}

#[test]
fn a_job_that_is_to_run_now_is_the_next_to_run() {
    let world = World::new();
    let (first, last) = (world.submit("1"), world.submit("2"));
    let run = world.run(&format!("jobs change {last} --run-now"));
    assert_eq!(run.code, Some(0), "{run:?}");
    let order = world.path("order");
    let exec = format!("echo $KEYRACK_JOB_ID >> {}; echo 1", order.display());
    world.drain("--concurrency 1", &exec);
    let order = std::fs::read_to_string(order).expect("the order");
    assert_eq!(order, format!("{last}\n{first}\n"));
}

#[test]
fn jobs_that_wait_are_changed_and_others_are_not() {
    let world = World::new();
    let (first, last) = (world.submit("1"), world.submit("2"));
    let run = world.run(&format!("jobs change {last} --run-now --timeout 5s --args [7]"));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), "1 job changed\n"), "{run:?}");
    let shown = world.json(&format!("jobs show {last}"));
    assert_eq!((&shown["data"], &shown["options"]["timeout"]), (&json!([7]), &json!(5_000)));

    let run = world.run("jobs change --queue q --delay 1h --dry-run");
    assert_eq!(run.stderr, "would change 2 jobs; nothing was changed\n", "{run:?}");
    assert_eq!(world.run("jobs change --queue q --delay 1h").code, Some(2), "not without --yes");
    let run = world.run("jobs change --queue q --delay 1h --yes");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), "2 jobs changed\n"), "{run:?}");
    assert_eq!(world.json("jobs stats q")[0]["delayed"], 2);

    assert_eq!(world.run(&format!("jobs change {first} --move-to nowhere")).code, Some(3));
    assert_eq!(world.run(&format!("jobs change {first}")).code, Some(2), "nothing to change");
    world.run(&format!("jobs cancel {first}"));
    let run = world.run(&format!("jobs change {first} --priority 3"));
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.failure().0.contains("is canceled; only a job that waits can be changed"));
}

#[test]
fn paused_queue_starts_nothing_until_it_is_resumed() {
    let world = World::new();
    let jid = world.submit("1");
    assert_eq!(world.run("jobs pause q").stderr, "queue \"q\" paused; running jobs finish\n");
    assert!(world.printed("jobs stats").contains("q (paused)"));
    assert_eq!(world.run("work q --drain --exec true").code, Some(4));
    assert_eq!(world.status(&jid), "queued");
    assert_eq!(world.run("jobs resume q").stderr, "queue \"q\" resumed\n");
    world.drain("", "true");
    assert_eq!(world.status(&jid), "completed");
    assert_eq!(world.run("jobs resume nothing").code, Some(3));
}

#[test]
fn unknown_queue_is_not_made_by_pausing_it_and_any_empty_one_can_be_deleted() {
    let world = World::new();
    world.run("jobs submit emails 1");
    let run = world.run("jobs pause email");
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.failure().0.contains("did you mean \"emails\"?"), "{run:?}");
    assert!(!world.printed("jobs stats").contains("email "), "no queue was made");
    assert_eq!(world.run("jobs pause email --create").code, Some(0));
    assert!(world.printed("jobs stats").contains("email (paused)"));
    assert_eq!(world.run("jobs delete email").stderr, "queue \"email\" deleted\n");
    assert!(!world.printed("jobs stats").contains("email (paused)"));
    let run = world.run("jobs delete emails");
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.failure().0.contains("still holds 1 jobs"), "{run:?}");
    assert_eq!(world.run("jobs delete nothing").code, Some(3));
}

#[test]
fn completed_job_is_not_canceled() {
    let world = World::new();
    let jid = world.submit("1");
    world.drain("", "true");
    let run = world.run(&format!("jobs cancel {jid}"));
    assert_eq!(run.code, Some(4), "{run:?}");
    assert_eq!(world.status(&jid), "completed");
}

#[test]
fn limits_are_set_one_by_one_and_lifted() {
    let world = World::new();
    assert_eq!(world.run("jobs limits q").code, Some(3), "no such queue yet");
    assert_eq!(
        world.run("jobs limits q --concurrency 4").code,
        Some(3),
        "nor is one made by chance"
    );
    assert_eq!(
        world.printed("jobs limits q --create --concurrency 4 --rate 10/1s"),
        "4 at once\n10 starts per 1s\n"
    );
    world.printed(
        "jobs limits q --concurrency none --tenant-concurrency 2 --tenant acme=3 --tenant b=1",
    );
    let expected = json!({
        "concurrency": null, "rate": { "max": 10, "per_ms": 1000 }, "tenant_concurrency": 2,
        "tenants": { "acme": 3, "b": 1 }, "completed_max": null, "failed_max": null, "failed_ttl_ms": null,
        "retries": null, "backoff": null, "timeout_ms": null, "wait_target_ms": null,
        "tenant_rate": null, "tenant_rates": {}, "tenant_weights": {}, "paused_tenants": [], "named": {},
    });
    assert_eq!(world.json("jobs limits q"), expected);
    let lifted = world.printed(
        "jobs limits q --rate none --tenant-concurrency none --tenant acme=none --tenant b=none",
    );
    assert_eq!(lifted, "no limits\n");
    let retries = world.printed(
        "jobs limits q --retries 8 --backoff exponential --retry-delay 2s --retry-delay-max 1h --timeout 5m",
    );
    assert_eq!(
        retries,
        "8 retries\nexponential waits of 2s before retries, at most 1h\n5m for an attempt\n"
    );
    let changed = world.printed("jobs limits q --retry-jitter 0.5 --retries none --timeout none");
    assert_eq!(
        changed, "exponential waits of 2s before retries, at most 1h, 50% of it random\n",
        "the rest stays"
    );
    let capped = world.run("jobs limits q --retry-delay-max 1s");
    assert_eq!(capped.code, Some(2), "{capped:?}");
    assert!(capped.failure().0.contains("backoff.max_ms: 1000 ms; give at least the first wait"));
    assert_eq!(world.printed("jobs limits q --no-backoff"), "no limits\n");
    let kept = world.printed("jobs limits q --keep-completed 50 --keep-failed 20 --failed-ttl 30d");
    assert_eq!(kept, "50 completed jobs kept\n20 failed jobs kept\nfailed jobs kept for 30d\n");
    let lifted = "jobs limits q --keep-completed none --keep-failed none --failed-ttl none";
    assert_eq!(world.printed(lifted), "no limits\n");
    let run = world.run("jobs limits q --concurrency 0");
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.failure().0.contains("or pause the queue"), "{run:?}");
}

#[test]
fn stats_say_when_a_queue_has_deleted_ended_jobs_before_their_time() {
    let world = World::new();
    for n in 0..3 {
        world.submit(&n.to_string());
    }
    world.drain("", "true");
    assert!(!world.printed("jobs stats q").contains("deleted before"));
    world.printed("jobs limits q --keep-completed 1");
    let _sweeping = world.work("", "true");
    wait_until("the queue to be swept", || {
        world.printed("jobs stats q").contains("1; 2 deleted before their ttl in the last hour")
    });
    assert_eq!(world.json("jobs stats q")[0]["dropped"], 2);
}

#[test]
fn jobs_name_limits_which_are_set_shown_and_lifted() {
    let world = World::new();
    let jobs =
        ["1", "2"].map(|n| world.submit(&format!("{n} --limit gpu --limit api.example.com")));
    let set =
        world.printed("jobs limits q --limit gpu=1 --limit gpu=9/1s --limit api.example.com=10/1s");
    assert_eq!(
        set,
        "10 starts per 1s with the limit \"api.example.com\"\n1 at once with the limit \"gpu\"\n\
         9 starts per 1s with the limit \"gpu\"\n"
    );
    let named = &world.json("jobs limits q")["named"];
    let rate = json!({ "concurrency": null, "rate": { "max": 10, "per_ms": 1000 } });
    assert_eq!(named["api.example.com"], rate);
    world.drain("--concurrency 2", "echo null");
    assert!(jobs.iter().all(|jid| world.status(jid) == "completed"), "one after the other");
    let lifted = world.printed("jobs limits q --limit gpu=none --limit api.example.com=none");
    assert_eq!(lifted, "no limits\n");
    for (typed, expected) in [
        ("jobs limits q --limit gpu=0", "named.concurrency: 0 for \"gpu\"; give at least 1"),
        ("jobs limits q --limit gpu=1/0s", "--limit"),
        ("jobs limits q --limit gpu", "expected NAME=N, NAME=N/TIME or NAME=none"),
    ] {
        let run = world.run(typed);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(expected), "{run:?}");
    }
    assert_eq!(world.printed("jobs limits q"), "no limits\n");
}
