//! Completed jobs whose worker says what it was told of them: less is read, and the same is stored.

use keyrack_jobs::bee::{Blocked, End, Heard, Job, Limits, Outcome, Status, Verdict, keys};

use super::rig::{
    CARE, FAILED_TTL_MS, LOCK_MS, Rig, TTL_MS, completed, everywhere, failed_for_good, jid,
};

/// With a ttl that the worker knows, which is what makes it quick.
fn quick(result: &str) -> End {
    End::Completed { result: result.into(), ttl_ms: Some(TTL_MS) }
}

#[tokio::test]
async fn a_quick_end_is_an_end_like_any_other() {
    everywhere(async |rig| {
        it_leaves_what_a_slow_one_leaves(&rig.on("q1")).await;
        it_counts_once_and_only_from_the_worker_that_has_the_job(&rig.on("q2")).await;
        it_is_heard_by_who_listens(&rig.on("q3")).await;
        it_lets_dependants_go(&rig.on("q4")).await;
        it_makes_room_for_the_next_job_of_its_tenant(&rig.on("q5")).await;
        what_was_told_of_another_job_is_not_believed(&rig.on("q6")).await;
        ends_of_all_kinds_go_in_one_call(&rig.on("q7")).await;
    })
    .await;
}

async fn settle(rig: &Rig, outcomes: &[Outcome]) -> Vec<Verdict> {
    let settled = rig.hive.settle(&rig.queue, &rig.worker, outcomes, 0, CARE.lock).await;
    settled.expect("settled").verdicts
}

async fn it_leaves_what_a_slow_one_leaves(rig: &Rig) {
    let jids = [rig.put("quick").await, rig.put("slow").await];
    let jobs = rig.claim(2).await;
    let [quick, slow] = [0, 1].map(|n| Outcome::of(&jobs[n], quick("{\"a\":1}")));
    let slow = Outcome { told: None, ..slow };
    rig.clock.advance_ms(5);
    assert_eq!(settle(rig, &[slow, quick]).await, [Verdict::Ok; 2]);
    let mut stored = [rig.fields(&jids[0]).await, rig.fields(&jids[1]).await];
    for (fields, jid) in stored.iter_mut().zip(&jids) {
        assert_eq!(fields.remove("jid").as_deref(), Some(jid.as_str()));
    }
    assert_eq!(stored[0], stored[1]);
    assert_eq!(stored[0]["status"], "completed");
    let until = (rig.now() + TTL_MS).to_string();
    let kept = [("quick".to_owned(), until.clone()), ("slow".to_owned(), until)];
    assert_eq!(rig.scores(&rig.of_queue(keys::expires)).await, kept);
    assert_eq!(rig.in_queue(keys::locks).await, Vec::<String>::new());
    assert!(rig.heartbeat().await.is_empty(), "the worker has no job any more");
}

async fn it_counts_once_and_only_from_the_worker_that_has_the_job(rig: &Rig) {
    let jid = rig.put("again").await;
    let first = rig.claim_one().await;
    let other = rig.with_worker("w2");
    assert_eq!(other.settle(&first, quick("0")).await, Verdict::Lost, "of another worker");
    rig.clock.advance_ms(LOCK_MS);
    assert_eq!(rig.sweep().await.taken_away, 1);
    assert_eq!(rig.settle(&first, quick("1")).await, Verdict::Lost, "while it waits");
    let second = rig.claim_one().await;
    let before = rig.fields(&jid).await;
    assert_eq!(rig.settle(&first, quick("1")).await, Verdict::Lost, "in its next attempt");
    assert_eq!(rig.fields(&jid).await, before);
    let twice = [Outcome::of(&second, quick("2")), Outcome::of(&second, quick("3"))];
    assert_eq!(settle(rig, &twice).await, [Verdict::Ok, Verdict::Lost]);
    assert_eq!(rig.read(&jid).await.result(), Some("2"));
    rig.put("cancelled").await;
    let job = rig.claim_one().await;
    rig.hive.cancel(&job.id().expect("an id")).await.expect("cancelled");
    assert_eq!(rig.settle(&job, quick("1")).await, Verdict::Canceled);
}

async fn it_is_heard_by_who_listens(rig: &Rig) {
    let mut events = rig.hive.events(std::slice::from_ref(&rig.queue)).await.expect("listening");
    rig.put("heard").await;
    let job = rig.claim_one().await;
    assert_eq!(rig.settle(&job, quick("7")).await, Verdict::Ok);
    loop {
        let Some(Heard::Event(event)) = events.next().await else { continue };
        if let Some(job) = &event.job {
            assert_eq!((job.jid(), job.status()), ("heard", Status::Completed));
            return assert_eq!(job.result(), Some("7"));
        }
    }
}

async fn it_lets_dependants_go(rig: &Rig) {
    let first = rig.put("first").await;
    let job = rig.claim_one().await;
    // It comes while the first runs, whose worker was told of none.
    let then = rig.submit(rig.job().id(jid("then")).after(first)).await;
    assert_eq!(rig.status(&then).await, Status::New);
    assert_eq!(rig.settle(&job, quick("1")).await, Verdict::Ok);
    assert_eq!(rig.status(&then).await, Status::Queued);
}

async fn it_makes_room_for_the_next_job_of_its_tenant(rig: &Rig) {
    let tenant = keys::Tenant::new("acme").expect("a tenant");
    let limits = Limits { tenant_concurrency: Some(1), ..Limits::default() };
    rig.hive.set_limits(&rig.queue, &limits).await.expect("limited");
    for id in ["t1", "t2"] {
        rig.submit(rig.job().id(jid(id)).tenant(tenant.clone())).await;
    }
    let job = rig.claim_one().await;
    assert_eq!(rig.settle(&job, quick("1")).await, Verdict::Ok);
    assert_eq!(rig.claim_one().await.jid(), "t2");
}

async fn what_was_told_of_another_job_is_not_believed(rig: &Rig) {
    let [one, two] = [rig.put("one").await, rig.put("two").await];
    let jobs = rig.claim(2).await;
    rig.clock.advance_ms(1);
    assert_eq!(rig.settle(&jobs[0], End::Released).await, Verdict::Ok);
    let again = rig.claim_one().await;
    let mixed = Outcome { jid: two.to_string(), ..Outcome::of(&again, quick("1")) };
    let mixed = Outcome { attempt: Some(jobs[1].attempts()), ..mixed };
    assert_eq!(settle(rig, &[mixed]).await, [Verdict::Ok]);
    assert_eq!(rig.events_of(&two).await, ["submitted", "queued", "popped", "completed"]);
    assert_eq!(rig.status(&one).await, Status::Running);
}

async fn ends_of_all_kinds_go_in_one_call(rig: &Rig) {
    for n in 0..6 {
        rig.put(&format!("m{n}")).await;
    }
    let jobs = rig.claim(6).await;
    let longer = End::Completed { result: "1".into(), ttl_ms: Some(2 * TTL_MS) };
    let ends =
        [failed_for_good("no"), quick("1"), longer, quick("2"), End::Released, completed("3")];
    let mut outcomes: Vec<Outcome> =
        jobs.iter().zip(ends).map(|(job, end): (&Job, End)| Outcome::of(job, end)).collect();
    outcomes[3].jid = "nobody".into();
    let settled = rig.hive.settle(&rig.queue, &rig.worker, &outcomes, 6, CARE.lock).await;
    let settled = settled.expect("settled");
    let mut verdicts = [Verdict::Ok; 6];
    verdicts[3] = Verdict::Gone;
    assert_eq!(settled.verdicts, verdicts);
    let claimed: Vec<&str> = settled.claimed.jobs.iter().map(Job::jid).collect();
    assert_eq!((claimed, settled.claimed.blocked), (vec!["m4"], None::<Blocked>));
    let until = |ttl: u64| (rig.now() + ttl).to_string();
    let mut expected = [("m0", FAILED_TTL_MS), ("m1", TTL_MS), ("m2", 2 * TTL_MS), ("m5", TTL_MS)]
        .map(|(jid, ttl)| (jid.to_owned(), until(ttl)));
    expected.sort_by_key(|(jid, at)| (at.clone(), jid.clone()));
    assert_eq!(rig.scores(&rig.of_queue(keys::expires)).await, expected);
}
