//! Jobs that nothing names, entries that name no job, and queues that nobody has listed are found and put right.

use keyrack_jobs::bee::{Hive, Status, keys};
use keyrack_keys::{Key, Registry};

use super::fixture::{
    FAILED_TTL_MS, Fixture, NOW, TIMEOUTS, TTL_MS, completed, everywhere, failed_for_good, jid,
};

async fn heal(fixture: &Fixture) -> u64 {
    fixture.hive.heal_jobs(&TIMEOUTS).await.expect("healed")
}

/// How many things the lint finds in the store.
async fn faults(fixture: &Fixture) -> Vec<String> {
    let registry = Registry::new(&[keys::FAMILIES]);
    let report =
        keyrack_lint::lint(fixture.hive.store(), &registry, &Default::default(), |_| {}).await;
    report.expect("a report").findings.iter().map(ToString::to_string).collect()
}

async fn drop_key(fixture: &Fixture, key: Key) {
    fixture.ask::<u64>("DEL", &key, &[]).await;
}

#[tokio::test]
async fn jobs_that_nothing_names_are_put_back() {
    everywhere(async |fixture| {
        a_queued_and_a_delayed_job_that_left_their_lists(&fixture.on("q1")).await;
        a_running_job_without_a_lock_goes_to_another_worker(&fixture.on("q2")).await;
        ended_jobs_that_nobody_would_remove(&fixture.on("q3")).await;
        a_job_whose_dependency_ended_without_a_word(&fixture.on("q4")).await;
        jobs_in_their_places_are_left_alone(&fixture.on("q5")).await;
    })
    .await;
}

async fn a_queued_and_a_delayed_job_that_left_their_lists(fixture: &Fixture) {
    let queued = fixture.put("queued").await;
    let delayed = fixture.submit(fixture.job().delay_ms(60_000.0)).await;
    drop_key(fixture, fixture.of_queue(keys::queue)).await;
    drop_key(fixture, fixture.of_queue(keys::delayed)).await;
    assert_eq!(faults(fixture).await.len(), 2);
    assert_eq!(heal(fixture).await, 2);
    assert_eq!(fixture.in_queue(keys::queue).await, [queued.as_str()]);
    assert_eq!(fixture.in_queue(keys::delayed).await, [delayed.as_str()]);
    assert_eq!(faults(fixture).await, [""; 0]);
    assert_eq!(heal(fixture).await, 0);
    fixture.claim_one().await;
}

async fn a_running_job_without_a_lock_goes_to_another_worker(fixture: &Fixture) {
    fixture.put("running").await;
    fixture.claim_one().await;
    drop_key(fixture, fixture.of_queue(keys::locks)).await;
    assert_eq!(faults(fixture).await.len(), 1);
    assert_eq!(heal(fixture).await, 1);
    assert_eq!(faults(fixture).await, [""; 0]);
    fixture.clock.advance_ms(TIMEOUTS.lock.as_millis() as u64);
    assert_eq!(fixture.sweep().await.taken_away, 1);
    assert_eq!(fixture.status(&jid("running")).await, Status::Queued);
    fixture.claim_one().await;
}

async fn ended_jobs_that_nobody_would_remove(fixture: &Fixture) {
    let done = fixture.run(fixture.job(), completed("1")).await;
    let failed = fixture.run(fixture.job(), failed_for_good("no")).await;
    let canceled = fixture.put("canceled").await;
    fixture.hive.cancel(&canceled).await.expect("canceled");
    fixture.ask::<u64>("PERSIST", &keys::job(&canceled, &canceled.group()), &[]).await;
    drop_key(fixture, fixture.of_queue(keys::expires)).await;
    drop_key(fixture, fixture.of_queue(keys::failed)).await;
    assert_eq!(faults(fixture).await.len(), 3);
    assert_eq!(heal(fixture).await, 3);
    assert_eq!(faults(fixture).await, [""; 0]);
    let mut ended = fixture.in_queue(keys::expires).await;
    ended.sort();
    let mut expected = [done.to_string(), failed.to_string()];
    expected.sort();
    assert_eq!(ended, expected);
    assert_eq!(fixture.in_queue(keys::failed).await, [failed.as_str()]);
    for (jid, kept_ms) in [(&done, TTL_MS), (&failed, FAILED_TTL_MS)] {
        let until: f64 =
            fixture.ask("ZSCORE", &fixture.of_queue(keys::expires), &[jid.as_str()]).await;
        assert_eq!(until as u64, fixture.now() + kept_ms);
    }
    fixture.assert_expires_in(&keys::job(&canceled, &canceled.group()), TTL_MS).await;
}

async fn a_job_whose_dependency_ended_without_a_word(fixture: &Fixture) {
    let first = fixture.put("first").await;
    let second = fixture.submit(fixture.job().after(first.clone())).await;
    fixture.ask::<u64>("ZREM", &fixture.of_queue(keys::queue), &["first"]).await;
    drop_key(fixture, keys::job(&first, &first.group())).await;
    assert_eq!(heal(fixture).await, 1);
    assert_eq!(fixture.in_queue(keys::queue).await, [second.as_str()]);
    assert_eq!(fixture.in_queue(keys::waiting).await, [""; 0]);
    assert_eq!(faults(fixture).await, [""; 0]);
    fixture.claim_one().await;
}

async fn jobs_in_their_places_are_left_alone(fixture: &Fixture) {
    fixture.run(fixture.job(), completed("1")).await;
    fixture.run(fixture.job(), failed_for_good("no")).await;
    fixture.put("runs").await;
    fixture.claim_one().await;
    let waited_for = fixture.put("stands").await;
    fixture.submit(fixture.job().after(waited_for)).await;
    fixture.submit(fixture.job().delay_ms(1.0)).await;
    let tenant = keys::Tenant::new("acme").expect("a tenant");
    fixture.submit(fixture.job().tenant(tenant.clone())).await;
    fixture.submit(fixture.job().tenant(tenant)).await;
    assert_eq!(heal(fixture).await, 0);
    assert_eq!(faults(fixture).await, [""; 0]);
}

#[tokio::test]
async fn lists_that_node_does_not_keep_are_reconciled() {
    everywhere(async |fixture| {
        let (score, failed_list) = (NOW.to_string(), fixture.of_queue(keys::failed));
        let failed = fixture.run(fixture.job(), failed_for_good("no")).await;
        let done = fixture.run(fixture.job(), completed("1")).await;
        // What Node has failed is not listed, and what it has run or removed still is.
        fixture.ask::<u64>("ZREM", &failed_list, &[failed.as_str()]).await;
        fixture.ask::<u64>("ZADD", &failed_list, &[&score, "gone"]).await;
        fixture
            .ask::<u64>("ZADD", &fixture.of_queue(keys::waiting), &[&score, done.as_str()])
            .await;
        fixture.ask::<u64>("ZADD", &fixture.of_queue(keys::delayed), &[&score, "gone"]).await;
        assert_eq!(faults(&fixture).await.len(), 4);

        let changed = fixture.hive.reconcile_lists(&fixture.queue).await.expect("reconciled");
        assert_eq!(changed, 4);
        assert_eq!(fixture.in_queue(keys::waiting).await, [""; 0]);
        assert_eq!(fixture.scores(&failed_list).await, [(failed.to_string(), score)]);
        assert_eq!(faults(&fixture).await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn queues_that_only_others_have_filled_are_discovered() {
    everywhere(async |fixture| {
        let other = fixture.on("filled by node");
        other.put("j").await;
        fixture.put("k").await;
        fixture.ask::<u64>("DEL", &keys::queues(), &[]).await;
        let hive = Hive::named(fixture.hive.store().clone(), "host:2:hive");
        assert_eq!(hive.discover_queues().await.expect("a walk"), 2);
        let queues = hive.queues().await.expect("queues");
        assert_eq!(queues, [fixture.queue.clone(), other.queue.clone()]);
        assert_eq!(hive.discover_queues().await.expect("a walk"), 0);
    })
    .await;
}
