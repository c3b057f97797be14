//! What one process finds out, every process knows.

use keyrack_entitlements::{Origin, keys};
use keyrack_store::Event;
use keyrack_testkit::{on_every_store_at, wait_until_async};

use crate::{
    cat::Cat,
    world::{NOW_MS, assert_clean, forced_pro_of, hash, known, pro, pro_of, user},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_forced_read_in_one_process_is_seen_in_the_others_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        let here = known(&store, &cat, &alice).await;
        let there = known(&store, &cat, &alice).await;
        pro_of(&here, &alice).await;
        pro_of(&there, &alice).await;
        assert_eq!(pro_of(&there, &alice).await.origin, Origin::Local);
        cat.everybody_has(pro()).await;
        clock.advance_ms(1);
        forced_pro_of(&here, &alice).await;
        wait_until_async("the other process sees it", async || {
            pro_of(&there, &alice).await.entitlement.is_active
        })
        .await;
        wait_until_async("its own purge has come back", async || here.counts().purges >= 2).await;
        assert_eq!(pro_of(&here, &alice).await.origin, Origin::Local, "what is fresh stays");
        assert_eq!(cat.asked(), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_written_as_documented_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let (cat, zoe) = (Cat::start().await, user("zoë"));
        let entitlements = known(&store, &cat, &zoe).await;
        let mut heard = store.subscribe(&[keys::purge()]).await.expect("a subscription");
        pro_of(&entitlements, &zoe).await;
        clock.advance_ms(1_750);
        entitlements.purge(&zoe).await.expect("purged");
        for at in ["1794709387.25", "1794709389.0"] {
            let Some(Event::Message(message)) = heard.next().await else { panic!("no message") };
            let expected = format!(r#"{{"user_sub": "zo\u00eb", "min_checked_at": {at}}}"#);
            assert_eq!(String::from_utf8_lossy(&message.payload), expected);
            assert_eq!(&*message.channel, "ps:entitlements:purge");
        }
        assert_eq!(hash(&store, &zoe).await.len(), 0, "it is gone before anybody is told");
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purge_by_another_program_is_obeyed_and_one_that_nobody_can_read_too_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let (cat, alice) = (Cat::start().await, user("alice"));
        let entitlements = known(&store, &cat, &alice).await;
        let messages = [
            r#"{"user_sub": "alice", "min_checked_at": 1794709387.26}"#,
            r#"{"user_sub": "alice"}"#,
            "",
        ];
        for message in messages {
            entitlements.purge(&alice).await.expect("purged");
            let stale = r#"{"is_active": false, "expires_at": null, "checked_at": 1794709387.25}"#;
            let key = keys::entitlements(&alice);
            let _: i64 = crate::world::ask(&store, "HSET", &key, &["pro", stale]).await;
            pro_of(&entitlements, &alice).await;
            store.publish(&keys::purge(), message).await.expect("published");
            wait_until_async("memory is purged", async || {
                entitlements.lookup_local(&alice, "pro").is_none()
            })
            .await;
        }
    })
    .await;
}
