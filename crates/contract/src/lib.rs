//! The whole contract: the key families and channels of all services in one registry.
//!
//! Holds no logic and no keys. Its tests prove what no single crate can: that no two families share a key, that nothing
//! from the key documents is missing, and that `docs/keys.md` is up to date.

use std::sync::LazyLock;

use keyrack_keys::Registry;

/// All families and channels, service by service.
pub fn registry() -> &'static Registry {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
        Registry::new(&[
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
            keyrack_identity::FAMILIES,
            keyrack_demo::FAMILIES,
            keyrack_store::FAMILIES,
        ])
    });
    &REGISTRY
}
