//! Reservations: jobs that a worker takes and tells of at once. What they look like meanwhile, and that they end like any other.

mod fence;
mod limits;

use std::collections::{BTreeMap, BTreeSet};

use keyrack_jobs::{
    Error,
    bee::{
        End, Job, Outcome, ReservationEnd, SettleAndClaim, Settled, Status, Verdict,
        keys::{self, Jid},
    },
};
use keyrack_keys::Registry;
use keyrack_store::{Event, Subscription};

use super::fixture::{
    Fixture, LOCK_MS, TIMEOUTS, TTL_MS, completed, everywhere, failed, failed_for_good, jid, tag,
};

/// An end of which the worker knows for how long it is kept, as most are.
fn quick(result: &str) -> End {
    End::Completed { result: result.into(), ttl_ms: Some(TTL_MS) }
}

async fn settle_and_claim(fixture: &Fixture, request: SettleAndClaim<'_>) -> Settled {
    let request = SettleAndClaim { lock: TIMEOUTS.lock, ..request };
    fixture
        .hive
        .settle_and_claim(&fixture.queue, &fixture.worker, &request)
        .await
        .expect("an answer")
}

async fn ask(fixture: &Fixture, reservation: u64, max: usize) -> Settled {
    settle_and_claim(
        fixture,
        SettleAndClaim { max, reserve: Some(reservation), ..SettleAndClaim::default() },
    )
    .await
}

/// Opens a reservation. Nothing is claimed besides.
async fn take(fixture: &Fixture, reservation: u64, max: usize) -> Vec<Job> {
    let settled = ask(fixture, reservation, max).await;
    assert_eq!(settled.claimed.jobs, [], "reserved, not claimed");
    read(fixture, reservation, &settled.reserved).await
}

/// The jobs of a reservation, as its worker gets them.
async fn read(fixture: &Fixture, reservation: u64, jids: &[String]) -> Vec<Job> {
    fixture
        .hive
        .jobs_of_reservation(&fixture.queue, &fixture.worker, reservation, jids)
        .await
        .expect("the jobs")
}

async fn close(
    fixture: &Fixture,
    reservation: u64,
    outcomes: &[Outcome],
    begun: &[&Job],
) -> Settled {
    let begun = begun.iter().map(|job| (job.jid().to_owned(), job.attempts())).collect();
    let closes = Some(ReservationEnd { reservation, begun });
    settle_and_claim(fixture, SettleAndClaim { outcomes, closes, ..SettleAndClaim::default() })
        .await
}

async fn complete_all(fixture: &Fixture, reservation: u64, jobs: &[Job]) -> Vec<Verdict> {
    let outcomes: Vec<Outcome> = jobs.iter().map(|job| Outcome::of(job, quick("1"))).collect();
    close(fixture, reservation, &outcomes, &[]).await.verdicts
}

/// The open reservations of the queue, each with its jobs.
async fn open_reservations(fixture: &Fixture) -> BTreeMap<String, Vec<String>> {
    let reservations: BTreeMap<String, String> =
        fixture.ask("HGETALL", &fixture.of_queue(keys::reserved), &[]).await;
    let jobs = |entry: String| entry.split_whitespace().skip(1).map(str::to_owned).collect();
    reservations.into_iter().map(|(reservation, entry)| (reservation, jobs(entry))).collect()
}

fn reservation_name(fixture: &Fixture, reservation: u64) -> String {
    format!("{}#{reservation}", fixture.worker)
}

async fn put_many(fixture: &Fixture, ids: &[&str]) -> Vec<Jid> {
    let mut jids = Vec::new();
    for id in ids {
        jids.push(fixture.put(id).await);
    }
    jids
}

fn ids(jobs: &[Job]) -> Vec<&str> {
    jobs.iter().map(Job::jid).collect()
}

/// Everything in the store is as it was declared.
async fn check_declarations(fixture: &Fixture) {
    let registry = Registry::new(&[keys::FAMILIES]);
    let report =
        keyrack_lint::lint(fixture.hive.store(), &registry, &Default::default(), |_| {}).await;
    let findings = report.expect("a report").findings;
    assert!(findings.is_empty(), "{findings:#?}");
}

/// All that the store has of a queue and its jobs, without the name of the queue.
async fn seen(fixture: &Fixture, jids: &[Jid]) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    let mut see = |key: String, value: String| {
        let unnamed = |text: String| text.replace(fixture.queue.as_str(), "<queue>");
        seen.insert(unnamed(key), unnamed(value));
    };
    for key in [keys::queue, keys::delayed, keys::waiting, keys::locks, keys::expires, keys::failed]
    {
        let key = fixture.of_queue(key);
        see(key.name().into(), format!("{:?}", fixture.scores(&key).await));
    }
    let minutes: BTreeMap<String, u64> =
        fixture.ask("HGETALL", &fixture.of_queue(keys::minutes), &[]).await;
    see("minutes".into(), format!("{minutes:?}"));
    see("reservations".into(), format!("{:?}", open_reservations(fixture).await));
    let held = fixture.members(&keys::worker_locks(&fixture.worker, &fixture.queue.group())).await;
    see("held".into(), format!("{held:?}"));
    for jid in jids {
        for (field, value) in fixture.fields(jid).await {
            see(format!("{jid} {field}"), value);
        }
        let ttl: i64 = fixture.ask("PTTL", &keys::job(jid, &jid.group()), &[]).await;
        see(format!("{jid} stays"), (ttl < 0).to_string());
        let waits_for = fixture.members(&keys::dependencies(jid, &jid.group())).await;
        see(format!("{jid} waits for"), format!("{waits_for:?}"));
    }
    seen
}

/// Two queues to which the same happens, except that one worker claims jobs and the other takes them in reservations.
struct Twins {
    claims: Fixture,
    reservations: Fixture,
}

impl Twins {
    fn new(fixture: &Fixture) -> Twins {
        let name = |how: &str| format!("{}-{how}", fixture.queue);
        Twins {
            claims: fixture.on(&name("claims")),
            reservations: fixture.on(&name("reservations")),
        }
    }

    fn both(&self) -> [&Fixture; 2] {
        [&self.claims, &self.reservations]
    }

    fn jids(fixture: &Fixture, n_jobs: usize) -> Vec<Jid> {
        (0..n_jobs).map(|n| jid(&format!("{}-{n}", fixture.queue))).collect()
    }

    /// Takes the jobs of both. What the workers are told is the same.
    async fn take(&self, n_jobs: usize) -> [Vec<Job>; 2] {
        let jobs = [self.claims.claim(n_jobs).await, take(&self.reservations, 1, n_jobs).await];
        let told = |fixture: &Fixture, jobs: &[Job]| -> Vec<String> {
            let jobs = jobs.iter().map(|job| serde_json::to_string(job).expect("JSON"));
            jobs.map(|job| job.replace(fixture.queue.as_str(), "<queue>")).collect()
        };
        assert_eq!(told(&self.claims, &jobs[0]), told(&self.reservations, &jobs[1]));
        assert!(jobs[0].iter().all(|job| job.reservation().is_none()));
        assert!(jobs[1].iter().all(|job| job.reservation() == Some(1)));
        jobs
    }

    /// Tells the same of the jobs of both, and compares what is left.
    async fn end(&self, jobs: &[Vec<Job>; 2], end: impl Fn(&Job, usize) -> Option<Outcome>) {
        let outcomes = |jobs: &[Job]| -> Vec<Outcome> {
            jobs.iter().enumerate().filter_map(|(n, job)| end(job, n)).collect()
        };
        let [of_claims, of_reservations] = [outcomes(&jobs[0]), outcomes(&jobs[1])];
        let n_told = of_reservations.len();
        let begun: Vec<&Job> = jobs[1]
            .iter()
            .enumerate()
            .filter(|(n, job)| end(job, *n).is_none())
            .map(|(_, job)| job)
            .collect();
        let settled = settle_and_claim(
            &self.claims,
            SettleAndClaim { outcomes: &of_claims, ..SettleAndClaim::default() },
        )
        .await;
        assert_eq!(settled.verdicts, vec![Verdict::Ok; n_told]);
        let closed = close(&self.reservations, 1, &of_reservations, &begun).await;
        assert_eq!(closed.verdicts, vec![Verdict::Ok; n_told]);
        assert_eq!(closed.not_begun, Vec::<String>::new());
        self.compare(jobs[0].len() + 1).await;
    }

    async fn compare(&self, n_jobs: usize) {
        let [claims, reservations] = self.both();
        let expected = seen(claims, &Twins::jids(claims, n_jobs)).await;
        let found = seen(reservations, &Twins::jids(reservations, n_jobs)).await;
        let names: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
        for name in names {
            assert_eq!(found.get(name), expected.get(name), "{name}");
        }
        check_declarations(reservations).await;
    }
}

#[tokio::test]
async fn jobs_of_a_reservation_end_as_claimed_ones_do() {
    everywhere(async |fixture| {
        completed_jobs_are_the_same(&fixture.on("q1")).await;
        jobs_that_begin_are_the_same(&fixture.on("q2")).await;
        ends_of_all_kinds_are_the_same(&fixture.on("q3")).await;
        listeners_hear_the_same(&fixture.on("q4")).await;
        dependants_go_when_they_came_meanwhile(&fixture.on("q5")).await;
        tags_that_came_meanwhile_stay(&fixture.on("q6")).await;
        a_second_attempt_is_a_second_attempt(&fixture.on("q7")).await;
    })
    .await;
}

async fn completed_jobs_are_the_same(fixture: &Fixture) {
    let twins = Twins::new(fixture);
    for fixture in twins.both() {
        for jid in Twins::jids(fixture, 3) {
            fixture.submit(fixture.job().id(jid).arg("x").priority(2.0)).await;
        }
    }
    fixture.clock.advance_ms(7);
    let jobs = twins.take(3).await;
    fixture.clock.advance_ms(5);
    twins.end(&jobs, |job, n| Some(Outcome::of(job, quick(&n.to_string())))).await;
    let stored = fixture.read(&Twins::jids(&twins.reservations, 3)[2]).await;
    assert_eq!((stored.status(), stored.result()), (Status::Completed, Some("2")));
    let times: Vec<u64> = stored.history().iter().map(|entry| entry.timestamp as u64).collect();
    assert_eq!(times[2..], [fixture.now() - 5, fixture.now()], "popped when it was taken");
}

async fn jobs_that_begin_are_the_same(fixture: &Fixture) {
    let twins = Twins::new(fixture);
    for fixture in twins.both() {
        for jid in Twins::jids(fixture, 3) {
            fixture.submit(fixture.job().id(jid)).await;
        }
    }
    let jobs = twins.take(3).await;
    twins.end(&jobs, |job, n| (n == 1).then(|| Outcome::of(job, quick("1")))).await;
    let [claims, reservations] = twins.both();
    assert_eq!(claims.heartbeat().await.len(), reservations.heartbeat().await.len());
    fixture.clock.advance_ms(9);
    for (fixture, jobs) in [(claims, &jobs[0]), (reservations, &jobs[1])] {
        assert_eq!(fixture.settle(&jobs[0], quick("2")).await, Verdict::Ok);
    }
    twins.compare(3).await;
    fixture.clock.advance_ms(LOCK_MS);
    for fixture in twins.both() {
        assert_eq!(fixture.sweep().await.taken_away, 1, "what began has a lock like any other");
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
    for fixture in twins.both() {
        let jids = Twins::jids(fixture, N_KINDS + 1);
        for jid in &jids[..N_KINDS] {
            fixture.submit(fixture.job().id(jid.clone())).await;
        }
        fixture.submit(fixture.job().id(jids[N_KINDS].clone()).after(jids[7].clone())).await;
    }
}

async fn ends_of_all_kinds_are_the_same(fixture: &Fixture) {
    let twins = Twins::new(fixture);
    put_kinds(&twins).await;
    let jobs = twins.take(N_KINDS).await;
    twins.end(&jobs, end_of_kind).await;
    use Status::{Completed, Failed, Queued, Retried, Running};
    let expected = [
        Completed, Completed, Completed, Retried, Failed, Queued, Completed, Completed, Running,
        Queued,
    ];
    for (jid, status) in Twins::jids(&twins.reservations, N_KINDS + 1).iter().zip(expected) {
        assert_eq!(fixture.status(jid).await, status, "{jid}");
    }
}

/// A message that shows that all before it have arrived.
const MARK: &str = r#"{"type":"mark"}"#;

/// What was published on the queue's channel, without the name of the queue.
async fn heard(fixture: &Fixture, messages: &mut Subscription) -> Vec<String> {
    let channel = fixture.of_queue(keys::queue_events);
    fixture.hive.store().publish(&channel, MARK).await.expect("published");
    let mut heard = Vec::new();
    loop {
        match messages.next().await.expect("an event") {
            Event::Message(message) if message.payload == MARK.as_bytes() => return heard,
            Event::Message(message) => {
                let text = String::from_utf8(message.payload.to_vec()).expect("text");
                heard.push(text.replace(fixture.queue.as_str(), "<queue>"));
            }
            Event::Gap => panic!("messages were missed"),
        }
    }
}

async fn listeners_hear_the_same(fixture: &Fixture) {
    let twins = Twins::new(fixture);
    let mut listener = Vec::new();
    for fixture in twins.both() {
        let channel = fixture.of_queue(keys::queue_events);
        listener.push(fixture.hive.store().subscribe(&[channel]).await.expect("a subscription"));
    }
    put_kinds(&twins).await;
    let jobs = twins.take(N_KINDS).await;
    twins.end(&jobs, end_of_kind).await;
    let expected = heard(&twins.claims, &mut listener[0]).await;
    assert_eq!(heard(&twins.reservations, &mut listener[1]).await, expected);
    let n_ends = expected.iter().filter(|text| text.contains(r#""job":"#)).count();
    assert_eq!(n_ends, 6, "five completed, one failed: {expected:#?}");
}

async fn dependants_go_when_they_came_meanwhile(fixture: &Fixture) {
    let first = put_many(fixture, &["base", "beside"]).await.remove(0);
    let jobs = take(fixture, 1, 2).await;
    let then = fixture.submit(fixture.job().id(jid("then")).after(first.clone())).await;
    assert_eq!(fixture.status(&then).await, Status::New, "the first has not ended");
    check_declarations(fixture).await;
    assert_eq!(complete_all(fixture, 1, &jobs).await, [Verdict::Ok; 2]);
    assert_eq!(fixture.status(&then).await, Status::Queued);
    assert_eq!(fixture.events_of(&first).await, ["submitted", "queued", "popped", "completed"]);
    assert_eq!(fixture.in_queue(keys::queue).await, ["then"]);
}

async fn tags_that_came_meanwhile_stay(fixture: &Fixture) {
    let jid = fixture.put("tagged").await;
    let jobs = take(fixture, 1, 1).await;
    fixture.hive.set_tags(&jid, &[tag("red")]).await.expect("tags");
    assert_eq!(complete_all(fixture, 1, &jobs).await, [Verdict::Ok]);
    let stored = fixture.read(&jid).await;
    assert_eq!((stored.status(), stored.tags()), (Status::Completed, vec!["red".to_owned()]));
    check_declarations(fixture).await;
}

async fn a_second_attempt_is_a_second_attempt(fixture: &Fixture) {
    let twins = Twins::new(fixture);
    for fixture in twins.both() {
        fixture
            .submit(fixture.job().id(Twins::jids(fixture, 1).remove(0)).retry_delay_ms(0.0, false))
            .await;
        let first = fixture.claim_one().await;
        fixture.settle(&first, failed("not yet")).await;
    }
    let jobs = twins.take(1).await;
    assert_eq!((jobs[1][0].attempts(), jobs[1][0].retries()), (2, 1));
    twins.end(&jobs, |job, _| Some(Outcome::of(job, quick("1")))).await;
}

#[tokio::test]
async fn an_open_reservation_is_one_entry_and_everybody_can_tell() {
    everywhere(async |fixture| {
        the_jobs_themselves_are_not_touched(&fixture.on("q1")).await;
        reserved_jobs_count_as_running(&fixture.on("q2")).await;
        ids_without_a_job_are_dropped(&fixture.on("q3")).await;
        any_id_can_be_in_a_reservation(&fixture.on("reservations/q4")).await;
    })
    .await;
}

async fn the_jobs_themselves_are_not_touched(fixture: &Fixture) {
    let jids = put_many(fixture, &["a1", "b1", "c1"]).await;
    let mut before = seen(fixture, &jids).await;
    let jobs = take(fixture, 7, 2).await;
    assert_eq!(ids(&jobs), ["a1", "b1"]);
    let entry: String = fixture
        .ask("HGET", &fixture.of_queue(keys::reserved), &[&reservation_name(fixture, 7)])
        .await;
    assert_eq!(entry, format!("{} a1 b1 ", fixture.now() + LOCK_MS));
    let mut after = seen(fixture, &jids).await;
    for place in ["bee:ss:queue:<queue>", "reservations", "minutes"] {
        assert_ne!(before.remove(place), after.remove(place), "{place}");
    }
    assert_eq!(after, before, "nothing else has changed");
    assert_eq!(fixture.in_queue(keys::queue).await, ["c1"]);
    check_declarations(fixture).await;
    complete_all(fixture, 7, &jobs).await;
    assert!(!fixture.exists(&fixture.of_queue(keys::reserved)).await);
}

async fn reserved_jobs_count_as_running(fixture: &Fixture) {
    fixture.heartbeat().await;
    let jids = put_many(fixture, &["a2", "b2", "c2", "d2"]).await;
    let claimed = fixture.claim(1).await;
    let jobs = [take(fixture, 1, 1).await, take(fixture, 2, 1).await].concat();
    let stats = fixture.hive.stats(&fixture.queue).await.expect("stats");
    assert_eq!((stats.queued, stats.running, stats.workers[0].running), (1, 3, 3));
    assert_eq!(stats.minutes[0].started, 3);
    let why = fixture.hive.why(&jids[1]).await.expect("an answer");
    assert_eq!(why.explanation, "a worker has taken it a moment ago");
    assert_eq!((why.status, why.reasons.len(), why.position), (Status::Queued, 0, None));
    assert_eq!(fixture.hive.why(&jids[3]).await.expect("an answer").position, Some(1));

    for job in &claimed {
        fixture.hive.cancel(&job.id().expect("an id")).await.expect("canceled");
    }
    fixture.hive.cancel(&jids[3]).await.expect("canceled");
    let refused = fixture.hive.delete_queue(&fixture.queue).await;
    assert!(matches!(refused, Err(Error::QueueNotEmpty { .. })), "{refused:?}");
    assert_eq!(close(fixture, 1, &[], &[&jobs[0]]).await.not_begun, Vec::<String>::new());
    close(fixture, 2, &[Outcome::of(&jobs[1], End::Released)], &[]).await;
    let stats = fixture.hive.stats(&fixture.queue).await.expect("stats");
    assert_eq!((stats.queued, stats.running, stats.workers[0].running), (1, 1, 1));
}

async fn ids_without_a_job_are_dropped(fixture: &Fixture) {
    fixture.ask::<()>("ZADD", &fixture.of_queue(keys::queue), &["1", "ghost"]).await;
    fixture.put("real").await;
    let jobs = take(fixture, 1, 10).await;
    assert_eq!(ids(&jobs), ["real"]);
    assert_eq!(complete_all(fixture, 1, &jobs).await, [Verdict::Ok]);
    fixture.ask::<()>("ZADD", &fixture.of_queue(keys::queue), &["1", "ghost"]).await;
    assert_eq!(ids(&take(fixture, 2, 10).await), Vec::<&str>::new());
    fixture.clock.advance_ms(LOCK_MS);
    assert_eq!(fixture.sweep().await.taken_away, 0);
    for key in [keys::queue, keys::reserved, keys::locks] {
        assert!(!fixture.exists(&fixture.of_queue(key)).await, "nor does it come back");
    }
    let ghost = jid("ghost");
    assert!(!fixture.exists(&keys::job(&ghost, &ghost.group())).await);
}

/// An entry is text, and ids are nearly any text.
async fn any_id_can_be_in_a_reservation(fixture: &Fixture) {
    let jids = put_many(
        fixture,
        &[
            "reservations~a",
            "reservations~a.b",
            "reservations~a-",
            "reservations~+=@,/_",
            "reservations~1",
        ],
    )
    .await;
    take(fixture, 1, 10).await;
    fixture.clock.advance_ms(LOCK_MS);
    assert_eq!(fixture.sweep().await.taken_away, jids.len() as u64);
    let jobs = take(fixture, 2, 10).await;
    assert_eq!(jobs.len(), jids.len());
    fixture.hive.cancel(&jids[0]).await.expect("canceled");
    let verdicts = complete_all(fixture, 2, &jobs).await;
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Canceled).count(), 1);
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Ok).count(), jids.len() - 1);
}
