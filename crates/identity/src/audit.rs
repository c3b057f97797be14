//! The memory of who changed what.

use keyrack_keys::UserSub;
use keyrack_store::Script;
use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    identity::Identity,
    keys::{self, TokenUid},
};

static RECORD: Script = keyrack_store::script!("audit/record.lua");

/// How many changes are remembered: some months of a team's work, and two megabytes.
pub const AUDIT_MAX: usize = 10_000;

/// The most characters of a text that comes from outside.
const TEXT_CHARS_MAX: usize = 300;

/// Something that somebody has done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// When, in unix seconds.
    pub at: f64,
    /// Who: the subject of a user, or a word for whoever has the machine.
    pub actor: String,
    /// What, such as `token_created` or `queue_paused`.
    pub action: String,
    /// What it was done to: the name of a queue, the id of a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Whose user or token it was, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_sub: Option<String>,
    /// The token, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_uid: Option<String>,
    /// The address that the request came from, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Why nothing came of it, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Who does something, and from where.
#[derive(Debug, Clone, Copy)]
pub struct Actor<'a> {
    /// The subject of a user, or a word for whoever has the machine.
    pub name: &'a str,
    /// The address that the request came from, if it was one.
    pub from: Option<&'a str>,
}

impl<'a> From<&'a str> for Actor<'a> {
    fn from(name: &'a str) -> Actor<'a> {
        Actor { name, from: None }
    }
}

impl Actor<'_> {
    /// That the actor has done something.
    pub(crate) fn change(self, action: &str) -> Change {
        Change::new(self.name, action).from(self.from)
    }
}

impl Change {
    /// That somebody has done something.
    pub fn new(actor: impl Into<String>, action: impl Into<String>) -> Change {
        Change { actor: actor.into(), action: action.into(), ..Change::default() }
    }

    /// The same, done to this.
    #[must_use]
    pub fn to(self, subject: &str) -> Change {
        Change { subject: Some(cut(subject)), ..self }
    }

    /// The same, asked for from this address.
    #[must_use]
    pub fn from(self, address: Option<&str>) -> Change {
        Change { from: address.map(cut), ..self }
    }

    /// The same, of which nothing came.
    #[must_use]
    pub fn failed(self, why: Option<&str>) -> Change {
        Change { failed: why.map(cut), ..self }
    }

    /// The same, about a user.
    pub(crate) fn about(self, sub: &UserSub) -> Change {
        Change { user_sub: Some(sub.to_string()), ..self }
    }

    /// The same, about a token.
    pub(crate) fn token(self, uid: &TokenUid) -> Change {
        Change { token_uid: Some(uid.to_string()), ..self }
    }

    /// As it is stored, at that time.
    pub(crate) fn to_json(&self, at: f64) -> String {
        let change = Change { at, ..self.clone() };
        serde_json::to_string(&change).expect("strings and a number are JSON")
    }
}

fn cut(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}

impl Identity {
    /// Remembers a change.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn record(&self, change: &Change) -> Result<(), Error> {
        let call = RECORD.call(self.store()).key("audit", &keys::audit());
        let call = call.arg("change", change.to_json(self.now())).arg("audit_max", AUDIT_MAX);
        Ok(call.run().await?)
    }

    /// The latest changes, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn audit(&self, max: usize) -> Result<Vec<Change>, Error> {
        self.audit_from(0, max).await
    }

    /// The same without the first `skip`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn audit_from(&self, skip: usize, max: usize) -> Result<Vec<Change>, Error> {
        if max == 0 {
            return Ok(Vec::new());
        }
        let (first, last) = (skip.min(AUDIT_MAX), skip.saturating_add(max - 1).min(AUDIT_MAX));
        let mut cmd = redis::cmd("LRANGE");
        cmd.arg(&*self.store().place(&keys::audit())).arg(first).arg(last);
        let texts: Vec<String> = cmd.query_async(&mut self.store().connection()).await?;
        // What somebody else put there is no change of ours.
        Ok(texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
    }
}
