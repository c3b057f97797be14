//! A group of failures as it is stored, and as it is told.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::Value as Json;

use super::{Errors, Mute};
use crate::bee::keys::QueueName;

const HOUR_MS: u64 = 3_600_000;
/// Where the sums of folded groups are.
pub(super) const OTHER: &str = "other";

/// Failures of one cause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorGroup {
    /// Its id: the same for the same failure in every queue.
    pub id: String,
    /// The type of the error; empty if its message names none.
    pub kind: String,
    /// The message without numbers, ids, quoted values, paths and the like.
    pub text: String,
    /// The last message as it was.
    pub message: String,
    /// How many attempts have failed.
    pub count: u64,
    /// How many jobs have failed for good.
    pub failed: u64,
    /// The first failure, in unix milliseconds.
    pub first_at: u64,
    /// The last failure, in unix milliseconds.
    pub last_at: u64,
    /// How many attempts failed by the hour, oldest first: the last 24 hours in which one did.
    pub hours: Vec<ErrorHour>,
    /// The last five jobs.
    pub jobs: Vec<ErrorJob>,
    /// Tenants whose jobs failed, the last first; at most ten.
    pub tenants: Vec<String>,
    /// Hosts of the workers, the last first; at most ten.
    pub hosts: Vec<String>,
    /// Versions that the workers have given, the last first; at most ten.
    pub versions: Vec<String>,
    /// Until when it raises no alert.
    pub mute: Option<Mute>,
}

/// The failures of an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorHour {
    /// Its beginning, in unix milliseconds.
    pub at: u64,
    /// How many attempts failed.
    pub count: u64,
}

/// A job that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorJob {
    /// Its id.
    pub jid: String,
    /// When, in unix milliseconds.
    #[serde(deserialize_with = "whole")]
    pub at: u64,
}

/// What was counted of groups that had to make room for others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OtherErrors {
    /// How often a group had to make room.
    pub folded: u64,
    /// How many attempts have failed.
    pub count: u64,
    /// How many jobs have failed for good.
    pub failed: u64,
    /// The first failure, in unix milliseconds.
    pub first_at: u64,
    /// The last failure, in unix milliseconds.
    pub last_at: u64,
    /// How many attempts failed by the hour, oldest first.
    pub hours: Vec<ErrorHour>,
}

#[derive(Deserialize)]
struct Stored {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    message: String,
    #[serde(deserialize_with = "whole")]
    count: u64,
    #[serde(deserialize_with = "whole")]
    failed: u64,
    #[serde(deserialize_with = "whole")]
    first: u64,
    #[serde(deserialize_with = "whole")]
    last: u64,
    #[serde(default)]
    hours: BTreeMap<String, f64>,
    #[serde(default, deserialize_with = "lua_list")]
    jobs: Vec<ErrorJob>,
    #[serde(default, deserialize_with = "lua_list")]
    tenants: Vec<String>,
    #[serde(default, deserialize_with = "lua_list")]
    hosts: Vec<String>,
    #[serde(default, deserialize_with = "lua_list")]
    versions: Vec<String>,
    #[serde(default, deserialize_with = "whole")]
    folded: u64,
}

/// Lua has one kind of number.
fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    // A negative one becomes zero.
    f64::deserialize(from).map(|number| number as u64)
}

/// Lua writes an empty list as an object.
fn lua_list<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Vec<T>, D::Error> {
    match Json::deserialize(from)? {
        list @ Json::Array(_) => serde_json::from_value(list).map_err(serde::de::Error::custom),
        _ => Ok(Vec::new()),
    }
}

impl Stored {
    fn hours(&self) -> Vec<ErrorHour> {
        let hours =
            self.hours.iter().filter_map(|(hour, count)| Some((hour.parse::<u64>().ok()?, count)));
        let mut hours: Vec<ErrorHour> = hours
            .map(|(hour, count)| ErrorHour {
                at: hour.saturating_mul(HOUR_MS),
                count: *count as u64,
            })
            .collect();
        hours.sort_unstable_by_key(|hour| hour.at);
        hours
    }

    fn into_group(self, id: &str, mute: Option<Mute>) -> ErrorGroup {
        ErrorGroup {
            id: id.to_owned(),
            hours: self.hours(),
            kind: self.kind,
            text: self.text,
            message: self.message,
            count: self.count,
            failed: self.failed,
            first_at: self.first,
            last_at: self.last,
            jobs: self.jobs,
            tenants: self.tenants,
            hosts: self.hosts,
            versions: self.versions,
            mute,
        }
    }
}

/// What is stored of a queue; what makes no sense is left out.
pub(super) fn parse(
    queue: &QueueName,
    groups: &[(String, String)],
    mutes: &[(String, String)],
    now_ms: u64,
) -> Errors {
    let mutes: HashMap<&str, Mute> = mutes
        .iter()
        .filter_map(|(id, mute)| Some((id.as_str(), Mute::parse(mute)?)))
        .filter(|(_, mute)| mute.until > now_ms)
        .collect();
    let mut errors = Errors { queue: queue.to_string(), ..Errors::default() };
    for (id, stored) in groups {
        if id == OTHER {
            errors.other = other(stored);
        } else if let Ok(stored) = serde_json::from_str::<Stored>(stored) {
            errors.groups.push(stored.into_group(id, mutes.get(id.as_str()).cloned()));
        }
    }
    errors.groups.sort_by(|a, b| b.last_at.cmp(&a.last_at).then_with(|| a.id.cmp(&b.id)));
    errors
}

/// The sums of groups that had to make room.
pub(super) fn other(stored: &str) -> Option<OtherErrors> {
    let stored: Stored = serde_json::from_str(stored).ok()?;
    Some(OtherErrors {
        folded: stored.folded,
        count: stored.count,
        failed: stored.failed,
        first_at: stored.first,
        last_at: stored.last,
        hours: stored.hours(),
    })
}
