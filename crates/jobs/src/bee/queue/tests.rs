use keyrack_testkit::on_every_store;

use super::*;
use crate::bee::{
    Blocked, EventKind, StreamItem, Submission, WorkerTimeouts,
    test_support::{completed, queue, simulated_hive},
};

fn limits(json: serde_json::Value) -> Limits {
    serde_json::from_value(json).expect("limits")
}

#[tokio::test]
async fn a_paused_queue_starts_nothing_until_it_is_resumed() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let worker = hive.worker();
        hive.put("a").await;
        hive.pause(&queue()).await.expect("paused");
        let claimed =
            hive.claim(&queue(), &worker, 1, WorkerTimeouts::KEYRACK.lock).await.expect("claimed");
        assert_eq!((claimed.jobs.len(), claimed.blocked), (0, Some(Blocked::Paused)));

        let mut events = hive.events(&[queue()]).await.expect("listening");
        hive.resume(&queue()).await.expect("resumed");
        let heard = events.next().await;
        assert!(
            matches!(&heard, Some(StreamItem::Event(event)) if event.kind == EventKind::Resumed),
            "idle workers are woken, but {heard:?}"
        );
        assert_eq!(hive.take(&worker, 1).await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn limits_are_replaced_as_a_whole_and_survive_a_pause() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        assert_eq!(hive.limits(&queue()).await.expect("read"), Limits::default());
        hive.pause(&queue()).await.expect("paused");
        let first = limits(serde_json::json!({
            "concurrency": 5, "rate": {"max": 10, "per_ms": 1000}, "tenant_concurrency": 2, "tenants": {"ac:me": 7},
            "tenant_rate": {"max": 3, "per_ms": 50}, "tenant_rates": {"ac:me": {"max": 4, "per_ms": 60}},
            "tenant_weights": {"ac:me": 3}, "paused_tenants": ["bob"],
        }));
        hive.set_limits(&queue(), &first).await.expect("set");
        assert_eq!(hive.limits(&queue()).await.expect("read"), first);

        let second = limits(serde_json::json!({"tenants": {"other": 1}}));
        hive.set_limits(&queue(), &second).await.expect("set");
        assert_eq!(hive.limits(&queue()).await.expect("read"), second);
        assert!(hive.stats(&queue()).await.expect("stats").paused, "limits do not resume a queue");
        hive.set_limits(&queue(), &Limits::default()).await.expect("set");
        assert_eq!(hive.limits(&queue()).await.expect("read"), Limits::default());
    })
    .await;
}

#[test]
fn limits_that_make_no_sense_are_refused_by_name() {
    let refused = [
        (serde_json::json!({"concurrency": 0}), "concurrency: 0; give at least 1"),
        (serde_json::json!({"tenant_concurrency": 0}), "tenant_concurrency: 0;"),
        (serde_json::json!({"rate": {"max": 0, "per_ms": 1}}), "rate.max: 0;"),
        (serde_json::json!({"rate": {"max": 1, "per_ms": 0}}), "rate.per_ms: 0 ms; give 1 to"),
        (
            serde_json::json!({"rate": {"max": 1, "per_ms": 86_400_001}}),
            "rate.per_ms: 86400001 ms;",
        ),
        (serde_json::json!({"tenants": {"a": 0}}), "tenants: 0 for \"a\"; give at least 1"),
        (serde_json::json!({"tenants": {"": 1}}), "tenants: the tenant is empty"),
    ];
    for (json, expected) in refused {
        let refused = limits(json).check().expect_err(expected).to_string();
        assert!(refused.starts_with(expected), "{refused}");
    }
    let many = (0..=TENANT_LIMITS_MAX).map(|n| (format!("t{n}"), 1)).collect();
    let many = Limits { tenants: many, ..Limits::default() };
    assert!(many.check().expect_err("too many").to_string().starts_with("tenants: 1001 of them"));
}

#[tokio::test]
async fn a_raised_tenant_limit_lets_parked_jobs_in_at_once() {
    let (hive, _clock) = simulated_hive().await;
    let worker = hive.worker();
    let tenant = Tenant::new("acme").expect("a tenant");
    let one = limits(serde_json::json!({"tenant_concurrency": 1}));
    hive.set_limits(&queue(), &one).await.expect("set");
    for _ in 0..3 {
        hive.submit(Submission::to(queue()).tenant(tenant.clone())).await.expect("submitted");
    }
    assert_eq!(hive.take(&worker, 10).await.len(), 1);
    let two = limits(serde_json::json!({"tenant_concurrency": 1, "tenants": {"acme": 2}}));
    hive.set_limits(&queue(), &two).await.expect("set");
    assert_eq!(hive.take(&worker, 10).await.len(), 1);
    assert_eq!(hive.take(&worker, 10).await.len(), 0);
}

#[tokio::test]
async fn another_rate_begins_with_nothing_used_up() {
    let (hive, _clock) = simulated_hive().await;
    let worker = hive.worker();
    let slow = limits(serde_json::json!({"rate": {"max": 1, "per_ms": 3_600_000}}));
    hive.set_limits(&queue(), &slow).await.expect("set");
    for _ in 0..3 {
        hive.put("a").await;
    }
    assert_eq!(hive.take(&worker, 10).await.len(), 1);
    hive.set_limits(&queue(), &slow).await.expect("set");
    assert_eq!(hive.take(&worker, 10).await.len(), 0, "the same limit again changes nothing");
    let fast = limits(serde_json::json!({"rate": {"max": 100, "per_ms": 1000}}));
    hive.set_limits(&queue(), &fast).await.expect("set");
    assert_eq!(hive.take(&worker, 10).await.len(), 2);
}

#[tokio::test]
async fn a_queue_is_known_from_its_first_job_and_deleted_only_when_empty() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let worker = hive.worker();
        let unknown = hive.check_queue(&queue()).await;
        assert!(matches!(unknown, Err(Error::NoSuchQueue { .. })), "{unknown:?}");
        hive.put("a").await;
        let other = QueueName::new("mail/send").expect("a queue");
        hive.pause(&other).await.expect("paused");
        assert_eq!(hive.queues().await.expect("read"), [queue(), other.clone()]);
        hive.check_queue(&queue()).await.expect("known");

        let job = hive.take(&worker, 1).await.remove(0);
        for _ in 0..2 {
            let refused = hive.delete_queue(&queue()).await;
            assert!(matches!(refused, Err(Error::QueueNotEmpty { left: 1, .. })), "{refused:?}");
            assert!(hive.has_queue(&queue()).await.expect("looked"));
        }
        hive.end(&worker, &job, completed("1")).await;
        let refused = hive.delete_queue(&queue()).await;
        assert!(matches!(refused, Err(Error::QueueNotEmpty { .. })), "its result is kept");
        hive.cancel_even_completed(&job.id().expect("an id")).await.expect("canceled");
        hive.delete_queue(&queue()).await.expect("deleted");
        assert!(!hive.has_queue(&queue()).await.expect("looked"));
        assert_eq!(hive.queues().await.expect("read"), [other]);

        hive.put("b").await;
        assert!(hive.queues().await.expect("read").contains(&queue()), "it begins again");
    })
    .await;
}

#[tokio::test]
async fn a_queue_of_node_hives_is_found_by_its_keys() {
    let (hive, _clock) = simulated_hive().await;
    let key = keys::queue(&queue(), &queue().group());
    let mut cmd = redis::cmd("ZADD");
    cmd.arg(&*hive.store().place(&key)).arg(1).arg("b671c480");
    let () = cmd.query_async(&mut hive.store().connection()).await.expect("written");
    hive.check_queue(&queue()).await.expect("found");
    assert_eq!(hive.queues().await.expect("read"), [queue()], "from then on it is listed");
}

#[test]
fn the_most_similar_name_is_suggested_and_no_other() {
    let known = ["emails", "reports", "thumbnails"];
    let suggested = |name: &str| most_similar(name, known.into_iter());
    assert_eq!(suggested("email"), Some("emails"));
    assert_eq!(suggested("emials"), Some("emails"));
    assert_eq!(suggested("thumb"), Some("thumbnails"));
    assert_eq!(suggested("nosuch"), None);
    assert_eq!(changes_between("", "abc"), 3);
    assert_eq!(changes_between("kitten", "sitting"), 3);
}
