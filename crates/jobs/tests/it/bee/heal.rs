//! Jobs that nothing names, entries that name no job, and queues that nobody has listed are found and put right.

use keyrack_jobs::bee::{Hive, Status, keys};
use keyrack_keys::{Key, Registry};

use super::rig::{CARE, NOW, Rig, TTL_MS, completed, everywhere, failed_for_good, jid};

async fn heal(rig: &Rig) -> u64 {
    rig.hive.heal_jobs(&CARE).await.expect("healed")
}

/// How many things the lint finds in the store.
async fn faults(rig: &Rig) -> Vec<String> {
    let registry = Registry::new(&[keys::FAMILIES]);
    let report = keyrack_lint::lint(rig.hive.store(), &registry, &Default::default(), |_| {}).await;
    report.expect("a report").findings.iter().map(ToString::to_string).collect()
}

async fn drop_key(rig: &Rig, key: Key) {
    rig.ask::<u64>("DEL", &key, &[]).await;
}

#[tokio::test]
async fn jobs_that_nothing_names_are_put_back() {
    everywhere(async |rig| {
        a_queued_and_a_delayed_job_that_left_their_lists(&rig.on("q1")).await;
        a_running_job_without_a_lock_goes_to_another_worker(&rig.on("q2")).await;
        ended_jobs_that_nobody_would_remove(&rig.on("q3")).await;
        a_job_whose_dependency_ended_without_a_word(&rig.on("q4")).await;
        jobs_in_their_places_are_left_alone(&rig.on("q5")).await;
    })
    .await;
}

async fn a_queued_and_a_delayed_job_that_left_their_lists(rig: &Rig) {
    let queued = rig.put("queued").await;
    let delayed = rig.submit(rig.job().delay_ms(60_000.0)).await;
    drop_key(rig, rig.of_queue(keys::queue)).await;
    drop_key(rig, rig.of_queue(keys::delayed)).await;
    assert_eq!(faults(rig).await.len(), 2);
    assert_eq!(heal(rig).await, 2);
    assert_eq!(rig.in_queue(keys::queue).await, [queued.as_str()]);
    assert_eq!(rig.in_queue(keys::delayed).await, [delayed.as_str()]);
    assert_eq!(faults(rig).await, [""; 0]);
    assert_eq!(heal(rig).await, 0);
    rig.claim_one().await;
}

async fn a_running_job_without_a_lock_goes_to_another_worker(rig: &Rig) {
    rig.put("running").await;
    rig.claim_one().await;
    drop_key(rig, rig.of_queue(keys::locks)).await;
    assert_eq!(faults(rig).await.len(), 1);
    assert_eq!(heal(rig).await, 1);
    assert_eq!(faults(rig).await, [""; 0]);
    rig.clock.advance_ms(CARE.lock.as_millis() as u64);
    assert_eq!(rig.sweep().await.taken_away, 1);
    assert_eq!(rig.status(&jid("running")).await, Status::Queued);
    rig.claim_one().await;
}

async fn ended_jobs_that_nobody_would_remove(rig: &Rig) {
    let done = rig.run(rig.job(), completed("1")).await;
    let failed = rig.run(rig.job(), failed_for_good("no")).await;
    let canceled = rig.put("canceled").await;
    rig.hive.cancel(&canceled).await.expect("canceled");
    rig.ask::<u64>("PERSIST", &keys::job(&canceled, &canceled.group()), &[]).await;
    drop_key(rig, rig.of_queue(keys::expires)).await;
    drop_key(rig, rig.of_queue(keys::failed)).await;
    assert_eq!(faults(rig).await.len(), 3);
    assert_eq!(heal(rig).await, 3);
    assert_eq!(faults(rig).await, [""; 0]);
    let mut ended = rig.in_queue(keys::expires).await;
    ended.sort();
    let mut expected = [done.to_string(), failed.to_string()];
    expected.sort();
    assert_eq!(ended, expected);
    assert_eq!(rig.in_queue(keys::failed).await, [failed.as_str()]);
    rig.assert_expires_in(&keys::job(&canceled, &canceled.group()), TTL_MS).await;
}

async fn a_job_whose_dependency_ended_without_a_word(rig: &Rig) {
    let first = rig.put("first").await;
    let second = rig.submit(rig.job().after(first.clone())).await;
    rig.ask::<u64>("ZREM", &rig.of_queue(keys::queue), &["first"]).await;
    drop_key(rig, keys::job(&first, &first.group())).await;
    assert_eq!(heal(rig).await, 1);
    assert_eq!(rig.in_queue(keys::queue).await, [second.as_str()]);
    assert_eq!(rig.in_queue(keys::waiting).await, [""; 0]);
    assert_eq!(faults(rig).await, [""; 0]);
    rig.claim_one().await;
}

async fn jobs_in_their_places_are_left_alone(rig: &Rig) {
    rig.run(rig.job(), completed("1")).await;
    rig.run(rig.job(), failed_for_good("no")).await;
    rig.put("runs").await;
    rig.claim_one().await;
    let waited_for = rig.put("stands").await;
    rig.submit(rig.job().after(waited_for)).await;
    rig.submit(rig.job().delay_ms(1.0)).await;
    let tenant = keys::Tenant::new("acme").expect("a tenant");
    rig.submit(rig.job().tenant(tenant.clone())).await;
    rig.submit(rig.job().tenant(tenant)).await;
    assert_eq!(heal(rig).await, 0);
    assert_eq!(faults(rig).await, [""; 0]);
}

#[tokio::test]
async fn lists_that_node_does_not_keep_are_reconciled() {
    everywhere(async |rig| {
        let (score, failed_list) = (NOW.to_string(), rig.of_queue(keys::failed));
        let failed = rig.run(rig.job(), failed_for_good("no")).await;
        let done = rig.run(rig.job(), completed("1")).await;
        // What Node has failed is not listed, and what it has run or removed still is.
        rig.ask::<u64>("ZREM", &failed_list, &[failed.as_str()]).await;
        rig.ask::<u64>("ZADD", &failed_list, &[&score, "gone"]).await;
        rig.ask::<u64>("ZADD", &rig.of_queue(keys::waiting), &[&score, done.as_str()]).await;
        rig.ask::<u64>("ZADD", &rig.of_queue(keys::delayed), &[&score, "gone"]).await;
        assert_eq!(faults(&rig).await.len(), 4);

        let changed = rig.hive.reconcile_lists(&rig.queue).await.expect("reconciled");
        assert_eq!(changed, 4);
        assert_eq!(rig.in_queue(keys::waiting).await, [""; 0]);
        assert_eq!(rig.scores(&failed_list).await, [(failed.to_string(), score)]);
        assert_eq!(faults(&rig).await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn queues_that_only_others_have_filled_are_discovered() {
    everywhere(async |rig| {
        let other = rig.on("filled by node");
        other.put("j").await;
        rig.put("k").await;
        rig.ask::<u64>("DEL", &keys::queues(), &[]).await;
        let hive = Hive::named(rig.hive.store().clone(), "host:2:hive");
        assert_eq!(hive.discover_queues().await.expect("a walk"), 2);
        let queues = hive.queues().await.expect("queues");
        assert_eq!(queues, [rig.queue.clone(), other.queue.clone()]);
        assert_eq!(hive.discover_queues().await.expect("a walk"), 0);
    })
    .await;
}
