//! The memory of who changed what.

use keyrack_keys::UserSub;
use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    identity::Identity,
    keys::{self, TokenUid},
};

/// How many changes are remembered: some years of a team's tokens, and two megabytes.
pub const AUDIT_MAX: usize = 10_000;

/// A change to a user or a token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// When, in unix seconds.
    pub at: f64,
    /// Who: the subject of a user, or a word for whoever has the machine.
    pub actor: String,
    /// What: `user_created`, `token_created`, `token_renamed` or `token_deleted`.
    pub action: String,
    /// Whose user or token it was.
    pub user_sub: String,
    /// The token, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_uid: Option<String>,
}

impl Change {
    pub(crate) fn new(
        at: f64,
        actor: &str,
        action: &str,
        sub: &UserSub,
        token: Option<&TokenUid>,
    ) -> Change {
        Change {
            at,
            actor: actor.to_owned(),
            action: action.to_owned(),
            user_sub: sub.to_string(),
            token_uid: token.map(ToString::to_string),
        }
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings and a number are JSON")
    }
}

impl Identity {
    /// The latest changes, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn audit(&self, max: usize) -> Result<Vec<Change>, Error> {
        if max == 0 {
            return Ok(Vec::new());
        }
        let mut cmd = redis::cmd("LRANGE");
        cmd.arg(&*self.store().place(&keys::audit())).arg(0).arg(max - 1);
        let texts: Vec<String> = cmd.query_async(&mut self.store().connection()).await?;
        // What somebody else put there is no change of ours.
        Ok(texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
    }
}
