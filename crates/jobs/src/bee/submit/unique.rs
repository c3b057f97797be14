//! Submissions for which a job that was submitted before may stand.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{DELAY_MS_MAX, Submission, check_time, digest::args_field, whole_ms};
use crate::{Error, bee::keys::Tenant};

/// The most bytes of a key by which submissions are told apart.
pub const UNIQUE_KEY_BYTES_MAX: usize = 255;

/// How many times its quiet a debounced job waits at most, unless it says so.
const DEBOUNCE_MAX_TIMES: u64 = 10;

/// Which submissions are for the same job, and for how long.
///
/// ```
/// use std::time::Duration;
///
/// use keyrack_jobs::bee::Unique;
///
/// // Not a second one before the first has ended.
/// let one_at_a_time = Unique::by_args();
/// // One run for all changes of a user, two seconds after the last, at most a minute after the first.
/// let after_the_last = Unique::by_key("user:42").debounce(Duration::from_secs(2), Duration::from_secs(60));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unique {
    by: By,
    scope: Scope,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum By {
    Id,
    Args,
    Key(String),
}

/// Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Until(UniqueUntil),
    For(u64),
    /// The same, under the name that it was asked for.
    Throttle(u64),
    Debounce {
        quiet: u64,
        longest: u64,
    },
    Fold {
        time: u64,
    },
}

/// What ends the time in which a job stands for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum UniqueUntil {
    /// A worker takes it.
    Started,
    /// It has ended.
    Ended,
}

/// What equal submissions have in common, apart from a key of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum UniqueBy {
    /// The id of the job.
    Id,
    /// The arguments.
    Args,
}

impl Unique {
    /// Submissions under the same id are for the same job. When it has ended, the next one takes its place.
    pub fn by_id() -> Unique {
        Unique::by(By::Id)
    }

    /// Submissions with the same arguments are for the same job. Numbers count by their value, objects by their fields.
    pub fn by_args() -> Unique {
        Unique::by(By::Args)
    }

    /// Submissions with the same key are for the same job, among those of one tenant.
    pub fn by_key(key: impl Into<String>) -> Unique {
        Unique::by(By::Key(key.into()))
    }

    fn by(by: By) -> Unique {
        Unique { by, scope: Scope::Until(UniqueUntil::Ended) }
    }

    /// A job stands for others until a worker takes it, and while it waits for a retry.
    pub fn until_started(self) -> Unique {
        Unique { scope: Scope::Until(UniqueUntil::Started), ..self }
    }

    /// A job stands for others until it has ended. This is the default.
    pub fn until_ended(self) -> Unique {
        Unique { scope: Scope::Until(UniqueUntil::Ended), ..self }
    }

    /// A job stands for others for this time after it was submitted, whatever has become of it, unless it is canceled.
    pub fn for_time(self, time: Duration) -> Unique {
        Unique { scope: Scope::For(whole_ms(time)), ..self }
    }

    /// A job runs when nothing was submitted for the first time, or the second has passed since the first submission, with the
    /// arguments of the last submission.
    pub fn debounce(self, quiet: Duration, longest: Duration) -> Unique {
        Unique {
            scope: Scope::Debounce { quiet: whole_ms(quiet), longest: whole_ms(longest) },
            ..self
        }
    }

    /// The first job runs, and what is submitted in this time after it is dropped.
    pub fn throttle(self, time: Duration) -> Unique {
        Unique { scope: Scope::Throttle(whole_ms(time)), ..self }
    }

    /// The first job runs, and one more for all that are submitted in this time after it: when the time is over, with the
    /// arguments of the last one.
    pub fn throttle_folded(self, time: Duration) -> Unique {
        Unique { scope: Scope::Fold { time: whole_ms(time) }, ..self }
    }

    /// Whether the job under an id stands for others of that id.
    pub(super) fn is_by_id(&self) -> bool {
        self.by == By::Id
    }

    /// Whether this makes sense for a job.
    pub(super) fn check(&self, job: &Submission) -> Result<(), Error> {
        if let By::Key(key) = &self.by
            && !(1..=UNIQUE_KEY_BYTES_MAX).contains(&key.len())
        {
            let reason = format!("{} bytes; give 1 to {UNIQUE_KEY_BYTES_MAX}", key.len());
            return Err(Error::invalid("unique.key", reason));
        }
        match self.scope {
            Scope::Until(_) => {}
            Scope::For(time) => check_time("unique.for", Some(time))?,
            Scope::Throttle(time) | Scope::Fold { time } => {
                check_time("unique.throttle", Some(time))?;
            }
            Scope::Debounce { quiet, longest } => {
                check_time("unique.debounce", Some(quiet))?;
                check_time("unique.debounceMax", Some(longest))?;
                if longest < quiet {
                    let reason = format!("{longest} ms; give at least the {quiet} ms of debounce");
                    return Err(Error::invalid("unique.debounceMax", reason));
                }
            }
        }
        self.check_id(job)?;
        self.check_changeable(job)
    }

    fn check_id(&self, job: &Submission) -> Result<(), Error> {
        if !self.is_by_id() {
            return Ok(());
        }
        if job.jid.is_none() {
            return Err(Error::invalid("unique.by", "id, but the job has none; give it an id"));
        }
        match self.scope {
            Scope::Until(UniqueUntil::Ended) | Scope::For(_) | Scope::Throttle(_) => Ok(()),
            _ => Err(Error::invalid(
                "unique.by",
                "id, which no other job can have before this one has ended; give args or a key",
            )),
        }
    }

    /// Others may change the arguments and the time of a job that waits for them, but nothing else.
    fn check_changeable(&self, job: &Submission) -> Result<(), Error> {
        let (Scope::Debounce { .. } | Scope::Fold { .. }) = self.scope else { return Ok(()) };
        let with = match self.scope {
            Scope::Fold { .. } => "throttle and fold",
            _ => "debounce",
        };
        let wrong = [
            ("delay", job.options.delay > 0.0),
            ("dependencies", !job.dependencies.is_empty()),
            ("dependenciesOnTags", job.options.dependencies_on_tags),
            ("startWithin", job.start_within_ms.is_some()),
        ];
        match wrong.into_iter().find(|(_, is_set)| *is_set) {
            Some((field, _)) => {
                let reason = format!("not with unique.{with}, which say when the job runs");
                Err(Error::invalid(field, reason))
            }
            None => Ok(()),
        }
    }

    /// What the script takes for it.
    pub(super) fn for_script(&self, job: &Submission) -> Json {
        let mut unique = match self.scope {
            Scope::Until(UniqueUntil::Started) => json!({ "till": "started" }),
            Scope::Until(UniqueUntil::Ended) => json!({ "till": "ended" }),
            Scope::For(time) | Scope::Throttle(time) => json!({ "time": time }),
            Scope::Debounce { quiet, longest } => json!({ "debounce": quiet, "longest": longest }),
            Scope::Fold { time } => json!({ "time": time, "fold": true }),
        };
        let tenant = job.tenant.as_ref().map(Tenant::as_str);
        let field = match &self.by {
            By::Id => return unique,
            By::Args => args_field(&job.digest_of_args(), tenant),
            By::Key(key) => json!(["key", key, tenant]).to_string(),
        };
        unique["field"] = field.into();
        unique
    }
}

/// What a body or a command says about equal submissions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UniqueRequest {
    /// What equal submissions have in common, if that is no key. Default: `args`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<UniqueBy>,
    /// A key that equal submissions have in common: 1 to 255 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How long a job stands for equal ones. Default: until it has `ended`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<UniqueUntil>,
    /// Time after its submission for which a job stands for equal ones.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
    /// Run when no equal job was submitted for this time, with the arguments of the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debounce: Option<u64>,
    /// The longest time that this delays a job. Default: 10 times `debounce`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debounce_max: Option<u64>,
    /// Run the first job, and drop equal ones for this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle: Option<u64>,
    /// Do not drop them: run one more at the end of the time, with the arguments of the last one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fold: bool,
}

impl UniqueRequest {
    /// What was asked for.
    ///
    /// # Errors
    /// When parts of it contradict each other.
    pub fn unique(self) -> Result<Unique, Error> {
        let by = match (self.by, self.key) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid("unique.by", "given besides a key; give one of them"));
            }
            (Some(UniqueBy::Id), None) => By::Id,
            (_, None) => By::Args,
            (None, Some(key)) => By::Key(key),
        };
        let scopes = [
            ("unique.until", self.until.map(Scope::Until)),
            ("unique.for", self.time.map(Scope::For)),
            (
                "unique.debounce",
                self.debounce.map(|quiet| Scope::Debounce {
                    quiet,
                    longest: self.debounce_max.unwrap_or(default_longest(quiet)),
                }),
            ),
            (
                "unique.throttle",
                self.throttle.map(|time| match self.fold {
                    true => Scope::Fold { time },
                    false => Scope::Throttle(time),
                }),
            ),
        ];
        let mut asked = scopes.into_iter().filter_map(|(field, scope)| Some((field, scope?)));
        let first = asked.next();
        if let (Some((one, _)), Some((other, _))) = (first, asked.next()) {
            return Err(Error::invalid(other, format!("given besides {one}; give one of them")));
        }
        if self.debounce_max.is_some() && self.debounce.is_none() {
            return Err(Error::invalid("unique.debounceMax", "given without debounce"));
        }
        if self.fold && self.throttle.is_none() {
            return Err(Error::invalid("unique.fold", "given without throttle"));
        }
        let default = Scope::Until(UniqueUntil::Ended);
        Ok(Unique { by, scope: first.map_or(default, |(_, scope)| scope) })
    }

    /// Whether equal submissions have the arguments in common.
    pub(in crate::bee) fn is_by_args(&self) -> bool {
        self.key.is_none() && self.by != Some(UniqueBy::Id)
    }

    /// What it says, in a sentence without a subject: `submissions with the key "k", until it has ended`. Times are written as
    /// the caller writes them.
    pub fn in_words(&self, time: impl Fn(u64) -> String) -> String {
        let what = match (self.by, &self.key) {
            (_, Some(key)) => format!("the key {key:?}"),
            (Some(UniqueBy::Id), None) => "its id".to_owned(),
            (_, None) => "its arguments".to_owned(),
        };
        let scope = if let Some(quiet) = self.debounce {
            let longest = self.debounce_max.unwrap_or(default_longest(quiet));
            let (quiet, longest) = (time(quiet), time(longest));
            format!("until it starts; debounced: {quiet} after the last, {longest} after the first")
        } else if let Some(throttle) = self.throttle {
            let rest = if self.fold { "folded into one more" } else { "dropped" };
            format!("for {}; throttled: others are {rest}", time(throttle))
        } else if let Some(ms) = self.time {
            format!("for {} after its submission", time(ms))
        } else if self.until == Some(UniqueUntil::Started) {
            "until it starts".to_owned()
        } else {
            "until it has ended".to_owned()
        };
        format!("submissions with {what}, {scope}")
    }
}

impl From<&Unique> for UniqueRequest {
    /// The same, with nothing left to a default.
    fn from(unique: &Unique) -> UniqueRequest {
        let (by, key) = match &unique.by {
            By::Id => (Some(UniqueBy::Id), None),
            By::Args => (Some(UniqueBy::Args), None),
            By::Key(key) => (None, Some(key.clone())),
        };
        let request = UniqueRequest { by, key, ..UniqueRequest::default() };
        match unique.scope {
            Scope::Until(until) => UniqueRequest { until: Some(until), ..request },
            Scope::For(time) => UniqueRequest { time: Some(time), ..request },
            Scope::Throttle(time) => UniqueRequest { throttle: Some(time), ..request },
            Scope::Fold { time } => UniqueRequest { throttle: Some(time), fold: true, ..request },
            Scope::Debounce { quiet, longest } => {
                UniqueRequest { debounce: Some(quiet), debounce_max: Some(longest), ..request }
            }
        }
    }
}

fn default_longest(quiet: u64) -> u64 {
    quiet.saturating_mul(DEBOUNCE_MAX_TIMES).min(DELAY_MS_MAX as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_was_asked_for_is_told_in_full_and_in_words() {
        let key = || Unique::by_key("user:42");
        let words = |unique: Unique| {
            let told = UniqueRequest::from(&unique);
            assert_eq!(told.clone().unique().expect("as it was asked for"), unique);
            told.in_words(|ms| format!("{ms} ms"))
        };
        for (unique, expected) in [
            (key(), "submissions with the key \"user:42\", until it has ended"),
            (Unique::by_id(), "submissions with its id, until it has ended"),
            (Unique::by_args().until_started(), "submissions with its arguments, until it starts"),
            (
                Unique::by_args().for_time(SECOND),
                "submissions with its arguments, for 1000 ms after its submission",
            ),
            (
                key().throttle(SECOND),
                "submissions with the key \"user:42\", for 1000 ms; throttled: others are dropped",
            ),
            (
                key().throttle_folded(SECOND),
                "submissions with the key \"user:42\", for 1000 ms; throttled: others are folded into one more",
            ),
            (
                key().debounce(SECOND, 9 * SECOND),
                "submissions with the key \"user:42\", until it starts; debounced: 1000 ms after the last, \
                 9000 ms after the first",
            ),
        ] {
            assert_eq!(words(unique), expected);
        }
    }
}
