//! Sessions of browsers, and the first admin.

use keyrack_identity::{
    Created, Credential, Identity, NewToken, Role, SESSION_TIME_S, SESSIONS_MAX, TokenScope,
    keys::TokenUid,
};
use keyrack_testkit::on_every_store_at;

use crate::world::{NOW, NOW_MS, assert_clean, assert_denied, named, sub};

/// A token of somebody who runs the server.
async fn staff(identity: &Identity, role: Role, expires_at: Option<f64>) -> Created {
    let new = NewToken { role, reach: TokenScope::Server, expires_at, ..named("laptop") };
    identity.create_token("console", &sub("ada"), new).await.expect("created")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_the_role_of_its_token_and_ends_when_told_to_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let identity = Identity::new(store.clone());
        let token = staff(&identity, Role::Viewer, None).await;
        let session = identity.sign_in(&token.secret, Some("10.0.0.7")).await.expect("a session");
        assert_ne!(session.secret, token.secret);
        assert_eq!(session.token.expires_at, Some(NOW + SESSION_TIME_S));
        let principal = identity.authenticate(&session.secret).await.expect("a principal");
        let known = (principal.sub.as_str(), principal.role, principal.reach);
        assert_eq!(known, ("ada", Role::Viewer, TokenScope::Server));
        assert_eq!(principal.via, Credential::Token(session.token.uid));
        assert!(identity.is_still(&principal).await.expect("an answer"));

        identity.sign_out(&session.secret, None).await.expect("signed out");
        assert_denied(identity.authenticate(&session.secret).await);
        assert!(!identity.is_still(&principal).await.expect("an answer"));
        assert_denied(identity.sign_out(&session.secret, None).await);
        assert_denied(identity.sign_out(&token.secret, None).await);
        identity.authenticate(&token.secret).await.expect("the token itself is still good");
        let told = identity.audit(2).await.expect("changes");
        let told: Vec<_> = told.iter().map(|c| (&*c.action, c.from.as_deref())).collect();
        assert_eq!(told, [("signed_out", None), ("signed_in", Some("10.0.0.7"))]);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_with_its_token_and_after_half_a_day_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let identity = Identity::new(store.clone());
        let revoked = staff(&identity, Role::Admin, None).await;
        let of_revoked = identity.sign_in(&revoked.secret, None).await.expect("a session");
        let uid = TokenUid::new(revoked.token.uid).expect("a uid");
        identity.delete_token("console", &sub("ada"), &uid).await.expect("revoked");
        assert_denied(identity.authenticate(&of_revoked.secret).await);

        let short = staff(&identity, Role::Admin, Some(NOW + 60.0)).await;
        let of_short = identity.sign_in(&short.secret, None).await.expect("a session");
        assert_eq!(of_short.token.expires_at, Some(NOW + 60.0));
        let lasting = staff(&identity, Role::Admin, None).await;
        let of_lasting = identity.sign_in(&lasting.secret, None).await.expect("a session");
        clock.advance_ms(60_000);
        assert_denied(identity.authenticate(&of_short.secret).await);
        identity.authenticate(&of_lasting.secret).await.expect("still good");
        clock.advance_ms((SESSION_TIME_S * 1000.0) as u64);
        assert_denied(identity.authenticate(&of_lasting.secret).await);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_tokens_for_the_whole_server_open_sessions() {
    let (store, _clock) = keyrack_testkit::simulated_store(NOW_MS, 1).await;
    let identity = Identity::new(store);
    let own = identity.create_token("ada", &sub("ada"), named("mine")).await.expect("created");
    assert_denied(identity.sign_in(&own.secret, None).await);
    let token = staff(&identity, Role::Admin, None).await;
    let session = identity.sign_in(&token.secret, None).await.expect("a session");
    assert_denied(identity.sign_in(&session.secret, None).await);
    for wrong in ["", "ep_ut_", "nonsense", &token.token.uid, &token.secret[1..]] {
        assert_denied(identity.sign_in(wrong, None).await);
    }
    let new = NewToken { role: Role::Admin, reach: TokenScope::Own, ..named("x") };
    let refused = identity.create_token("ada", &sub("ada"), new).await;
    assert!(refused.is_err(), "an admin of their own things: {refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_session_makes_room_for_one_too_many() {
    let (store, clock) = keyrack_testkit::simulated_store(NOW_MS, 1).await;
    let identity = Identity::new(store.clone());
    let token = staff(&identity, Role::Admin, None).await;
    let mut sessions = Vec::new();
    for _ in 0..=SESSIONS_MAX {
        sessions.push(identity.sign_in(&token.secret, None).await.expect("a session").secret);
        clock.advance_ms(1);
    }
    assert_denied(identity.authenticate(&sessions[0]).await);
    for session in &sessions[1..] {
        identity.authenticate(session).await.expect("still good");
    }
    let n_tokens = identity.tokens(&sub("ada")).await.expect("tokens").len();
    assert_eq!(n_tokens, SESSIONS_MAX + 1);
    assert_clean(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_all_starts_at_once_one_gets_the_first_admin_token_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let starts = (0..8).map(|_| {
            let identity = Identity::new(store.clone());
            tokio::spawn(async move { identity.first_admin().await.expect("an answer") })
        });
        let mut made = Vec::new();
        for start in starts.collect::<Vec<_>>() {
            made.extend(start.await.expect("no panic"));
        }
        let [first] = &made[..] else { panic!("{made:?}") };
        let identity = Identity::new(store.clone());
        let principal = identity.authenticate(&first.secret).await.expect("a principal");
        assert_eq!((principal.role, principal.reach), (Role::Admin, TokenScope::Server));
        assert!(identity.first_admin().await.expect("an answer").is_none());
        let uid = TokenUid::new(first.token.uid.as_str()).expect("a uid");
        identity.delete_token("console", &sub("admin"), &uid).await.expect("revoked");
        assert!(identity.first_admin().await.expect("an answer").is_none(), "not even then");
        assert_clean(&store).await;
    })
    .await;
}
