//! How users sign in, by the settings.

use keyrack_identity::{Identity, JwtSettings, KeySource};
use keyrack_store::Store;

use crate::{
    Exit, Failure, Globals,
    settings::{AUTH_CLIENT_ID, AUTH_DEV_SECRET, AUTH_ISSUER, AUTH_JWKS_URL, Setting},
};

/// Who users are: those with user tokens, and those whom an identity provider has signed in, if one is set.
pub(super) fn identity(store: &Store, globals: &Globals) -> anyhow::Result<Identity> {
    let value = |setting: &Setting| globals.settings.get(setting).value.clone();
    let keys = match (value(&AUTH_JWKS_URL), value(&AUTH_DEV_SECRET)) {
        (Some(_), Some(_)) => {
            let message = "\"auth-jwks-url\" and \"auth-dev-secret\" are both set";
            let hint = "in development set only the secret, otherwise only the address of the keys";
            return Err(Failure::new(Exit::Usage, message).hint(hint).into());
        }
        (Some(url), None) => Some(KeySource::Url(url)),
        (None, Some(secret)) => Some(KeySource::DevSecret(secret)),
        (None, None) => None,
    };
    let Some(keys) = keys else {
        return match [&AUTH_ISSUER, &AUTH_CLIENT_ID].into_iter().find(|set| value(set).is_some()) {
            None => Ok(Identity::new(store.clone())),
            Some(set) => {
                let message = format!("\"{}\" is set, but no keys to check tokens with", set.key);
                Err(Failure::new(Exit::Usage, message)
                    .hint(format!("set {}", AUTH_JWKS_URL.ways()))
                    .into())
            }
        };
    };
    let issuer = needed(&AUTH_ISSUER, value(&AUTH_ISSUER))?;
    let client_id = needed(&AUTH_CLIENT_ID, value(&AUTH_CLIENT_ID))?;
    let by = match &keys {
        KeySource::Url(_) => format!("by \"{issuer}\""),
        KeySource::DevSecret(_) => "with the secret of development".to_owned(),
    };
    let identity = Identity::with_jwt(store.clone(), JwtSettings { issuer, client_id, keys })?;
    globals.say(format_args!("  auth   user tokens, and tokens signed {by}"));
    Ok(identity)
}

fn needed(setting: &Setting, value: Option<String>) -> Result<String, Failure> {
    value.ok_or_else(|| {
        let message = format!("sign-in needs \"{}\" too", setting.key);
        Failure::new(Exit::Usage, message).hint(format!("set {}", setting.ways()))
    })
}
