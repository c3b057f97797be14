//! The whole contract: the key families and channels of all services in one registry.
//!
//! Holds no logic and no keys. Its tests prove what no single crate can: that no two families share a key, that nothing
//! from the key documents is missing, and that `docs/keys.md` is up to date.

use std::sync::OnceLock;

use keyrack_keys::{Family, Registry};

static REGISTRY: OnceLock<Registry> = OnceLock::new();

/// The declarations that this process works with: [`own`], unless it has called [`declare`].
pub fn registry() -> &'static Registry {
    REGISTRY.get_or_init(|| Registry::new(&own()))
}

/// Works with these families, such as those of a keys file, from now on. A key that fits several belongs to the first.
///
/// Declarations never change while a process runs, so this comes before everything else.
///
/// # Panics
/// When the process works with others already.
pub fn declare(families: &[&[&'static Family]]) {
    let first = REGISTRY.set(Registry::new(families)).is_ok();
    assert!(first, "declarations are chosen before they are used");
}

/// All families and channels of keyrack, service by service.
pub fn own() -> [&'static [&'static Family]; 14] {
    [
        keyrack_jobs::bee::keys::FAMILIES,
        keyrack_jobs::hot::keys::FAMILIES,
        keyrack_jobs::recurring::keys::FAMILIES,
        keyrack_progress::FAMILIES,
        keyrack_calculations::FAMILIES,
        keyrack_entitlements::FAMILIES,
        keyrack_files::FAMILIES,
        keyrack_journeys::FAMILIES,
        keyrack_recommender::FAMILIES,
        keyrack_updates::FAMILIES,
        keyrack_webhooks::FAMILIES,
        keyrack_identity::FAMILIES,
        keyrack_demo::FAMILIES,
        keyrack_store::FAMILIES,
    ]
}
