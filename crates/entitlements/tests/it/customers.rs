//! By which names those who sell know users.

use std::collections::BTreeMap;

use keyrack_entitlements::{Error, keys};
use keyrack_testkit::on_every_store_at;

use crate::{
    cat::Cat,
    world::{NOW_MS, ask, assert_clean, entitlements, known, pro_of, user},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_user_gets_one_id_however_often_and_at_once_it_is_asked_for_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        let entitlements = entitlements(&store, &cat);
        assert_eq!(entitlements.customer(&alice).await.expect("an answer"), None);
        let asking = (0..50).map(|_| entitlements.ensure_customer(&alice));
        let customers = futures_util::future::join_all(asking).await;
        let first = customers[0].as_ref().expect("a customer");
        let id = first.revenue_cat_id();
        assert!(id.starts_with("oseh_u_rc_") && id.len() == "oseh_u_rc_".len() + 22);
        assert!(customers.iter().all(|other| other.as_ref().expect("a customer") == first));
        let bob = entitlements.ensure_customer(&user("bob")).await.expect("a customer");
        assert_ne!(bob.revenue_cat_id(), id);
        let stored: BTreeMap<String, String> =
            ask(&store, "HGETALL", &keys::customer(&alice), &[]).await;
        let expected = [("created_at", "1794709387.25"), ("revenue_cat_id", id)]
            .map(|(k, v)| (k.into(), v.into()));
        assert_eq!(stored, BTreeMap::from(expected));
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_from_elsewhere_replaces_the_own_and_voids_what_was_known_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        let entitlements = known(&store, &cat, &alice).await;
        pro_of(&entitlements, &alice).await;
        clock.advance_ms(1);
        entitlements.link(&alice, "app user/1?x=#").await.expect_err("a space");
        entitlements.link(&alice, "app/user?x=#").await.expect("linked");
        let customer = entitlements.customer(&alice).await.expect("an answer").expect("alice");
        assert_eq!(customer.revenue_cat_id(), "app/user?x=#");
        pro_of(&entitlements, &alice).await;
        assert_eq!(cat.asked(), 2);
        for wrong in ["", ".", "..", "é", &"x".repeat(257)] {
            let refused = entitlements.link(&alice, wrong).await;
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{wrong}: {refused:?}");
        }
        assert_clean(&store).await;
    })
    .await;
}
