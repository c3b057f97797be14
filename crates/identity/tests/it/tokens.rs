//! Tokens of users.

use std::collections::HashMap;

use keyrack_identity::{
    Credential, Error, Identity, NewToken, Role, TOKENS_MAX,
    keys::{self, TokenUid},
};
use keyrack_store::Store;
use keyrack_testkit::on_every_store_at;

use crate::world::{NOW, NOW_MS, assert_clean, assert_denied, is_stored, named, sub};

fn uid(text: &str) -> TokenUid {
    TokenUid::new(text).expect("a good uid")
}

async fn record(store: &Store, token: &str) -> HashMap<String, String> {
    let mut cmd = redis::cmd("HGETALL");
    cmd.arg(&*store.place(&keys::token(&uid(token))));
    cmd.query_async(&mut store.connection()).await.expect("a hash")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_good_for_its_user_and_stored_without_its_secret_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let identity = Identity::new(store.clone());
        let (alice, new) = (sub("alice:{é}"), NewToken { role: Role::Viewer, ..named("laptop") });
        let created = identity.create_token("alice", &alice, new).await.expect("created");
        assert_eq!((created.token.created_at, created.token.expires_at), (NOW, None));
        let principal = identity.authenticate(&created.secret).await.expect("a principal");
        assert_eq!((&principal.sub, principal.role), (&alice, Role::Viewer));
        assert_eq!(principal.via, Credential::Token(created.token.uid.clone()));
        let stored = record(&store, &created.token.uid).await;
        assert_eq!(stored["digest"].len(), 64);
        assert_eq!((&*stored["created_at"], stored.get("expires_at")), ("1794709387.25", None));
        assert!(!format!("{stored:?}").contains(&created.secret));
        assert!(!is_stored(&identity, &alice, &created.secret).await);
        assert!(!format!("{created:?}").contains(&created.secret), "debugging shows no secret");
        assert_eq!(identity.tokens(&alice).await.expect("tokens"), [created.token]);
        assert_eq!(identity.user(&alice).await.expect("a user").expect("alice").created_at, NOW);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_wrong_deleted_or_expired_is_denied_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let identity = Identity::new(store.clone());
        let alice = sub("alice");
        let lasting = identity.create_token("alice", &alice, named("a")).await.expect("created");
        let new = NewToken { expires_at: Some(NOW + 60.0), ..named("b") };
        let short = identity.create_token("alice", &alice, new).await.expect("created");
        let cut = &lasting.secret[..lasting.secret.len() - 1];
        for wrong in ["ep_ut_", cut, &lasting.token.uid, "ep_ut_uid_x", "", "x.y.z"] {
            assert_denied(identity.authenticate(wrong).await);
        }
        clock.advance_ms(59_999);
        identity.authenticate(&short.secret).await.expect("still good");
        clock.advance_ms(1);
        assert_denied(identity.authenticate(&short.secret).await);
        identity.authenticate(&lasting.secret).await.expect("still good");
        let lasting_uid = uid(&lasting.token.uid);
        identity.delete_token("alice", &alice, &lasting_uid).await.expect("deleted");
        assert_denied(identity.authenticate(&lasting.secret).await);
        let left = identity.tokens(&alice).await.expect("tokens");
        assert_eq!(left.iter().map(|token| &*token.name).collect::<Vec<_>>(), ["b"]);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_found_in_another_record_is_denied() {
    on_every_store_at(NOW_MS, async |store, _| {
        let identity = Identity::new(store.clone());
        let created = identity.create_token("a", &sub("a"), named("x")).await.expect("created");
        let mut cmd = redis::cmd("HSET");
        cmd.arg(&*store.place(&keys::token(&uid(&created.token.uid))));
        cmd.arg("digest").arg("0".repeat(64));
        cmd.exec_async(&mut store.connection()).await.expect("overwritten");
        assert_denied(identity.authenticate(&created.secret).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_touches_the_tokens_of_others_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let identity = Identity::new(store.clone());
        let (alice, bob) = (sub("alice"), sub("bob"));
        let created = identity.create_token("alice", &alice, named("mine")).await.expect("created");
        let token = uid(&created.token.uid);
        let renamed = identity.rename_token("bob", &bob, &token, "yours").await;
        assert!(matches!(renamed, Err(Error::NoSuchToken { .. })), "{renamed:?}");
        let deleted = identity.delete_token("bob", &bob, &token).await;
        assert!(matches!(deleted, Err(Error::NoSuchToken { .. })), "{deleted:?}");
        assert_eq!(identity.tokens(&bob).await.expect("tokens"), []);
        assert_eq!(identity.tokens(&alice).await.expect("tokens"), [created.token]);
        identity.rename_token("alice", &alice, &token, "renamed").await.expect("renamed");
        assert_eq!(identity.tokens(&alice).await.expect("tokens")[0].name, "renamed");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_a_hundred_tokens_that_have_not_expired_and_no_more_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let identity = Identity::new(store.clone());
        let alice = sub("alice");
        for n in 0..TOKENS_MAX {
            let expires_at = (n % 2 == 0).then_some(NOW + 10.0);
            let new = NewToken { expires_at, ..named(&n.to_string()) };
            identity.create_token("alice", &alice, new).await.expect("created");
        }
        let refused = identity.create_token("alice", &alice, named("one more")).await;
        assert!(matches!(refused, Err(Error::TooManyTokens { max: 100 })), "{refused:?}");
        assert_eq!(identity.tokens(&alice).await.expect("tokens").len(), TOKENS_MAX);
        identity.create_token("bob", &sub("bob"), named("bob's")).await.expect("created");
        clock.advance_ms(10_000);
        identity.create_token("alice", &alice, named("one more")).await.expect("created");
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_expired_tokens_only_the_newest_hundred_are_kept() {
    let (store, clock) = keyrack_testkit::simulated_store(NOW_MS, 1).await;
    let identity = Identity::new(store.clone());
    let alice = sub("alice");
    for n in 0..250_u32 {
        let new = NewToken { expires_at: Some(NOW + f64::from(n) + 0.5), ..named(&n.to_string()) };
        identity.create_token("alice", &alice, new).await.expect("created");
        clock.advance_ms(1_000);
    }
    let names = identity.tokens(&alice).await.expect("tokens");
    let names: Vec<&str> = names.iter().map(|token| &*token.name).collect();
    assert_eq!((names.len(), names[0], names[names.len() - 1]), (101, "149", "249"));
    assert_clean(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_and_times_that_make_no_sense_are_refused_and_leave_nothing_behind() {
    let (store, _clock) = keyrack_testkit::simulated_store(NOW_MS, 1).await;
    let identity = Identity::new(store.clone());
    let alice = sub("alice");
    identity.create_token("a", &alice, named(&"é".repeat(255))).await.expect("created");
    let token = uid(&identity.tokens(&alice).await.expect("tokens")[0].uid);
    let renamed = identity.rename_token("a", &alice, &token, &"x".repeat(256)).await;
    assert!(matches!(renamed, Err(Error::Invalid { field: "name", .. })), "{renamed:?}");
    let refused = identity.create_token("a", &sub("new"), named(&"x".repeat(256))).await;
    assert!(matches!(refused, Err(Error::Invalid { field: "name", .. })), "{refused:?}");
    for wrong in [NOW, 0.0, -1.0, f64::NAN, f64::INFINITY, NOW * 1000.0] {
        let new = NewToken { expires_at: Some(wrong), ..named("x") };
        let refused = identity.create_token("a", &sub("new"), new).await;
        assert!(matches!(refused, Err(Error::Invalid { field: "expires_at", .. })), "{refused:?}");
    }
    assert_eq!(identity.user(&sub("new")).await.expect("no user"), None);
}
