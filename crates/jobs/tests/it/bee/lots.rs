//! Lots: jobs that a worker takes and tells of at once. What they look like meanwhile, and that they end like any other.

mod fence;
mod limits;

use std::collections::{BTreeMap, BTreeSet};

use keyrack_jobs::{
    Error,
    bee::{
        Closing, End, Exchange, Job, Outcome, Settled, Status, Verdict,
        keys::{self, Jid},
    },
};
use keyrack_keys::Registry;
use keyrack_store::{Event, Subscription};

use super::rig::{
    CARE, LOCK_MS, Rig, TTL_MS, completed, everywhere, failed, failed_for_good, jid, tag,
};

/// An end of which the worker knows for how long it is kept, as most are.
fn quick(result: &str) -> End {
    End::Completed { result: result.into(), ttl_ms: Some(TTL_MS) }
}

async fn exchange(rig: &Rig, exchange: Exchange<'_>) -> Settled {
    let exchange = Exchange { lock: CARE.lock, ..exchange };
    rig.hive.exchange(&rig.queue, &rig.worker, &exchange).await.expect("an answer")
}

async fn ask(rig: &Rig, lot: u64, max: usize) -> Settled {
    exchange(rig, Exchange { max, reserve: Some(lot), ..Exchange::default() }).await
}

/// Opens a lot. Nothing is claimed besides.
async fn take(rig: &Rig, lot: u64, max: usize) -> Vec<Job> {
    let settled = ask(rig, lot, max).await;
    assert_eq!(settled.claimed.jobs, [], "reserved, not claimed");
    read(rig, lot, &settled.reserved).await
}

/// The jobs of a lot, as its worker gets them.
async fn read(rig: &Rig, lot: u64, jids: &[String]) -> Vec<Job> {
    rig.hive.jobs_of_lot(&rig.queue, &rig.worker, lot, jids).await.expect("the jobs")
}

async fn close(rig: &Rig, lot: u64, outcomes: &[Outcome], begun: &[&Job]) -> Settled {
    let begun = begun.iter().map(|job| (job.jid().to_owned(), job.attempts())).collect();
    let closes = Some(Closing { lot, begun });
    exchange(rig, Exchange { outcomes, closes, ..Exchange::default() }).await
}

async fn complete_all(rig: &Rig, lot: u64, jobs: &[Job]) -> Vec<Verdict> {
    let outcomes: Vec<Outcome> = jobs.iter().map(|job| Outcome::of(job, quick("1"))).collect();
    close(rig, lot, &outcomes, &[]).await.verdicts
}

/// The open lots of the queue, each with its jobs.
async fn open_lots(rig: &Rig) -> BTreeMap<String, Vec<String>> {
    let lots: BTreeMap<String, String> =
        rig.ask("HGETALL", &rig.of_queue(keys::reserved), &[]).await;
    let jobs = |entry: String| entry.split_whitespace().skip(1).map(str::to_owned).collect();
    lots.into_iter().map(|(lot, entry)| (lot, jobs(entry))).collect()
}

fn lot_name(rig: &Rig, lot: u64) -> String {
    format!("{}#{lot}", rig.worker)
}

async fn put_many(rig: &Rig, ids: &[&str]) -> Vec<Jid> {
    let mut jids = Vec::new();
    for id in ids {
        jids.push(rig.put(id).await);
    }
    jids
}

fn ids(jobs: &[Job]) -> Vec<&str> {
    jobs.iter().map(Job::jid).collect()
}

/// Everything in the store is as it was declared.
async fn check_declarations(rig: &Rig) {
    let registry = Registry::new(&[keys::FAMILIES]);
    let report = keyrack_lint::lint(rig.hive.store(), &registry, &Default::default(), |_| {}).await;
    let findings = report.expect("a report").findings;
    assert!(findings.is_empty(), "{findings:#?}");
}

/// All that the store has of a queue and its jobs, without the name of the queue.
async fn seen(rig: &Rig, jids: &[Jid]) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    let mut see = |key: String, value: String| {
        let unnamed = |text: String| text.replace(rig.queue.as_str(), "<queue>");
        seen.insert(unnamed(key), unnamed(value));
    };
    for key in [keys::queue, keys::delayed, keys::waiting, keys::locks, keys::expires, keys::failed]
    {
        let key = rig.of_queue(key);
        see(key.name().into(), format!("{:?}", rig.scores(&key).await));
    }
    let minutes: BTreeMap<String, u64> =
        rig.ask("HGETALL", &rig.of_queue(keys::minutes), &[]).await;
    see("minutes".into(), format!("{minutes:?}"));
    see("lots".into(), format!("{:?}", open_lots(rig).await));
    let held = rig.members(&keys::worker_locks(&rig.worker, &rig.queue.group())).await;
    see("held".into(), format!("{held:?}"));
    for jid in jids {
        for (field, value) in rig.fields(jid).await {
            see(format!("{jid} {field}"), value);
        }
        let ttl: i64 = rig.ask("PTTL", &keys::job(jid, &jid.group()), &[]).await;
        see(format!("{jid} stays"), (ttl < 0).to_string());
        let waits_for = rig.members(&keys::dependencies(jid, &jid.group())).await;
        see(format!("{jid} waits for"), format!("{waits_for:?}"));
    }
    seen
}

/// Two queues to which the same happens, except that one worker claims jobs and the other takes them in lots.
struct Twins {
    claims: Rig,
    lots: Rig,
}

impl Twins {
    fn new(rig: &Rig) -> Twins {
        let name = |how: &str| format!("{}-{how}", rig.queue);
        Twins { claims: rig.on(&name("claims")), lots: rig.on(&name("lots")) }
    }

    fn both(&self) -> [&Rig; 2] {
        [&self.claims, &self.lots]
    }

    fn jids(rig: &Rig, n_jobs: usize) -> Vec<Jid> {
        (0..n_jobs).map(|n| jid(&format!("{}-{n}", rig.queue))).collect()
    }

    /// Takes the jobs of both. What the workers are told is the same.
    async fn take(&self, n_jobs: usize) -> [Vec<Job>; 2] {
        let jobs = [self.claims.claim(n_jobs).await, take(&self.lots, 1, n_jobs).await];
        let told = |rig: &Rig, jobs: &[Job]| -> Vec<String> {
            let jobs = jobs.iter().map(|job| serde_json::to_string(job).expect("JSON"));
            jobs.map(|job| job.replace(rig.queue.as_str(), "<queue>")).collect()
        };
        assert_eq!(told(&self.claims, &jobs[0]), told(&self.lots, &jobs[1]));
        assert!(jobs[0].iter().all(|job| job.lot().is_none()));
        assert!(jobs[1].iter().all(|job| job.lot() == Some(1)));
        jobs
    }

    /// Tells the same of the jobs of both, and compares what is left.
    async fn end(&self, jobs: &[Vec<Job>; 2], end: impl Fn(&Job, usize) -> Option<Outcome>) {
        let outcomes = |jobs: &[Job]| -> Vec<Outcome> {
            jobs.iter().enumerate().filter_map(|(n, job)| end(job, n)).collect()
        };
        let [of_claims, of_lots] = [outcomes(&jobs[0]), outcomes(&jobs[1])];
        let n_told = of_lots.len();
        let begun: Vec<&Job> = jobs[1]
            .iter()
            .enumerate()
            .filter(|(n, job)| end(job, *n).is_none())
            .map(|(_, job)| job)
            .collect();
        let settled =
            exchange(&self.claims, Exchange { outcomes: &of_claims, ..Exchange::default() }).await;
        assert_eq!(settled.verdicts, vec![Verdict::Ok; n_told]);
        let closed = close(&self.lots, 1, &of_lots, &begun).await;
        assert_eq!(closed.verdicts, vec![Verdict::Ok; n_told]);
        assert_eq!(closed.not_begun, Vec::<String>::new());
        self.compare(jobs[0].len() + 1).await;
    }

    async fn compare(&self, n_jobs: usize) {
        let [claims, lots] = self.both();
        let expected = seen(claims, &Twins::jids(claims, n_jobs)).await;
        let found = seen(lots, &Twins::jids(lots, n_jobs)).await;
        let names: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
        for name in names {
            assert_eq!(found.get(name), expected.get(name), "{name}");
        }
        check_declarations(lots).await;
    }
}

#[tokio::test]
async fn jobs_of_a_lot_end_as_claimed_ones_do() {
    everywhere(async |rig| {
        completed_jobs_are_the_same(&rig.on("q1")).await;
        jobs_that_begin_are_the_same(&rig.on("q2")).await;
        ends_of_all_kinds_are_the_same(&rig.on("q3")).await;
        listeners_hear_the_same(&rig.on("q4")).await;
        dependants_go_when_they_came_meanwhile(&rig.on("q5")).await;
        tags_that_came_meanwhile_stay(&rig.on("q6")).await;
        a_second_attempt_is_a_second_attempt(&rig.on("q7")).await;
    })
    .await;
}

async fn completed_jobs_are_the_same(rig: &Rig) {
    let twins = Twins::new(rig);
    for rig in twins.both() {
        for jid in Twins::jids(rig, 3) {
            rig.submit(rig.job().id(jid).arg("x").priority(2.0)).await;
        }
    }
    rig.clock.advance_ms(7);
    let jobs = twins.take(3).await;
    rig.clock.advance_ms(5);
    twins.end(&jobs, |job, n| Some(Outcome::of(job, quick(&n.to_string())))).await;
    let stored = rig.read(&Twins::jids(&twins.lots, 3)[2]).await;
    assert_eq!((stored.status(), stored.result()), (Status::Completed, Some("2")));
    let times: Vec<u64> = stored.history().iter().map(|entry| entry.timestamp as u64).collect();
    assert_eq!(times[2..], [rig.now() - 5, rig.now()], "popped when it was taken");
}

async fn jobs_that_begin_are_the_same(rig: &Rig) {
    let twins = Twins::new(rig);
    for rig in twins.both() {
        for jid in Twins::jids(rig, 3) {
            rig.submit(rig.job().id(jid)).await;
        }
    }
    let jobs = twins.take(3).await;
    twins.end(&jobs, |job, n| (n == 1).then(|| Outcome::of(job, quick("1")))).await;
    let [claims, lots] = twins.both();
    assert_eq!(claims.heartbeat().await.len(), lots.heartbeat().await.len());
    rig.clock.advance_ms(9);
    for (rig, jobs) in [(claims, &jobs[0]), (lots, &jobs[1])] {
        assert_eq!(rig.settle(&jobs[0], quick("2")).await, Verdict::Ok);
    }
    twins.compare(3).await;
    rig.clock.advance_ms(LOCK_MS);
    for rig in twins.both() {
        assert_eq!(rig.sweep().await.taken_away, 1, "what began has a lock like any other");
    }
    twins.compare(3).await;
}

const N_KINDS: usize = 9;

/// One end of every kind, one job that goes on, and one with a dependant.
fn end_of_kind(job: &Job, n: usize) -> Option<Outcome> {
    let longer = End::Completed { result: "1".into(), ttl_ms: Some(2 * TTL_MS) };
    let ends = [
        quick("0"),
        longer,
        completed("2"),
        failed("not yet"),
        failed_for_good("never"),
        End::Released,
        quick("6"),
        quick("7"),
    ];
    let mut outcome = Outcome::of(job, ends.get(n)?.clone());
    if n == 6 {
        let mut options = job.options();
        options.ttl = 60_000;
        outcome.options = Some(options.to_json());
    }
    Some(outcome)
}

async fn put_kinds(twins: &Twins) {
    for rig in twins.both() {
        let jids = Twins::jids(rig, N_KINDS + 1);
        for jid in &jids[..N_KINDS] {
            rig.submit(rig.job().id(jid.clone())).await;
        }
        rig.submit(rig.job().id(jids[N_KINDS].clone()).after(jids[7].clone())).await;
    }
}

async fn ends_of_all_kinds_are_the_same(rig: &Rig) {
    let twins = Twins::new(rig);
    put_kinds(&twins).await;
    let jobs = twins.take(N_KINDS).await;
    twins.end(&jobs, end_of_kind).await;
    use Status::{Completed, Failed, Queued, Retried, Running};
    let expected = [
        Completed, Completed, Completed, Retried, Failed, Queued, Completed, Completed, Running,
        Queued,
    ];
    for (jid, status) in Twins::jids(&twins.lots, N_KINDS + 1).iter().zip(expected) {
        assert_eq!(rig.status(jid).await, status, "{jid}");
    }
}

/// A message that shows that all before it have arrived.
const MARK: &str = r#"{"type":"mark"}"#;

/// What was published on the queue's channel, without the name of the queue.
async fn heard(rig: &Rig, messages: &mut Subscription) -> Vec<String> {
    let channel = rig.of_queue(keys::queue_events);
    rig.hive.store().publish(&channel, MARK).await.expect("published");
    let mut heard = Vec::new();
    loop {
        match messages.next().await.expect("an event") {
            Event::Message(message) if message.payload == MARK.as_bytes() => return heard,
            Event::Message(message) => {
                let text = String::from_utf8(message.payload.to_vec()).expect("text");
                heard.push(text.replace(rig.queue.as_str(), "<queue>"));
            }
            Event::Gap => panic!("messages were missed"),
        }
    }
}

async fn listeners_hear_the_same(rig: &Rig) {
    let twins = Twins::new(rig);
    let mut ears = Vec::new();
    for rig in twins.both() {
        let channel = rig.of_queue(keys::queue_events);
        ears.push(rig.hive.store().subscribe(&[channel]).await.expect("a subscription"));
    }
    put_kinds(&twins).await;
    let jobs = twins.take(N_KINDS).await;
    twins.end(&jobs, end_of_kind).await;
    let expected = heard(&twins.claims, &mut ears[0]).await;
    assert_eq!(heard(&twins.lots, &mut ears[1]).await, expected);
    let n_ends = expected.iter().filter(|text| text.contains(r#""job":"#)).count();
    assert_eq!(n_ends, 6, "five completed, one failed: {expected:#?}");
}

async fn dependants_go_when_they_came_meanwhile(rig: &Rig) {
    let first = put_many(rig, &["base", "beside"]).await.remove(0);
    let jobs = take(rig, 1, 2).await;
    let then = rig.submit(rig.job().id(jid("then")).after(first.clone())).await;
    assert_eq!(rig.status(&then).await, Status::New, "the first has not ended");
    check_declarations(rig).await;
    assert_eq!(complete_all(rig, 1, &jobs).await, [Verdict::Ok; 2]);
    assert_eq!(rig.status(&then).await, Status::Queued);
    assert_eq!(rig.events_of(&first).await, ["submitted", "queued", "popped", "completed"]);
    assert_eq!(rig.in_queue(keys::queue).await, ["then"]);
}

async fn tags_that_came_meanwhile_stay(rig: &Rig) {
    let jid = rig.put("tagged").await;
    let jobs = take(rig, 1, 1).await;
    rig.hive.set_tags(&jid, &[tag("red")]).await.expect("tags");
    assert_eq!(complete_all(rig, 1, &jobs).await, [Verdict::Ok]);
    let stored = rig.read(&jid).await;
    assert_eq!((stored.status(), stored.tags()), (Status::Completed, vec!["red".to_owned()]));
    check_declarations(rig).await;
}

async fn a_second_attempt_is_a_second_attempt(rig: &Rig) {
    let twins = Twins::new(rig);
    for rig in twins.both() {
        rig.submit(rig.job().id(Twins::jids(rig, 1).remove(0)).retry_delay_ms(0.0, false)).await;
        let first = rig.claim_one().await;
        rig.settle(&first, failed("not yet")).await;
    }
    let jobs = twins.take(1).await;
    assert_eq!((jobs[1][0].attempts(), jobs[1][0].retries()), (2, 1));
    twins.end(&jobs, |job, _| Some(Outcome::of(job, quick("1")))).await;
}

#[tokio::test]
async fn an_open_lot_is_one_entry_and_everybody_can_tell() {
    everywhere(async |rig| {
        the_jobs_themselves_are_not_touched(&rig.on("q1")).await;
        reserved_jobs_count_as_running(&rig.on("q2")).await;
        ids_without_a_job_are_dropped(&rig.on("q3")).await;
        any_id_can_be_in_a_lot(&rig.on("lots/q4")).await;
    })
    .await;
}

async fn the_jobs_themselves_are_not_touched(rig: &Rig) {
    let jids = put_many(rig, &["a1", "b1", "c1"]).await;
    let mut before = seen(rig, &jids).await;
    let jobs = take(rig, 7, 2).await;
    assert_eq!(ids(&jobs), ["a1", "b1"]);
    let entry: String = rig.ask("HGET", &rig.of_queue(keys::reserved), &[&lot_name(rig, 7)]).await;
    assert_eq!(entry, format!("{} a1 b1 ", rig.now() + LOCK_MS));
    let mut after = seen(rig, &jids).await;
    for place in ["bee:ss:queue:<queue>", "lots", "minutes"] {
        assert_ne!(before.remove(place), after.remove(place), "{place}");
    }
    assert_eq!(after, before, "nothing else has changed");
    assert_eq!(rig.in_queue(keys::queue).await, ["c1"]);
    check_declarations(rig).await;
    complete_all(rig, 7, &jobs).await;
    assert!(!rig.exists(&rig.of_queue(keys::reserved)).await);
}

async fn reserved_jobs_count_as_running(rig: &Rig) {
    rig.heartbeat().await;
    let jids = put_many(rig, &["a2", "b2", "c2", "d2"]).await;
    let claimed = rig.claim(1).await;
    let jobs = [take(rig, 1, 1).await, take(rig, 2, 1).await].concat();
    let stats = rig.hive.stats(&rig.queue).await.expect("stats");
    assert_eq!((stats.queued, stats.running, stats.workers[0].running), (1, 3, 3));
    assert_eq!(stats.minutes[0].started, 3);
    let why = rig.hive.why(&jids[1]).await.expect("an answer");
    assert_eq!(why.explanation, "a worker has taken it a moment ago");
    assert_eq!((why.status, why.reasons.len(), why.position), (Status::Queued, 0, None));
    assert_eq!(rig.hive.why(&jids[3]).await.expect("an answer").position, Some(1));

    for job in &claimed {
        rig.hive.cancel(&job.id().expect("an id")).await.expect("cancelled");
    }
    rig.hive.cancel(&jids[3]).await.expect("cancelled");
    let refused = rig.hive.delete_queue(&rig.queue).await;
    assert!(matches!(refused, Err(Error::QueueNotEmpty { .. })), "{refused:?}");
    assert_eq!(close(rig, 1, &[], &[&jobs[0]]).await.not_begun, Vec::<String>::new());
    close(rig, 2, &[Outcome::of(&jobs[1], End::Released)], &[]).await;
    let stats = rig.hive.stats(&rig.queue).await.expect("stats");
    assert_eq!((stats.queued, stats.running, stats.workers[0].running), (1, 1, 1));
}

async fn ids_without_a_job_are_dropped(rig: &Rig) {
    rig.ask::<()>("ZADD", &rig.of_queue(keys::queue), &["1", "ghost"]).await;
    rig.put("real").await;
    let jobs = take(rig, 1, 10).await;
    assert_eq!(ids(&jobs), ["real"]);
    assert_eq!(complete_all(rig, 1, &jobs).await, [Verdict::Ok]);
    rig.ask::<()>("ZADD", &rig.of_queue(keys::queue), &["1", "ghost"]).await;
    assert_eq!(ids(&take(rig, 2, 10).await), Vec::<&str>::new());
    rig.clock.advance_ms(LOCK_MS);
    assert_eq!(rig.sweep().await.taken_away, 0);
    for key in [keys::queue, keys::reserved, keys::locks] {
        assert!(!rig.exists(&rig.of_queue(key)).await, "nor does it come back");
    }
    let ghost = jid("ghost");
    assert!(!rig.exists(&keys::job(&ghost, &ghost.group())).await);
}

/// An entry is text, and ids are nearly any text.
async fn any_id_can_be_in_a_lot(rig: &Rig) {
    let jids = put_many(rig, &["lots~a", "lots~a.b", "lots~a-", "lots~+=@,/_", "lots~1"]).await;
    take(rig, 1, 10).await;
    rig.clock.advance_ms(LOCK_MS);
    assert_eq!(rig.sweep().await.taken_away, jids.len() as u64);
    let jobs = take(rig, 2, 10).await;
    assert_eq!(jobs.len(), jids.len());
    rig.hive.cancel(&jids[0]).await.expect("cancelled");
    let verdicts = complete_all(rig, 2, &jobs).await;
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Canceled).count(), 1);
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Ok).count(), jids.len() - 1);
}
