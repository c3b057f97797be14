//! How a job is to be run.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize as _, Serialize};
use serde_json::{Map, Value as Json};

use crate::bee::{
    backoff::{Backoff, BackoffKind},
    submit::UniqueRequest,
};

/// How a job is to be run. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the key's documentation says what they mean")]
pub struct Options {
    #[serde(serialize_with = "plain_number")]
    pub priority: f64,
    #[serde(serialize_with = "plain_number")]
    pub delay: f64,
    pub dependencies: Vec<String>,
    pub dependencies_on_tags: bool,
    #[serde(serialize_with = "text_or_false")]
    pub preferred_hostname: Option<String>,
    pub retries: u32,
    #[serde(serialize_with = "plain_number")]
    pub retry_delay: f64,
    pub progressive_delay: bool,
    pub ttl: u64,
    /// For how long the job is kept if it fails; as its queue says unless set. Added by keyrack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_ttl: Option<u64>,
    /// Whether `retries` is the job's own choice although it is the default, which a queue may have another of. Added by keyrack.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own_retries: bool,
    /// How the waits between retries grow. Without it `progressive_delay` says it, or the queue. Added by keyrack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<BackoffKind>,
    /// The longest wait. Added by keyrack.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_or_none")]
    pub retry_delay_max: Option<f64>,
    /// The share of each wait that is left to chance, from 0 to 1. Added by keyrack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_jitter: Option<f64>,
    /// How long an attempt may take; as its queue or its worker says unless set. Added by keyrack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// When it has to have started, in unix milliseconds. Added by keyrack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_by: Option<u64>,
    /// The limits of its queue that count it, by name. Added by keyrack.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    /// Which other submissions are for it, with nothing left to a default. Added by keyrack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique: Option<UniqueRequest>,
    /// The span that submitted it, as the W3C header `traceparent` has it. Added by keyrack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// What tracing systems have added, as the header `tracestate` has it. Added by keyrack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
    /// What its submitter wants to be known of it, by name. keyrack only keeps it. Added by keyrack.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// How often a job is tried again after failures, unless it says otherwise.
pub const DEFAULT_RETRIES: u32 = 5;
/// How long a failed job waits before it is tried again, unless it says otherwise.
pub const DEFAULT_RETRY_DELAY_MS: f64 = 30_000.0;
/// For how long the result of a job is kept, unless it says otherwise.
pub const DEFAULT_TTL_MS: u64 = 1_800_000;

impl Default for Options {
    fn default() -> Options {
        Options {
            priority: 0.0,
            delay: 0.0,
            dependencies: Vec::new(),
            dependencies_on_tags: false,
            preferred_hostname: None,
            retries: DEFAULT_RETRIES,
            retry_delay: DEFAULT_RETRY_DELAY_MS,
            progressive_delay: false,
            ttl: DEFAULT_TTL_MS,
            failed_ttl: None,
            own_retries: false,
            backoff: None,
            retry_delay_max: None,
            retry_jitter: None,
            timeout: None,
            start_by: None,
            limits: Vec::new(),
            unique: None,
            traceparent: None,
            tracestate: None,
            metadata: BTreeMap::new(),
        }
    }
}

fn text_or_false<S: serde::Serializer>(text: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    match text {
        Some(text) => to.serialize_str(text),
        None => to.serialize_bool(false),
    }
}

/// Whole numbers without a fraction, as every other program writes them.
pub(super) fn plain_number<S: serde::Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        to.serialize_i64(*number as i64)
    } else {
        to.serialize_f64(*number)
    }
}

fn plain_or_none<S: serde::Serializer>(number: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => plain_number(number, to),
        None => to.serialize_none(),
    }
}

impl Options {
    /// Reads what is stored; what is missing or makes no sense has its default, as other programs write here too.
    pub fn parse(text: &str) -> Options {
        // Nearly all jobs have these, and reading JSON for each would be felt.
        static DEFAULT: LazyLock<String> = LazyLock::new(|| Options::default().to_json());
        if text == *DEFAULT {
            return Options::default();
        }
        let stored: Map<String, Json> = serde_json::from_str(text).unwrap_or_default();
        let default = Options::default();
        let number = |name: &str| match stored.get(name) {
            Some(Json::Number(number)) => number.as_f64(),
            Some(Json::String(text)) => text.parse().ok(),
            _ => None,
        };
        let flag = |name: &str| stored.get(name).and_then(Json::as_bool).unwrap_or(false);
        let text = |name: &str| stored.get(name).and_then(Json::as_str).map(Into::into);
        let at_least_zero = |name: &str| number(name).filter(|number| *number >= 0.0);
        Options {
            priority: number("priority").unwrap_or(default.priority),
            delay: number("delay").unwrap_or(default.delay),
            dependencies: texts(stored.get("dependencies")),
            dependencies_on_tags: flag("dependenciesOnTags"),
            preferred_hostname: stored
                .get("preferredHostname")
                .and_then(Json::as_str)
                .filter(|name| !name.is_empty())
                .map(Into::into),
            retries: at_least_zero("retries").map_or(default.retries, |number| number as u32),
            retry_delay: at_least_zero("retryDelay").unwrap_or(default.retry_delay),
            progressive_delay: flag("progressiveDelay"),
            ttl: at_least_zero("ttl").map_or(default.ttl, |number| number as u64),
            failed_ttl: at_least_zero("failedTtl").map(|number| number as u64),
            own_retries: flag("ownRetries"),
            backoff: stored
                .get("backoff")
                .and_then(Json::as_str)
                .and_then(|kind| kind.parse().ok()),
            retry_delay_max: at_least_zero("retryDelayMax"),
            retry_jitter: at_least_zero("retryJitter"),
            timeout: at_least_zero("timeout").map(|number| number as u64),
            start_by: at_least_zero("startBy").map(|number| number as u64),
            limits: texts(stored.get("limits")),
            unique: stored.get("unique").and_then(|how| UniqueRequest::deserialize(how).ok()),
            traceparent: text("traceparent"),
            tracestate: text("tracestate"),
            metadata: metadata(stored.get("metadata")),
        }
    }

    /// As it is stored: always all nine, since Node's scripts fail without.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain data is JSON")
    }

    /// How it waits before it is tried again, unless it leaves that to its queue.
    pub fn own_backoff(&self) -> Option<Backoff> {
        let legacy = if self.progressive_delay { BackoffKind::Linear } else { BackoffKind::Fixed };
        let says_so = self.backoff.is_some()
            || self.progressive_delay
            || self.retry_delay != DEFAULT_RETRY_DELAY_MS;
        says_so.then_some(Backoff {
            kind: self.backoff.unwrap_or(legacy),
            delay_ms: self.retry_delay,
            max_ms: self.retry_delay_max,
            jitter: self.retry_jitter,
        })
    }

    /// Sets how it waits. Node's workers know two kinds; of these, the one that grows is nearer to one that grows faster.
    pub fn set_backoff(&mut self, backoff: Backoff) {
        self.backoff = Some(backoff.kind);
        self.retry_delay = backoff.delay_ms;
        self.progressive_delay = backoff.kind != BackoffKind::Fixed;
        (self.retry_delay_max, self.retry_jitter) = (backoff.max_ms, backoff.jitter);
    }

    /// The same for a job of its own will. Most say so by what they choose, and jobs of all programs that say so are stored
    /// alike.
    pub(in crate::bee) fn choose_backoff(&mut self, backoff: Backoff) {
        self.set_backoff(backoff);
        let says_so = Options { backoff: None, ..self.clone() }.own_backoff().is_some();
        if says_so && backoff.kind != BackoffKind::Exponential {
            self.backoff = None;
        }
    }
}

fn metadata(object: Option<&Json>) -> BTreeMap<String, String> {
    let entries = object.and_then(Json::as_object).into_iter().flatten();
    entries.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

fn texts(list: Option<&Json>) -> Vec<String> {
    let items = list.and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    items.iter().filter_map(|item| item.as_str().map(Into::into)).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bee::submit::Unique;

    #[test]
    fn scripts_have_the_same_defaults() {
        let line = format!(
            "local OPTION_DEFAULTS = {{ delay = 0, retries = {DEFAULT_RETRIES}, \
             retryDelay = {DEFAULT_RETRY_DELAY_MS}, ttl = {DEFAULT_TTL_MS} }}"
        );
        assert!(include_str!("../include/events.lua").contains(&line), "not in events.lua: {line}");
    }

    #[test]
    fn a_job_has_a_backoff_of_its_own_if_it_says_anything_about_it() {
        assert_eq!(Options::default().own_backoff(), None, "its queue's");
        let mut options = Options::default();
        options.set_backoff(Backoff::default());
        assert_eq!(options.own_backoff(), Some(Backoff::default()), "the default, by choice");
        assert_eq!(Options::parse(&options.to_json()), options);
        let legacy = Options { progressive_delay: true, ..Options::default() };
        let linear = Backoff { kind: BackoffKind::Linear, ..Backoff::default() };
        assert_eq!(legacy.own_backoff(), Some(linear));
    }

    #[test]
    fn what_is_stored_is_read_again() {
        let mut options = Options { timeout: Some(5), start_by: Some(7), ..Options::default() };
        let steep = Backoff { kind: BackoffKind::Exponential, ..Backoff::default() };
        options.set_backoff(Backoff { max_ms: Some(60_000.5), jitter: Some(0.25), ..steep });
        options.own_retries = true;
        options.limits = vec!["api.example.com".into()];
        let unique = Unique::by_key("user:42").throttle_folded(Duration::from_secs(5));
        options.unique = Some((&unique).into());
        options.traceparent =
            Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into());
        options.tracestate = Some("rojo=1".into());
        options.metadata = BTreeMap::from([("request".into(), "r-7".into())]);
        assert_eq!(Options::parse(&options.to_json()), options);
        assert!(options.progressive_delay, "for Node");
    }
}
