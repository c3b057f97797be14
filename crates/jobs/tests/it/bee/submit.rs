//! Submitting: what is looked at, what waits, what is refused.

use keyrack_jobs::{
    Error,
    bee::{Status, Submission, keys},
};

use super::rig::{Rig, completed, everywhere, failed_for_good, jid, tag};

#[tokio::test]
async fn a_submission_waits_for_what_is_there_and_has_not_ended() {
    everywhere(async |rig| {
        ended_and_unknown_dependencies_are_not_waited_for(&rig.on("q1")).await;
        a_job_waits_for_all_jobs_that_have_all_of_its_tags(&rig.on("q2")).await;
        a_delay_counts_from_the_release(&rig.on("q3")).await;
        each_job_of_many_can_wait_for_those_before_it(&rig.on("q4")).await;
        a_dependency_named_twice_is_waited_for_once(&rig.on("q5")).await;
    })
    .await;
}

async fn ended_and_unknown_dependencies_are_not_waited_for(rig: &Rig) {
    let done = rig.run(rig.job(), completed("1")).await;
    let bad = rig.run(rig.job(), failed_for_good("no")).await;
    let canceled = rig.put("canceled").await;
    rig.hive.cancel(&canceled).await.expect("cancelled");
    let job = rig.job().after(done).after(bad).after(canceled).after(jid("nobody"));
    let jid = rig.submit(job).await;
    assert_eq!(rig.status(&jid).await, Status::Queued);
    assert!(!rig.exists(&keys::dependencies(&jid, &jid.group())).await);
}

async fn a_job_waits_for_all_jobs_that_have_all_of_its_tags(rig: &Rig) {
    let both = rig.submit(rig.job().id(jid("both")).tag(tag("x")).tag(tag("y"))).await;
    let one = rig.submit(rig.job().id(jid("one")).tag(tag("x"))).await;
    let job = rig.job().id(jid("after")).tag(tag("x")).tag(tag("y")).after_tags();
    let after = rig.submit(job).await;
    let open = rig.members(&keys::dependencies(&after, &after.group())).await;
    assert_eq!(open, ["both".to_owned()].into(), "and not for itself");
    let refused = rig.hive.submit(rig.job().after_tags()).await;
    assert!(matches!(refused, Err(Error::Invalid { .. })), "it has no tags: {refused:?}");
    rig.hive.cancel(&both).await.expect("cancelled");
    assert_eq!(rig.status(&after).await, Status::Queued);
    assert_eq!(rig.status(&one).await, Status::Queued);
}

async fn a_delay_counts_from_the_release(rig: &Rig) {
    let base = rig.put("base").await;
    rig.submit(rig.job().id(jid("late")).after(base).delay_ms(5_000.0)).await;
    rig.clock.advance_ms(60_000);
    let job = rig.claim_one().await;
    rig.settle(&job, completed("1")).await;
    let delayed = rig.scores(&rig.of_queue(keys::delayed)).await;
    assert_eq!(delayed, [("late".to_owned(), (rig.now() + 5_000).to_string())]);
    assert_eq!(rig.status(&jid("late")).await, Status::New);
}

async fn each_job_of_many_can_wait_for_those_before_it(rig: &Rig) {
    let other = rig.on("q4b");
    let mut jobs: Vec<Submission> = vec![rig.job().id(jid("m0"))];
    for n in 1..6 {
        let queue = if n % 2 == 0 { rig } else { &other };
        let before = jid(&format!("m{}", n - 1));
        jobs.push(queue.job().id(jid(&format!("m{n}"))).after(before));
    }
    jobs.push(rig.job().id(jid("m0")));
    let mut answers = rig.hive.submit_many(jobs).await.expect("submitted");
    let last = answers.pop().expect("an answer");
    assert!(matches!(last, Err(Error::Exists { .. })), "one bad job stops no other: {last:?}");
    for (n, answer) in answers.into_iter().enumerate() {
        let status = rig.status(&answer.expect("submitted")).await;
        assert_eq!(status, if n == 0 { Status::Queued } else { Status::New }, "job {n}");
    }
}

async fn a_dependency_named_twice_is_waited_for_once(rig: &Rig) {
    let base = rig.submit(rig.job().id(jid("twice")).tag(tag("z"))).await;
    let job = rig.job().after(base.clone()).after(base).tag(tag("z")).after_tags();
    let jid = rig.submit(job.delay_ms(1_000.0)).await;
    let job = rig.claim_one().await;
    rig.settle(&job, completed("1")).await;
    let events = rig.events_of(&jid).await;
    assert_eq!(events, ["submitted", "dependancyWaiting", "delayed"], "released once");
}

#[tokio::test]
async fn what_is_refused_leaves_nothing_behind() {
    everywhere(async |rig| {
        let parent = rig.put("parent").await;
        rig.hive.cancel(&parent).await.expect("cancelled");
        let base = rig.put("base").await;
        let child = rig.job().id(jid("child")).parent(parent).after(base.clone()).tag(tag("red"));
        let refused = rig.hive.submit(child).await;
        assert!(matches!(refused, Err(Error::ParentCanceled { .. })), "{refused:?}");
        let gone = jid("child");
        for key in [
            keys::job(&gone, &gone.group()),
            keys::dependencies(&gone, &gone.group()),
            keys::tags(&tag("red"), &gone.group()),
            keys::children(&jid("parent"), &gone.group()),
        ] {
            assert!(!rig.exists(&key).await, "{}", key.name());
        }
        assert!(rig.read(&base).await.dependants().is_empty());

        let taken = rig.hive.submit(rig.job().id(base.clone()).arg("other")).await;
        assert!(matches!(taken, Err(Error::Exists { .. })), "{taken:?}");
        assert_eq!(rig.read(&base).await.data(), "[]", "the first one stays as it is");
        let bad = [
            rig.job().delay_ms(-1.0),
            rig.job().delay_ms(f64::NAN),
            rig.job().priority(f64::INFINITY),
            rig.job().retry_delay_ms(-1.0, false),
            rig.job().arg("x".repeat(2 * 1024 * 1024)),
            rig.job().id(jid("a*b")),
            (0..65).fold(rig.job(), |job, n| job.tag(tag(&format!("t{n}")))),
            (0..1001).fold(rig.job(), |job, n| job.after(jid(&format!("d{n}")))),
        ];
        for job in bad {
            let refused = rig.hive.submit(job).await;
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
        }
        assert_eq!(rig.in_queue(keys::queue).await, ["base"]);
    })
    .await;
}

/// The field of the job that others wait for is written once for each call, not once for each of them.
#[tokio::test]
async fn many_jobs_that_wait_for_one_are_submitted_quickly_and_all_released() {
    let store = keyrack_store::Store::open("embedded:memory").await.expect("a store");
    let hive = keyrack_jobs::bee::Hive::open(store).await.expect("a hive");
    let queue = super::rig::queue("emails");
    let first = hive.submit(Submission::to(queue.clone())).await.expect("submitted");
    const JOBS: usize = 5_000;
    let jobs = |after: bool| -> Vec<Submission> {
        let job = || Submission::to(queue.clone()).tag(super::rig::tag("many"));
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
    let claimed = hive.claim(&queue, &worker, 1, super::rig::CARE.lock).await.expect("claimed");
    assert_eq!(claimed.jobs[0].jid(), first.as_str());
    let end = keyrack_jobs::bee::Outcome::of(&claimed.jobs[0], super::rig::completed("1"));
    hive.settle(&queue, &worker, &[end], 0, super::rig::CARE.lock).await.expect("settled");
    let stats = hive.stats(&queue).await.expect("stats");
    assert_eq!((stats.waiting, stats.queued), (0, 2 * JOBS as u64));
}
