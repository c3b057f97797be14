use std::time::Duration;

use futures_util::FutureExt as _;
use keyrack_testkit::on_every_store;

use super::*;
use crate::bee::test_support::{completed, queue};

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
        let value = serde_json::json!({"percent": 40});
        let progress = crate::bee::Progress::of(&job, value, None, hive.now_ms()).expect("small");
        hive.report_progress(&job, &progress).await.expect("told");
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
