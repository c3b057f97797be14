//! Looking at jobs and queues.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader},
    process::Stdio,
    sync::mpsc,
    thread,
};

use keyrack_testkit::{Process, wait_until};
use serde_json::{Value as Json, json};

use crate::world::World;

/// What was printed, without what differs from run to run: ids, numbers and times.
fn settled(text: &str, jids: &[(&str, &str)]) -> String {
    let text = jids.iter().fold(text.to_owned(), |text, (jid, name)| text.replace(jid, name));
    let lines = text.lines().map(|line| {
        let mut words: Vec<&str> = Vec::new();
        for word in line.split_whitespace() {
            let is_unit = ["ms", "s", "min"].contains(&word);
            match word.starts_with(|c: char| c.is_ascii_digit()) || is_unit {
                true if words.last() == Some(&"N") => {}
                true => words.push("N"),
                false => words.push(word),
            }
        }
        words.join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn times_tell_how_long_jobs_waited_and_ran() {
    let world = World::new();
    let jid = world.submit("1");
    world.drain("", "true");
    let times = world.json("jobs times q --last 1h");
    assert_eq!((&times["resolution"], &times["sum"]["completed"]), (&json!("minute"), &json!(1)));
    assert_eq!(times["sum"]["run"]["count"], 1);
    assert_eq!(times["slowest"][0]["jid"], json!(jid));
    let printed = world.printed("jobs times q");
    assert!(printed.contains("WAIT P50") && printed.contains(&jid), "{printed}");
    let refused = world.run("jobs times q --resolution day");
    assert!(refused.stderr.contains("is no resolution"), "{}", refused.stderr);
}

#[test]
fn errors_are_listed_shown_muted_and_retried() {
    let world = World::new();
    for n in 0..3 {
        world.submit(&format!("{n} --retries 0"));
    }
    world.drain("--app-version 1.4.0", "echo \"Refused: $KEYRACK_JOB_ID\" >&2; exit 1");
    let errors = world.json("jobs errors q");
    let group = &errors["groups"][0];
    assert_eq!((&group["count"], &group["failed"]), (&json!(3), &json!(3)), "{errors}");
    assert_eq!(group["versions"], json!(["1.4.0"]));
    let id = group["id"].as_str().expect("an id");
    assert_eq!(world.json("jobs errors")["queues"][0], errors);
    let printed = world.printed("jobs errors list q --text refused");
    assert!(printed.contains("GROUP") && printed.contains(id), "{printed}");
    let shown = world.printed(&format!("jobs errors show q {id}"));
    assert!(shown.contains("1.4.0") && shown.contains("last jobs"), "{shown}");
    assert_eq!(world.json(&format!("jobs errors show q {id}"))["queues"], json!(["q"]));

    let muted = world.json(&format!("jobs errors mute q {id} --for 1h --until-version 1.5.0"));
    assert_eq!(muted["version"], "1.5.0");
    assert_eq!(world.json("jobs errors q --unmuted")["groups"], json!([]));
    assert_eq!(world.run(&format!("jobs errors unmute q {id}")).code, Some(0));
    let refused = world.run(&format!("jobs errors mute q {id}"));
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);

    let failed = world.json(&format!("jobs list q --in failed --error {id}"));
    assert_eq!(failed["jobs"].as_array().map(Vec::len), Some(3));
    let counted = world.json(&format!("jobs errors retry q {id} --dry-run"));
    assert_eq!(counted, json!({"matched": 3, "changed": 0}));
    let some = world.json(&format!("jobs errors retry q {id} --max 1"));
    assert_eq!(some["changed"], 1);
    let rest = world.json(&format!("jobs errors retry q {id} --yes"));
    assert_eq!(rest["changed"], 2);
    let gone = world.run(&format!("jobs errors retry q {id}"));
    assert_eq!(gone.code, Some(3), "{}", gone.stderr);
    assert_eq!(world.run("jobs errors show q none").code, Some(3));
}

#[test]
fn list_goes_through_all_places_and_goes_on_where_it_ended() {
    let world = World::new();
    let mut jids: BTreeSet<String> = (0..5).map(|i| world.submit(&i.to_string())).collect();
    jids.insert(world.submit("7 --delay 1h"));
    let first = jids.first().expect("a job").clone();
    jids.insert(world.submit(&format!("8 --after {first}")));
    let mut found = BTreeSet::new();
    let mut from = String::new();
    for part in 0.. {
        let list = world.json(&format!("jobs list q --limit 2 {from}"));
        let jobs = list["jobs"].as_array().expect("a list");
        for job in jobs {
            assert!(found.insert(job["jid"].as_str().expect("an id").to_owned()), "listed twice");
        }
        match list["next"].as_str() {
            Some(next) => from = format!("--from {next}"),
            None => {
                assert_eq!((part, jobs.len()), (3, 1));
                break;
            }
        }
    }
    assert_eq!(found, jids);
    assert_eq!(world.json("jobs list q --in delayed")["jobs"].as_array().map(Vec::len), Some(1));
    assert_eq!(world.json("jobs list q --text [8]")["jobs"][0]["data"], json!([8]));
    let run = world.run("jobs list q --limit 2");
    assert_eq!(run.stdout.lines().count(), 3);
    assert!(
        run.stderr.starts_with("2 jobs; for more, use a higher --limit or --from queued/"),
        "{run:?}"
    );
    assert_eq!(world.run("jobs list q --in nowhere").code, Some(2));
}

#[test]
fn list_is_a_table_with_the_reason_of_failures() {
    let world = World::new();
    let jid = world.submit("\"grüße\"");
    world.drain("", "exit 65");
    let list = settled(&world.printed("jobs list q"), &[(&jid, "JID")]);
    insta::assert_snapshot!(list, @r#"
    JOB STATUS AGE RETRIES DATA
    JID failed N ["grüße"] – the command ended with exit code N
    "#);
}

#[test]
fn show_tells_all_there_is_to_know() {
    let world = World::new();
    let first = world.submit("1 --retries 0");
    let jid = world
        .submit(&format!("1 --after {first} --tag news --tenant acme --retries 1 --retry-delay 0"));
    let shown =
        settled(&world.printed(&format!("jobs show {jid}")), &[(&jid, "JID"), (&first, "FIRST")]);
    insta::assert_snapshot!(shown.split(" submitted by ").next().unwrap_or_default(), @r#"
    JID new
    queue q
    data [1]
    tags news
    tenant acme
    runs after FIRST
    options N retry after N kept for N

    it waits for N job: "FIRST" (queued); no worker of the queue is alive; start time unknown

    N
    "#);
    world.drain("", "echo 'no luck' >&2; exit 1");
    let shown = world.printed(&format!("jobs show {jid}"));
    assert!(
        shown.contains("No more retries available: the command ended with exit code 1: no luck"),
        "{shown}"
    );
    let events: Vec<&str> = shown.lines().filter(|line| line.contains("exception")).collect();
    assert_eq!(events.len(), 2, "{shown}");
    assert_eq!(world.json(&format!("jobs show {jid}"))["why"]["status"], "failed");
    let run = world.run("jobs show nothing");
    assert_eq!(run.code, Some(3));
    assert_eq!(run.failure().0, "error: there is no job \"nothing\"; it may have expired");
}

#[test]
fn why_tells_what_a_job_waits_for() {
    let world = World::new();
    let jid = world.submit("1");
    assert_eq!(world.run("jobs pause q").code, Some(0));
    let why = world.printed(&format!("jobs why {jid}"));
    assert!(
        why.starts_with("queued: the queue is paused; no worker of the queue is alive"),
        "{why}"
    );
    let reasons = world.json(&format!("jobs why {jid}"))["reasons"].clone();
    assert_eq!(reasons[0], json!({ "reason": "paused" }));
}

#[test]
fn search_finds_jobs_that_have_all_tags() {
    let world = World::new();
    let (a, ab) = (world.submit("1 --tag a"), world.submit("2 --tag a --tag b"));
    let other = world.printed("jobs submit mail/send 3 --tag a --tag b").trim().to_owned();
    let found = |line: &str| -> BTreeSet<String> {
        let jobs = world.json(&format!("jobs search {line}"));
        let jobs = jobs.as_array().expect("a list");
        jobs.iter().map(|job| job["jid"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(found("a"), BTreeSet::from([a, ab.clone(), other.clone()]));
    assert_eq!(found("a b"), BTreeSet::from([ab.clone(), other.clone()]));
    assert_eq!(found("a b --queue q"), BTreeSet::from([ab]));
    assert_eq!(found("a --queue mail/send"), BTreeSet::from([other]));
    assert_eq!(world.run("jobs search nothing").stderr, "no matching jobs\n");
}

#[test]
fn tail_tells_of_all_queues_those_that_begin_later_too() {
    let world = World::new();
    world.submit("1");
    let mut command = world.keyrack("jobs tail --json");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut tail = Process::spawn("keyrack jobs tail", command);
    let stderr = tail.child().stderr.take().expect("piped");
    let mut words = BufReader::new(stderr).lines();
    let first = words.next().expect("a line").expect("text");
    assert_eq!(first, "listening to 1 queue; stop with Ctrl-C");
    let mut events = BufReader::new(tail.child().stdout.take().expect("piped")).lines();
    let mut next = || -> Json {
        let line = events.next().expect("a line").expect("text");
        serde_json::from_str(&line).expect("JSON")
    };
    let jid = world.submit("2");
    let event = next();
    assert_eq!(
        (&event["type"], &event["queue"], &event["jid"]),
        (&json!("new"), &json!("q"), &json!(jid))
    );
    world.drain("", "echo 7");
    let ended: Vec<Json> = (0..2).map(|_| next()).collect();
    assert!(ended.iter().all(|event| event["type"] == "completed" && event["job"]["result"] == 7));

    // A queue that nobody has used is heard of soon after its first job, and then all that happens there.
    let (send, heard) = mpsc::channel();
    thread::spawn(move || events.map_while(Result::ok).try_for_each(|line| send.send(line)));
    wait_until("a new queue to be heard of", || {
        assert_eq!(world.run("jobs submit later 3").code, Some(0));
        heard.try_iter().any(|line| line.contains("\"queue\":\"later\""))
    });
}

#[test]
fn stats_tell_what_queues_hold() {
    let world = World::new();
    assert_eq!(
        world.run("jobs stats").stderr,
        "no queues yet; \"keyrack jobs submit\" creates one\n"
    );
    world.submit("1");
    world.submit("2 --delay 1h");
    let table = settled(&world.printed("jobs stats"), &[]);
    insta::assert_snapshot!(table, @r"
    QUEUE QUEUED DELAYED WAITING RUNNING FAILED WORKERS OLDEST IN OUT COMPLETED
    q N ····················
    ");
    world.drain("", "true");
    let one = settled(&world.printed("jobs stats q"), &[]);
    insta::assert_snapshot!(one, @r"
    q
    queued N
    delayed N the next in N
    waiting N for other jobs
    running N
    ended N
    limits no limits
    last N in, N out
    last hour ···························································█ completed

    no workers
    ");
    let stats = world.json("jobs stats");
    assert_eq!((&stats[0]["delayed"], &stats[0]["ended"]), (&json!(1), &json!(1)));
    assert_eq!(world.run("jobs stats nothing").code, Some(3));
}

#[test]
fn watched_stats_come_again_and_again() {
    let world = World::new();
    world.submit("1");
    let mut command = world.keyrack("jobs stats --watch=10ms --json");
    command.stdout(Stdio::piped());
    let mut watch = Process::spawn("keyrack jobs stats", command);
    let mut lines = BufReader::new(watch.child().stdout.take().expect("piped")).lines();
    let mut queued = || -> Json {
        let line = lines.next().expect("a line").expect("text");
        serde_json::from_str::<Json>(&line).expect("JSON")[0]["queued"].clone()
    };
    assert_eq!(queued(), 1);
    world.submit("2");
    while queued() != 2 {}
}
