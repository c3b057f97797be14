//! Every key of the queue: who writes it, what it holds, and when it goes.

use std::collections::BTreeSet;

use keyrack_jobs::bee::{
    Care, Checked, Hive, Submission, WorkerInfo,
    keys::{self, JobHash, Tenant},
};

use super::rig::{
    CARE, LOCK_MS, NOW, Rig, TTL_MS, completed, everywhere, failed_for_good, jid, tag,
};

#[tokio::test]
async fn a_job_that_waits_stands_in_one_place() {
    everywhere(async |rig| {
        queue_and_delayed_hold_what_is_ready_and_what_is_not_due(&rig.on("q1")).await;
        dependencies_hold_what_a_job_still_waits_for(&rig.on("q2")).await;
        tenants_have_one_job_in_the_queue_and_the_others_parked(&rig.on("q3")).await;
    })
    .await;
}

async fn queue_and_delayed_hold_what_is_ready_and_what_is_not_due(rig: &Rig) {
    let (queue, delayed) = (rig.of_queue(keys::queue), rig.of_queue(keys::delayed));
    rig.put("ready").await;
    let late = rig.submit(rig.job().id(jid("late")).delay_ms(5_000.0)).await;
    assert_eq!(rig.scores(&queue).await, [("ready".to_owned(), NOW.to_string())]);
    let due = (NOW + 5_000).to_string();
    assert_eq!(rig.scores(&delayed).await, [("late".to_owned(), due)]);
    rig.assert_stays(&queue).await;

    rig.clock.advance_ms(5_000);
    assert_eq!(rig.claim(1).await[0].jid(), "ready");
    assert!(!rig.exists(&delayed).await, "what is due moves to the queue");
    assert_eq!(rig.scores(&queue).await, [("late".to_owned(), (NOW + 5_000).to_string())]);
    rig.hive.cancel(&late).await.expect("cancelled");
    assert!(!rig.exists(&queue).await, "cancelling takes a job out");
    let later = rig.submit(rig.job().delay_ms(1.0)).await;
    rig.hive.cancel(&later).await.expect("cancelled");
    assert!(!rig.exists(&delayed).await, "cancelling takes a job out");
}

async fn dependencies_hold_what_a_job_still_waits_for(rig: &Rig) {
    let (first, second) = (rig.put("first").await, rig.put("second").await);
    let third = rig.job().id(jid("third")).after(first.clone()).after(second.clone());
    let third = rig.submit(third).await;
    let dependencies = keys::dependencies(&third, &third.group());
    assert_eq!(rig.members(&dependencies).await, BTreeSet::from(["first".into(), "second".into()]));
    let waiting = rig.of_queue(keys::waiting);
    assert_eq!(rig.scores(&waiting).await, [("third".to_owned(), rig.now().to_string())]);
    assert_eq!(rig.in_queue(keys::queue).await, ["first", "second"]);

    rig.hive.cancel(&first).await.expect("cancelled");
    assert_eq!(rig.members(&dependencies).await, BTreeSet::from(["second".into()]));
    rig.hive.cancel(&second).await.expect("cancelled");
    assert!(!rig.exists(&dependencies).await && !rig.exists(&waiting).await);
    assert_eq!(rig.in_queue(keys::queue).await, ["third"]);
}

async fn tenants_have_one_job_in_the_queue_and_the_others_parked(rig: &Rig) {
    let acme = Tenant::new("acme").expect("a tenant");
    for id in ["a1", "a2"] {
        rig.submit(rig.job().id(jid(id)).tenant(acme.clone())).await;
    }
    let group = rig.queue.group();
    let (tenants, parked) = (rig.of_queue(keys::tenants), keys::parked(&rig.queue, &acme, &group));
    let running = keys::tenant_running(&rig.queue, &acme, &group);
    let standing = async || rig.ask::<Vec<String>>("HGETALL", &tenants, &[]).await;
    assert_eq!(rig.in_queue(keys::queue).await, ["a1"]);
    assert_eq!(rig.scores(&parked).await, [("a2".to_owned(), rig.now().to_string())]);
    assert_eq!(standing().await, ["acme", "a1"]);

    let job = rig.claim(1).await.remove(0);
    assert_eq!(rig.members(&running).await, BTreeSet::from(["a1".into()]));
    assert_eq!(
        (rig.in_queue(keys::queue).await, standing().await),
        (vec!["a2".into()], vec!["acme".into(), "a2".into()])
    );
    assert!(!rig.exists(&parked).await);
    rig.settle(&job, completed("1")).await;
    rig.hive.cancel(&jid("a2")).await.expect("cancelled");
    assert!(!rig.exists(&tenants).await && !rig.exists(&running).await, "nobody is left");
}

#[tokio::test]
async fn a_running_job_is_locked_for_its_queue_and_its_worker() {
    everywhere(async |rig| {
        locks_last_until_the_job_ends_and_heartbeats_renew_them(&rig.on("q1")).await;
        every_way_out_of_a_worker_takes_both_locks(&rig.on("q2")).await;
        missed_locks_are_counted_for_a_day(&rig.on("q3")).await;
        workers_are_listed_by_their_last_sign_of_life(&rig.on("q4")).await;
    })
    .await;
}

async fn locks_last_until_the_job_ends_and_heartbeats_renew_them(rig: &Rig) {
    let locks = rig.of_queue(keys::locks);
    let mine = keys::worker_locks(&rig.worker, &rig.queue.group());
    rig.put("job").await;
    let job = rig.claim_one().await;
    let until = |ms: u64| [("job".to_owned(), ms.to_string())];
    assert_eq!(rig.scores(&locks).await, until(rig.now() + LOCK_MS));
    assert_eq!(rig.members(&mine).await, BTreeSet::from(["job".into()]));
    rig.clock.advance_ms(4_000);
    rig.ask::<()>("SADD", &mine, &["stranger"]).await;
    assert_eq!(rig.heartbeat().await, BTreeSet::from(["job".into()]), "only what it has");
    assert_eq!(rig.members(&mine).await, BTreeSet::from(["job".into()]));
    assert_eq!(rig.scores(&locks).await, until(rig.now() + LOCK_MS));
    rig.settle(&job, completed("1")).await;
    assert!(!rig.exists(&locks).await && !rig.exists(&mine).await);
}

async fn every_way_out_of_a_worker_takes_both_locks(rig: &Rig) {
    let locks = rig.of_queue(keys::locks);
    let mine = keys::worker_locks(&rig.worker, &rig.queue.group());
    let gone = async |how: &str| {
        assert!(!rig.exists(&locks).await && !rig.exists(&mine).await, "{how}");
    };
    let next = async |id: &str| {
        rig.submit(rig.job().id(jid(id)).retries(0)).await;
        rig.claim_one().await
    };
    let job = next("fails").await;
    rig.settle(&job, failed_for_good("no")).await;
    gone("a failure").await;
    next("cancelled").await;
    rig.hive.cancel(&jid("cancelled")).await.expect("cancelled");
    gone("a cancel").await;
    for (id, is) in
        [("original", Checked::Original), ("duplicate", Checked::DuplicateOf("original".into()))]
    {
        let job = next(id).await;
        assert_eq!(rig.check_duplicate(&job, "same").await, is);
    }
    assert_eq!(rig.members(&mine).await, BTreeSet::from(["original".into()]), "a duplicate");
    rig.clock.advance_ms(LOCK_MS);
    assert_eq!(rig.sweep().await.taken_away, 1);
    gone("an expired lock").await;
    next("given-back").await;
    rig.hive.leave(&rig.queue, &rig.worker).await.expect("left");
    gone("a leave").await;
}

async fn missed_locks_are_counted_for_a_day(rig: &Rig) {
    rig.put("slow").await;
    rig.claim_one().await;
    let waits = keys::lock_waits(&rig.worker, &jid("slow"), &rig.queue.group());
    let count = async || rig.ask::<Option<u64>>("GET", &waits, &[]).await;
    for missed in 1..=3 {
        rig.clock.advance_ms(45_000);
        assert_eq!(rig.sweep_with(&Care::BEE, &[]).await.taken_away, 0);
        assert_eq!(count().await, Some(missed));
        rig.assert_expires_in(&waits, 86_400_000).await;
        let locked_until = (rig.now() + 45_000).to_string();
        let locks = rig.scores(&rig.of_queue(keys::locks)).await;
        assert_eq!(locks, [("slow".to_owned(), locked_until)], "the lock is armed again");
    }
    rig.heartbeat().await;
    assert_eq!(count().await, None, "a sign of life makes up for it");
    for taken_away in [0, 0, 0, 1] {
        rig.clock.advance_ms(45_000);
        assert_eq!(rig.sweep_with(&Care::BEE, &[]).await.taken_away, taken_away);
    }
    assert_eq!(count().await, Some(4), "it outlives the requeue");
}

async fn workers_are_listed_by_their_last_sign_of_life(rig: &Rig) {
    let (bees, workers) = (rig.of_queue(keys::bees), rig.of_queue(keys::workers));
    let other = rig.with_worker("w2");
    let info = WorkerInfo {
        started_at: NOW,
        concurrency: 4,
        lock_ms: LOCK_MS,
        listens: true,
        isolates: true,
        stop_ms: None,
    };
    let beat = other.hive.heartbeat(&rig.queue, &other.worker, CARE.lock, Some(&info));
    beat.await.expect("a heartbeat");
    let told: Vec<String> = rig.ask("HGETALL", &workers, &[]).await;
    assert_eq!(told[0], other.worker.as_str());
    assert_eq!(serde_json::from_str::<WorkerInfo>(&told[1]).expect("JSON"), info);
    let listed = |rig: &Rig| (rig.worker.to_string(), rig.now().to_string());
    assert_eq!(rig.scores(&bees).await, [listed(&other)]);

    rig.clock.advance_ms(3_600_000);
    rig.heartbeat().await;
    assert_eq!(rig.scores(&bees).await, [listed(rig)], "an hour of silence");
    rig.sweep().await;
    assert!(!rig.exists(&workers).await, "who is not listed is not described either");
    rig.hive.leave(&rig.queue, &rig.worker).await.expect("left");
    assert!(!rig.exists(&bees).await, "who leaves is not listed");
}

#[tokio::test]
async fn an_ended_job_expires_and_takes_its_keys_along() {
    everywhere(async |rig| {
        results_are_kept_for_their_ttl_and_the_job_as_long_again(&rig.on("q1")).await;
        tags_and_children_lose_a_job_that_is_set_to_die(&rig.on("q2")).await;
        the_list_of_a_hash_goes_with_its_original(&rig.on("q3")).await;
        counters_of_an_idle_queue_expire(&rig.on("q4")).await;
    })
    .await;
}

async fn results_are_kept_for_their_ttl_and_the_job_as_long_again(rig: &Rig) {
    let (expires, failed) = (rig.of_queue(keys::expires), rig.of_queue(keys::failed));
    let done = rig.run(rig.job().id(jid("done")), completed("1")).await;
    let bad = rig.job().id(jid("bad")).failed_ttl_ms(TTL_MS);
    let bad = rig.run(bad, failed_for_good("no")).await;
    let at = (rig.now() + TTL_MS).to_string();
    let expected = [("bad".to_owned(), at.clone()), ("done".to_owned(), at)];
    assert_eq!(rig.scores(&expires).await, expected);
    assert_eq!(rig.scores(&failed).await, [("bad".to_owned(), rig.now().to_string())]);
    let hash = keys::job(&done, &done.group());
    rig.assert_stays(&hash).await;

    rig.clock.advance_ms(TTL_MS - 1);
    assert_eq!(rig.sweep().await.expired, 0);
    rig.clock.advance_ms(1);
    assert_eq!(rig.sweep().await.expired, 2);
    assert!(!rig.exists(&expires).await && !rig.exists(&failed).await);
    for jid in [&done, &bad] {
        rig.assert_expires_in(&keys::job(jid, &jid.group()), TTL_MS).await;
        assert_eq!(rig.status(jid).await.as_str(), "expired");
    }
}

async fn tags_and_children_lose_a_job_that_is_set_to_die(rig: &Rig) {
    let group = rig.queue.group();
    let parent = rig.put("parent").await;
    let child = rig.job().id(jid("child")).parent(parent.clone()).tag(tag("red")).tag(tag("big"));
    let child = rig.submit(child).await;
    let orphan = rig.submit(rig.job().id(jid("orphan")).parent(jid("nobody"))).await;
    let children = keys::children(&parent, &group);
    assert_eq!(rig.members(&children).await, BTreeSet::from(["child".into()]));
    let (red, big) = (keys::tags(&tag("red"), &group), keys::tags(&tag("big"), &group));
    for tagged in [&red, &big] {
        assert_eq!(rig.members(tagged).await, BTreeSet::from(["child".into()]));
    }
    rig.hive.set_tags(&child, &[tag("red")]).await.expect("tags");
    assert!(!rig.exists(&big).await, "a job is not found by a tag it has no more");
    rig.hive.cancel(&child).await.expect("cancelled");
    assert!(!rig.exists(&red).await && !rig.exists(&children).await);
    rig.hive.set_tags(&child, &[tag("late")]).await.expect("tags");
    assert!(!rig.exists(&keys::tags(&tag("late"), &group)).await, "a dying job is not found");
    assert!(rig.exists(&keys::children(&jid("nobody"), &group)).await);
    rig.hive.cancel(&orphan).await.expect("cancelled");
    assert!(!rig.exists(&keys::children(&jid("nobody"), &group)).await);
}

async fn the_list_of_a_hash_goes_with_its_original(rig: &Rig) {
    let hash = JobHash::new("same").expect("a hash");
    let list = keys::hashes(&rig.queue, &hash, &rig.queue.group());
    for id in ["o", "d1", "d2"] {
        rig.put(id).await;
        let job = rig.claim_one().await;
        let is_original = rig.check_duplicate(&job, "same").await == Checked::Original;
        assert_eq!(is_original, id == "o");
        if is_original {
            rig.settle(&job, completed("1")).await;
        }
    }
    let listed = async || rig.ask::<Vec<String>>("LRANGE", &list, &["0", "-1"]).await;
    assert_eq!(listed().await, ["o", "d1", "d2"]);
    rig.hive.cancel(&jid("d1")).await.expect("cancelled");
    assert_eq!(listed().await, ["o", "d2"], "a duplicate dies alone");
    rig.assert_stays(&keys::job(&jid("o"), &rig.queue.group())).await;
    rig.clock.advance_ms(TTL_MS);
    rig.sweep().await;
    assert!(!rig.exists(&list).await);
    for id in ["o", "d2"] {
        rig.assert_expires_in(&keys::job(&jid(id), &rig.queue.group()), TTL_MS).await;
    }
    assert_eq!(rig.status(&jid("d2")).await.as_str(), "duplicate", "only the original expires");
}

async fn counters_of_an_idle_queue_expire(rig: &Rig) {
    rig.run(rig.job(), completed("1")).await;
    let minutes = rig.of_queue(keys::minutes);
    let minute = rig.now() / 60_000;
    for what in ["submitted", "started", "completed"] {
        let count: Option<u64> = rig.ask("HGET", &minutes, &[&format!("{minute}:{what}")]).await;
        assert_eq!(count, Some(1), "{what}");
    }
    rig.assert_expires_in(&minutes, 7_200_000).await;
}

#[tokio::test]
async fn what_node_hives_rely_on_is_there_and_otherwise_left_alone() {
    everywhere(async |rig| {
        let (options, scripts) = (keys::hive_options(), keys::scripts());
        let hive = Hive::open(rig.hive.store().clone()).await.expect("a hive");
        assert!(!rig.exists(&options).await, "who only looks writes nothing");
        hive.submit(Submission::to(rig.queue.clone())).await.expect("submitted");
        assert_eq!(rig.ask::<String>("GET", &options, &[]).await, r#"{"log":false}"#);
        rig.ask::<()>("SET", &options, &[r#"{"log":true}"#]).await;
        let hive = Hive::open(rig.hive.store().clone()).await.expect("a hive");
        hive.submit(Submission::new("mail/send").expect("a queue")).await.expect("submitted");
        assert_eq!(rig.ask::<String>("GET", &options, &[]).await, r#"{"log":true}"#);
        assert!(!rig.exists(&scripts).await, "Node would run whatever stands there");
        let queues = BTreeSet::from(["emails".into(), "mail/send".into()]);
        assert_eq!(rig.members(&keys::queues()).await, queues);
    })
    .await;
}
