//! Users: everybody who has signed in or was given a token.

use keyrack_keys::UserSub;
use keyrack_store::Script;
use serde::Serialize;

use crate::{
    audit::{AUDIT_MAX, Actor},
    error::Error,
    identity::Identity,
    keys,
};

static ENSURE: Script = keyrack_store::script!("user/ensure.lua");

/// How many users are read at once.
const PAGE: usize = 1000;

/// A user.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct User {
    /// The subject of the user's tokens, by which all services know the user.
    pub sub: String,
    /// When the user was first seen, in unix seconds.
    pub created_at: f64,
}

impl Identity {
    /// Makes sure that there is a user of that subject. True if there was none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn ensure_user<'a>(
        &self,
        actor: impl Into<Actor<'a>>,
        sub: &UserSub,
    ) -> Result<bool, Error> {
        let now = self.now();
        let change = actor.into().change("user_created").about(sub);
        let call = ENSURE.call(self.store());
        let call = call.key("users", &keys::users()).key("audit", &keys::audit());
        let call = call.arg("user_sub", sub.as_str()).arg("now", now);
        Ok(call.arg("change", change.to_json(now)).arg("audit_max", AUDIT_MAX).run().await?)
    }

    /// A user, if there is one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn user(&self, sub: &UserSub) -> Result<Option<User>, Error> {
        let mut cmd = redis::cmd("ZSCORE");
        cmd.arg(&*self.store().place(&keys::users())).arg(sub.as_str());
        let created_at: Option<f64> = cmd.query_async(&mut self.store().connection()).await?;
        Ok(created_at.map(|created_at| User { sub: sub.to_string(), created_at }))
    }

    /// All users, the earliest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn users(&self) -> Result<Vec<User>, Error> {
        let mut users = Vec::new();
        loop {
            let mut cmd = redis::cmd("ZRANGE");
            cmd.arg(&*self.store().place(&keys::users()));
            cmd.arg(users.len()).arg(users.len() + PAGE - 1).arg("withscores");
            let page: Vec<(String, f64)> = cmd.query_async(&mut self.store().connection()).await?;
            let is_last = page.len() < PAGE;
            users.extend(page.into_iter().map(|(sub, created_at)| User { sub, created_at }));
            if is_last {
                return Ok(users);
            }
        }
    }
}
