//! Alerts that somebody has acknowledged or muted: who, why, and until when.

use keyrack_store::Script;
use serde::{Deserialize, Serialize};

use crate::{error::Error, identity::Identity, keys};

static SET: Script = keyrack_store::script!("alert_mute/set.lua");

/// The most alerts that are acknowledged or muted at once: a page of them is read with each look at the alerts.
pub const ALERT_MUTES_MAX: usize = 1_000;
/// The longest time for which an alert is acknowledged or muted, in seconds: 30 days. Whoever wants one for longer is asked again.
pub const ALERT_MUTE_S_MAX: u64 = 30 * 86_400;
/// The most characters of a reason.
pub const ALERT_REASON_CHARS_MAX: usize = 300;
/// The most bytes of what says which alert it is.
const ALERT_BYTES_MAX: usize = 600;

/// What becomes of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AlertMuteKind {
    /// Somebody looks after it: it is shown after the others.
    Acknowledged,
    /// It is not shown among the alerts.
    Muted,
}

impl AlertMuteKind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            AlertMuteKind::Acknowledged => "acknowledged",
            AlertMuteKind::Muted => "muted",
        }
    }
}

impl std::str::FromStr for AlertMuteKind {
    type Err = String;

    fn from_str(text: &str) -> Result<AlertMuteKind, String> {
        let all = [AlertMuteKind::Acknowledged, AlertMuteKind::Muted];
        let found = all.into_iter().find(|kind| kind.word() == text);
        found.ok_or_else(|| format!("\"{text}\"; use \"acknowledged\" or \"muted\""))
    }
}

/// That an alert is acknowledged or muted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertMute {
    /// The alert: its kind and what it is about, or its kind alone for all of the kind.
    pub alert: String,
    /// What becomes of it.
    pub kind: AlertMuteKind,
    /// Why.
    pub reason: String,
    /// Who did it.
    pub actor: String,
    /// Since when, in unix milliseconds.
    pub at: u64,
    /// Until when, in unix milliseconds.
    pub until: u64,
}

/// As it is stored, with the alert as the field.
#[derive(Serialize, Deserialize)]
struct Stored {
    kind: AlertMuteKind,
    reason: String,
    actor: String,
    at: u64,
    ends_at: u64,
}

impl AlertMute {
    fn check(&self, now_ms: u64) -> Result<(), Error> {
        let invalid = |field, reason| Err(Error::Invalid { field, reason });
        if !(1..=ALERT_BYTES_MAX).contains(&self.alert.len()) {
            let reason = format!("{} bytes; give 1 to {ALERT_BYTES_MAX}", self.alert.len());
            return invalid("alert", reason);
        }
        let n_chars = self.reason.chars().count();
        if !(1..=ALERT_REASON_CHARS_MAX).contains(&n_chars) || self.reason.trim().is_empty() {
            let reason = format!("{n_chars} characters; give 1 to {ALERT_REASON_CHARS_MAX}");
            return invalid("reason", reason);
        }
        let latest = now_ms + ALERT_MUTE_S_MAX * 1_000;
        if self.until <= now_ms || self.until > latest {
            let reason = format!("{}; give a time after {now_ms} and up to {latest}", self.until);
            return invalid("until", reason);
        }
        Ok(())
    }
}

impl Identity {
    /// Acknowledges or mutes an alert from now on; what was said about it before is replaced.
    ///
    /// # Errors
    /// When the reason or the time makes no sense, when [`ALERT_MUTES_MAX`] alerts are acknowledged or muted, or when the store
    /// fails.
    pub async fn mute_alert(&self, mute: AlertMute) -> Result<AlertMute, Error> {
        let now_ms = self.store().now_ms();
        let mute = AlertMute { at: now_ms, reason: mute.reason.trim().to_owned(), ..mute };
        mute.check(now_ms)?;
        let AlertMute { kind, reason, actor, at, until, .. } = mute.clone();
        let stored = Stored { kind, reason, actor, at, ends_at: until };
        let stored = serde_json::to_string(&stored).expect("plain data is JSON");
        match self.set_alert_mute(&mute.alert, &stored).await?.as_str() {
            "FULL" => {
                let reason = format!(
                    "\"{}\"; {ALERT_MUTES_MAX} alerts are acknowledged or muted; take one back",
                    mute.alert
                );
                Err(Error::Invalid { field: "alert", reason })
            }
            _ => Ok(mute),
        }
    }

    /// Takes back what was said about an alert. Returns whether there was anything.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn unmute_alert(&self, alert: &str) -> Result<bool, Error> {
        Ok(self.set_alert_mute(alert, "").await? == "ok")
    }

    /// The alerts that are acknowledged or muted now, those that end first before the others.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn alert_mutes(&self) -> Result<Vec<AlertMute>, Error> {
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(&*self.store().place(&keys::alert_mutes()));
        let stored: Vec<(String, String)> = cmd.query_async(&mut self.store().connection()).await?;
        let now_ms = self.store().now_ms();
        // What somebody else put there is none of ours.
        let mutes = stored.into_iter().filter_map(|(alert, text)| {
            let Stored { kind, reason, actor, at, ends_at } = serde_json::from_str(&text).ok()?;
            Some(AlertMute { alert, kind, reason, actor, at, until: ends_at })
        });
        let mut mutes: Vec<AlertMute> = mutes.filter(|mute| mute.until > now_ms).collect();
        mutes.sort_by(|a, b| (a.until, &a.alert).cmp(&(b.until, &b.alert)));
        Ok(mutes)
    }

    async fn set_alert_mute(&self, alert: &str, mute: &str) -> Result<String, Error> {
        let call = SET
            .call(self.store())
            .key("alert_mutes", &keys::alert_mutes())
            .arg("now_ms", self.store().now_ms())
            .arg("alert", alert)
            .arg("mute", mute)
            .arg("mutes_max", ALERT_MUTES_MAX)
            .arg("kept_s", ALERT_MUTE_S_MAX);
        Ok(call.run().await?)
    }
}
