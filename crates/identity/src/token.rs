//! User tokens: made, renamed, deleted, listed.

use std::collections::HashMap;

use keyrack_keys::UserSub;
use keyrack_store::Script;
use serde::Serialize;

use crate::{
    audit::{AUDIT_MAX, Actor, Change},
    error::Error,
    identity::Identity,
    ids::Secret,
    keys::{self, TokenUid},
    reach::TokenScope,
    role::Role,
};

static CREATE: Script = keyrack_store::script!("token/create.lua");
static RENAME: Script = keyrack_store::script!("token/rename.lua");
static DELETE: Script = keyrack_store::script!("token/delete.lua");

/// The most tokens of a user that have not expired.
pub const TOKENS_MAX: usize = 100;

/// How many expired tokens of a user are kept to be looked at.
const EXPIRED_MAX: usize = 100;

/// The longest name of a token.
pub const TOKEN_NAME_CHARS_MAX: usize = 255;

/// A user token, without its secret.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Token {
    /// Its public name.
    pub uid: String,
    /// Whose it is.
    pub user_sub: String,
    /// What its user calls it.
    pub name: String,
    /// What it allows.
    pub role: Role,
    /// To what.
    pub reach: TokenScope,
    /// When it was created, in unix seconds.
    pub created_at: f64,
    /// When it stops working, in unix seconds; `None` if it does not.
    pub expires_at: Option<f64>,
    /// The token with which its user signed in, if this one is a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// What a new token is to be.
#[derive(Debug, Clone, Default)]
pub struct NewToken {
    /// What its user calls it.
    pub name: String,
    /// What it allows.
    pub role: Role,
    /// To what.
    pub reach: TokenScope,
    /// When it stops working, in unix seconds.
    pub expires_at: Option<f64>,
}

/// How a token comes about, beside what it is to be.
pub(super) struct TokenOrigin<'a> {
    pub(super) change: Change,
    pub(super) parent: Option<&'a TokenUid>,
    /// Whether it is to be made only if there has never been a first one.
    pub(super) is_first: bool,
    /// Tokens of the user that make room for it.
    pub(super) dropped: Vec<TokenUid>,
}

/// A token that was just created.
#[derive(Clone)]
pub struct Created {
    /// The token.
    pub token: Token,
    /// Its secret, which nobody can ask for later.
    pub secret: String,
}

impl std::fmt::Debug for Created {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Created").field("token", &self.token).finish_non_exhaustive()
    }
}

impl Token {
    /// Whether it has stopped working.
    pub fn is_expired(&self, now: f64) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }
}

impl Identity {
    /// Creates a token for a user, who is created too if need be.
    ///
    /// # Errors
    /// When the name or the time makes no sense, when the user has too many, or when the store fails.
    pub async fn create_token<'a>(
        &self,
        actor: impl Into<Actor<'a>>,
        sub: &UserSub,
        new: NewToken,
    ) -> Result<Created, Error> {
        let change = actor.into().change("token_created");
        let dropped = self.old_expired(sub, self.now()).await?;
        self.make_token(sub, new, TokenOrigin { change, parent: None, is_first: false, dropped })
            .await
    }

    /// Makes a token, and its user if need be.
    pub(super) async fn make_token(
        &self,
        sub: &UserSub,
        new: NewToken,
        making: TokenOrigin<'_>,
    ) -> Result<Created, Error> {
        let now = self.now();
        check_name(&new.name)?;
        check_expiry(new.expires_at, now)?;
        check_reach(new.role, new.reach)?;
        let actor = Actor { name: &making.change.actor, from: making.change.from.as_deref() };
        self.ensure_user(actor, sub).await?;
        let secret = Secret::random()?;
        let uid = secret.uid();
        let dropped_keys: Vec<_> = making.dropped.iter().map(keys::token).collect();
        let dropped: Vec<&str> = making.dropped.iter().map(TokenUid::as_str).collect();
        let call = CREATE.call(self.store());
        let call = call.key("tokens", &keys::tokens(sub)).key("token", &keys::token(&uid));
        let call = call.key("audit", &keys::audit()).key("first_admin", &keys::first_admin());
        let call = call.keys("dropped", &dropped_keys);
        let call = call.arg("user_sub", sub.as_str()).arg("uid", uid.as_str());
        let call = call.arg("name", &new.name).arg("role", new.role.as_str()).arg("now", now);
        let expires_at = new.expires_at.map(|at| at.to_string()).unwrap_or_default();
        let call = call.arg("expires_at", expires_at).arg("digest", secret.digest());
        let change = making.change.about(sub).token(&uid);
        let call = call.arg("max", TOKENS_MAX).arg("change", change.to_json(now));
        let call = call.arg("audit_max", AUDIT_MAX).arg("reach", new.reach.as_str());
        let call = call.arg("parent", making.parent.map_or("", TokenUid::as_str));
        let call = call.arg("is_first", u8::from(making.is_first)).args("dropped", dropped);
        let made: Result<(), _> = call.run().await;
        made.map_err(refused(&uid))?;
        let token = Token {
            uid: uid.to_string(),
            user_sub: sub.to_string(),
            name: new.name,
            role: new.role,
            reach: new.reach,
            created_at: now,
            expires_at: new.expires_at,
            parent: making.parent.map(ToString::to_string),
        };
        Ok(Created { token, secret: secret.into_text() })
    }

    /// Gives a token of a user another name.
    ///
    /// # Errors
    /// When the user has no such token, when the name is too long, or when the store fails.
    pub async fn rename_token<'a>(
        &self,
        actor: impl Into<Actor<'a>>,
        sub: &UserSub,
        uid: &TokenUid,
        name: &str,
    ) -> Result<(), Error> {
        check_name(name)?;
        let change = actor.into().change("token_renamed").about(sub).token(uid);
        let call = RENAME.call(self.store());
        let call = call.key("token", &keys::token(uid)).key("audit", &keys::audit());
        let call = call.arg("user_sub", sub.as_str()).arg("name", name);
        let call = call.arg("change", change.to_json(self.now())).arg("audit_max", AUDIT_MAX);
        call.run().await.map_err(refused(uid))
    }

    /// Deletes a token of a user: from now on it is not valid.
    ///
    /// # Errors
    /// When the user has no such token, or when the store fails.
    pub async fn delete_token<'a>(
        &self,
        actor: impl Into<Actor<'a>>,
        sub: &UserSub,
        uid: &TokenUid,
    ) -> Result<(), Error> {
        self.drop_token(sub, uid, actor.into().change("token_deleted")).await
    }

    /// Deletes a token of a user, which goes down as `change`.
    pub(super) async fn drop_token(
        &self,
        sub: &UserSub,
        uid: &TokenUid,
        change: Change,
    ) -> Result<(), Error> {
        let change = change.about(sub).token(uid);
        let call = DELETE.call(self.store()).key("tokens", &keys::tokens(sub));
        let call = call.key("token", &keys::token(uid)).key("audit", &keys::audit());
        let call = call.arg("user_sub", sub.as_str()).arg("uid", uid.as_str());
        let call = call.arg("change", change.to_json(self.now())).arg("audit_max", AUDIT_MAX);
        call.run().await.map_err(refused(uid))
    }

    /// The tokens of a user, expired ones included, the earliest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn tokens(&self, sub: &UserSub) -> Result<Vec<Token>, Error> {
        let mut pipeline = redis::pipe();
        let mut uids = Vec::new();
        for (uid, _) in self.expiries(sub).await? {
            let Ok(uid) = TokenUid::new(uid) else { continue };
            pipeline.cmd("HGETALL").arg(&*self.store().place(&keys::token(&uid)));
            uids.push(uid);
        }
        if uids.is_empty() {
            return Ok(Vec::new());
        }
        let records: Vec<HashMap<String, String>> =
            pipeline.query_async(&mut self.store().connection()).await?;
        let tokens = uids.iter().zip(&records).filter_map(|(uid, record)| read(uid, record));
        let mut tokens: Vec<Token> = tokens.map(|(token, _)| token).collect();
        tokens
            .sort_by(|a, b| a.created_at.total_cmp(&b.created_at).then_with(|| a.uid.cmp(&b.uid)));
        Ok(tokens)
    }

    /// A token by its public name, whoever's it is.
    ///
    /// # Errors
    /// When there is none, or when the store fails.
    pub async fn token(&self, uid: &TokenUid) -> Result<Token, Error> {
        let found = self.token_with_digest(uid).await?;
        found.map(|(token, _)| token).ok_or_else(|| Error::NoSuchToken { uid: uid.to_string() })
    }

    /// A token with the digest of its secret, if there is such a token.
    pub(crate) async fn token_with_digest(
        &self,
        uid: &TokenUid,
    ) -> Result<Option<(Token, String)>, Error> {
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(&*self.store().place(&keys::token(uid)));
        let record: HashMap<String, String> =
            cmd.query_async(&mut self.store().connection()).await?;
        Ok(read(uid, &record))
    }

    /// The tokens of a user that have expired and are more than need be kept.
    pub(super) async fn old_expired(
        &self,
        sub: &UserSub,
        now: f64,
    ) -> Result<Vec<TokenUid>, Error> {
        let expiries = self.expiries(sub).await?;
        // They come with the earliest expiry first.
        let expired = expiries.into_iter().filter(|(_, at)| *at > 0.0 && *at <= now);
        let mut expired: Vec<TokenUid> =
            expired.filter_map(|(uid, _)| TokenUid::new(uid).ok()).collect();
        expired.truncate(expired.len().saturating_sub(EXPIRED_MAX));
        Ok(expired)
    }

    async fn expiries(&self, sub: &UserSub) -> Result<Vec<(String, f64)>, Error> {
        let mut cmd = redis::cmd("ZRANGE");
        cmd.arg(&*self.store().place(&keys::tokens(sub))).arg(0).arg(-1).arg("withscores");
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let chars = name.chars().count();
    if chars > TOKEN_NAME_CHARS_MAX {
        let reason = format!("{chars} characters long; give at most {TOKEN_NAME_CHARS_MAX}");
        return Err(Error::Invalid { field: "name", reason });
    }
    Ok(())
}

fn check_expiry(expires_at: Option<f64>, now: f64) -> Result<(), Error> {
    /// Later than anybody means; most likely these are milliseconds.
    const SECONDS_MAX: f64 = 1e11;
    match expires_at {
        Some(at) if !(at > now && at < SECONDS_MAX) => {
            let reason = format!("{at}; give a time in the future, in unix seconds");
            Err(Error::Invalid { field: "expires_at", reason })
        }
        _ => Ok(()),
    }
}

fn check_reach(role: Role, reach: TokenScope) -> Result<(), Error> {
    if role == Role::Admin && reach == TokenScope::Own {
        let reason = "an admin is one of the whole server; give viewer or operator".into();
        return Err(Error::Invalid { field: "role", reason });
    }
    Ok(())
}

/// A token as it is stored. One that is not whole is none.
fn read(uid: &TokenUid, record: &HashMap<String, String>) -> Option<(Token, String)> {
    let expires_at = match record.get("expires_at") {
        None => None,
        // A time that cannot be read must not become none at all.
        Some(text) => Some(text.parse().ok()?),
    };
    let token = Token {
        uid: uid.to_string(),
        user_sub: record.get("user_sub")?.clone(),
        name: record.get("name")?.clone(),
        role: record.get("role")?.parse().ok()?,
        reach: record.get("reach").map_or(Ok(TokenScope::Own), |reach| reach.parse()).ok()?,
        created_at: record.get("created_at")?.parse().ok()?,
        expires_at,
        parent: record.get("parent").cloned(),
    };
    Some((token, record.get("digest")?.clone()))
}

fn refused(uid: &TokenUid) -> impl Fn(keyrack_store::Error) -> Error {
    let uid = uid.to_string();
    move |error| match &error {
        keyrack_store::Error::Refused { word, .. } if word == "NO_SUCH_TOKEN" => {
            Error::NoSuchToken { uid: uid.clone() }
        }
        keyrack_store::Error::Refused { word, .. } if word == "TOO_MANY_TOKENS" => {
            Error::TooManyTokens { max: TOKENS_MAX }
        }
        _ => error.into(),
    }
}
