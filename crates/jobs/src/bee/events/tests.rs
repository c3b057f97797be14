use std::time::Duration;

use futures_util::FutureExt as _;
use keyrack_store::Store;
use keyrack_testkit::{FaultProxy, RedisServer, on_every_store};

use super::*;
use crate::bee::{
    Failure,
    settle::End,
    test_support::{completed, queue},
};

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

async fn heard(events: &mut EventStream) -> Event {
    match tokio::time::timeout(PATIENCE, events.next()).await {
        Ok(Some(StreamItem::Event(event))) => *event,
        other => panic!("heard {other:?}"),
    }
}

#[test]
fn messages_that_are_no_events_are_nothing() {
    for text in [
        "",
        "null",
        "[]",
        "7",
        "{}",
        r#"{"jid":"x"}"#,
        r#"{"type":7}"#,
        "{\"type\":\"new\"",
        "\u{0}",
    ] {
        assert_eq!(Event::parse(text.as_bytes()), None, "{text}");
    }
    assert_eq!(Event::parse(b"\xff\xfe"), None);
}

#[test]
fn events_of_later_versions_and_with_less_in_them_are_understood() {
    let parsed = |text: &str| Event::parse(text.as_bytes()).expect("an event");
    let event = parsed(r#"{"type":"moved","jid":"a","queue":"q","to":7}"#);
    assert_eq!((event.kind, event.jid.as_str()), (EventKind::Other, "a"));
    let event = parsed(r#"{"type":"progress","jid":"a","queue":"q"}"#);
    assert_eq!(
        event.progress,
        Some(0.into()),
        "Node leaves it out when it reports nothing in particular"
    );
    let event = parsed(r#"{"type":"completed","jid":"a","queue":"q","job":{}}"#);
    assert_eq!(event.job, None);
}

#[test]
fn the_piece_of_an_id_that_is_looked_for_is_in_every_way_to_write_it() {
    for (jid, piece) in
        [("a-b_c.d~e", "a-b_c.d~e"), ("a/bcd/e", "bcd"), ("\"", ""), ("grüße", "gr")]
    {
        assert_eq!(longest_plain_piece(jid), piece.as_bytes());
    }
}

#[tokio::test]
async fn what_happens_to_jobs_is_heard_in_order() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let worker = hive.worker();
        let mut events = hive.events(&[queue()]).await.expect("listening");

        let jid = hive.put("a").await;
        let event = heard(&mut events).await;
        assert_eq!(
            (event.kind, event.jid.as_str(), event.queue.as_str()),
            (EventKind::New, jid.as_str(), "emails")
        );

        let channel = keys::queue_events(&queue(), &queue().group());
        hive.store().publish(&channel, "no event").await.expect("published");
        let job = hive.take(&worker, 1).await.remove(0);
        hive.report_progress(&job, &serde_json::json!({"percent": 40})).await.expect("told");
        let event = heard(&mut events).await;
        assert_eq!(event.kind, EventKind::Progress, "what is no event is passed over");
        assert_eq!(event.progress, Some(serde_json::json!({"percent": 40})));

        hive.end(&worker, &job, completed("[1]")).await;
        let event = heard(&mut events).await;
        assert_eq!(event.kind, EventKind::Completed);
        assert_eq!(event.job.expect("the job").result(), Some("[1]"));

        assert!(hive.events(&[]).await.expect("listening").next().now_or_never().is_none());
        let late = QueueName::new("reports").expect("a queue");
        events.join(&hive, std::slice::from_ref(&late)).await.expect("listening");
        hive.resume(&late).await.expect("resumed");
        let event = heard(&mut events).await;
        assert_eq!((event.kind, event.queue.as_str()), (EventKind::Resumed, "reports"));
    })
    .await;
}

#[tokio::test]
async fn the_outcome_of_a_job_is_waited_for() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let worker = hive.worker();
        let ends = [
            (completed("7"), Status::Completed),
            (End::Failed(Failure::fatal("no")), Status::Failed),
        ];
        for (end, status) in ends {
            let jid = hive.put("a").await;
            assert_eq!(hive.outcome(&jid, Duration::ZERO).await.expect("looked"), None);
            let job = hive.take(&worker, 1).await.remove(0);
            let (outcome, ()) =
                tokio::join!(hive.outcome(&jid, PATIENCE), hive.end(&worker, &job, end));
            let outcome = outcome.expect("no error").expect("in time");
            assert_eq!((outcome.jid(), outcome.status()), (jid.as_str(), status));
            let again = hive.outcome(&jid, Duration::ZERO).await.expect("looked");
            assert_eq!(
                again.expect("has ended").status(),
                status,
                "an end that has come is told at once"
            );
        }
        let jid = hive.put("a").await;
        let cancel = async { hive.cancel(&jid).await.expect("cancelled") };
        let (outcome, _) = tokio::join!(hive.outcome(&jid, PATIENCE), cancel);
        assert_eq!(outcome.expect("no error").expect("in time").status(), Status::Canceled);

        let nobody = Jid::new("nobody").expect("an id");
        let refused = hive.outcome(&nobody, PATIENCE).await;
        assert!(matches!(refused, Err(Error::NoSuchJob { .. })), "{refused:?}");
    })
    .await;
}

#[tokio::test]
async fn a_duplicate_ends_as_its_original_does() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let worker = hive.worker();
        let (first, second) = (hive.put("a").await, hive.put("a").await);
        let jobs = hive.take(&worker, 2).await;
        let waiting = hive.outcome(&second, PATIENCE);
        let running = async {
            for job in &jobs {
                let hash = keys::JobHash::new("same").expect("a hash");
                hive.check_duplicates(&queue(), &worker, &[(job, hash)]).await.expect("checked");
            }
            let original = jobs.iter().find(|job| job.jid() == first.as_str()).expect("the first");
            hive.end(&worker, original, completed("7")).await;
        };
        let (outcome, ()) = tokio::join!(waiting, running);
        let outcome = outcome.expect("no error").expect("in time");
        assert_eq!((outcome.jid(), outcome.result()), (first.as_str(), Some("7")));
        let again = hive.outcome(&second, Duration::ZERO).await.expect("looked").expect("ended");
        assert_eq!(again.jid(), first.as_str());
    })
    .await;
}

#[tokio::test]
async fn an_end_that_nobody_could_hear_is_found_after_the_gap() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr()).await;
    let near =
        Hive::open(Store::open(&server.url()).await.expect("a store")).await.expect("a hive");
    let far =
        Hive::open(Store::open(&proxy.redis_url()).await.expect("a store")).await.expect("a hive");
    let worker = near.worker();
    let jid = near.put("a").await;
    let job = near.take(&worker, 1).await.remove(0);

    let waiting = tokio::spawn(async move { far.outcome(&jid, PATIENCE).await });
    let channel = keys::queue_events(&queue(), &queue().group());
    keyrack_testkit::wait_until_async("the other side to listen", async || {
        near.store().publish(&channel, "").await.expect("published") > 0
    })
    .await;
    proxy.refuse(true).await;
    proxy.cut();
    near.end(&worker, &job, completed("7")).await;
    proxy.refuse(false).await;
    let outcome = waiting.await.expect("no panic").expect("no error").expect("in time");
    assert_eq!(outcome.result(), Some("7"));
}
