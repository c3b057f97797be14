//! From what stands in a request to who sent it.

use keyrack_keys::UserSub;

use crate::{
    error::Error,
    identity::Identity,
    ids::{SECRET_PREFIX, Secret},
    role::Role,
};

/// Who sent a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The user.
    pub sub: UserSub,
    /// What the user may do.
    pub role: Role,
    /// By what the user was known.
    pub via: Via,
}

/// By what a user was known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    /// A user token, by its public name.
    Token(String),
    /// A token that an identity provider signed.
    Jwt,
}

impl Identity {
    /// Who has this token, be it a user token or a signed one.
    ///
    /// # Errors
    /// [`Error::Denied`] for whatever is wrong with it; others when that cannot be found out now.
    pub async fn authenticate(&self, token: &str) -> Result<Principal, Error> {
        if token.starts_with(SECRET_PREFIX) {
            return self.by_user_token(token).await;
        }
        let Some(jwt) = self.jwt() else {
            return Err(Error::denied("signed tokens are not taken: no identity provider is set"));
        };
        // A signed token is good for its user's own things; running the server takes a token of that role.
        let sub = jwt.verify(token).await?;
        Ok(Principal { sub, role: Role::Operator, via: Via::Jwt })
    }

    async fn by_user_token(&self, token: &str) -> Result<Principal, Error> {
        let secret = Secret::given(token);
        let found = self.token_with_digest(&secret.uid()).await?;
        let Some((token, digest)) = found else { return Err(Error::denied("no such user token")) };
        if !secret.matches(&digest) {
            return Err(Error::denied("the stored digest is not that of this token"));
        }
        if token.is_expired(self.now()) {
            return Err(Error::denied(format!("the token \"{}\" has expired", token.uid)));
        }
        Ok(Principal {
            sub: UserSub::new(token.user_sub)?,
            role: token.role,
            via: Via::Token(token.uid),
        })
    }
}
