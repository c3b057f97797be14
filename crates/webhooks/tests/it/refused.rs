//! What is not called: private addresses, however they are written, and wherever a receiver sends.

use keyrack_webhooks::{DeliveryState, Error, Settings, Webhooks};

use super::fixture::{Mode, Receiver, draft, event, everywhere};

#[tokio::test(flavor = "multi_thread")]
async fn redirect_is_not_followed() {
    everywhere(async |fixture| {
        let receiver = Receiver::start(Mode::Redirects).await;
        let hook = fixture.hook(receiver.url()).await;
        fixture.enqueue(&[event(1, 0)]).await;
        assert_eq!(fixture.deliver(&hook).await, 1);
        let waiting = fixture.webhooks.deliveries(&hook, DeliveryState::Waiting, 10).await;
        let waiting = waiting.expect("the log");
        let error = waiting[0].error.as_deref();
        assert_eq!(error, Some("it answered 302: redirects are not followed"));
        let paths: Vec<_> = receiver.received().into_iter().map(|one| one.path).collect();
        assert_eq!(paths, ["/hook/path-secret"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn private_address_is_refused_however_it_is_written() {
    everywhere(async |fixture| {
        let receiver = Receiver::start(Mode::Answers(200)).await;
        let strict = Webhooks::new(fixture.store.clone(), Settings::default());
        let port = receiver.addr.port();
        let hosts = [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f.0.0.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "0.0.0.0",
        ];
        for host in hosts {
            let url = format!("http://{host}:{port}/");
            match strict.create(draft(url)).await {
                Err(Error::Invalid { field: "url", reason }) => {
                    assert!(reason.contains("is private"), "{host}: {reason}");
                }
                other => panic!("{host}: {other:?}"),
            }
        }
        // A name is looked at when it is resolved.
        let id =
            strict.create(draft(format!("http://localhost:{port}/"))).await.expect("a name").id;
        strict.enqueue(&[event(1, 0)]).await.expect("taken");
        assert_eq!(strict.deliver_due(&id).await.expect("tried"), 1);
        let waiting = strict.deliveries(&id, DeliveryState::Waiting, 10).await.expect("the log");
        let error = waiting[0].error.as_deref().unwrap_or_default();
        assert!(error.contains("is private; \"webhooks-allow-private\""), "{error}");
        // A webhook that another server, which may, has created is not called by one that may not.
        let hook = fixture.hook(receiver.url()).await;
        strict.enqueue(&[event(2, 0)]).await.expect("taken");
        strict.deliver_due(&hook).await.expect("tried");
        assert!(receiver.received().is_empty());
    })
    .await;
}
