//! Completed jobs whose worker says what it was told of them: less is read, and the same is stored.

use keyrack_jobs::bee::{Blocked, End, Job, Limits, Outcome, Status, StreamItem, Verdict, keys};

use super::fixture::{
    FAILED_TTL_MS, Fixture, LOCK_MS, TIMEOUTS, TTL_MS, completed, everywhere, failed_for_good, jid,
};

/// With a ttl that the worker knows, which is what makes it quick.
fn quick(result: &str) -> End {
    End::Completed { result: result.into(), ttl_ms: Some(TTL_MS) }
}

#[tokio::test]
async fn a_quick_end_is_an_end_like_any_other() {
    everywhere(async |fixture| {
        it_leaves_what_a_slow_one_leaves(&fixture.on("q1")).await;
        it_counts_once_and_only_from_the_worker_that_has_the_job(&fixture.on("q2")).await;
        it_is_heard_by_who_listens(&fixture.on("q3")).await;
        it_lets_dependants_go(&fixture.on("q4")).await;
        it_makes_room_for_the_next_job_of_its_tenant(&fixture.on("q5")).await;
        what_was_told_of_another_job_is_not_believed(&fixture.on("q6")).await;
        ends_of_all_kinds_go_in_one_call(&fixture.on("q7")).await;
    })
    .await;
}

async fn settle(fixture: &Fixture, outcomes: &[Outcome]) -> Vec<Verdict> {
    let settled =
        fixture.hive.settle(&fixture.queue, &fixture.worker, outcomes, 0, TIMEOUTS.lock).await;
    settled.expect("settled").verdicts
}

async fn it_leaves_what_a_slow_one_leaves(fixture: &Fixture) {
    let jids = [fixture.put("quick").await, fixture.put("slow").await];
    let jobs = fixture.claim(2).await;
    let [quick, slow] = [0, 1].map(|n| Outcome::of(&jobs[n], quick("{\"a\":1}")));
    let slow = Outcome { told: None, ..slow };
    fixture.clock.advance_ms(5);
    assert_eq!(settle(fixture, &[slow, quick]).await, [Verdict::Ok; 2]);
    let mut stored = [fixture.fields(&jids[0]).await, fixture.fields(&jids[1]).await];
    for (fields, jid) in stored.iter_mut().zip(&jids) {
        assert_eq!(fields.remove("jid").as_deref(), Some(jid.as_str()));
    }
    assert_eq!(stored[0], stored[1]);
    assert_eq!(stored[0]["status"], "completed");
    let until = (fixture.now() + TTL_MS).to_string();
    let kept = [("quick".to_owned(), until.clone()), ("slow".to_owned(), until)];
    assert_eq!(fixture.scores(&fixture.of_queue(keys::expires)).await, kept);
    assert_eq!(fixture.in_queue(keys::locks).await, Vec::<String>::new());
    assert!(fixture.heartbeat().await.is_empty(), "the worker has no job any more");
}

async fn it_counts_once_and_only_from_the_worker_that_has_the_job(fixture: &Fixture) {
    let jid = fixture.put("again").await;
    let first = fixture.claim_one().await;
    let other = fixture.with_worker("w2");
    assert_eq!(other.settle(&first, quick("0")).await, Verdict::Lost, "of another worker");
    fixture.clock.advance_ms(LOCK_MS);
    assert_eq!(fixture.sweep().await.taken_away, 1);
    assert_eq!(fixture.settle(&first, quick("1")).await, Verdict::Lost, "while it waits");
    let second = fixture.claim_one().await;
    let before = fixture.fields(&jid).await;
    assert_eq!(fixture.settle(&first, quick("1")).await, Verdict::Lost, "in its next attempt");
    assert_eq!(fixture.fields(&jid).await, before);
    let twice = [Outcome::of(&second, quick("2")), Outcome::of(&second, quick("3"))];
    assert_eq!(settle(fixture, &twice).await, [Verdict::Ok, Verdict::Lost]);
    assert_eq!(fixture.read(&jid).await.result(), Some("2"));
    fixture.put("canceled").await;
    let job = fixture.claim_one().await;
    fixture.hive.cancel(&job.id().expect("an id")).await.expect("canceled");
    assert_eq!(fixture.settle(&job, quick("1")).await, Verdict::Canceled);
}

async fn it_is_heard_by_who_listens(fixture: &Fixture) {
    let mut events =
        fixture.hive.events(std::slice::from_ref(&fixture.queue)).await.expect("listening");
    fixture.put("heard").await;
    let job = fixture.claim_one().await;
    assert_eq!(fixture.settle(&job, quick("7")).await, Verdict::Ok);
    loop {
        let Some(StreamItem::Event(event)) = events.next().await else { continue };
        if let Some(job) = &event.job {
            assert_eq!((job.jid(), job.status()), ("heard", Status::Completed));
            return assert_eq!(job.result(), Some("7"));
        }
    }
}

async fn it_lets_dependants_go(fixture: &Fixture) {
    let first = fixture.put("first").await;
    let job = fixture.claim_one().await;
    // It comes while the first runs, whose worker was told of none.
    let then = fixture.submit(fixture.job().id(jid("then")).after(first)).await;
    assert_eq!(fixture.status(&then).await, Status::New);
    assert_eq!(fixture.settle(&job, quick("1")).await, Verdict::Ok);
    assert_eq!(fixture.status(&then).await, Status::Queued);
}

async fn it_makes_room_for_the_next_job_of_its_tenant(fixture: &Fixture) {
    let tenant = keys::Tenant::new("acme").expect("a tenant");
    let limits = Limits { tenant_concurrency: Some(1), ..Limits::default() };
    fixture.hive.set_limits(&fixture.queue, &limits).await.expect("limited");
    for id in ["t1", "t2"] {
        fixture.submit(fixture.job().id(jid(id)).tenant(tenant.clone())).await;
    }
    let job = fixture.claim_one().await;
    assert_eq!(fixture.settle(&job, quick("1")).await, Verdict::Ok);
    assert_eq!(fixture.claim_one().await.jid(), "t2");
}

async fn what_was_told_of_another_job_is_not_believed(fixture: &Fixture) {
    let [one, two] = [fixture.put("one").await, fixture.put("two").await];
    let jobs = fixture.claim(2).await;
    fixture.clock.advance_ms(1);
    assert_eq!(fixture.settle(&jobs[0], End::Released).await, Verdict::Ok);
    let again = fixture.claim_one().await;
    let mixed = Outcome { jid: two.to_string(), ..Outcome::of(&again, quick("1")) };
    let mixed = Outcome { attempt: Some(jobs[1].attempts()), ..mixed };
    assert_eq!(settle(fixture, &[mixed]).await, [Verdict::Ok]);
    assert_eq!(fixture.events_of(&two).await, ["submitted", "queued", "popped", "completed"]);
    assert_eq!(fixture.status(&one).await, Status::Running);
}

async fn ends_of_all_kinds_go_in_one_call(fixture: &Fixture) {
    for n in 0..6 {
        fixture.put(&format!("m{n}")).await;
    }
    let jobs = fixture.claim(6).await;
    let longer = End::Completed { result: "1".into(), ttl_ms: Some(2 * TTL_MS) };
    let ends =
        [failed_for_good("no"), quick("1"), longer, quick("2"), End::Released, completed("3")];
    let mut outcomes: Vec<Outcome> =
        jobs.iter().zip(ends).map(|(job, end): (&Job, End)| Outcome::of(job, end)).collect();
    outcomes[3].jid = "nobody".into();
    let settled =
        fixture.hive.settle(&fixture.queue, &fixture.worker, &outcomes, 6, TIMEOUTS.lock).await;
    let settled = settled.expect("settled");
    let mut verdicts = [Verdict::Ok; 6];
    verdicts[3] = Verdict::Gone;
    assert_eq!(settled.verdicts, verdicts);
    let claimed: Vec<&str> = settled.claimed.jobs.iter().map(Job::jid).collect();
    assert_eq!((claimed, settled.claimed.blocked), (vec!["m4"], None::<Blocked>));
    let until = |ttl: u64| (fixture.now() + ttl).to_string();
    let mut expected = [("m0", FAILED_TTL_MS), ("m1", TTL_MS), ("m2", 2 * TTL_MS), ("m5", TTL_MS)]
        .map(|(jid, ttl)| (jid.to_owned(), until(ttl)));
    expected.sort_by_key(|(jid, at)| (at.clone(), jid.clone()));
    assert_eq!(fixture.scores(&fixture.of_queue(keys::expires)).await, expected);
}
