//! Buying: a checkout is started, and finished when the buyer comes back.

use std::{collections::BTreeMap, sync::atomic::Ordering, time::Duration};

use futures_util::future::join_all;
use keyrack_entitlements::{
    Buyer, CHECKOUT_LIMIT_S, Checkout, Error, OPEN_MAX, Origin, Started, keys, keys::CheckoutUid,
};
use keyrack_keys::UserSub;
use keyrack_store::Store;
use keyrack_testkit::on_every_store_at;
use serde_json::json;

use crate::{
    cat::{Cat, Mood},
    till::Till,
    world::{NOW, NOW_MS, ask, assert_clean, pro, pro_of, shop, user},
};

pub(crate) async fn try_start(shop: &Checkout, user: &UserSub) -> Result<Started, Error> {
    let buyer = Buyer { email: Some("alice@example.com"), name: Some("Alice Ä") };
    shop.start(user, buyer, "/admin", "/admin").await
}

pub(crate) async fn start(shop: &Checkout, user: &UserSub) -> Started {
    try_start(shop, user).await.expect("a checkout")
}

/// Lets the next start or finish be as if its time had come.
pub(crate) async fn wait_for_limits(store: &Store, user: &UserSub) {
    for key in [keys::checkout_start_limit(user), keys::checkout_finish_limit(user)] {
        let _: i64 = ask(store, "DEL", &key, &[]).await;
    }
}

pub(crate) async fn is_open(store: &Store, user: &UserSub, uid: &CheckoutUid) -> bool {
    let session: bool = ask(store, "EXISTS", &keys::checkout_session(uid), &[]).await;
    let due: Option<f64> = ask(store, "ZSCORE", &keys::checkouts_due(), &[uid.as_str()]).await;
    let open: Option<f64> = ask(store, "ZSCORE", &keys::checkouts(user), &[uid.as_str()]).await;
    assert_eq!((session, session), (due.is_some(), open.is_some()));
    session
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_is_started_at_stripe_and_remembered_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        let started = start(&shop, &alice).await;
        assert_eq!(started.url, "https://checkout.example.com/c/pay/cs_test_1");
        let uid = &started.uid;
        assert!(uid.as_str().starts_with("oseh_oscs_"), "{uid}");
        let sessions = till.sessions().await;
        let form = sessions[0]["form"].as_str().expect("a form");
        let back = "https%3A%2F%2Fwww.example.com%2Fadmin";
        let expected = format!(
            "mode=subscription&client_reference_id={uid}&customer=cus_1&line_items%5B0%5D%5Bprice%5D=price_yearly\
             &line_items%5B0%5D%5Bquantity%5D=1&success_url={back}%3Fcheckout_success%3D1%26checkout_uid%3D{uid}\
             &cancel_url={back}"
        );
        assert_eq!(form, expected);
        let customer = "metadata%5Buser_sub%5D=alice&metadata%5Bcreated_for%5D=checkout\
                        &email=alice%40example.com&name=Alice+%C3%84";
        assert_eq!(till.customers().await, [customer]);
        let stored: BTreeMap<String, String> =
            ask(&store, "HGETALL", &keys::checkout_session(uid), &[]).await;
        let expected = [
            ("user_sub", "alice"),
            ("stripe_session_id", "cs_test_1"),
            ("created_at", "1794709387.25"),
            ("last_checked_at", "1794709387.25"),
            ("expires_at", "1794795788.25"),
        ];
        assert_eq!(stored, expected.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
        let due: f64 = ask(&store, "ZSCORE", &keys::checkouts_due(), &[uid.as_str()]).await;
        assert_eq!(due, NOW + 300.0);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_starts_at_once_create_one_session_on_every_store() {
    assert_eq!(CHECKOUT_LIMIT_S, 15);
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shops = [shop(&store, &cat, &till), shop(&store, &cat, &till)];
        let started = join_all((0..100).map(|n| try_start(&shops[n % 2], &alice))).await;
        let mut refused = 0;
        for result in &started {
            match result {
                Ok(_) => {}
                Err(Error::Limited { retry_after }) => {
                    let range = Duration::from_secs(5)..=Duration::from_secs(15);
                    assert!(range.contains(retry_after), "{retry_after:?}");
                    refused += 1;
                }
                Err(error) => panic!("another error: {error}"),
            }
        }
        assert_eq!(
            (refused, till.sessions().await.len(), till.customers().await.len()),
            (99, 1, 1)
        );
        assert_eq!(till.inner.session_requests.load(Ordering::SeqCst), 1);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_it_cannot_buy_it_again_and_an_outage_keeps_nobody_from_buying_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        cat.everybody_has(pro()).await;
        let refused = try_start(&shop, &alice).await;
        assert!(matches!(refused, Err(Error::AlreadySubscribed { .. })), "{refused:?}");
        // What is known counts during an outage, until it has run out.
        cat.is(Mood::Status(500)).await;
        wait_for_limits(&store, &alice).await;
        let refused = try_start(&shop, &alice).await;
        assert!(matches!(refused, Err(Error::AlreadySubscribed { .. })), "{refused:?}");
        assert_eq!(till.sessions().await.len(), 0);
        // What is assumed does not.
        let bob = user("bob");
        shop.entitlements().ensure_customer(&bob).await.expect("a customer");
        assert!(pro_of(shop.entitlements(), &bob).await.entitlement.is_active);
        start(&shop, &bob).await;
        clock.advance_ms(4 * 365 * 86_400_000);
        wait_for_limits(&store, &alice).await;
        start(&shop, &alice).await;
        assert_eq!(till.sessions().await.len(), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_makes_no_sense_costs_nothing_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        for wrong in ["", "/", "/admin/", "//evil.example.com", "/admin?x"] {
            let refused = shop.start(&alice, Buyer::default(), "/admin", wrong).await;
            assert!(matches!(refused, Err(Error::Invalid { field: "success_path", .. })));
            let refused = shop.start(&alice, Buyer::default(), wrong, "/admin").await;
            assert!(matches!(refused, Err(Error::Invalid { field: "cancel_path", .. })));
        }
        start(&shop, &alice).await;
        cat.is(Mood::Status(404)).await;
        let refused = try_start(&shop, &user("stranger")).await;
        assert!(matches!(refused, Err(Error::UnknownUser)), "{refused:?}");
        assert_eq!(till.sessions().await.len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stripe_that_fails_once_is_asked_again_with_the_same_key_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        start(&shop, &alice).await;
        wait_for_limits(&store, &alice).await;
        till.fails(&[500]).await;
        start(&shop, &alice).await;
        assert_eq!((till.sessions().await.len(), till.customers().await.len()), (2, 1));
        assert_eq!(till.inner.session_requests.load(Ordering::SeqCst), 3);
        for failures in [&[503, 500][..], &[402], &[429]] {
            wait_for_limits(&store, &alice).await;
            till.fails(failures).await;
            let failed = try_start(&shop, &alice).await;
            assert!(matches!(failed, Err(Error::Stripe(_))), "{failed:?}");
        }
        let open: usize = ask(&store, "ZCARD", &keys::checkouts(&alice), &[]).await;
        assert_eq!(open, 2, "what failed left nothing behind");
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_twenty_open_checkouts_and_no_more() {
    let (store, _clock) = keyrack_testkit::simulated_store(NOW_MS, 1).await;
    let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
    let shop = shop(&store, &cat, &till);
    for _ in 0..OPEN_MAX {
        wait_for_limits(&store, &alice).await;
        start(&shop, &alice).await;
    }
    wait_for_limits(&store, &alice).await;
    let refused = try_start(&shop, &alice).await;
    assert!(matches!(refused, Err(Error::TooManyOpen { open: OPEN_MAX })), "{refused:?}");
    assert_eq!(till.sessions().await.len(), OPEN_MAX);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_paid_has_it_when_the_finish_returns_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        let started = start(&shop, &alice).await;
        let early = shop.finish(&alice, &started.uid).await;
        assert!(matches!(early, Err(Error::Incomplete { .. })), "{early:?}");
        let limited = shop.finish(&alice, &started.uid).await;
        assert!(matches!(limited, Err(Error::Limited { .. })), "{limited:?}");
        till.all_are("complete").await;
        wait_for_limits(&store, &alice).await;
        shop.finish(&alice, &started.uid).await.expect("finished");
        let customer = shop.entitlements().ensure_customer(&alice).await.expect("a customer");
        let receipt = json!({"app_user_id": customer.revenue_cat_id(), "fetch_token": "cs_test_1"});
        assert_eq!(cat.receipts().await, [receipt]);
        let found = pro_of(shop.entitlements(), &alice).await;
        assert!(found.entitlement.is_active && found.origin != Origin::Assumed, "{found:?}");
        assert!(!is_open(&store, &alice, &started.uid).await);
        wait_for_limits(&store, &alice).await;
        let again = shop.finish(&alice, &started.uid).await;
        assert!(matches!(again, Err(Error::NoSuchCheckout { .. })), "{again:?}");
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_finishes_the_checkout_of_others_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        let started = start(&shop, &alice).await;
        till.all_are("complete").await;
        let refused = shop.finish(&user("mallory"), &started.uid).await;
        assert!(matches!(refused, Err(Error::NoSuchCheckout { .. })), "{refused:?}");
        assert_eq!((till.looks(), cat.receipts().await.len()), (0, 0));
        assert!(is_open(&store, &alice, &started.uid).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finish_that_fails_can_be_tried_again_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, till, alice) = (Cat::start().await, Till::start().await, user("alice"));
        let shop = shop(&store, &cat, &till);
        let started = start(&shop, &alice).await;
        till.all_are("complete").await;
        till.fails(&[500]).await;
        let failed = shop.finish(&alice, &started.uid).await;
        assert!(matches!(failed, Err(Error::Stripe(_))), "{failed:?}");
        cat.is(Mood::Status(503)).await;
        wait_for_limits(&store, &alice).await;
        let failed = shop.finish(&alice, &started.uid).await;
        assert!(matches!(failed, Err(Error::Source(_))), "{failed:?}");
        cat.is(Mood::Well).await;
        wait_for_limits(&store, &alice).await;
        shop.finish(&alice, &started.uid).await.expect("finished");
        assert_eq!(cat.receipts().await.len(), 1);
        assert_clean(&store).await;
    })
    .await;
}
