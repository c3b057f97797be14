//! What a signed token has to be.

use keyrack_identity::{Credential, Error, Identity, KeySource, Role, dev_token};
use keyrack_store::Store;
use serde_json::{Value, json};

use crate::{
    provider::{Answer, Provider, SigningKey, base64},
    world::{NOW, NOW_MS, assert_denied, settings, sub},
};

const SECRET: &str = "a secret of thirty-two bytes or so";

fn claims() -> Value {
    json!({
        "sub": "alice", "iss": "https://id.example.com/pool", "aud": "client",
        "exp": NOW + 60.0, "token_use": "id",
    })
}

fn with(field: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[field] = value;
    claims
}

fn without(field: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().expect("an object").remove(field);
    claims
}

async fn store() -> (Store, impl Sized) {
    keyrack_testkit::simulated_store(NOW_MS, 1).await
}

async fn identity(provider: &Provider) -> Identity {
    let (store, _clock) = store().await;
    let settings = settings(KeySource::Url(provider.url.clone()));
    Identity::with_jwt(store, settings).expect("good settings")
}

#[tokio::test]
async fn tokens_of_the_provider_are_good_for_their_user() {
    let (rsa, curve) = (SigningKey::rsa(), SigningKey::curve());
    let provider = Provider::start(Answer::Keys(vec![rsa.jwk("r"), curve.jwk("c")])).await;
    let identity = identity(&provider).await;
    for token in [rsa.sign("r", &claims()), curve.sign("c", &claims())] {
        let principal = identity.authenticate(&token).await.expect("a principal");
        assert_eq!((principal.sub, principal.via), (sub("alice"), Credential::Jwt));
        assert_eq!(principal.role, Role::Operator);
    }
    let whole = with("exp", json!(NOW as u64 + 60));
    identity.authenticate(&rsa.sign("r", &whole)).await.expect("whole seconds");
    assert_eq!(provider.asked(), 1);
}

#[tokio::test]
async fn whatever_is_wrong_with_the_claims_is_denied() {
    let key = SigningKey::rsa();
    let provider = Provider::start(Answer::Keys(vec![key.jwk("k")])).await;
    let identity = identity(&provider).await;
    let mut wrong = vec![
        with("iss", json!("https://id.example.com/other")),
        with("aud", json!("other")),
        with("aud", json!(["client", "other"])),
        with("exp", json!(NOW)),
        with("exp", json!("never")),
        with("exp", json!(-1)),
        with("nbf", json!(NOW + 61.0)),
        with("token_use", json!("access")),
        with("sub", json!("")),
        with("sub", json!("x".repeat(257))),
        with("sub", json!(7)),
        json!([]),
        json!("alice"),
    ];
    wrong.extend(["sub", "iss", "aud", "exp", "token_use"].map(without));
    for claims in wrong {
        let outcome = identity.authenticate(&key.sign("k", &claims)).await;
        assert!(matches!(outcome, Err(Error::Denied { .. })), "{claims}: {outcome:?}");
    }
    identity.authenticate(&key.sign("k", &with("nbf", json!(NOW + 59.0)))).await.expect("leeway");
}

#[tokio::test]
async fn whatever_is_wrong_with_the_signature_is_denied() {
    let (key, other) = (SigningKey::rsa(), SigningKey::curve());
    let public = key.jwk("k");
    let mut encrypting = SigningKey::curve().jwk("enc");
    encrypting["use"] = json!("enc");
    let secret = json!({"kid": "oct", "use": "sig", "alg": "HS256", "kty": "oct", "k": base64(SECRET.as_bytes())});
    let keys = vec![public.clone(), other.jwk("c"), encrypting, secret];
    let provider = Provider::start(Answer::Keys(keys)).await;
    let identity = identity(&provider).await;
    let good = key.sign("k", &claims());
    let (head, signature) = good.rsplit_once('.').expect("three parts");
    let forged = |header: Value| {
        let message = format!(
            "{}.{}",
            base64(header.to_string().as_bytes()),
            base64(claims().to_string().as_bytes())
        );
        let modulus = public["n"].as_str().expect("a modulus").as_bytes();
        let hmac = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, modulus);
        format!("{message}.{}", base64(ring::hmac::sign(&hmac, message.as_bytes()).as_ref()))
    };
    let by_secret = {
        let header = base64(json!({"alg": "HS256", "kid": "oct"}).to_string().as_bytes());
        let message = format!("{header}.{}", base64(claims().to_string().as_bytes()));
        let hmac = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, SECRET.as_bytes());
        format!("{message}.{}", base64(ring::hmac::sign(&hmac, message.as_bytes()).as_ref()))
    };
    for wrong in [
        format!("{head}."),
        format!("{head}.{}", &signature[1..]),
        format!("{head}.{}", base64(&[0; 256])),
        other.sign("k", &claims()),
        key.sign("c", &claims()),
        key.sign("enc", &claims()),
        key.sign_as(&json!({"alg": "RS256"}), &claims()),
        key.sign_as(&json!({"alg": "RS512", "kid": "k"}), &claims()),
        forged(json!({"alg": "none", "kid": "k"})),
        forged(json!({"alg": "HS256", "kid": "k"})),
        by_secret,
        "a.b.c".into(),
        "é".into(),
        "x".repeat(100_000),
    ] {
        let outcome = identity.authenticate(&wrong).await;
        assert!(matches!(outcome, Err(Error::Denied { .. })), "{wrong}: {outcome:?}");
    }
    identity.authenticate(&good).await.expect("the real one is good");
}

#[tokio::test]
async fn development_signs_its_own_tokens() {
    let (store, _clock) = store().await;
    let settings = settings(KeySource::DevSecret(SECRET.into()));
    let identity = Identity::with_jwt(store, settings.clone()).expect("good settings");
    let token = dev_token(&settings, &sub("alice"), NOW + 60.0).expect("signed");
    assert_eq!(identity.authenticate(&token).await.expect("alice").sub, sub("alice"));
    let expired = dev_token(&settings, &sub("alice"), NOW).expect("signed");
    assert_denied(identity.authenticate(&expired).await);
    let mut others = settings.clone();
    others.keys = KeySource::DevSecret(SECRET.to_uppercase());
    let forged = dev_token(&others, &sub("alice"), NOW + 60.0).expect("signed");
    assert_denied(identity.authenticate(&forged).await);
    let key = SigningKey::rsa();
    assert_denied(identity.authenticate(&key.sign("k", &claims())).await);
}

#[tokio::test]
async fn settings_that_are_no_protection_are_refused() {
    let (store, _clock) = store().await;
    for keys in [
        KeySource::DevSecret("short".into()),
        KeySource::Url("http://id.example.com/".into()),
        KeySource::Url("nonsense".into()),
    ] {
        let refused = Identity::with_jwt(store.clone(), settings(keys));
        assert!(matches!(refused, Err(Error::Settings { .. })), "{refused:?}");
    }
    let mut nobody = settings(KeySource::DevSecret(SECRET.into()));
    nobody.issuer = String::new();
    assert!(matches!(Identity::with_jwt(store, nobody), Err(Error::Settings { .. })));
}

#[tokio::test]
async fn without_a_provider_signed_tokens_are_denied() {
    let (store, _clock) = store().await;
    let token = SigningKey::rsa().sign("k", &claims());
    assert_denied(Identity::new(store).authenticate(&token).await);
}
