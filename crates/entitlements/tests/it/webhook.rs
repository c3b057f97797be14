//! What Stripe tells by itself.

use futures_util::future::join_all;
use keyrack_entitlements::{Error, WebhookOutcome, sign_webhook};
use keyrack_testkit::on_every_store_at;
use serde_json::{Value, json};

use crate::{
    cat::{Cat, Mood},
    checkout::{is_open, start},
    till::Till,
    world::{NOW_MS, WEBHOOK_SECRET, assert_clean, pro_of, shop, user},
};

const NOW_S: u64 = NOW_MS / 1000;

fn event(kind: &str, session: &Value) -> Vec<u8> {
    let event =
        json!({"id": "evt_1", "object": "event", "type": kind, "data": {"object": session}});
    event.to_string().into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_acted_on_once_however_often_it_is_told_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shops = [shop(&store, &cat, &till), shop(&store, &cat, &till)];
        let started = start(&shops[0], &alice).await;
        let body = event("checkout.session.completed", &till.sessions().await[0]);
        let signature = sign_webhook(WEBHOOK_SECRET, NOW_S, &body);
        let told = join_all((0..20).map(|n| shops[n % 2].webhook(&signature, &body))).await;
        let done = told.iter().filter(|told| matches!(told, Ok(WebhookOutcome::Completed))).count();
        for told in &told {
            let is_fine = matches!(
                told,
                Ok(WebhookOutcome::Completed | WebhookOutcome::Nothing) | Err(Error::Busy { .. })
            );
            assert!(is_fine, "{told:?}");
        }
        assert_eq!((done, cat.receipts().await.len()), (1, 1));
        for shop in &shops {
            let again = shop.webhook(&signature, &body).await.expect("heard");
            assert_eq!(again, WebhookOutcome::Nothing);
        }
        assert_eq!((cat.receipts().await.len(), till.looks()), (1, 0));
        assert!(!is_open(&store, &alice, &started.uid).await);
        assert!(pro_of(shops[1].entitlements(), &alice).await.entitlement.is_active);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_is_completed_by_its_payment_however_late_that_comes_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        let tell = async |kind: &str, session: &Value| {
            let body = event(kind, session);
            shop.webhook(&sign_webhook(WEBHOOK_SECRET, NOW_S, &body), &body).await.expect("heard")
        };
        let started = start(&shop, &alice).await;
        let mut session = till.sessions().await.remove(0);
        session["status"] = json!("complete");
        session["payment_status"] = json!("unpaid");
        let handled = tell("checkout.session.completed", &session).await;
        assert_eq!((handled, cat.receipts().await.len()), (WebhookOutcome::Nothing, 0));
        assert!(is_open(&store, &alice, &started.uid).await);
        session["payment_status"] = json!("paid");
        let handled = tell("checkout.session.async_payment_succeeded", &session).await;
        assert_eq!((handled, cat.receipts().await.len()), (WebhookOutcome::Completed, 1));
        assert!(!is_open(&store, &alice, &started.uid).await);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_failed_ends_its_checkout_without_a_purchase_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        let started = start(&shop, &alice).await;
        let session = till.sessions().await.remove(0);
        let body = event("checkout.session.async_payment_failed", &session);
        let signature = sign_webhook(WEBHOOK_SECRET, NOW_S, &body);
        let handled = shop.webhook(&signature, &body).await.expect("heard");
        assert_eq!((handled, cat.receipts().await.len()), (WebhookOutcome::Expired, 0));
        assert!(!is_open(&store, &alice, &started.uid).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stripe_gave_up_is_forgotten_and_what_it_does_not_know_ignored_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        let started = start(&shop, &alice).await;
        let session = till.sessions().await.remove(0);
        let mut other_id = session.clone();
        other_id["id"] = json!("cs_test_999");
        let mut nameless = session.clone();
        nameless["client_reference_id"] = Value::Null;
        let ignored = [
            event("invoice.paid", &json!({"id": "in_1"})),
            event("checkout.session.completed", &other_id),
            event("checkout.session.completed", &nameless),
        ];
        for body in ignored {
            let signature = sign_webhook(WEBHOOK_SECRET, NOW_S, &body);
            let handled = shop.webhook(&signature, &body).await.expect("heard");
            assert_eq!(handled, WebhookOutcome::Nothing, "{}", String::from_utf8_lossy(&body));
            assert!(is_open(&store, &alice, &started.uid).await);
        }
        let body = event("checkout.session.expired", &session);
        let signature = sign_webhook(WEBHOOK_SECRET, NOW_S, &body);
        let handled = shop.webhook(&signature, &body).await.expect("heard");
        assert_eq!(handled, WebhookOutcome::Expired);
        assert!(!is_open(&store, &alice, &started.uid).await);
        assert_eq!(cat.receipts().await.len(), 0);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stripe_did_not_sign_just_now_changes_nothing_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        let started = start(&shop, &alice).await;
        let body = event("checkout.session.completed", &till.sessions().await[0]);
        let good = sign_webhook(WEBHOOK_SECRET, NOW_S, &body);
        let (time, tag) = good.split_once(',').expect("two fields");
        let forged = [
            String::new(),
            time.to_owned(),
            tag.to_owned(),
            format!("{time},v1="),
            format!("{time},v1=zz"),
            format!("{time},{}", tag.replace("v1", "v0")),
            format!("t={},{tag}", NOW_S + 1),
            sign_webhook("whsec_other", NOW_S, &body),
            sign_webhook(WEBHOOK_SECRET, NOW_S, b"{}"),
            sign_webhook(WEBHOOK_SECRET, NOW_S - 301, &body),
            sign_webhook(WEBHOOK_SECRET, NOW_S + 302, &body),
        ];
        for signature in forged {
            let refused = shop.webhook(&signature, &body).await;
            assert!(matches!(refused, Err(Error::NotStripes { .. })), "{signature}: {refused:?}");
        }
        let nonsense = sign_webhook(WEBHOOK_SECRET, NOW_S, b"[]");
        let refused = shop.webhook(&nonsense, b"[]").await;
        assert!(matches!(refused, Err(Error::Invalid { field: "body", .. })), "{refused:?}");
        assert!(is_open(&store, &alice, &started.uid).await);
        // While the secret is replaced there are two signatures.
        let both = format!("{time},v1={},{tag}", "00".repeat(32));
        clock.advance_ms(299_000);
        assert_eq!(shop.webhook(&both, &body).await.expect("heard"), WebhookOutcome::Completed);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stripe_is_told_to_try_again_when_the_source_fails_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        let started = start(&shop, &alice).await;
        let body = event("checkout.session.completed", &till.sessions().await[0]);
        let signature = sign_webhook(WEBHOOK_SECRET, NOW_S, &body);
        cat.is(Mood::Status(500)).await;
        let failed = shop.webhook(&signature, &body).await;
        assert!(matches!(failed, Err(Error::Source(_))), "{failed:?}");
        assert!(is_open(&store, &alice, &started.uid).await);
        cat.is(Mood::Well).await;
        assert_eq!(
            shop.webhook(&signature, &body).await.expect("heard"),
            WebhookOutcome::Completed
        );
    })
    .await;
}
