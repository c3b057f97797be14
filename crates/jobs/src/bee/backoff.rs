//! How long a failed job waits before it is tried again.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha1_smol::Sha1;

use super::{job::DEFAULT_RETRY_DELAY_MS, submit::DELAY_MS_MAX};
use crate::Error;

/// How the waits grow from retry to retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum BackoffKind {
    /// All are the same.
    #[default]
    Fixed,
    /// The nth is n times the first.
    Linear,
    /// Each is twice the one before.
    Exponential,
}

impl BackoffKind {
    /// Every kind.
    pub const ALL: [BackoffKind; 3] =
        [BackoffKind::Fixed, BackoffKind::Linear, BackoffKind::Exponential];

    /// The word that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            BackoffKind::Fixed => "fixed",
            BackoffKind::Linear => "linear",
            BackoffKind::Exponential => "exponential",
        }
    }
}

impl std::fmt::Display for BackoffKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::str::FromStr for BackoffKind {
    type Err = String;

    fn from_str(text: &str) -> Result<BackoffKind, String> {
        BackoffKind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            let words = BackoffKind::ALL.map(BackoffKind::as_str).join("\", \"");
            format!("\"{text}\" is no backoff; use one of \"{words}\"")
        })
    }
}

/// How long a failed job waits before each retry. Times are in milliseconds.
///
/// ```
/// use std::time::Duration;
/// use keyrack_jobs::bee::Backoff;
///
/// let backoff = Backoff::exponential(Duration::from_secs(1)).longest(Duration::from_secs(10));
/// let waits: Vec<f64> = (1..=5).map(|retry| backoff.wait_ms("job", retry)).collect();
/// assert_eq!(waits, [1_000.0, 2_000.0, 4_000.0, 8_000.0, 10_000.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Backoff {
    /// How the waits grow; not at all unless said.
    pub kind: BackoffKind,
    /// The first wait; 30,000 unless said.
    #[cfg_attr(feature = "openapi", schema(minimum = 0))]
    pub delay_ms: f64,
    /// The longest wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ms: Option<f64>,
    /// Which share of each wait is left to chance, from 0 to 1: with 1 a wait is anything up to its length. So jobs that failed
    /// together do not come back together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<f64>,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff {
            kind: BackoffKind::Fixed,
            delay_ms: DEFAULT_RETRY_DELAY_MS,
            max_ms: None,
            jitter: None,
        }
    }
}

impl Backoff {
    /// The same wait before each retry.
    pub fn fixed(delay: Duration) -> Backoff {
        Backoff { delay_ms: delay.as_millis() as f64, ..Backoff::default() }
    }

    /// So long before the first retry, twice as long before the second, three times before the third.
    pub fn linear(delay: Duration) -> Backoff {
        Backoff { kind: BackoffKind::Linear, ..Backoff::fixed(delay) }
    }

    /// So long before the first retry, and before each other twice as long as before the last.
    pub fn exponential(delay: Duration) -> Backoff {
        Backoff { kind: BackoffKind::Exponential, ..Backoff::fixed(delay) }
    }

    /// No wait is longer than this.
    pub fn longest(mut self, longest: Duration) -> Backoff {
        self.max_ms = Some(longest.as_millis() as f64);
        self
    }

    /// Leaves this share of each wait to chance, from 0 to 1.
    pub fn jitter(mut self, share: f64) -> Backoff {
        self.jitter = Some(share);
        self
    }

    /// How long this job waits before its nth retry. What is left to chance depends on the two alone, so that whoever asks gets
    /// the answer that the store gives.
    pub fn wait_ms(&self, jid: &str, retry: u32) -> f64 {
        let times = match self.kind {
            BackoffKind::Fixed => 1.0,
            BackoffKind::Linear => f64::from(retry),
            BackoffKind::Exponential => 2_f64.powi(retry.saturating_sub(1).min(64) as i32),
        };
        let longest = self.max_ms.unwrap_or(DELAY_MS_MAX).min(DELAY_MS_MAX);
        let wait = (self.delay_ms * times).min(longest);
        match self.jitter {
            Some(share) => (wait * (1.0 - share.clamp(0.0, 1.0) * chance(jid, retry))).floor(),
            None => wait,
        }
    }

    /// Fails unless it makes sense; `names` are what the caller calls the first wait, the longest one, and the share.
    pub(crate) fn check(&self, names: [&'static str; 3]) -> Result<(), Error> {
        let [delay, longest, jitter] = names;
        let range = 0.0..=DELAY_MS_MAX;
        if !range.contains(&self.delay_ms) {
            let reason = format!("{} ms; give 0 to {DELAY_MS_MAX} milliseconds", self.delay_ms);
            return Err(Error::invalid(delay, reason));
        }
        if let Some(max_ms) = self.max_ms
            && !(range.contains(&max_ms) && max_ms >= self.delay_ms)
        {
            let reason = format!(
                "{max_ms} ms; give at least the first wait, {} ms, and at most {DELAY_MS_MAX} ms",
                self.delay_ms
            );
            return Err(Error::invalid(longest, reason));
        }
        match self.jitter {
            Some(share) if !(0.0..=1.0).contains(&share) => {
                let reason = format!("{share}; give a share of the wait, from 0 to 1");
                Err(Error::invalid(jitter, reason))
            }
            _ => Ok(()),
        }
    }
}

/// A number from 0 to 1, as the script finds it.
fn chance(jid: &str, retry: u32) -> f64 {
    let hash = Sha1::from(format!("{jid}:{retry}")).digest().bytes();
    f64::from(u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]])) / 4_294_967_296.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn waits_grow_as_their_kind_says_up_to_the_longest() {
        let waits = |backoff: Backoff| [1, 2, 3, 60].map(|retry| backoff.wait_ms("j", retry));
        assert_eq!(waits(Backoff::fixed(SECOND)), [1_000.0; 4]);
        assert_eq!(waits(Backoff::linear(SECOND)), [1_000.0, 2_000.0, 3_000.0, 60_000.0]);
        let capped = Backoff::exponential(SECOND).longest(Duration::from_secs(3));
        assert_eq!(waits(capped), [1_000.0, 2_000.0, 3_000.0, 3_000.0]);
        assert_eq!(Backoff::exponential(SECOND).wait_ms("j", 5_000), DELAY_MS_MAX);
    }

    #[test]
    fn chance_takes_from_a_wait_and_never_adds() {
        let backoff = Backoff::fixed(SECOND).jitter(0.5);
        let waits: Vec<f64> = (0..1_000).map(|n| backoff.wait_ms(&format!("j{n}"), 1)).collect();
        assert!(waits.iter().all(|wait| (500.0..=1_000.0).contains(wait)), "{waits:?}");
        let mean = waits.iter().sum::<f64>() / 1_000.0;
        assert!((735.0..765.0).contains(&mean), "{mean}");
        assert_eq!(backoff.wait_ms("j1", 1), backoff.wait_ms("j1", 1));
        assert_ne!(backoff.wait_ms("j1", 1), backoff.wait_ms("j1", 2));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let check = |backoff: Backoff| {
            backoff.check(["retryDelay", "retryDelayMax", "retryJitter"]).map_err(|e| e.to_string())
        };
        assert_eq!(check(Backoff::default()), Ok(()));
        let refused = |backoff| check(backoff).expect_err("no sense");
        let short = Backoff::fixed(SECOND).longest(Duration::from_millis(999));
        assert!(refused(short).starts_with("retryDelayMax: 999 ms; give at least the first wait"));
        assert!(refused(Backoff { delay_ms: -1.0, ..Backoff::default() }).contains("-1 ms"));
        assert!(refused(Backoff { delay_ms: f64::NAN, ..Backoff::default() }).contains("NaN"));
        assert!(refused(Backoff::default().jitter(1.5)).starts_with("retryJitter: 1.5; give"));
    }
}
