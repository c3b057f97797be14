//! What the tests have in common.

use keyrack_identity::{Error, Identity, JwtSettings, KeySource, NewToken, Role, TokenScope};
use keyrack_keys::{Registry, UserSub};
use keyrack_lint::{Options, lint};
use keyrack_store::Store;

/// Some time in November 2026.
pub(crate) const NOW_MS: u64 = 1_794_709_387_250;
pub(crate) const NOW: f64 = 1_794_709_387.25;

pub(crate) fn sub(text: &str) -> UserSub {
    UserSub::new(text).expect("a good subject")
}

pub(crate) fn named(name: &str) -> NewToken {
    NewToken { name: name.into(), role: Role::Operator, reach: TokenScope::Own, expires_at: None }
}

pub(crate) fn settings(keys: KeySource) -> JwtSettings {
    JwtSettings { issuer: "https://id.example.com/pool".into(), client_id: "client".into(), keys }
}

#[track_caller]
pub(crate) fn assert_denied<T: std::fmt::Debug>(result: Result<T, Error>) {
    match result {
        Err(Error::Denied { .. }) => {}
        other => panic!("not denied: {other:?}"),
    }
}

/// The lint has nothing to say about what was written.
pub(crate) async fn assert_clean(store: &Store) {
    let registry: &'static Registry =
        Box::leak(Box::new(Registry::new(&[keyrack_identity::FAMILIES])));
    let report = lint(store, registry, &Options::default(), |_| {}).await.expect("a report");
    assert_eq!(report.findings, Default::default());
    assert_eq!(report.unknown.keys, 0);
}

/// Whether a text stands anywhere in the store.
pub(crate) async fn is_stored(identity: &Identity, user: &UserSub, text: &str) -> bool {
    let tokens = identity.tokens(user).await.expect("tokens");
    let audit = identity.audit(1000).await.expect("changes");
    format!("{tokens:?}{audit:?}").contains(text)
}
