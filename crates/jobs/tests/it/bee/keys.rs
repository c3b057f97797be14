//! Every key of the queue: who writes it, what it holds, and when it goes.

use std::collections::BTreeSet;

use keyrack_jobs::bee::{
    Checked, Hive, Submission, WorkerInfo, WorkerTimeouts,
    keys::{self, JobHash, Tenant},
};

use super::fixture::{
    Fixture, LOCK_MS, NOW, TIMEOUTS, TTL_MS, completed, everywhere, failed_for_good, jid, tag,
};

#[tokio::test]
async fn a_job_that_waits_stands_in_one_place() {
    everywhere(async |fixture| {
        queue_and_delayed_hold_what_is_ready_and_what_is_not_due(&fixture.on("q1")).await;
        dependencies_hold_what_a_job_still_waits_for(&fixture.on("q2")).await;
        tenants_have_one_job_in_the_queue_and_the_others_parked(&fixture.on("q3")).await;
    })
    .await;
}

async fn queue_and_delayed_hold_what_is_ready_and_what_is_not_due(fixture: &Fixture) {
    let (queue, delayed) = (fixture.of_queue(keys::queue), fixture.of_queue(keys::delayed));
    fixture.put("ready").await;
    let late = fixture.submit(fixture.job().id(jid("late")).delay_ms(5_000.0)).await;
    assert_eq!(fixture.scores(&queue).await, [("ready".to_owned(), NOW.to_string())]);
    let due = (NOW + 5_000).to_string();
    assert_eq!(fixture.scores(&delayed).await, [("late".to_owned(), due)]);
    fixture.assert_stays(&queue).await;

    fixture.clock.advance_ms(5_000);
    assert_eq!(fixture.claim(1).await[0].jid(), "ready");
    assert!(!fixture.exists(&delayed).await, "what is due moves to the queue");
    assert_eq!(fixture.scores(&queue).await, [("late".to_owned(), (NOW + 5_000).to_string())]);
    fixture.hive.cancel(&late).await.expect("canceled");
    assert!(!fixture.exists(&queue).await, "cancelling takes a job out");
    let later = fixture.submit(fixture.job().delay_ms(1.0)).await;
    fixture.hive.cancel(&later).await.expect("canceled");
    assert!(!fixture.exists(&delayed).await, "cancelling takes a job out");
}

async fn dependencies_hold_what_a_job_still_waits_for(fixture: &Fixture) {
    let (first, second) = (fixture.put("first").await, fixture.put("second").await);
    let third = fixture.job().id(jid("third")).after(first.clone()).after(second.clone());
    let third = fixture.submit(third).await;
    let dependencies = keys::dependencies(&third, &third.group());
    assert_eq!(
        fixture.members(&dependencies).await,
        BTreeSet::from(["first".into(), "second".into()])
    );
    let waiting = fixture.of_queue(keys::waiting);
    assert_eq!(fixture.scores(&waiting).await, [("third".to_owned(), fixture.now().to_string())]);
    assert_eq!(fixture.in_queue(keys::queue).await, ["first", "second"]);

    fixture.hive.cancel(&first).await.expect("canceled");
    assert_eq!(fixture.members(&dependencies).await, BTreeSet::from(["second".into()]));
    fixture.hive.cancel(&second).await.expect("canceled");
    assert!(!fixture.exists(&dependencies).await && !fixture.exists(&waiting).await);
    assert_eq!(fixture.in_queue(keys::queue).await, ["third"]);
}

async fn tenants_have_one_job_in_the_queue_and_the_others_parked(fixture: &Fixture) {
    let acme = Tenant::new("acme").expect("a tenant");
    for id in ["a1", "a2"] {
        fixture.submit(fixture.job().id(jid(id)).tenant(acme.clone())).await;
    }
    let group = fixture.queue.group();
    let (tenants, parked) =
        (fixture.of_queue(keys::tenants), keys::parked(&fixture.queue, &acme, &group));
    let running = keys::tenant_running(&fixture.queue, &acme, &group);
    let standing = async || fixture.ask::<Vec<String>>("HGETALL", &tenants, &[]).await;
    assert_eq!(fixture.in_queue(keys::queue).await, ["a1"]);
    assert_eq!(fixture.scores(&parked).await, [("a2".to_owned(), fixture.now().to_string())]);
    assert_eq!(standing().await, ["acme", "a1"]);

    let job = fixture.claim(1).await.remove(0);
    assert_eq!(fixture.members(&running).await, BTreeSet::from(["a1".into()]));
    assert_eq!(
        (fixture.in_queue(keys::queue).await, standing().await),
        (vec!["a2".into()], vec!["acme".into(), "a2".into()])
    );
    assert!(!fixture.exists(&parked).await);
    fixture.settle(&job, completed("1")).await;
    fixture.hive.cancel(&jid("a2")).await.expect("canceled");
    assert!(!fixture.exists(&tenants).await && !fixture.exists(&running).await, "nobody is left");
}

#[tokio::test]
async fn a_running_job_is_locked_for_its_queue_and_its_worker() {
    everywhere(async |fixture| {
        locks_last_until_the_job_ends_and_heartbeats_renew_them(&fixture.on("q1")).await;
        every_way_out_of_a_worker_takes_both_locks(&fixture.on("q2")).await;
        missed_locks_are_counted_for_a_day(&fixture.on("q3")).await;
        workers_are_listed_by_their_last_sign_of_life(&fixture.on("q4")).await;
    })
    .await;
}

async fn locks_last_until_the_job_ends_and_heartbeats_renew_them(fixture: &Fixture) {
    let locks = fixture.of_queue(keys::locks);
    let mine = keys::worker_locks(&fixture.worker, &fixture.queue.group());
    fixture.put("job").await;
    let job = fixture.claim_one().await;
    let until = |ms: u64| [("job".to_owned(), ms.to_string())];
    assert_eq!(fixture.scores(&locks).await, until(fixture.now() + LOCK_MS));
    assert_eq!(fixture.members(&mine).await, BTreeSet::from(["job".into()]));
    fixture.clock.advance_ms(4_000);
    fixture.ask::<()>("SADD", &mine, &["stranger"]).await;
    assert_eq!(fixture.heartbeat().await, BTreeSet::from(["job".into()]), "only what it has");
    assert_eq!(fixture.members(&mine).await, BTreeSet::from(["job".into()]));
    assert_eq!(fixture.scores(&locks).await, until(fixture.now() + LOCK_MS));
    fixture.settle(&job, completed("1")).await;
    assert!(!fixture.exists(&locks).await && !fixture.exists(&mine).await);
}

async fn every_way_out_of_a_worker_takes_both_locks(fixture: &Fixture) {
    let locks = fixture.of_queue(keys::locks);
    let mine = keys::worker_locks(&fixture.worker, &fixture.queue.group());
    let gone = async |how: &str| {
        assert!(!fixture.exists(&locks).await && !fixture.exists(&mine).await, "{how}");
    };
    let next = async |id: &str| {
        fixture.submit(fixture.job().id(jid(id)).retries(0)).await;
        fixture.claim_one().await
    };
    let job = next("fails").await;
    fixture.settle(&job, failed_for_good("no")).await;
    gone("a failure").await;
    next("canceled").await;
    fixture.hive.cancel(&jid("canceled")).await.expect("canceled");
    gone("a cancel").await;
    for (id, is) in
        [("original", Checked::Original), ("duplicate", Checked::DuplicateOf("original".into()))]
    {
        let job = next(id).await;
        assert_eq!(fixture.check_duplicate(&job, "same").await, is);
    }
    assert_eq!(fixture.members(&mine).await, BTreeSet::from(["original".into()]), "a duplicate");
    fixture.clock.advance_ms(LOCK_MS);
    assert_eq!(fixture.sweep().await.taken_away, 1);
    gone("an expired lock").await;
    next("given-back").await;
    fixture.hive.leave(&fixture.queue, &fixture.worker).await.expect("left");
    gone("a leave").await;
}

async fn missed_locks_are_counted_for_a_day(fixture: &Fixture) {
    fixture.put("slow").await;
    fixture.claim_one().await;
    let waits = keys::lock_waits(&fixture.worker, &jid("slow"), &fixture.queue.group());
    let count = async || fixture.ask::<Option<u64>>("GET", &waits, &[]).await;
    for missed in 1..=3 {
        fixture.clock.advance_ms(45_000);
        assert_eq!(fixture.sweep_with(&WorkerTimeouts::BEE, &[]).await.taken_away, 0);
        assert_eq!(count().await, Some(missed));
        fixture.assert_expires_in(&waits, 86_400_000).await;
        let locked_until = (fixture.now() + 45_000).to_string();
        let locks = fixture.scores(&fixture.of_queue(keys::locks)).await;
        assert_eq!(locks, [("slow".to_owned(), locked_until)], "the lock is armed again");
    }
    fixture.heartbeat().await;
    assert_eq!(count().await, None, "a heartbeat makes up for it");
    for taken_away in [0, 0, 0, 1] {
        fixture.clock.advance_ms(45_000);
        assert_eq!(fixture.sweep_with(&WorkerTimeouts::BEE, &[]).await.taken_away, taken_away);
    }
    assert_eq!(count().await, Some(4), "it outlives the requeue");
}

async fn workers_are_listed_by_their_last_sign_of_life(fixture: &Fixture) {
    let (bees, workers) = (fixture.of_queue(keys::bees), fixture.of_queue(keys::workers));
    let other = fixture.with_worker("w2");
    let info = WorkerInfo {
        started_at: NOW,
        concurrency: 4,
        lock_ms: LOCK_MS,
        listens: true,
        isolates: true,
        stop_ms: None,
        version: None,
    };
    let beat = other.hive.heartbeat(&fixture.queue, &other.worker, TIMEOUTS.lock, Some(&info));
    beat.await.expect("a heartbeat");
    let told: Vec<String> = fixture.ask("HGETALL", &workers, &[]).await;
    assert_eq!(told[0], other.worker.as_str());
    assert_eq!(serde_json::from_str::<WorkerInfo>(&told[1]).expect("JSON"), info);
    let listed = |fixture: &Fixture| (fixture.worker.to_string(), fixture.now().to_string());
    assert_eq!(fixture.scores(&bees).await, [listed(&other)]);

    fixture.clock.advance_ms(3_600_000);
    fixture.heartbeat().await;
    assert_eq!(fixture.scores(&bees).await, [listed(fixture)], "an hour of silence");
    fixture.sweep().await;
    assert!(!fixture.exists(&workers).await, "who is not listed is not described either");
    fixture.hive.leave(&fixture.queue, &fixture.worker).await.expect("left");
    assert!(!fixture.exists(&bees).await, "who leaves is not listed");
}

#[tokio::test]
async fn an_ended_job_expires_and_takes_its_keys_along() {
    everywhere(async |fixture| {
        results_are_kept_for_their_ttl_and_the_job_as_long_again(&fixture.on("q1")).await;
        tags_and_children_lose_a_job_that_is_set_to_die(&fixture.on("q2")).await;
        the_list_of_a_hash_goes_with_its_original(&fixture.on("q3")).await;
        counters_of_an_idle_queue_expire(&fixture.on("q4")).await;
    })
    .await;
}

async fn results_are_kept_for_their_ttl_and_the_job_as_long_again(fixture: &Fixture) {
    let (expires, failed) = (fixture.of_queue(keys::expires), fixture.of_queue(keys::failed));
    let done = fixture.run(fixture.job().id(jid("done")), completed("1")).await;
    let bad = fixture.job().id(jid("bad")).failed_ttl_ms(TTL_MS);
    let bad = fixture.run(bad, failed_for_good("no")).await;
    let at = (fixture.now() + TTL_MS).to_string();
    let expected = [("bad".to_owned(), at.clone()), ("done".to_owned(), at)];
    assert_eq!(fixture.scores(&expires).await, expected);
    assert_eq!(fixture.scores(&failed).await, [("bad".to_owned(), fixture.now().to_string())]);
    let hash = keys::job(&done, &done.group());
    fixture.assert_stays(&hash).await;

    fixture.clock.advance_ms(TTL_MS - 1);
    assert_eq!(fixture.sweep().await.expired, 0);
    fixture.clock.advance_ms(1);
    assert_eq!(fixture.sweep().await.expired, 2);
    assert!(!fixture.exists(&expires).await && !fixture.exists(&failed).await);
    for jid in [&done, &bad] {
        fixture.assert_expires_in(&keys::job(jid, &jid.group()), TTL_MS).await;
        assert_eq!(fixture.status(jid).await.as_str(), "expired");
    }
}

async fn tags_and_children_lose_a_job_that_is_set_to_die(fixture: &Fixture) {
    let group = fixture.queue.group();
    let parent = fixture.put("parent").await;
    let child =
        fixture.job().id(jid("child")).parent(parent.clone()).tag(tag("red")).tag(tag("big"));
    let child = fixture.submit(child).await;
    let orphan = fixture.submit(fixture.job().id(jid("orphan")).parent(jid("nobody"))).await;
    let children = keys::children(&parent, &group);
    assert_eq!(fixture.members(&children).await, BTreeSet::from(["child".into()]));
    let (red, big) = (keys::tags(&tag("red"), &group), keys::tags(&tag("big"), &group));
    for tagged in [&red, &big] {
        assert_eq!(fixture.members(tagged).await, BTreeSet::from(["child".into()]));
    }
    fixture.hive.set_tags(&child, &[tag("red")]).await.expect("tags");
    assert!(!fixture.exists(&big).await, "a job is not found by a tag it has no more");
    fixture.hive.cancel(&child).await.expect("canceled");
    assert!(!fixture.exists(&red).await && !fixture.exists(&children).await);
    fixture.hive.set_tags(&child, &[tag("late")]).await.expect("tags");
    assert!(!fixture.exists(&keys::tags(&tag("late"), &group)).await, "a dying job is not found");
    assert!(fixture.exists(&keys::children(&jid("nobody"), &group)).await);
    fixture.hive.cancel(&orphan).await.expect("canceled");
    assert!(!fixture.exists(&keys::children(&jid("nobody"), &group)).await);
}

async fn the_list_of_a_hash_goes_with_its_original(fixture: &Fixture) {
    let hash = JobHash::new("same").expect("a hash");
    let list = keys::hashes(&fixture.queue, &hash, &fixture.queue.group());
    for id in ["o", "d1", "d2"] {
        fixture.put(id).await;
        let job = fixture.claim_one().await;
        let is_original = fixture.check_duplicate(&job, "same").await == Checked::Original;
        assert_eq!(is_original, id == "o");
        if is_original {
            fixture.settle(&job, completed("1")).await;
        }
    }
    let listed = async || fixture.ask::<Vec<String>>("LRANGE", &list, &["0", "-1"]).await;
    assert_eq!(listed().await, ["o", "d1", "d2"]);
    fixture.hive.cancel(&jid("d1")).await.expect("canceled");
    assert_eq!(listed().await, ["o", "d2"], "a duplicate dies alone");
    fixture.assert_stays(&keys::job(&jid("o"), &fixture.queue.group())).await;
    fixture.clock.advance_ms(TTL_MS);
    fixture.sweep().await;
    assert!(!fixture.exists(&list).await);
    for id in ["o", "d2"] {
        fixture.assert_expires_in(&keys::job(&jid(id), &fixture.queue.group()), TTL_MS).await;
    }
    assert_eq!(fixture.status(&jid("d2")).await.as_str(), "duplicate", "only the original expires");
}

async fn counters_of_an_idle_queue_expire(fixture: &Fixture) {
    fixture.run(fixture.job(), completed("1")).await;
    let minutes = fixture.of_queue(keys::minutes);
    let minute = fixture.now() / 60_000;
    for what in ["submitted", "started", "completed"] {
        let count: Option<u64> =
            fixture.ask("HGET", &minutes, &[&format!("{minute}:{what}")]).await;
        assert_eq!(count, Some(1), "{what}");
    }
    fixture.assert_expires_in(&minutes, 90 * 86_400_000).await;
}

#[tokio::test]
async fn what_node_hives_rely_on_is_there_and_otherwise_left_alone() {
    everywhere(async |fixture| {
        let (options, scripts) = (keys::hive_options(), keys::scripts());
        let hive = Hive::open(fixture.hive.store().clone()).await.expect("a hive");
        assert!(!fixture.exists(&options).await, "who only looks writes nothing");
        hive.submit(Submission::to(fixture.queue.clone())).await.expect("submitted");
        assert_eq!(fixture.ask::<String>("GET", &options, &[]).await, r#"{"log":false}"#);
        fixture.ask::<()>("SET", &options, &[r#"{"log":true}"#]).await;
        let hive = Hive::open(fixture.hive.store().clone()).await.expect("a hive");
        hive.submit(Submission::new("mail/send").expect("a queue")).await.expect("submitted");
        assert_eq!(fixture.ask::<String>("GET", &options, &[]).await, r#"{"log":true}"#);
        assert!(!fixture.exists(&scripts).await, "Node would run whatever stands there");
        let queues = BTreeSet::from(["emails".into(), "mail/send".into()]);
        assert_eq!(fixture.members(&keys::queues()).await, queues);
    })
    .await;
}
