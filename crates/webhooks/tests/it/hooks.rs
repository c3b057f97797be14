//! Webhooks themselves: what they may be, who gets what, and what is never shown.

use keyrack_keys::Registry;
use keyrack_webhooks::{Change, Draft, Error, Event, Format, HookId};
use serde_json::json;

use super::fixture::{Fixture, Mode, NOW, Receiver, SECRET, draft, event, everywhere};

impl Fixture {
    /// The keys of the store whose documented names begin so.
    pub(crate) async fn keys(&self, start: &str) -> Vec<String> {
        let mut found = Vec::new();
        for keyspace in self.store.own_keyspaces().await.expect("the keyspaces") {
            let mut cursor = 0;
            loop {
                let (next, keys) = keyspace.scan(cursor, None, 1_000).await.expect("a scan");
                let keys = keys.into_iter().map(|key| String::from_utf8(key).expect("a name"));
                found.extend(keys.map(|key| key.replace("{webhooks}", "")));
                cursor = next;
                if cursor == 0 {
                    break;
                }
            }
        }
        found.retain(|key| key.starts_with(start));
        found
    }

    async fn lint(&self) {
        let registry = Box::leak(Box::new(Registry::new(&[keyrack_webhooks::FAMILIES])));
        let report = keyrack_lint::lint(&self.store, registry, &Default::default(), |_| {}).await;
        let report = report.expect("a report");
        assert_eq!((report.findings, report.unknown.keys), (Default::default(), 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_webhook_is_refused_by_field_and_not_stored() {
    everywhere(async |fixture| {
        let good = || draft("https://hooks.example.com/a".into());
        let wrong = [
            ("url", Draft { url: None, ..good() }),
            ("url", Draft { url: Some("ftp://example.com".into()), ..good() }),
            ("url", Draft { url: Some("https://user:pw@example.com".into()), ..good() }),
            ("url", Draft { url: Some("no url".into()), ..good() }),
            ("events", Draft { events: vec![], ..good() }),
            ("events", Draft { events: vec!["job.begun".into()], ..good() }),
            ("queues", Draft { queues: vec![String::new()], ..good() }),
            ("secret", Draft { secret: Some("too short".into()), ..good() }),
            ("routing_key", Draft { format: Format::PagerDuty, ..good() }),
        ];
        for (expected, draft) in wrong {
            match fixture.webhooks.create(draft).await {
                Err(Error::Invalid { field, .. }) => assert_eq!(field, expected),
                other => panic!("{expected}: {other:?}"),
            }
        }
        assert!(fixture.keys("").await.is_empty());
        let none = HookId::new("wh_none").expect("a name");
        let error = fixture.webhooks.change(&none, Change::default()).await;
        assert!(matches!(error, Err(Error::NoSuchHook { .. })), "{error:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_gets_the_kinds_and_queues_that_it_asks_for() {
    everywhere(async |fixture| {
        let receiver = Receiver::start(Mode::Answers(200)).await;
        let of_queue = Draft { queues: vec!["emails".into()], ..draft(receiver.url()) };
        let hook = fixture.webhooks.create(of_queue).await.expect("created").id;
        let of = |kind: &str, queue: &str, unique: &str| {
            Event::new(kind, unique, NOW, format!("job:{unique}"), json!({"n": unique}))
                .in_queue(queue)
        };
        let events = [
            of("job.failed", "emails", "1"),
            of("job.failed", "mail", "2"),
            of("job.canceled", "emails", "3"),
        ];
        fixture.enqueue(&events).await;
        fixture.deliver(&hook).await;
        fixture.change(&hook, Change { enabled: Some(false), ..Change::default() }).await;
        fixture.enqueue(&[of("job.failed", "emails", "4")]).await;
        let again = Change { enabled: Some(true), queues: Some(vec![]), ..Change::default() };
        fixture.change(&hook, again).await;
        fixture.enqueue(&[of("job.failed", "mail", "5")]).await;
        fixture.deliver(&hook).await;
        let got: Vec<_> =
            receiver.received().iter().map(|one| one.json()["data"]["n"].clone()).collect();
        assert_eq!(got, [json!("1"), json!("5")]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_shown_once_and_keys_are_as_declared() {
    everywhere(async |fixture| {
        let receiver = Receiver::start(Mode::Answers(500)).await;
        let random = Draft { secret: None, ..draft(receiver.url()) };
        let created = fixture.webhooks.create(random).await.expect("created");
        assert!(created.secret.starts_with("whsec_") && created.secret.len() == 70, "{created:?}");
        let hook = fixture.hook(receiver.url()).await;
        fixture.enqueue(&[event(1, 0), event(2, 0)]).await;
        fixture.deliver(&hook).await;
        fixture.webhooks.send_test(&hook).await.expect("sent");
        receiver.set(Mode::Answers(200));
        fixture.pass_minutes(&created.id, 20).await;
        let shown = serde_json::to_string(&fixture.webhooks.list().await.expect("a list"));
        let shown = shown.expect("JSON");
        for secret in [&*created.secret, SECRET, "path-secret"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(shown.contains(&format!("\"site\":\"http://{}\"", receiver.addr)), "{shown}");
        assert!(fixture.webhooks.take_duty("forward", "one").await.expect("taken"));
        assert!(!fixture.webhooks.take_duty("forward", "two").await.expect("taken"));
        fixture.lint().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_webhook_leaves_nothing() {
    everywhere(async |fixture| {
        let receiver = Receiver::start(Mode::Answers(200)).await;
        let hook = fixture.hook(receiver.url()).await;
        let events: Vec<_> = (0..40).map(|job| event(job, 0)).collect();
        fixture.enqueue(&events).await;
        fixture.deliver(&hook).await;
        let events: Vec<_> = (0..1_200).map(|n| event(n % 7, 1 + n)).collect();
        fixture.enqueue(&events).await;
        assert_eq!(fixture.waiting(&hook).await, 1_200);
        fixture.webhooks.delete(&hook).await.expect("deleted");
        assert_eq!(fixture.keys("").await, [""; 0]);
        assert!(matches!(fixture.webhooks.delete(&hook).await, Err(Error::NoSuchHook { .. })));
    })
    .await;
}
