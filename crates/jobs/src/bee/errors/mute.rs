//! Keeping a group of failures from raising alerts.

use serde::{Deserialize, Serialize};

use super::{MUTE, no_such_group};
use crate::{
    Error,
    bee::{
        hive::Hive,
        keys::{ERROR_MUTE_S_MAX, QueueName},
    },
};

/// The most groups of a queue that are muted.
pub const MUTES_MAX: usize = 100;
/// A group is muted for a year at most.
const MUTE_MS_MAX: u64 = 365 * 86_400_000;
/// The longest version of a worker.
const VERSION_BYTES_MAX: usize = 64;

/// Until when a group of failures raises no alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Mute {
    /// Since when, in unix milliseconds.
    pub at: u64,
    /// Until when, in unix milliseconds.
    pub until: u64,
    /// The first failure in a worker of this version or a later one ends it too.
    pub version: Option<String>,
}

/// For how long a group of failures is to be muted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MuteRequest {
    /// Until when, in unix milliseconds; at most a year from now. Without it until the version, and for a year at most.
    pub until: Option<u64>,
    /// Until a worker of this version or a later one fails with it.
    pub version: Option<String>,
}

#[derive(Deserialize)]
struct Stored {
    at: f64,
    ends_at: f64,
    #[serde(default)]
    version: Option<String>,
}

impl Mute {
    pub(super) fn parse(stored: &str) -> Option<Mute> {
        let Stored { at, ends_at, version } = serde_json::from_str(stored).ok()?;
        Some(Mute { at: at as u64, until: ends_at as u64, version })
    }

    fn to_stored(&self) -> String {
        let version = self.version.as_ref().map(|version| serde_json::json!(version).to_string());
        let version = version.map(|version| format!(",\"version\":{version}")).unwrap_or_default();
        format!("{{\"at\":{},\"ends_at\":{}{version}}}", self.at, self.until)
    }
}

impl MuteRequest {
    fn mute(&self, now_ms: u64) -> Result<Mute, Error> {
        let latest = now_ms + MUTE_MS_MAX;
        if self.until.is_none() && self.version.is_none() {
            return Err(Error::invalid("until", "missing; give a time, a version or both"));
        }
        if let Some(until) = self.until.filter(|until| *until <= now_ms || *until > latest) {
            let reason = format!("{until}; give a time after {now_ms} and up to {latest}");
            return Err(Error::invalid("until", reason));
        }
        if let Some(version) = &self.version {
            check_version(version)?;
        }
        Ok(Mute { at: now_ms, until: self.until.unwrap_or(latest), version: self.version.clone() })
    }
}

/// Fails unless it can be the version of a worker.
///
/// # Errors
/// What is allowed.
pub fn check_version(version: &str) -> Result<(), Error> {
    let is_good = !version.is_empty()
        && version.len() <= VERSION_BYTES_MAX
        && version.bytes().all(|byte| byte.is_ascii_graphic());
    if is_good {
        return Ok(());
    }
    let allowed = format!("1 to {VERSION_BYTES_MAX} letters, digits and signs without spaces");
    Err(Error::invalid("version", format!("{version:?}; give {allowed}")))
}

impl Hive {
    /// Keeps a group of failures from raising alerts for some time. Its failures are still counted.
    ///
    /// # Errors
    /// [`Error::NoSuchErrorGroup`], when the time or the version makes no sense, when [`MUTES_MAX`] groups of the queue are muted,
    /// or when the store fails.
    pub async fn mute_error(
        &self,
        queue: &QueueName,
        id: &str,
        request: &MuteRequest,
    ) -> Result<Mute, Error> {
        let mute = request.mute(self.now_ms())?;
        match self.set_mute(queue, id, &mute.to_stored()).await?.as_str() {
            "ok" => Ok(mute),
            "FULL" => {
                let reason = format!("{id}; {MUTES_MAX} groups of the queue are muted; unmute one");
                Err(Error::invalid("group", reason))
            }
            _ => Err(no_such_group(queue, id)),
        }
    }

    /// Lets a group of failures raise alerts again.
    ///
    /// # Errors
    /// [`Error::NoSuchErrorGroup`], or when the store fails.
    pub async fn unmute_error(&self, queue: &QueueName, id: &str) -> Result<(), Error> {
        match self.set_mute(queue, id, "").await?.as_str() {
            "ok" => Ok(()),
            _ => Err(no_such_group(queue, id)),
        }
    }

    async fn set_mute(&self, queue: &QueueName, id: &str, mute: &str) -> Result<String, Error> {
        let call = self
            .call_on_queue(&MUTE, queue)
            .arg("id", id)
            .arg("mute", mute)
            .arg("mutes_max", MUTES_MAX)
            .arg("kept_s", ERROR_MUTE_S_MAX);
        Ok(call.run().await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mute_ends_within_a_year() {
        let mute = |until, version: Option<&str>| {
            let request = MuteRequest { until, version: version.map(Into::into) };
            request.mute(1_000).map_err(|error| error.to_string())
        };
        let latest = 1_000 + MUTE_MS_MAX;
        assert_eq!(mute(Some(1_001), None).expect("muted").until, 1_001);
        assert_eq!(mute(None, Some("1.2")).expect("muted").until, latest);
        for (until, version) in [(None, None), (Some(1_000), None), (Some(latest + 1), None)] {
            let refused = mute(until, version).expect_err("no such time");
            assert!(refused.starts_with("until: "), "{refused}");
        }
        for version in ["", "a b", "1\n", &"1".repeat(65)] {
            let refused = mute(None, Some(version)).expect_err("no such version");
            assert!(refused.starts_with("version: "), "{refused}");
        }
    }

    #[test]
    fn a_stored_mute_is_read_back() {
        let mute =
            Mute { at: 1_794_709_387_000, until: 1_794_709_387_001, version: Some("1\"2".into()) };
        assert_eq!(Mute::parse(&mute.to_stored()), Some(mute));
        assert_eq!(Mute::parse("{"), None);
    }
}
