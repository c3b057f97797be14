//! Submitting: what is looked at, what waits, what is refused.

use keyrack_jobs::{
    Error,
    bee::{
        JOBS_AS_A_WHOLE_MAX, Status, Submission, SubmitOutcome,
        keys::{self, Jid},
    },
};

use super::fixture::{Fixture, completed, everywhere, failed_for_good, jid, tag};

#[tokio::test]
async fn a_submission_waits_for_what_is_there_and_has_not_ended() {
    everywhere(async |fixture| {
        ended_and_unknown_dependencies_are_not_waited_for(&fixture.on("q1")).await;
        a_job_waits_for_all_jobs_that_have_all_of_its_tags(&fixture.on("q2")).await;
        a_delay_counts_from_the_release(&fixture.on("q3")).await;
        each_job_of_many_can_wait_for_those_before_it(&fixture.on("q4")).await;
        a_dependency_named_twice_is_waited_for_once(&fixture.on("q5")).await;
    })
    .await;
}

async fn ended_and_unknown_dependencies_are_not_waited_for(fixture: &Fixture) {
    let done = fixture.run(fixture.job(), completed("1")).await;
    let bad = fixture.run(fixture.job(), failed_for_good("no")).await;
    let canceled = fixture.put("canceled").await;
    fixture.hive.cancel(&canceled).await.expect("canceled");
    let job = fixture.job().after(done).after(bad).after(canceled).after(jid("nobody"));
    let jid = fixture.submit(job).await;
    assert_eq!(fixture.status(&jid).await, Status::Queued);
    assert!(!fixture.exists(&keys::dependencies(&jid, &jid.group())).await);
}

async fn a_job_waits_for_all_jobs_that_have_all_of_its_tags(fixture: &Fixture) {
    let both = fixture.submit(fixture.job().id(jid("both")).tag(tag("x")).tag(tag("y"))).await;
    let one = fixture.submit(fixture.job().id(jid("one")).tag(tag("x"))).await;
    let job = fixture.job().id(jid("after")).tag(tag("x")).tag(tag("y")).after_tags();
    let after = fixture.submit(job).await;
    let open = fixture.members(&keys::dependencies(&after, &after.group())).await;
    assert_eq!(open, ["both".to_owned()].into(), "and not for itself");
    let refused = fixture.hive.submit(fixture.job().after_tags()).await;
    assert!(matches!(refused, Err(Error::Invalid { .. })), "it has no tags: {refused:?}");
    fixture.hive.cancel(&both).await.expect("canceled");
    assert_eq!(fixture.status(&after).await, Status::Queued);
    assert_eq!(fixture.status(&one).await, Status::Queued);
}

async fn a_delay_counts_from_the_release(fixture: &Fixture) {
    let base = fixture.put("base").await;
    fixture.submit(fixture.job().id(jid("late")).after(base).delay_ms(5_000.0)).await;
    fixture.clock.advance_ms(60_000);
    let job = fixture.claim_one().await;
    fixture.settle(&job, completed("1")).await;
    let delayed = fixture.scores(&fixture.of_queue(keys::delayed)).await;
    assert_eq!(delayed, [("late".to_owned(), (fixture.now() + 5_000).to_string())]);
    assert_eq!(fixture.status(&jid("late")).await, Status::New);
}

async fn each_job_of_many_can_wait_for_those_before_it(fixture: &Fixture) {
    let other = fixture.on("q4b");
    let mut jobs: Vec<Submission> = vec![fixture.job().id(jid("m0"))];
    for n in 1..6 {
        let queue = if n % 2 == 0 { fixture } else { &other };
        let before = jid(&format!("m{}", n - 1));
        jobs.push(queue.job().id(jid(&format!("m{n}"))).after(before));
    }
    jobs.push(fixture.job().id(jid("m0")));
    let mut answers = fixture.hive.submit_many(jobs).await.expect("submitted");
    let last = answers.pop().expect("an answer");
    assert!(matches!(last, Err(Error::Exists { .. })), "one bad job stops no other: {last:?}");
    for (n, answer) in answers.into_iter().enumerate() {
        let status = fixture.status(&answer.expect("submitted")).await;
        assert_eq!(status, if n == 0 { Status::Queued } else { Status::New }, "job {n}");
    }
}

async fn a_dependency_named_twice_is_waited_for_once(fixture: &Fixture) {
    let base = fixture.submit(fixture.job().id(jid("twice")).tag(tag("z"))).await;
    let job = fixture.job().after(base.clone()).after(base).tag(tag("z")).after_tags();
    let jid = fixture.submit(job.delay_ms(1_000.0)).await;
    let job = fixture.claim_one().await;
    fixture.settle(&job, completed("1")).await;
    let events = fixture.events_of(&jid).await;
    assert_eq!(events, ["submitted", "dependancyWaiting", "delayed"], "released once");
}

#[tokio::test]
async fn what_is_refused_leaves_nothing_behind() {
    everywhere(async |fixture| {
        let parent = fixture.put("parent").await;
        fixture.hive.cancel(&parent).await.expect("canceled");
        let base = fixture.put("base").await;
        let child =
            fixture.job().id(jid("child")).parent(parent).after(base.clone()).tag(tag("red"));
        let refused = fixture.hive.submit(child).await;
        assert!(matches!(refused, Err(Error::ParentCanceled { .. })), "{refused:?}");
        let gone = jid("child");
        for key in [
            keys::job(&gone, &gone.group()),
            keys::dependencies(&gone, &gone.group()),
            keys::tags(&tag("red"), &gone.group()),
            keys::children(&jid("parent"), &gone.group()),
        ] {
            assert!(!fixture.exists(&key).await, "{}", key.name());
        }
        assert!(fixture.read(&base).await.dependants().is_empty());

        let taken = fixture.hive.submit(fixture.job().id(base.clone()).arg("other")).await;
        assert!(matches!(taken, Err(Error::Exists { .. })), "{taken:?}");
        assert_eq!(fixture.read(&base).await.data(), "[]", "the first one stays as it is");
        let bad = [
            fixture.job().delay_ms(-1.0),
            fixture.job().delay_ms(f64::NAN),
            fixture.job().priority(f64::INFINITY),
            fixture.job().retry_delay_ms(-1.0, false),
            fixture.job().arg("x".repeat(2 * 1024 * 1024)),
            fixture.job().id(jid("a*b")),
            (0..65).fold(fixture.job(), |job, n| job.tag(tag(&format!("t{n}")))),
            (0..1001).fold(fixture.job(), |job, n| job.after(jid(&format!("d{n}")))),
        ];
        for job in bad {
            let refused = fixture.hive.submit(job).await;
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
        }
        assert_eq!(fixture.in_queue(keys::queue).await, ["base"]);
    })
    .await;
}

/// The bytes of the two fields with the dependants of a job: what a submission has written is that of those that changed.
async fn dependants_fields(fixture: &Fixture, jid: &Jid) -> [String; 2] {
    let key = keys::job(jid, &jid.group());
    let fields: [Option<String>; 2] =
        fixture.ask("HMGET", &key, &["dependants", "moreDependants"]).await;
    fields.map(Option::unwrap_or_default)
}

/// Submits a job that waits for another. Returns how many bytes of dependants it has written.
async fn written_by_dependant(
    fixture: &Fixture,
    base: &Jid,
    id: &str,
    before: &mut [String; 2],
) -> usize {
    fixture.submit(fixture.job().id(jid(id)).after(base.clone())).await;
    let now = dependants_fields(fixture, base).await;
    let changed = now.iter().zip(before.iter()).filter(|(now, before)| now != before);
    let written = changed.map(|(now, _)| now.len()).sum();
    *before = now;
    written
}

#[tokio::test]
async fn a_job_that_waits_costs_the_same_however_many_wait_for_the_same_one() {
    everywhere(async |fixture| {
        a_submission_does_not_write_all_dependants(&fixture.on("q1")).await;
        a_submission_writes_all_dependants_where_node_is(&fixture.on("q2")).await;
    })
    .await;
}

async fn a_submission_does_not_write_all_dependants(fixture: &Fixture) {
    let base = fixture.put("base").await;
    let batch = (0..1_500).map(|n| fixture.job().id(jid(&format!("a{n:030}"))).after(base.clone()));
    let batch = fixture.hive.submit_many(batch.collect()).await.expect("submitted");
    let mut before = dependants_fields(fixture, &base).await;
    assert!(before[0].len() > 40_000, "{} bytes", before[0].len());
    let mut written = 0;
    const JOBS: usize = 300;
    for n in 0..JOBS {
        written += written_by_dependant(fixture, &base, &format!("b{n:030}"), &mut before).await;
    }
    assert!(written / JOBS < 8_192, "{} bytes for each", written / JOBS);
    let all = fixture.read(&base).await.dependants();
    assert_eq!(all.len(), batch.len() + JOBS);
    assert_eq!(all.last(), Some(&format!("b{:030}", JOBS - 1)));
    let job = fixture.claim_one().await;
    fixture.settle(&job, completed("1")).await;
    assert_eq!(fixture.in_queue(keys::queue).await.len(), batch.len() + JOBS, "all are released");
}

/// Node hives know the documented field only, and release those that it lists.
async fn a_submission_writes_all_dependants_where_node_is(fixture: &Fixture) {
    let base = fixture.put("base-2").await;
    let batch = (0..300).map(|n| fixture.job().id(jid(&format!("c{n:030}"))).after(base.clone()));
    fixture.hive.submit_many(batch.collect()).await.expect("submitted");
    let mut before = dependants_fields(fixture, &base).await;
    written_by_dependant(fixture, &base, "d1", &mut before).await;
    assert_eq!(before[1], r#"["d1"]"#, "no Node hive has been here");
    if fixture.hive.store().layout() != keyrack_keys::Layout::Documented {
        return;
    }
    fixture.note_node_hive().await;
    written_by_dependant(fixture, &base, "d2", &mut before).await;
    assert!(before[0].ends_with(r#","d1","d2"]"#), "Node reads all");
}

/// The field of the job that others wait for is written once for each call, not once for each of them.
#[tokio::test]
async fn many_jobs_that_wait_for_one_are_submitted_quickly_and_all_released() {
    let store = keyrack_store::Store::open("embedded:memory").await.expect("a store");
    let hive = keyrack_jobs::bee::Hive::open(store).await.expect("a hive");
    let queue = super::fixture::queue("emails");
    let first = hive.submit(Submission::to(queue.clone())).await.expect("submitted");
    const JOBS: usize = 5_000;
    let jobs = |after: bool| -> Vec<Submission> {
        let job = || Submission::to(queue.clone()).tag(super::fixture::tag("many"));
        (0..JOBS).map(|_| if after { job().after(first.clone()) } else { job() }).collect()
    };
    let begun = std::time::Instant::now();
    hive.submit_many(jobs(false)).await.expect("submitted");
    let plain = begun.elapsed();
    let begun = std::time::Instant::now();
    hive.submit_many(jobs(true)).await.expect("submitted");
    let waiting = begun.elapsed();
    assert!(waiting < plain * 4, "{waiting:?} for jobs that wait, {plain:?} for others");
    assert_eq!(hive.job(&first).await.expect("the job").dependants().len(), JOBS);
    let worker = hive.new_worker(&queue).expect("a worker");
    let claimed =
        hive.claim(&queue, &worker, 1, super::fixture::TIMEOUTS.lock).await.expect("claimed");
    assert_eq!(claimed.jobs[0].jid(), first.as_str());
    let end = keyrack_jobs::bee::Outcome::of(&claimed.jobs[0], super::fixture::completed("1"));
    hive.settle(&queue, &worker, &[end], 0, super::fixture::TIMEOUTS.lock).await.expect("settled");
    let stats = hive.stats(&queue).await.expect("stats");
    assert_eq!((stats.waiting, stats.queued), (0, 2 * JOBS as u64));
}

#[tokio::test]
async fn a_list_is_stored_as_a_whole_or_not_at_all() {
    everywhere(async |fixture| {
        let (taken, parent) = (fixture.put("taken").await, fixture.put("parent").await);
        fixture.hive.cancel(&parent).await.expect("canceled");
        let before = fixture.in_queue(keys::queue).await;
        let list = |last: Submission| {
            let mut jobs: Vec<Submission> =
                (0..499).map(|n| fixture.job().id(jid(&format!("j{n}")))).collect();
            jobs.push(last);
            jobs
        };
        for (last, word) in [
            (fixture.job().id(taken), "there is a job \"taken\" already"),
            (fixture.job().parent(parent), "the parent job \"parent\" was canceled"),
            (fixture.job().id(jid("j0")), "there is a job \"j0\" already"),
            (fixture.job().delay_ms(-1.0), "delay: -1 ms"),
            (fixture.on("other").job(), "queue: \"other\" and \"emails\""),
        ] {
            let refused = fixture.hive.submit_whole(list(last)).await.expect_err("refused");
            assert_eq!(refused.place, Some(499));
            assert!(refused.error.to_string().starts_with(word), "{}", refused.error);
            assert_eq!(fixture.in_queue(keys::queue).await, before);
            let first = jid("j0");
            assert!(!fixture.exists(&keys::job(&first, &first.group())).await);
        }
        let stored = fixture.hive.submit_whole(list(fixture.job())).await.expect("stored");
        assert!(
            stored.len() == 500 && stored.iter().all(|job| job.outcome == SubmitOutcome::Created)
        );
        assert_eq!(fixture.in_queue(keys::queue).await.len(), 501);
        let plain = fixture.hive.submit_whole(vec![fixture.job(); 300]).await.expect("stored");
        assert_eq!((plain.len(), fixture.in_queue(keys::queue).await.len()), (300, 801));
        let too_many = vec![fixture.job(); JOBS_AS_A_WHOLE_MAX + 1];
        let refused = fixture.hive.submit_whole(too_many).await.expect_err("refused");
        assert!(refused.error.to_string().starts_with("jobs: 10001 of them"), "{}", refused.error);
    })
    .await;
}
