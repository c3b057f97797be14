//! Typed tasks from submission to result.

use std::time::Duration;

use keyrack::{
    Class, Error,
    jobs::{Status, Submit, bee::Submission},
    prelude::*,
};
use serde::{Deserialize, Serialize};

use crate::tasks::{Charge, Counter, Receipt, charge, on_every_rack};

/// Longer than any test should take; whoever waits for less waits for nothing.
const PATIENCE: Duration = secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn a_task_gives_its_output_on_every_store() {
    on_every_rack(async |rack| {
        let jobs = rack.jobs();
        let worker = jobs.worker().on(charge).spawn();
        let job = Charge { cents: 500 }.submit(&jobs).await.expect("submitted");
        assert!(job.is_new());
        assert_eq!(job.wait(PATIENCE).await.expect("a receipt"), Receipt::of(500));
        let again = jobs.handle::<Charge>(job.id().clone());
        assert_eq!(again.result().await.expect("stored"), Receipt::of(500));
        worker.stop().await.expect("stopped");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_attempt_is_made_again_on_every_store() {
    async fn second_time(task: Charge, tries: State<Counter>) -> anyhow::Result<Receipt> {
        anyhow::ensure!(tries.count() > 1, "the bank is closed");
        Ok(Receipt::of(task.cents))
    }
    on_every_rack(async |rack| {
        let (jobs, tries) = (rack.jobs(), Counter::default());
        let worker = jobs.worker().state(tries.clone()).on(second_time).spawn();
        let at_once = Backoff::fixed(Duration::ZERO);
        let job = Charge { cents: 7 }.submit(&jobs).backoff(at_once).await.expect("submitted");
        assert_eq!(job.wait(PATIENCE).await.expect("a receipt"), Receipt::of(7));
        assert_eq!(tries.get(), 2);
        worker.stop().await.expect("stopped");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fatal_error_is_not_tried_again_and_its_sources_are_stored_on_every_store() {
    #[derive(Debug, thiserror::Error)]
    #[error("the bank refuses")]
    struct Refused(#[source] std::io::Error);

    async fn refuse(_: Charge, tries: State<Counter>) -> Result<Receipt, BoxError> {
        tries.count();
        let refused: Result<Receipt, _> =
            Err(Refused(std::io::Error::other("the card is blocked")));
        Ok(refused.fatal()?)
    }
    on_every_rack(async |rack| {
        let (jobs, tries) = (rack.jobs(), Counter::default());
        let worker = jobs.worker().state(tries.clone()).on(refuse).spawn();
        let job = Charge { cents: 7 }.submit(&jobs).retries(5).await.expect("submitted");
        let error = job.wait(PATIENCE).await.expect_err("refused");
        let Error::JobFailed { jid, reason } = &error else { panic!("{error:?}") };
        assert_eq!(jid, job.id().as_str());
        assert_eq!(reason, "the bank refuses: the card is blocked");
        assert_eq!((error.class(), error.is_transient(), tries.get()), (Class::Internal, false, 1));
        worker.stop().await.expect("stopped");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_equal_job_stands_for_a_unique_one_on_every_store() {
    on_every_rack(async |rack| {
        let jobs = rack.jobs();
        let submit = async |cents| {
            let job = Charge { cents }.submit(&jobs).unique(Unique::by_args()).await;
            job.expect("submitted")
        };
        let (first, second, other) = (submit(1).await, submit(1).await, submit(2).await);
        assert!(first.is_new() && !second.is_new() && other.is_new());
        assert_eq!(first.id(), second.id());
        let worker = jobs.worker().on(charge).spawn();
        assert_eq!(second.wait(PATIENCE).await.expect("a receipt"), Receipt::of(1));
        worker.stop().await.expect("stopped");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_in_time_and_the_job_goes_on_on_every_store() {
    on_every_rack(async |rack| {
        let job = Charge { cents: 1 }.submit(&rack).await.expect("submitted");
        let error = job.wait(millis(1)).await.expect_err("nobody works");
        assert!(matches!(error, Error::NotEnded { .. }), "{error:?}");
        assert_eq!((error.class(), error.is_transient()), (Class::Unavailable, true));
        assert_eq!(job.status().await.expect("stored"), Status::Queued);
        job.cancel().await.expect("canceled");
        let error = job.wait(PATIENCE).await.expect_err("canceled");
        assert!(matches!(error, Error::JobEnded { status: Status::Canceled, .. }), "{error:?}");
        assert_eq!((error.class(), error.is_transient()), (Class::Conflict, false));
    })
    .await;
}

#[derive(Debug, Serialize, Deserialize)]
struct Report {
    year: u32,
}

impl Task for Report {
    const QUEUE: &'static str = "shop/reports";
    type Output = u64;

    fn options(submit: Submit<Self>) -> Submit<Self> {
        submit.retries(1).timeout(secs(60)).tag("report")
    }
}

#[tokio::test]
async fn every_option_reaches_the_job() {
    let now = std::time::SystemTime::UNIX_EPOCH + days(20_000);
    let (rack, _) = Keyrack::in_memory_at(now).await.expect("a rack");
    let jobs = rack.jobs();
    let first = Report { year: 2025 }.submit(&jobs).await.expect("submitted");
    let options = first.job().await.expect("stored").options();
    assert_eq!((options.retries, options.timeout), (1, Some(60_000)));

    let job = Report { year: 2026 }
        .submit(&jobs)
        .id("shop~the-report")
        .priority(3.0)
        .delay(secs(5))
        .retries(2)
        .backoff(Backoff::exponential(secs(1)).longest(secs(9)))
        .timeout(secs(30))
        .start_within(mins(1))
        .tenant("acme")
        .limit("gpu")
        .limit("api.example.com")
        .tags(["yearly", "2026"])
        .after(first.id().clone())
        .ttl(hours(1))
        .failed_ttl(days(2))
        .preferred_host("big-machine")
        .await
        .expect("submitted");
    let stored = job.job().await.expect("stored");
    assert_eq!(
        (stored.jid(), stored.queue(), stored.data()),
        ("shop~the-report", "shop/reports", r#"[{"year":2026}]"#)
    );
    assert_eq!(
        (stored.tenant(), stored.tags()),
        (Some("acme"), ["report", "yearly", "2026"].map(String::from).to_vec())
    );
    let options = stored.options();
    assert_eq!((options.priority, options.delay, options.retries), (3.0, 5_000.0, 2));
    assert_eq!((options.ttl, options.failed_ttl), (3_600_000, Some(2 * 86_400_000)));
    assert_eq!(
        (options.timeout, options.start_by),
        (Some(30_000), Some(stored.submitted() + 60_000))
    );
    assert_eq!(options.dependencies, [first.id().as_str()]);
    assert_eq!(options.preferred_hostname.as_deref(), Some("big-machine"));
    assert_eq!(options.limits, ["gpu", "api.example.com"]);
    let backoff = options.own_backoff().expect("its own");
    assert_eq!((backoff.delay_ms, backoff.max_ms), (1_000.0, Some(9_000.0)));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_nothing_is_stored() {
    let rack = Keyrack::open("embedded:memory").await.expect("a rack");
    let jobs = rack.jobs();
    let task = Charge { cents: 1 };
    let refused = [
        task.submit(&jobs).tag("").await.expect_err("an empty tag"),
        task.submit(&jobs).tenant("x".repeat(300)).await.expect_err("a long tenant"),
        task.submit(&jobs).id("tags").await.expect_err("a word of the keys"),
        task.submit(&jobs).priority(11.0).await.expect_err("more than next"),
        task.submit(&jobs).delay(days(365 * 1000)).await.expect_err("a thousand years"),
        task.submit(&jobs).timeout(Duration::ZERO).await.expect_err("no time at all"),
    ];
    for error in refused {
        assert_eq!((error.class(), error.is_transient()), (Class::Invalid, false), "{error}");
    }
    let queues = jobs.hive().queues().await.expect("the queues");
    assert!(queues.is_empty(), "{queues:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_has_state_and_context_and_submits_children() {
    async fn parent(task: Report, job: Context, calls: State<Counter>) -> anyhow::Result<u64> {
        calls.count();
        let child = Charge { cents: u64::from(task.year) }.submit(&job).await?;
        let stored = child.job().await?;
        anyhow::ensure!(stored.parent() == Some(job.job().jid()), "no child of this job");
        Ok(job.job().attempts())
    }
    let rack = Keyrack::open("embedded:memory").await.expect("a rack");
    let (jobs, calls) = (rack.jobs(), Counter::default());
    let worker = jobs.worker().on(charge).state(calls.clone()).concurrency(2).on(parent).spawn();
    let job = Report { year: 2026 }.submit(&jobs).await.expect("submitted");
    assert_eq!((job.wait(PATIENCE).await.expect("an attempt"), calls.get()), (1, 1));
    worker.stop().await.expect("stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_tasks_are_submitted_together() {
    let rack = Keyrack::open("embedded:memory").await.expect("a rack");
    let jobs = rack.jobs();
    let worker = jobs.worker().on(charge).spawn();
    let charges = (0..300).map(|cents| Charge { cents });
    let handles = jobs.submit_all(charges).await.expect("submitted");
    assert_eq!(handles.len(), 300);
    for (cents, job) in handles.iter().enumerate() {
        let receipt = job.wait(PATIENCE).await.expect("a receipt");
        assert_eq!(receipt, Receipt::of(cents as u64));
    }
    worker.stop().await.expect("stopped");
}

#[tokio::test]
async fn data_or_a_result_of_another_type_is_told_as_such() {
    async fn number(_: Charge) -> Result<Receipt, BoxError> {
        unreachable!("the data is no charge")
    }
    let rack = Keyrack::open("embedded:memory").await.expect("a rack");
    let jobs = rack.jobs().inline(rack.jobs().worker().on(number)).expect("good queues");
    let text = Submission::new(Charge::QUEUE).expect("a queue").arg("no charge");
    let jid = jobs.hive().submit(text).await.expect("submitted");
    assert_eq!(rack.jobs().worker().on(number).run_due().await.expect("run"), 1);
    let error = jobs.handle::<Charge>(jid).result().await.expect_err("no charge");
    assert!(error.to_string().contains("the data of the job is no"), "{error}");

    #[derive(Serialize, Deserialize)]
    struct Other;
    impl Task for Other {
        const QUEUE: &'static str = "others";
        type Output = u64;
    }
    async fn other(_: Other) -> Result<u64, BoxError> {
        Ok(7)
    }
    let jobs = rack.jobs().inline(rack.jobs().worker().on(other)).expect("good queues");
    let seven = Other.submit(&jobs).await.expect("submitted");
    let error = jobs.handle::<Charge>(seven.id().clone()).result().await.expect_err("a number");
    assert!(matches!(error, Error::Result { .. }), "{error:?}");
}

#[tokio::test]
async fn a_queue_has_one_handler() {
    let rack = Keyrack::open("embedded:memory").await.expect("a rack");
    let worker = rack.jobs().worker().on(charge).on(charge).spawn();
    let error = worker.stop().await.expect_err("two handlers");
    assert_eq!(error.class(), Class::Invalid);
}

#[tokio::test]
async fn what_a_handler_says_is_in_the_log_of_its_own_job() {
    use keyrack::jobs::logs::LogLevel;
    use tracing::Instrument as _;
    use tracing_subscriber::prelude::*;

    async fn talk(task: Charge) -> Result<Receipt, BoxError> {
        tracing::warn!(cents = task.cents, "charging");
        tracing::debug!("not kept");
        let part = async { tracing::info!("in a task of its own") }.in_current_span();
        tokio::spawn(part).await?;
        Ok(Receipt::of(task.cents))
    }
    let subscriber = tracing_subscriber::registry().with(keyrack::JobLogs::default());
    let _guard = tracing::subscriber::set_default(subscriber);
    let rack = Keyrack::open("embedded:memory").await.expect("opened");
    let jobs = rack.jobs().inline(rack.jobs().worker().on(talk)).expect("a queue");
    let one = Charge { cents: 1 }.submit(&jobs).await.expect("submitted");
    let two = Charge { cents: 2 }.submit(&jobs).await.expect("submitted");
    tracing::info!("outside of all jobs");
    for (job, cents) in [(one, 1), (two, 2)] {
        let log = jobs.hive().log(job.id(), 0, 100).await.expect("a log");
        let lines: Vec<_> = log.lines.iter().map(|line| (line.level, line.text.as_str())).collect();
        let first = format!("charging cents={cents}");
        let expected = [(LogLevel::Warn, first.as_str()), (LogLevel::Info, "in a task of its own")];
        assert_eq!(lines, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_of_one_worker_share_its_places_by_weight_on_every_store() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Refund {
        cents: u64,
    }
    impl Task for Refund {
        const QUEUE: &str = "shop/refunds";
        type Output = Receipt;
    }
    async fn refund(refund: Refund) -> Result<Receipt, BoxError> {
        Ok(Receipt::of(refund.cents))
    }
    on_every_rack(async |rack| {
        let jobs = rack.jobs();
        let worker = jobs.worker().shared_concurrency(1);
        let worker = worker.weight(3).on(charge).weight(1).on(refund).spawn();
        let charged = Charge { cents: 1 }.submit(&jobs).await.expect("submitted");
        let refunded = Refund { cents: 2 }.submit(&jobs).await.expect("submitted");
        assert_eq!(charged.wait(PATIENCE).await.expect("a receipt"), Receipt::of(1));
        assert_eq!(refunded.wait(PATIENCE).await.expect("a receipt"), Receipt::of(2));
        worker.stop().await.expect("stopped");
        let wrong = jobs.worker().weight(0).on(charge).run_until(std::future::ready(())).await;
        let error = wrong.expect_err("no such weight");
        assert_eq!(error.class(), Class::Invalid);
        assert!(error.to_string().contains("weight: 0; give 1 to 100"), "{error}");
    })
    .await;
}
