//! The provider's keys: how often they are fetched, by whom, and what happens when they are not to be had.

use std::sync::Arc;

use keyrack_identity::{Error, Identity, KeySource, keys};
use keyrack_store::{Options, Store};
use keyrack_testkit::{on_every_store_at, simulated_store};
use serde_json::{Value, json};

use crate::{
    provider::{Answer, Provider, SigningKey},
    world::{NOW, NOW_MS, assert_clean, assert_denied, settings},
};

fn claims() -> Value {
    json!({
        "sub": "alice", "iss": "https://id.example.com/pool", "aud": "client",
        "exp": NOW + 1e6, "token_use": "id",
    })
}

fn identity(store: &Store, provider: &Provider) -> Identity {
    let settings = settings(KeySource::Url(provider.url.clone()));
    Identity::with_jwt(store.clone(), settings).expect("good settings")
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_shared_through_the_store_for_an_hour_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let key = SigningKey::rsa();
        let provider = Provider::start(Answer::Keys(vec![key.jwk("k")])).await;
        let token = key.sign("k", &claims());
        identity(&store, &provider).authenticate(&token).await.expect("alice");
        let name = store.place(&keys::jwks()).into_owned();
        let mut pipeline = redis::pipe();
        pipeline.cmd("GET").arg(&name).cmd("TTL").arg(&name);
        let (text, ttl): (String, i64) =
            pipeline.query_async(&mut store.connection()).await.expect("the keys");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), json!([key.jwk("k")]));
        assert!((3590..=3600).contains(&ttl), "{ttl}");
        let another = identity(&store, &provider);
        another.authenticate(&token).await.expect("alice");
        assert_eq!(provider.asked(), 1, "the second process reads the store");
        clock.advance_ms(3_599_000);
        another.authenticate(&token).await.expect("alice");
        assert_eq!(provider.asked(), 1);
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test]
async fn ten_thousand_unknown_keys_are_one_question_in_thirty_seconds() {
    let (store, clock) = simulated_store(NOW_MS, 1).await;
    let key = SigningKey::curve();
    let provider = Provider::start(Answer::Keys(vec![key.jwk("k")])).await;
    let identity = identity(&store, &provider);
    for n in 0..10_000 {
        assert_denied(identity.authenticate(&key.sign(&format!("k{n}"), &claims())).await);
    }
    assert_eq!(provider.asked(), 1);
    identity.authenticate(&key.sign("k", &claims())).await.expect("a known key is good");
    clock.advance_ms(29_999);
    assert_denied(identity.authenticate(&key.sign("x", &claims())).await);
    assert_eq!(provider.asked(), 1);
    clock.advance_ms(1);
    assert_denied(identity.authenticate(&key.sign("y", &claims())).await);
    assert_denied(identity.authenticate(&key.sign("z", &claims())).await);
    assert_eq!(provider.asked(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_come_at_once_ask_once() {
    let (store, _clock) = simulated_store(NOW_MS, 1).await;
    let key = SigningKey::rsa();
    let provider = Provider::start(Answer::Slow(vec![key.jwk("k")])).await;
    let identity = identity(&store, &provider);
    let token: Arc<str> = key.sign("k", &claims()).into();
    let asking = (0..100).map(|_| {
        let (identity, token) = (identity.clone(), token.clone());
        tokio::spawn(async move { identity.authenticate(&token).await })
    });
    let asking: Vec<_> = asking.collect();
    provider.was_asked().await;
    provider.let_go();
    for asked in asking {
        asked.await.expect("no panic").expect("alice");
    }
    assert_eq!(provider.asked(), 1);
}

#[tokio::test]
async fn a_client_who_hangs_up_does_not_stop_the_question() {
    let (store, _clock) = simulated_store(NOW_MS, 1).await;
    let key = SigningKey::rsa();
    let provider = Provider::start(Answer::Slow(vec![key.jwk("k")])).await;
    let identity = identity(&store, &provider);
    let token = key.sign("k", &claims());
    tokio::select! {
        outcome = identity.authenticate(&token) => panic!("too early: {outcome:?}"),
        () = provider.was_asked() => {}
    }
    provider.let_go();
    identity.authenticate(&token).await.expect("alice");
    assert_eq!(provider.asked(), 1);
}

#[tokio::test]
async fn rotated_keys_are_found_within_thirty_seconds() {
    let (store, clock) = simulated_store(NOW_MS, 1).await;
    let (old, new) = (SigningKey::rsa(), SigningKey::curve());
    let provider = Provider::start(Answer::Keys(vec![old.jwk("old")])).await;
    let identity = identity(&store, &provider);
    identity.authenticate(&old.sign("old", &claims())).await.expect("alice");
    provider.answers(Answer::Keys(vec![new.jwk("new")])).await;
    clock.advance_ms(30_000);
    identity.authenticate(&new.sign("new", &claims())).await.expect("alice");
    assert_denied(identity.authenticate(&old.sign("old", &claims())).await);
    assert_eq!(provider.asked(), 2);
}

#[tokio::test]
async fn newer_keys_of_another_process_are_taken_from_the_store() {
    let (store, clock) = simulated_store(NOW_MS, 1).await;
    let (old, new) = (SigningKey::rsa(), SigningKey::curve());
    let provider = Provider::start(Answer::Keys(vec![old.jwk("old")])).await;
    let (ours, theirs) = (identity(&store, &provider), identity(&store, &provider));
    ours.authenticate(&old.sign("old", &claims())).await.expect("alice");
    provider.answers(Answer::Keys(vec![new.jwk("new")])).await;
    clock.advance_ms(30_000);
    theirs.authenticate(&new.sign("new", &claims())).await.expect("alice");
    ours.authenticate(&new.sign("new", &claims())).await.expect("alice");
    assert_eq!(provider.asked(), 2, "ours did not ask");
}

#[tokio::test]
async fn a_provider_that_fails_is_asked_again_after_thirty_seconds_and_nobody_is_called_a_liar() {
    let (store, clock) = simulated_store(NOW_MS, 1).await;
    let key = SigningKey::rsa();
    let token = key.sign("k", &claims());
    let provider = Provider::start(Answer::HangUp).await;
    let identity = identity(&store, &provider);
    let failures = [
        Answer::HangUp,
        Answer::Raw(500, "{\"keys\":[]}".into()),
        Answer::Raw(302, String::new()),
        Answer::Raw(200, "{\"keys\":".into()),
        Answer::Raw(200, "[]".into()),
        Answer::Raw(200, format!("{{\"keys\":[],\"x\":\"{}\"}}", "x".repeat(300_000))),
        Answer::Keys(vec![json!({}); 101]),
    ];
    for (round, failure) in failures.into_iter().enumerate() {
        provider.answers(failure.clone()).await;
        for _ in 0..3 {
            let outcome = identity.authenticate(&token).await;
            assert!(matches!(outcome, Err(Error::KeysUnavailable)), "{failure:?}: {outcome:?}");
        }
        assert_eq!(provider.asked(), round + 1);
        clock.advance_ms(30_000);
    }
    provider.answers(Answer::Keys(vec![json!({"kid": 7}), key.jwk("k")])).await;
    identity.authenticate(&token).await.expect("alice");
}

#[tokio::test]
async fn known_keys_outlive_an_outage_of_a_day_and_no_longer() {
    let (store, clock) = simulated_store(NOW_MS, 1).await;
    let key = SigningKey::rsa();
    let token = key.sign("k", &claims());
    let provider = Provider::start(Answer::Keys(vec![key.jwk("k")])).await;
    let identity = identity(&store, &provider);
    identity.authenticate(&token).await.expect("alice");
    provider.answers(Answer::Raw(500, String::new())).await;
    for hour in 1..24 {
        clock.advance_ms(3_600_000);
        identity.authenticate(&token).await.unwrap_or_else(|error| panic!("hour {hour}: {error}"));
        assert_eq!(provider.asked(), 1 + hour);
    }
    clock.advance_ms(3_600_000);
    assert_denied(identity.authenticate(&token).await);
}

#[tokio::test]
async fn nonsense_in_the_store_is_replaced() {
    let (store, _clock) = simulated_store(NOW_MS, 1).await;
    let key = SigningKey::rsa();
    let provider = Provider::start(Answer::Keys(vec![key.jwk("k")])).await;
    let mut cmd = redis::cmd("SET");
    cmd.arg(&*store.place(&keys::jwks())).arg("{\"keys\": 1}");
    cmd.exec_async(&mut store.connection()).await.expect("stored");
    identity(&store, &provider).authenticate(&key.sign("k", &claims())).await.expect("alice");
    assert_clean(&store).await;
}

#[tokio::test]
async fn without_its_store_keys_still_come_from_the_provider() {
    let server = keyrack_testkit::RedisServer::start();
    let clock = keyrack_store::SystemClock;
    let options = Options { clock: Some(Arc::new(clock)), ..Options::default() };
    let store = Store::open_with(server.url().parse().expect("a URL"), options).await;
    let store = store.expect("a store");
    let key = SigningKey::rsa();
    let provider = Provider::start(Answer::Keys(vec![key.jwk("k")])).await;
    let identity = identity(&store, &provider);
    drop(server);
    let mut claims = claims();
    claims["exp"] = json!(9e10);
    identity.authenticate(&key.sign("k", &claims)).await.expect("alice");
}
