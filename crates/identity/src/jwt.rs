//! Tokens that somebody else signed: JSON Web Tokens of an OpenID Connect provider such as Cognito.
//!
//! What a token has to say is what the original programs ask for: `sub`, `iss`, `exp`, `aud` and `token_use`. Time is that of
//! the store's clock, so the library's own look at it is switched off.

mod crypto;
mod fetch;
mod jwks;

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use keyrack_keys::UserSub;
use keyrack_store::Store;
use serde::{Deserialize, Serialize};

use self::jwks::{Jwks, KeyLookup};
use crate::error::Error;

/// The longest token that is looked at; those of providers have one or two kilobytes.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// What clocks of two machines may differ by before a token counts as not valid yet.
const NOT_BEFORE_LEEWAY_S: f64 = 60.0;

/// How signed tokens are checked.
#[derive(Clone)]
pub struct JwtSettings {
    /// Who signs, as `iss` says.
    pub issuer: String,
    /// For whom, as `aud` says.
    pub client_id: String,
    /// With which keys.
    pub keys: KeySource,
}

/// Where the keys come from.
#[derive(Clone)]
pub enum KeySource {
    /// The provider publishes them here.
    Url(String),
    /// There is one secret, which tokens are signed and checked with. For development only.
    DevSecret(String),
}

impl std::fmt::Debug for JwtSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JwtSettings").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// Checks signed tokens.
#[derive(Debug)]
pub(crate) struct Jwt {
    store: Store,
    issuer: String,
    client_id: String,
    keys: Keys,
}

enum Keys {
    Provider(Jwks),
    Dev { signing: EncodingKey, checking: DecodingKey },
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Keys::Provider(_) => "Provider",
            Keys::Dev { .. } => "Dev",
        })
    }
}

/// What a token has to say.
#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    sub: String,
    iss: String,
    aud: String,
    exp: f64,
    token_use: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nbf: Option<f64>,
}

impl Claims {
    fn new(sub: &UserSub, issuer: &str, client_id: &str, expires_at: f64) -> Claims {
        Claims {
            sub: sub.to_string(),
            iss: issuer.to_owned(),
            aud: client_id.to_owned(),
            exp: expires_at,
            token_use: "id".into(),
            nbf: None,
        }
    }
}

impl Jwt {
    pub(crate) fn new(store: Store, settings: JwtSettings) -> Result<Jwt, Error> {
        crypto::install();
        let JwtSettings { issuer, client_id, keys } = settings;
        if issuer.is_empty() || client_id.is_empty() {
            let reason = "both the issuer and the client id have to be set";
            return Err(Error::Settings { reason: reason.into() });
        }
        let keys = match keys {
            KeySource::Url(url) => Keys::Provider(Jwks::new(store.clone(), &url)?),
            KeySource::DevSecret(secret) => {
                check_secret(&secret)?;
                Keys::Dev {
                    signing: EncodingKey::from_secret(secret.as_bytes()),
                    checking: DecodingKey::from_secret(secret.as_bytes()),
                }
            }
        };
        Ok(Jwt { store, issuer, client_id, keys })
    }

    /// The user whom a token was signed for.
    pub(crate) async fn verify(&self, token: &str) -> Result<UserSub, Error> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(Error::denied("too long for a signed token"));
        }
        let header = jsonwebtoken::decode_header(token).map_err(no_token)?;
        let claims = match &self.keys {
            Keys::Dev { checking, .. } => self.decode(token, checking, Algorithm::HS256)?,
            Keys::Provider(jwks) => {
                let Some(kid) = &header.kid else { return Err(Error::denied("no \"kid\"")) };
                match jwks.find(kid).await? {
                    KeyLookup::Key(key) => self.decode(token, &key.decoding, key.algorithm)?,
                    KeyLookup::Unknown => return Err(Error::denied("signed with an unknown key")),
                }
            }
        };
        self.check(claims)
    }

    pub(crate) fn is_in_development(&self) -> bool {
        matches!(self.keys, Keys::Dev { .. })
    }

    /// A token for a user, as an identity provider would sign it; `None` where one does.
    pub(crate) fn sign(&self, sub: &UserSub, expires_at: f64) -> Result<Option<String>, Error> {
        let Keys::Dev { signing, .. } = &self.keys else { return Ok(None) };
        let claims = Claims::new(sub, &self.issuer, &self.client_id, expires_at);
        sign(&claims, signing).map(Some)
    }

    fn decode(&self, token: &str, key: &DecodingKey, with: Algorithm) -> Result<Claims, Error> {
        let mut validation = Validation::new(with);
        validation.set_required_spec_claims(&["sub", "iss", "exp", "aud"]);
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[&self.client_id]);
        validation.validate_exp = false;
        validation.validate_nbf = false;
        let decoded = jsonwebtoken::decode::<Claims>(token, key, &validation);
        decoded.map(|decoded| decoded.claims).map_err(no_token)
    }

    fn check(&self, claims: Claims) -> Result<UserSub, Error> {
        let now = self.store.now_ms() as f64 / 1000.0;
        if claims.exp <= now {
            return Err(Error::denied("expired"));
        }
        if claims.nbf.is_some_and(|nbf| nbf > now + NOT_BEFORE_LEEWAY_S) {
            return Err(Error::denied("not valid yet"));
        }
        if claims.token_use != "id" {
            return Err(Error::denied("\"token_use\" is not \"id\""));
        }
        if claims.iss != self.issuer || claims.aud != self.client_id {
            return Err(Error::denied("signed by or for somebody else"));
        }
        UserSub::new(claims.sub).map_err(|error| Error::denied(error.to_string()))
    }
}

/// Signs a token for a user, as an identity provider would, with the secret of development.
///
/// # Errors
/// When the settings are not those of development.
pub fn dev_token(settings: &JwtSettings, sub: &UserSub, expires_at: f64) -> Result<String, Error> {
    crypto::install();
    let KeySource::DevSecret(secret) = &settings.keys else {
        return Err(Error::Settings { reason: "only development signs its own tokens".into() });
    };
    let claims = Claims::new(sub, &settings.issuer, &settings.client_id, expires_at);
    sign(&claims, &EncodingKey::from_secret(secret.as_bytes()))
}

fn sign(claims: &Claims, key: &EncodingKey) -> Result<String, Error> {
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, key)
        .map_err(|error| Error::Settings { reason: error.to_string() })
}

fn check_secret(secret: &str) -> Result<(), Error> {
    /// As many bytes as the hash has, so that guessing the secret is no shorter way.
    const SECRET_BYTES_MIN: usize = 32;
    if secret.len() < SECRET_BYTES_MIN {
        let reason = format!("the secret of development needs at least {SECRET_BYTES_MIN} bytes");
        return Err(Error::Settings { reason });
    }
    Ok(())
}

fn no_token(error: jsonwebtoken::errors::Error) -> Error {
    Error::denied(error.to_string())
}
