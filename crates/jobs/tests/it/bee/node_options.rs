//! What a Node worker does with jobs that have newer options, as docs/jobs.md says.
//!
//! The worker here writes what Node's does: it takes what is due, claims by score, sends the retry delay that the options say,
//! and knows no other keys.

use std::time::Duration;

use keyrack_jobs::bee::{
    Backoff, BackoffKind, Limits, NamedLimit, Rate, Status, Submission, SubmitOutcome, Unique,
    WorkerTimeouts,
    keys::{self, Jid, LimitName, Tenant},
};
use serde_json::Value as Json;

use super::fixture::{Fixture, completed, everywhere, jid, worker};

/// A Node worker of the fixture's queue.
struct NodeWorker<'f>(&'f Fixture);

impl NodeWorker<'_> {
    fn id() -> String {
        worker("node", "emails").to_string()
    }

    async fn claim(&self) -> Option<Jid> {
        let NodeWorker(fixture) = self;
        let (queue, delayed) = (fixture.of_queue(keys::queue), fixture.of_queue(keys::delayed));
        let now = fixture.now().to_string();
        let due: Vec<String> = fixture.ask("ZRANGEBYSCORE", &delayed, &["0", &now]).await;
        for jid in due {
            fixture.ask::<u64>("ZREM", &delayed, &[&jid]).await;
            fixture.ask::<u64>("ZADD", &queue, &[&now, &jid]).await;
        }
        let first: Vec<String> = fixture.ask("ZPOPMIN", &queue, &[]).await;
        let id = jid(first.first()?);
        let lock = (fixture.now() + WorkerTimeouts::BEE.lock.as_millis() as u64).to_string();
        let fields = ["worker", &Self::id(), "status", "running"];
        fixture.ask::<()>("HSET", &keys::job(&id, &id.group()), &fields).await;
        fixture.ask::<u64>("ZADD", &fixture.of_queue(keys::locks), &[&lock, id.as_str()]).await;
        Some(id)
    }

    /// Tells of a failure. Returns how long the job waits now.
    async fn fail(&self, id: &Jid) -> u64 {
        let NodeWorker(fixture) = self;
        let options = fixture.json(id, "options").await;
        let retries: u64 = fixture.fields(id).await["retries"].parse().expect("a number");
        let delay = options["retryDelay"].as_u64().expect("a delay");
        let is_progressive = options["progressiveDelay"] == Json::Bool(true);
        let wait = delay * if is_progressive { retries + 1 } else { 1 };
        self.unlock(id).await;
        let due = (fixture.now() + wait).to_string();
        fixture.ask::<u64>("ZADD", &fixture.of_queue(keys::delayed), &[&due, id.as_str()]).await;
        let fields = ["status", "retried", "retries", &(retries + 1).to_string()];
        fixture.ask::<()>("HSET", &keys::job(id, &id.group()), &fields).await;
        wait
    }

    async fn complete(&self, id: &Jid) {
        let NodeWorker(fixture) = self;
        self.unlock(id).await;
        let ttl = fixture.json(id, "options").await["ttl"].as_u64().expect("a ttl");
        let until = (fixture.now() + ttl).to_string();
        fixture.ask::<u64>("ZADD", &fixture.of_queue(keys::expires), &[&until, id.as_str()]).await;
        let fields = ["status", "completed", "result", "1"];
        fixture.ask::<()>("HSET", &keys::job(id, &id.group()), &fields).await;
    }

    async fn unlock(&self, id: &Jid) {
        let NodeWorker(fixture) = self;
        fixture.ask::<u64>("ZREM", &fixture.of_queue(keys::locks), &[id.as_str()]).await;
    }
}

fn limited(job: Submission) -> Submission {
    job.limit(&LimitName::new("gpu").expect("a limit"))
}

#[tokio::test]
async fn node_waits_as_linear_without_cap_and_jitter() {
    everywhere(async |fixture| {
        let node = NodeWorker(&fixture);
        let backoff = Backoff {
            kind: BackoffKind::Exponential,
            delay_ms: 1_000.0,
            max_ms: Some(2_000.0),
            jitter: Some(1.0),
        };
        let asked = fixture.submit(fixture.job().backoff(backoff)).await;
        for wait in [1_000, 2_000, 3_000] {
            assert_eq!(node.claim().await.as_ref(), Some(&asked));
            assert_eq!(node.fail(&asked).await, wait);
            assert_eq!(node.claim().await, None, "it waits");
            fixture.clock.advance_ms(wait);
        }
        // After Node's attempts keyrack's count on, as the job says.
        let job = fixture.claim_one().await;
        fixture.settle(&job, super::fixture::failed("no")).await;
        let due: f64 =
            fixture.ask("ZSCORE", &fixture.of_queue(keys::delayed), &[asked.as_str()]).await;
        assert!(due - fixture.now() as f64 <= 2_000.0, "capped: {due}");
    })
    .await;
}

#[tokio::test]
async fn node_uses_its_own_time_limit() {
    everywhere(async |fixture| {
        let node = NodeWorker(&fixture);
        let asked = fixture.submit(fixture.job().timeout(Duration::from_secs(1))).await;
        assert_eq!(node.claim().await.as_ref(), Some(&asked));
        fixture.clock.advance_ms(5_000);
        fixture.sweep_with(&WorkerTimeouts::BEE, &[]).await;
        assert_eq!(fixture.status(&asked).await, Status::Running);
        node.complete(&asked).await;
        fixture.sweep_with(&WorkerTimeouts::BEE, &[]).await;
        assert_eq!(fixture.status(&asked).await, Status::Completed);
    })
    .await;
}

#[tokio::test]
async fn node_starts_a_job_whatever_limits_it_names_and_does_not_count_it() {
    everywhere(async |fixture| {
        let node = NodeWorker(&fixture);
        let gpu = NamedLimit { concurrency: Some(1), rate: Some(Rate { max: 1, per_ms: 500 }) };
        let limits = Limits { named: [("gpu".to_owned(), gpu)].into(), ..Limits::default() };
        fixture.submit(limited(fixture.job())).await;
        fixture.hive.set_limits(&fixture.queue, &limits).await.expect("limits");
        let ours = fixture.claim_one().await;
        let second = fixture.submit(limited(fixture.job())).await;
        assert_eq!(node.claim().await.as_ref(), Some(&second));
        // One of ours is held until ours has ended, and then starts although Node's still runs.
        let third = fixture.submit(limited(fixture.job())).await;
        assert!(fixture.claim(1).await.is_empty());
        fixture.clock.advance_ms(500);
        fixture.settle(&ours, completed("1")).await;
        assert_eq!(fixture.claim_one().await.jid(), third.as_str());
        node.complete(&second).await;
        fixture.sweep_with(&WorkerTimeouts::BEE, &[]).await;
        assert_eq!(fixture.status(&second).await, Status::Completed);
    })
    .await;
}

#[tokio::test]
async fn node_starts_a_job_after_its_deadline_unless_somebody_has_looked() {
    everywhere(async |fixture| {
        let node = NodeWorker(&fixture);
        let late = || fixture.job().start_within(Duration::from_secs(1));
        let unseen = fixture.submit(late()).await;
        fixture.clock.advance_ms(2_000);
        assert_eq!(node.claim().await.as_ref(), Some(&unseen));
        // It has started, so whoever looks now lets it run.
        fixture.sweep_with(&WorkerTimeouts::BEE, &[]).await;
        assert_eq!(fixture.status(&unseen).await, Status::Running);
        node.complete(&unseen).await;
        let seen = fixture.submit(late()).await;
        fixture.clock.advance_ms(2_000);
        fixture.sweep_with(&WorkerTimeouts::BEE, &[]).await;
        assert_eq!(node.claim().await, None);
        assert_eq!(fixture.status(&seen).await, Status::Expired);
    })
    .await;
}

#[tokio::test]
async fn a_job_that_node_runs_stands_for_equal_submissions_as_any_other() {
    everywhere(async |fixture| {
        let node = NodeWorker(&fixture);
        let submit = async |unique: Unique| {
            let stored = fixture.hive.submit_unique(fixture.job().arg(1).unique(unique)).await;
            stored.expect("submitted")
        };
        let until_started = Unique::by_key("started").until_started();
        let until_ended = Unique::by_key("ended").until_ended();
        for (unique, while_it_runs) in
            [(until_started, SubmitOutcome::Created), (until_ended, SubmitOutcome::Existing)]
        {
            let first = submit(unique.clone()).await.jid;
            assert_eq!(submit(unique.clone()).await.outcome, SubmitOutcome::Existing);
            assert_eq!(node.claim().await.as_ref(), Some(&first));
            let second = submit(unique.clone()).await;
            assert_eq!(second.outcome, while_it_runs, "{unique:?}");
            node.complete(&first).await;
            if while_it_runs == SubmitOutcome::Existing {
                assert_eq!(submit(unique).await.outcome, SubmitOutcome::Created);
            }
            let next = node.claim().await.expect("the next one");
            node.complete(&next).await;
        }
        // Of a burst the last one runs, after its quiet; then the next burst begins.
        let quiet = Duration::from_secs(2);
        let debounced = Unique::by_key("burst").debounce(quiet, 10 * quiet);
        let first = submit(debounced.clone()).await.jid;
        fixture.clock.advance_ms(1_500);
        assert_eq!(submit(debounced.clone()).await.outcome, SubmitOutcome::Replaced);
        fixture.clock.advance_ms(1_500);
        assert_eq!(node.claim().await, None);
        fixture.clock.advance_ms(500);
        assert_eq!(node.claim().await.as_ref(), Some(&first));
        assert_eq!(submit(debounced).await.outcome, SubmitOutcome::Created);
    })
    .await;
}

#[tokio::test]
async fn tenants_take_turns_with_node_and_what_it_starts_does_not_count() {
    everywhere(async |fixture| {
        let node = NodeWorker(&fixture);
        let of = |name: &str| fixture.job().tenant(Tenant::new(name).expect("a tenant"));
        let first = fixture.submit(of("ann")).await;
        let second = fixture.submit(of("ann")).await;
        let other = fixture.submit(of("bob")).await;
        let limits = Limits { tenant_concurrency: Some(1), ..Limits::default() };
        fixture.hive.set_limits(&fixture.queue, &limits).await.expect("limits");
        assert_eq!(node.claim().await.as_ref(), Some(&first));
        assert_eq!(node.claim().await.as_ref(), Some(&other), "the others of ann wait");
        assert_eq!(node.claim().await, None);
        // The sweep sees that a place is free, although ann's first job still runs.
        fixture.sweep_with(&WorkerTimeouts::BEE, &[]).await;
        assert_eq!(node.claim().await.as_ref(), Some(&second));
        for jid in [&first, &second, &other] {
            node.complete(jid).await;
        }
        fixture.sweep_with(&WorkerTimeouts::BEE, &[]).await;
        let tenants: Vec<String> =
            fixture.ask("HKEYS", &fixture.of_queue(keys::tenants), &[]).await;
        assert!(tenants.is_empty(), "{tenants:?}");
    })
    .await;
}
