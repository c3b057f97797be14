//! From what stands in a request to who sent it.

use keyrack_keys::UserSub;

use crate::{
    error::Error,
    identity::Identity,
    ids::{SECRET_PREFIX, Secret},
    keys::TokenUid,
    reach::TokenScope,
    role::Role,
    token::Token,
};

/// Who sent a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The user.
    pub sub: UserSub,
    /// What the user may do.
    pub role: Role,
    /// To what.
    pub reach: TokenScope,
    /// By what the user was known.
    pub via: Credential,
}

/// By what a user was known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
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
        // A signed token is good for its user's own things; running the server takes a user token for that.
        let sub = jwt.verify(token).await?;
        Ok(Principal { sub, role: Role::Operator, reach: TokenScope::Own, via: Credential::Jwt })
    }

    async fn by_user_token(&self, token: &str) -> Result<Principal, Error> {
        let token = self.token_of_secret(token).await?;
        Ok(Principal {
            sub: UserSub::new(token.user_sub)?,
            role: token.role,
            reach: token.reach,
            via: Credential::Token(token.uid),
        })
    }

    /// The user token that has this secret, if it is good now.
    pub(crate) async fn token_of_secret(&self, secret: &str) -> Result<Token, Error> {
        let secret = Secret::given(secret);
        let found = self.token_with_digest(&secret.uid()).await?;
        let Some((token, digest)) = found else { return Err(Error::denied("no such user token")) };
        if !secret.matches(&digest) {
            return Err(Error::denied("the stored digest is not that of this token"));
        }
        if !self.is_good(&token).await? {
            return Err(Error::denied(format!("the token \"{}\" has expired", token.uid)));
        }
        Ok(token)
    }

    /// Whether somebody who was known by a token still is: it may have expired or been taken back since.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn is_still(&self, principal: &Principal) -> Result<bool, Error> {
        let Credential::Token(uid) = &principal.via else { return Ok(true) };
        let found = self.token_with_digest(&TokenUid::new(uid.as_str())?).await?;
        match found {
            Some((token, _)) => self.is_good(&token).await,
            None => Ok(false),
        }
    }

    /// Whether a token has not expired, nor the one that it is a session of.
    async fn is_good(&self, token: &Token) -> Result<bool, Error> {
        if token.is_expired(self.now()) {
            return Ok(false);
        }
        let Some(parent) = &token.parent else { return Ok(true) };
        let Ok(parent) = TokenUid::new(parent.as_str()) else { return Ok(false) };
        let found = self.token_with_digest(&parent).await?;
        Ok(found.is_some_and(|(parent, _)| {
            !parent.is_expired(self.now()) && parent.user_sub == token.user_sub
        }))
    }
}
