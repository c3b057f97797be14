//! A job to be submitted, as JSON.

use std::collections::BTreeMap;

use keyrack_trace::{InvalidContext, TraceContext};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Submission, UniqueRequest, checked_priority};
use crate::{
    Error,
    bee::{
        backoff::{Backoff, BackoffKind},
        job::DEFAULT_RETRY_DELAY_MS,
        keys::{Hostname, Jid, LimitName, QueueName, Tag, Tenant},
    },
};

/// A job to be submitted, as JSON: the words are those of the stored job, and times are in milliseconds.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use keyrack_jobs::bee::{SubmissionBody, keys::QueueName};
///
/// let body: SubmissionBody =
///     serde_json::from_str(r#"{"data": ["alice@example.com"], "priority": 3, "tags": ["welcome"]}"#)?;
/// let job = body.to_queue(QueueName::new("emails")?)?;
/// assert_eq!(job.queue().as_str(), "emails");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SubmissionBody {
    /// The arguments for the worker.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub data: Option<Box<RawValue>>,
    /// An id of one's own; submitting it again is refused.
    pub jid: Option<String>,
    /// 10 runs next, 0 in order of submission, negative later.
    pub priority: f64,
    /// How long to wait before it may run.
    pub delay: f64,
    /// Jobs that have to end first.
    pub dependencies: Vec<String>,
    /// Whether all jobs with all of this job's tags have to end first.
    pub dependencies_on_tags: bool,
    /// The host whose workers hear of it first.
    pub preferred_hostname: Option<String>,
    /// How often it is tried again after a failure; 5 unless given.
    pub retries: Option<u32>,
    /// How long after a failure it is tried again; half a minute unless given.
    pub retry_delay: Option<f64>,
    /// Whether to wait longer with each try.
    pub progressive_delay: bool,
    /// How the waits grow from try to try; as `progressiveDelay` says unless given.
    pub backoff: Option<BackoffKind>,
    /// The longest wait.
    pub retry_delay_max: Option<f64>,
    /// The share of each wait that is left to chance, from 0 to 1.
    pub retry_jitter: Option<f64>,
    /// How long an attempt may take.
    pub timeout: Option<u64>,
    /// Within what time it has to start; then it ends as expired.
    pub start_within: Option<u64>,
    /// For how long its result is kept; half an hour unless given.
    pub ttl: Option<u64>,
    /// For how long it is kept if it fails; as its queue says unless given, 7 days by default.
    pub failed_ttl: Option<u64>,
    /// Words by which it is found.
    pub tags: Vec<String>,
    /// The job that submits it; they are canceled together.
    pub parent: Option<String>,
    /// On whose behalf it runs.
    pub tenant: Option<String>,
    /// The limits of its queue that count it, by name.
    pub limits: Vec<String>,
    /// Which other submissions are for the same job.
    pub unique: Option<UniqueRequest>,
    /// Texts that are kept with it, by name.
    pub metadata: BTreeMap<String, String>,
    /// The span that submits it, as the W3C header of that name has it.
    pub traceparent: Option<String>,
    /// What tracing systems have added to that.
    pub tracestate: Option<String>,
}

impl SubmissionBody {
    /// The job for this queue.
    ///
    /// # Errors
    /// When its data is no list, or one of its names cannot stand in a key. Everything else is looked at when it is
    /// submitted.
    pub fn to_queue(self, queue: QueueName) -> Result<Submission, Error> {
        let priority = checked_priority(self.priority)?;
        let mut job = Submission::to(queue).priority(priority).delay_ms(self.delay);
        if let Some(data) = &self.data {
            job = job.args_json(data.get())?;
        }
        if let Some(jid) = self.jid {
            job = job.id(Error::named("jid", Jid::new(jid))?);
        }
        for jid in self.dependencies {
            job = job.after(Error::named("dependencies", Jid::new(jid))?);
        }
        if self.dependencies_on_tags {
            job = job.after_tags();
        }
        if let Some(host) = self.preferred_hostname {
            job = job.preferred_host(&Error::named("preferredHostname", Hostname::new(host))?);
        }
        for tag in self.tags {
            job = job.tag(Error::named("tags", Tag::new(tag))?);
        }
        if let Some(parent) = self.parent {
            job = job.parent(Error::named("parent", Jid::new(parent))?);
        }
        if let Some(tenant) = self.tenant {
            job = job.tenant(Error::named("tenant", Tenant::new(tenant))?);
        }
        for limit in self.limits {
            job = job.limit(&Error::named("limits", LimitName::new(limit))?);
        }
        let asked = BackoffWish {
            kind: self.backoff,
            progressive: self.progressive_delay,
            delay: self.retry_delay,
            longest: self.retry_delay_max,
            jitter: self.retry_jitter,
        };
        if let Some(backoff) = asked.backoff()? {
            job = job.backoff(backoff);
        }
        if let Some(retries) = self.retries {
            job = job.retries(retries);
        }
        job.unique = self.unique.map(UniqueRequest::unique).transpose()?;
        job.options.timeout = self.timeout;
        job.start_within_ms = self.start_within;
        job.options.ttl = self.ttl.unwrap_or(job.options.ttl);
        job.options.failed_ttl = self.failed_ttl;
        job.options.metadata = self.metadata;
        job.trace = trace_context(self.traceparent.as_deref(), self.tracestate.as_deref())?;
        Ok(job)
    }
}

/// The context that a body or a command names, if it does.
///
/// # Errors
/// When one of the two is not valid, or there is only `tracestate`.
pub fn trace_context(
    traceparent: Option<&str>,
    tracestate: Option<&str>,
) -> Result<Option<TraceContext>, Error> {
    let Some(traceparent) = traceparent else {
        return match tracestate {
            Some(_) => Err(Error::invalid("tracestate", "there is no traceparent; give both")),
            None => Ok(None),
        };
    };
    let wrong = |field| move |error: InvalidContext| Error::invalid(field, error.to_string());
    TraceContext::parse(traceparent, None).map_err(wrong("traceparent"))?;
    TraceContext::parse(traceparent, tracestate).map(Some).map_err(wrong("tracestate"))
}

/// What a body or a command says about the waits between retries.
#[derive(Debug, Clone, Copy, Default)]
pub struct BackoffWish {
    /// How they grow.
    pub kind: Option<BackoffKind>,
    /// The older word for linear.
    pub progressive: bool,
    /// The first, in milliseconds.
    pub delay: Option<f64>,
    /// The longest, in milliseconds.
    pub longest: Option<f64>,
    /// The share that is left to chance.
    pub jitter: Option<f64>,
}

impl BackoffWish {
    /// The backoff, if anything was said about it.
    ///
    /// # Errors
    /// When the two words for how it grows contradict each other.
    pub fn backoff(self) -> Result<Option<Backoff>, Error> {
        if let Some(kind @ (BackoffKind::Fixed | BackoffKind::Exponential)) = self.kind
            && self.progressive
        {
            let reason = format!("{kind} and progressive are different; give one of them");
            return Err(Error::invalid("backoff", reason));
        }
        let says_so = self.kind.is_some()
            || self.progressive
            || self.delay.is_some()
            || self.longest.is_some()
            || self.jitter.is_some();
        let legacy = if self.progressive { BackoffKind::Linear } else { BackoffKind::Fixed };
        Ok(says_so.then(|| Backoff {
            kind: self.kind.unwrap_or(legacy),
            delay_ms: self.delay.unwrap_or(DEFAULT_RETRY_DELAY_MS),
            max_ms: self.longest,
            jitter: self.jitter,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: u64 = 1_000_000;

    fn queue() -> QueueName {
        QueueName::new("emails").expect("a queue")
    }

    fn body(text: &str) -> Result<SubmissionBody, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn every_word_of_a_body_reaches_the_job() {
        let body = body(
            r#"{"data": [1.0000000000000000001], "jid": "j", "priority": 3, "delay": 5, "dependencies": ["d"],
                "dependenciesOnTags": true, "preferredHostname": "h", "retries": 2, "retryDelay": 7,
                "backoff": "exponential", "retryDelayMax": 70, "retryJitter": 0.5, "timeout": 13, "startWithin": 17,
                "ttl": 9, "failedTtl": 11, "tags": ["t"], "parent": "p", "tenant": "acme",
                "limits": ["gpu", "api.example.com", "gpu"], "unique": {"key": "k", "for": 19}}"#,
        );
        let job = body.and_then(|body| body.to_queue(queue()).map_err(|error| error.to_string()));
        let job = job.expect("a job").prepare(NOW_MS).expect("a good job");
        assert_eq!(job.data, "[1.0000000000000000001]");
        assert_eq!((job.jid.as_str(), job.tags.as_str()), ("j", r#"["t"]"#));
        assert_eq!(
            job.options,
            r#"{"priority":3,"delay":5,"dependencies":["d"],"dependenciesOnTags":true,"preferredHostname":"h","retries":2,"retryDelay":7,"progressiveDelay":true,"ttl":9,"failedTtl":11,"backoff":"exponential","retryDelayMax":70,"retryJitter":0.5,"timeout":13,"startBy":1000017,"limits":["gpu","api.example.com"],"unique":{"key":"k","for":19}}"#
        );
        let rest: serde_json::Value = serde_json::from_str(&job.rest).expect("JSON");
        assert_eq!((&rest["parent"], &rest["tenant"]), (&"p".into(), &"acme".into()));
        let field = r#"["key","k","acme"]"#;
        assert_eq!(rest["unique"], serde_json::json!({ "field": field, "time": 19 }));
    }

    #[test]
    fn an_empty_body_is_a_job_with_the_defaults() {
        let job = body("{}").expect("a body").to_queue(queue()).expect("a job");
        let prepared = job.clone().prepare(NOW_MS).expect("a good job");
        assert_eq!((prepared.data.as_str(), prepared.rest.as_str()), ("[]", ""));
        assert_eq!(job.options, crate::bee::Options::default());
    }

    #[test]
    fn what_is_no_job_is_refused() {
        assert!(
            body(r#"{"email": "x"}"#).expect_err("no such word").contains("unknown field `email`")
        );
        let job = body(r#"{"data": {"a": 1}}"#).expect("a body").to_queue(queue());
        assert!(job.expect_err("no list").to_string().starts_with("data: not a JSON list"));
        let job = body(r#"{"priority": 11}"#).expect("a body").to_queue(queue());
        assert!(
            job.expect_err("too much").to_string().starts_with("priority: 11; give at most 10")
        );
        assert!(body(r#"{"tags": [""]}"#).expect("a body").to_queue(queue()).is_err());
    }
}
