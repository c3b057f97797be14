//! Signing in with a browser, and the token with which the first person can.
//!
//! A session is a user token of its own: it has the role of the token that was shown, ends with it or after half a day, and is
//! listed and taken back like any other. So the browser never keeps the token itself.

use keyrack_keys::UserSub;

use crate::{
    audit::Change,
    error::Error,
    identity::Identity,
    keys::{self, TokenUid},
    reach::TokenScope,
    role::Role,
    token::{Created, NewToken, Token, TokenOrigin},
};

/// How long a session lasts, in seconds: a long day's work.
pub const SESSION_TIME_S: f64 = 12.0 * 3_600.0;

/// The most sessions of a token; the oldest makes room.
pub const SESSIONS_MAX: usize = 10;

/// Whose the first admin token is.
const FIRST_ADMIN: &str = "admin";

impl Identity {
    /// Begins a session for whoever shows a user token that reaches the whole server.
    ///
    /// # Errors
    /// [`Error::Denied`] for whatever is wrong with the token; others when that cannot be found out now.
    pub async fn sign_in(&self, secret: &str, from: Option<&str>) -> Result<Created, Error> {
        let token = self.token_of_secret(secret).await?;
        if token.reach != TokenScope::Server {
            return Err(Error::denied(format!("\"{}\" is for its user's own things", token.uid)));
        }
        if token.parent.is_some() {
            return Err(Error::denied(format!("\"{}\" is a session itself", token.uid)));
        }
        let sub = UserSub::new(token.user_sub.as_str())?;
        let parent = TokenUid::new(token.uid.as_str())?;
        let now = self.now();
        let mut dropped = self.old_expired(&sub, now).await?;
        dropped.extend(surplus(&self.tokens(&sub).await?, &token.uid));
        let end = now + SESSION_TIME_S;
        let new = NewToken {
            name: "dashboard".into(),
            role: token.role,
            reach: TokenScope::Server,
            expires_at: Some(token.expires_at.map_or(end, |expires_at| expires_at.min(end))),
        };
        let change = Change::new(sub.as_str(), "signed_in").from(from);
        self.make_token(
            &sub,
            new,
            TokenOrigin { change, parent: Some(&parent), is_first: false, dropped },
        )
        .await
    }

    /// Ends a session.
    ///
    /// # Errors
    /// [`Error::Denied`] if there is none; others when the store fails.
    pub async fn sign_out(&self, secret: &str, from: Option<&str>) -> Result<(), Error> {
        let session = self.token_of_secret(secret).await?;
        if session.parent.is_none() {
            return Err(Error::denied(format!("\"{}\" is no session", session.uid)));
        }
        let sub = UserSub::new(session.user_sub.as_str())?;
        let change = Change::new(sub.as_str(), "signed_out").from(from);
        self.drop_token(&sub, &TokenUid::new(session.uid)?, change).await
    }

    /// A token of an admin, if there has never been this one: of all starts of all servers on a store, one gets it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn first_admin(&self) -> Result<Option<Created>, Error> {
        let mut cmd = redis::cmd("EXISTS");
        cmd.arg(&*self.store().place(&keys::first_admin()));
        if cmd.query_async(&mut self.store().connection()).await? {
            return Ok(None);
        }
        let new = NewToken {
            name: "first start".into(),
            role: Role::Admin,
            reach: TokenScope::Server,
            expires_at: None,
        };
        let change = Change::new("first start", "token_created");
        let making = TokenOrigin { change, parent: None, is_first: true, dropped: Vec::new() };
        match self.make_token(&UserSub::new(FIRST_ADMIN)?, new, making).await {
            Ok(created) => Ok(Some(created)),
            // Another start was first, between the look and the attempt.
            Err(Error::Store(keyrack_store::Error::Refused { word, .. }))
                if word == "NOT_THE_FIRST" =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// The oldest sessions of a token that have to go for one more.
fn surplus(tokens: &[Token], parent: &str) -> Vec<TokenUid> {
    // They come with the earliest first.
    let sessions = tokens.iter().filter(|token| token.parent.as_deref() == Some(parent));
    let sessions: Vec<&Token> = sessions.collect();
    let n_surplus = (sessions.len() + 1).saturating_sub(SESSIONS_MAX);
    let surplus = sessions.into_iter().take(n_surplus);
    surplus.filter_map(|session| TokenUid::new(session.uid.as_str()).ok()).collect()
}
