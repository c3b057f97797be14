//! The memory of changes.

use keyrack_identity::{AUDIT_MAX, Change, Identity, keys::TokenUid};
use keyrack_testkit::on_every_store_at;

use crate::world::{NOW, NOW_MS, assert_clean, named, sub};

#[tokio::test(flavor = "multi_thread")]
async fn every_change_is_remembered_with_who_made_it_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let identity = Identity::new(store.clone());
        let alice = sub("alice");
        assert!(identity.ensure_user("alice", &alice).await.expect("a user"));
        assert!(!identity.ensure_user("alice", &alice).await.expect("the same user"));
        let created = identity.create_token("console", &alice, named("x")).await.expect("created");
        let uid = TokenUid::new(created.token.uid.clone()).expect("a uid");
        identity.rename_token("alice", &alice, &uid, "y").await.expect("renamed");
        identity.delete_token("bob", &alice, &uid).await.expect("deleted");
        identity.delete_token("bob", &alice, &uid).await.expect_err("gone already");
        let changes = identity.audit(100).await.expect("changes");
        let told: Vec<_> = changes.iter().map(|c| (&*c.actor, &*c.action)).collect();
        let expected = [
            ("bob", "token_deleted"),
            ("alice", "token_renamed"),
            ("console", "token_created"),
            ("alice", "user_created"),
        ];
        assert_eq!(told, expected);
        assert!(changes.iter().all(|change| change.user_sub.as_deref() == Some("alice")));
        assert_eq!(changes[0].token_uid.as_ref(), Some(&created.token.uid));
        assert_eq!(identity.audit(1).await.expect("a change"), changes[..1]);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_memory_is_bounded() {
    let (store, _clock) = keyrack_testkit::simulated_store(NOW_MS, 1).await;
    let identity = Identity::new(store);
    for n in 0..AUDIT_MAX + 10 {
        identity.ensure_user("x", &sub(&n.to_string())).await.expect("a user");
    }
    let changes = identity.audit(AUDIT_MAX * 2).await.expect("changes");
    assert_eq!((changes.len(), changes[0].user_sub.as_deref()), (AUDIT_MAX, Some("10009")));
    assert_eq!(identity.users().await.expect("users").len(), AUDIT_MAX + 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_change_is_remembered_too_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let identity = Identity::new(store.clone());
        let paused = Change::new("ada", "queue_paused").to("mail").from(Some("10.0.0.7"));
        identity.record(&paused).await.expect("recorded");
        clock.advance_ms(1_000);
        let failed = Change::new("ada", "job_retried").to(&"é".repeat(1_000)).failed(Some("gone"));
        identity.record(&failed).await.expect("recorded");
        let told = identity.audit(10).await.expect("changes");
        assert_eq!(told[1], Change { at: NOW, ..paused });
        assert_eq!((told[0].at, told[0].failed.as_deref()), (NOW + 1.0, Some("gone")));
        let subject = told[0].subject.as_deref().expect("a subject");
        assert_eq!(subject.chars().count(), 300, "what comes from outside is cut");
        assert_eq!(identity.audit_from(1, 10).await.expect("the rest"), told[1..]);
        assert_eq!(identity.audit_from(usize::MAX, 10).await.expect("nothing"), []);
        assert_clean(&store).await;
    })
    .await;
}
