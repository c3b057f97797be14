//! The same commands on every kind of store: a server, a cluster, and a data folder without a server.

use keyrack_testkit::{RedisCluster, RedisServer, wait_until};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::program::{Run, keyrack};

/// A store, and a folder for the program.
struct Shop {
    dir: TempDir,
    store: String,
}

#[test]
fn jobs_run_on_a_server() {
    let server = RedisServer::start();
    check(&format!("--store {}", server.url()));
}

#[test]
fn jobs_run_on_a_cluster() {
    let cluster = RedisCluster::start();
    check(&format!("--store {}", cluster.url()));
}

#[test]
fn jobs_run_in_a_data_folder_without_a_server() {
    let dir = TempDir::new().expect("a folder");
    check(&format!("--data {}", dir.path().display()));
}

fn check(store: &str) {
    let shop = Shop { dir: TempDir::new().expect("a folder"), store: store.to_owned() };
    queues_of_two_groups(&shop);
    retries_and_snoozes(&shop);
    time_limits_and_deadlines(&shop);
    one_job_for_many(&shop);
    limits_by_name(&shop);
    turns_by_weight(&shop);
    changes_of_what_waits(&shop);
    schedules(&shop);
}

impl Shop {
    #[track_caller]
    fn run(&self, line: &str) -> Run {
        let run = self.try_run(line);
        assert_eq!(run.code, Some(0), "{line}: {run:?}");
        run
    }

    fn try_run(&self, line: &str) -> Run {
        let mut command = keyrack(self.dir.path());
        command.args(line.split(' ')).args(self.store.split(' '));
        Run::of(command)
    }

    #[track_caller]
    fn json(&self, line: &str) -> Json {
        serde_json::from_str(&self.run(&format!("{line} --json")).stdout).expect("JSON")
    }

    /// Submits a job; returns its id.
    #[track_caller]
    fn submit(&self, line: &str) -> String {
        self.run(&format!("jobs submit {line}")).stdout.trim().to_owned()
    }

    #[track_caller]
    fn job(&self, jid: &str) -> Json {
        self.json(&format!("jobs show {jid}"))
    }

    #[track_caller]
    fn status(&self, jid: &str) -> String {
        self.job(jid)["status"].as_str().expect("a status").to_owned()
    }

    /// Runs a line of the shell for all jobs of a queue that can run.
    #[track_caller]
    fn drain(&self, queue: &str, exec: &str) {
        let mut command = keyrack(self.dir.path());
        command.args(["work", queue, "--drain", "--exec", exec]).args(self.store.split(' '));
        let run = Run::of(command);
        assert_eq!(run.code, Some(0), "{run:?}");
    }

    /// For how many milliseconds a job was put off last.
    #[track_caller]
    fn put_off(&self, jid: &str) -> f64 {
        let job = self.job(jid);
        let history = job["history"].as_array().expect("a list");
        let last = history.iter().rfind(|entry| entry.get("till").is_some()).expect("a wait");
        last["till"].as_f64().expect("a time") - last["timestamp"].as_f64().expect("a time")
    }
}

fn queues_of_two_groups(shop: &Shop) {
    for queue in ["emails", "mail/send"] {
        let first = shop.submit(&format!("{queue} 1 --tag t"));
        shop.submit(&format!("{queue} 2 --tag t --after {first}"));
        let ended = shop.run(&format!("work {queue} --drain --exec cat"));
        assert!(ended.stderr.ends_with("stopped: 2 completed\n"), "{ended:?}");
        let listed = shop.json(&format!("jobs list {queue} --in ended"));
        assert_eq!(listed["jobs"].as_array().map(Vec::len), Some(2));
    }
    assert_eq!(shop.json("jobs search t").as_array().map(Vec::len), Some(4));
    let stats = shop.json("jobs stats");
    let ended: Vec<&Json> =
        stats.as_array().expect("a list").iter().map(|one| &one["ended"]).collect();
    assert_eq!(ended, [2, 2]);
}

fn retries_and_snoozes(shop: &Shop) {
    let waits = "--backoff exponential --retry-delay 1h --retry-delay-max 90m";
    let jid = shop.submit(&format!("mail/retries 1 --retries 3 {waits}"));
    for wait_ms in [3_600_000.0, 5_400_000.0] {
        shop.drain("mail/retries", "exit 1");
        assert_eq!(shop.put_off(&jid), wait_ms);
        shop.run(&format!("jobs change {jid} --run-now"));
    }
    shop.drain("mail/retries", "echo 'snooze: 2h' >&2; exit 75");
    assert_eq!((shop.put_off(&jid), shop.job(&jid)["retries"].as_u64()), (7_200_000.0, Some(2)));
    shop.run(&format!("jobs change {jid} --run-now"));
    shop.drain("mail/retries", "echo 'retry-in: 5m' >&2; exit 1");
    assert_eq!(shop.put_off(&jid), 300_000.0);
    shop.run(&format!("jobs change {jid} --run-now"));
    shop.drain("mail/retries", "exit 65");
    assert_eq!(shop.status(&jid), "failed");
    // What its queue says counts for a job that does not.
    shop.run("jobs limits mail/retries --retries 1 --backoff linear --retry-delay 7s");
    let jid = shop.submit("mail/retries 2");
    shop.drain("mail/retries", "exit 1");
    assert_eq!(shop.put_off(&jid), 7_000.0);
}

fn time_limits_and_deadlines(shop: &Shop) {
    let slow = shop.submit("mail/times 1 --retries 0 --timeout 200ms");
    shop.drain("mail/times", "sleep 300");
    let job = shop.job(&slow);
    assert_eq!(job["status"], "failed");
    let reason = job["failedReason"].as_str().expect("a reason");
    assert!(reason.contains("took longer than 200ms"), "{reason}");
    let late = shop.submit("mail/times 2 --start-within 1ms");
    wait_until("the job to expire", || {
        shop.drain("mail/times", "echo null");
        shop.status(&late) == "expired"
    });
    let job = shop.job(&late);
    assert_eq!((&job["attempts"], &job["result"]), (&json!(0), &json!(null)), "it never ran");
    let in_time = shop.submit("mail/times 3 --start-within 1h");
    shop.drain("mail/times", "echo null");
    assert_eq!(shop.status(&in_time), "completed");
}

fn one_job_for_many(shop: &Shop) {
    let submit = |line: &str| {
        let answer = shop.json(&format!("jobs submit mail/unique {line}"));
        let text = |name: &str| answer[name].as_str().expect("a text").to_owned();
        (text("jid"), text("outcome"))
    };
    let (first, outcome) = submit("1 --unique user:42");
    assert_eq!(outcome, "created");
    assert_eq!(submit("2 --unique user:42"), (first.clone(), "existing".into()));
    let shown = shop.run(&format!("jobs show {first}")).stdout;
    assert!(shown.contains("submissions with the key \"user:42\", until it has ended"), "{shown}");
    let (burst, _) = submit("1 --unique index --debounce 1h --debounce-max 2h");
    let again = submit("2 --unique index --debounce 1h --debounce-max 2h");
    assert_eq!(again, (burst.clone(), "replaced".into()));
    assert_eq!((&shop.job(&burst)["data"], shop.put_off(&burst)), (&json!([2]), 3_600_000.0));
    let (thrown, _) = submit("7 --throttle 1h");
    assert_eq!(submit("7 --throttle 1h"), (thrown, "existing".into()));
    let (_, outcome) = submit("1 --unique cache --throttle 1h --fold");
    assert_eq!(outcome, "created");
    let (folded, outcome) = submit("2 --unique cache --throttle 1h --fold");
    assert_eq!(outcome, "created", "one more for all");
    assert_eq!(submit("3 --unique cache --throttle 1h --fold"), (folded, "replaced".into()));
    let (by_id, _) = submit("1 --id mail~sync --unique-by id");
    assert_eq!(submit("2 --id mail~sync --unique-by id"), (by_id, "existing".into()));
    shop.drain("mail/unique", "echo null");
    assert_eq!(submit("3 --unique user:42").1, "created", "the first has ended");
}

fn limits_by_name(shop: &Shop) {
    let jobs = ["1", "2"].map(|n| shop.submit(&format!("mail/named {n} --limit gpu --limit api")));
    let set = shop.run("jobs limits mail/named --limit gpu=1 --limit api=1/1h").stdout;
    assert_eq!(set, "1 starts per 1h with the limit \"api\"\n1 at once with the limit \"gpu\"\n");
    shop.drain("mail/named", "echo null");
    assert_eq!(jobs.clone().map(|jid| shop.status(&jid)), ["completed", "new"]);
    let why = shop.run(&format!("jobs why {}", jobs[1])).stdout;
    assert!(why.contains("\"api\""), "{why}");
    shop.run("jobs limits mail/named --limit api=none");
    wait_until("the limit to be gone", || {
        shop.drain("mail/named", "echo null");
        shop.status(&jobs[1]) == "completed"
    });
}

fn turns_by_weight(shop: &Shop) {
    shop.run("jobs limits mail/turns --create --tenant-weight a=3 --pause-tenant c");
    for (tenant, n) in [("a", 6), ("b", 2), ("c", 1)] {
        (0..n).for_each(|_| drop(shop.submit(&format!("mail/turns 1 --tenant {tenant}"))));
    }
    let order = shop.dir.path().join("turns");
    shop.drain("mail/turns", "grep -o '\"tenant\":\"[abc]\"' >> turns; echo null");
    let order = std::fs::read_to_string(order).expect("the order");
    let order: String =
        order.lines().filter_map(|line| line.trim_matches('"').chars().last()).collect();
    assert_eq!(order, "aaabaaab", "c is paused");
    shop.run("jobs limits mail/turns --resume-tenant c");
    shop.drain("mail/turns", "echo null");
    assert_eq!(shop.json("jobs stats mail/turns")[0]["ended"], 9);
}

fn changes_of_what_waits(shop: &Shop) {
    let ids = [1, 2, 3].map(|n| shop.submit(&format!("mail/changes {n}")));
    let [first, second, third] = &ids;
    shop.run(&format!("jobs change {second} --priority 10"));
    shop.run(&format!("jobs change {third} --run-now --args [30] --timeout 5s"));
    shop.drain("mail/changes", "echo $KEYRACK_JOB_ID >> changes; echo null");
    let order = std::fs::read_to_string(shop.dir.path().join("changes")).expect("the order");
    assert_eq!(order.lines().collect::<Vec<_>>(), [third, second, first]);
    let job = shop.job(third);
    assert_eq!((&job["data"], &job["options"]["timeout"]), (&json!([30]), &json!(5_000)));

    let moved = shop.submit("mail/changes 4");
    shop.run(&format!("jobs change {moved} --delay 1h"));
    assert_eq!(shop.json("jobs stats mail/changes")[0]["delayed"], 1);
    let counted = shop.run("jobs change --queue mail/changes --move-to mail/send --dry-run");
    assert_eq!(counted.stderr, "would change 1 job; nothing was changed\n");
    shop.run("jobs change --queue mail/changes --move-to mail/send --yes");
    assert_eq!(shop.job(&moved)["queue"], "mail/send");
    let away = shop.try_run(&format!("jobs change {moved} --move-to emails"));
    assert_eq!(away.code, Some(2), "of another group: {away:?}");
    shop.run(&format!("jobs change {moved} --run-now"));
    shop.drain("mail/send", "echo null");
    assert_eq!(shop.status(&moved), "completed");
}

fn schedules(shop: &Shop) {
    shop.run("recurring create poll --every 1h --queue mail/poll --kwargs {\"kind\":1}");
    let change = "recurring change poll --cron 0~7~*~*~MON --zone Europe/Berlin --if-version 1";
    let mut command = keyrack(shop.dir.path());
    command.args(change.split(' ').map(|word| word.replace('~', " ")));
    command.args(shop.store.split(' '));
    let run = Run::of(command);
    assert_eq!(run.code, Some(0), "{run:?}");
    let stale = shop.try_run("recurring change poll --every 2h --if-version 1");
    assert_eq!(stale.code, Some(4), "{stale:?}");
    let listed = &shop.json("recurring list")["jobs"][0];
    assert_eq!((&listed["name"], &listed["version"]), (&json!("poll"), &json!(2)));
    shop.run("recurring pause poll");
    assert_eq!(shop.json("recurring list")["jobs"][0]["paused"], true);
    shop.run("recurring resume poll");
    assert!(shop.run("recurring next --days 8").stdout.contains("poll"));
    shop.run("recurring run poll");
    shop.drain("mail/poll", "cat");
    let ended = shop.json("jobs list mail/poll --in ended");
    assert_eq!(ended["jobs"][0]["data"], json!([{ "kind": 1 }]));
    shop.run("recurring delete poll");
    assert_eq!(shop.json("recurring list")["jobs"], json!([]));
}
