//! What a job is to be like, word by word.

use std::time::Duration;

use keyrack_trace::TraceContext;
use serde::Serialize;
use serde_json::{Value as Json, value::RawValue};

use super::{Submission, Unique, whole_ms};
use crate::{
    Error,
    bee::{
        backoff::{Backoff, BackoffKind},
        job::DEFAULT_RETRIES,
        keys::{Hostname, Jid, LimitName, Tag, Tenant},
    },
};

impl Submission {
    /// One more argument for the worker. A job with one that cannot be JSON is refused when it is submitted.
    pub fn arg(mut self, value: impl Serialize) -> Self {
        // A `Value` in between would sort the keys of maps, and two hives would not agree on what is a duplicate.
        match serde_json::to_string(&value) {
            Ok(text) => self.args.push(text),
            Err(error) => {
                let reason = format!("argument {} cannot be JSON: {error}", self.args.len() + 1);
                self.wrong_arg.get_or_insert(reason);
            }
        }
        self
    }

    /// All arguments for the worker.
    pub fn args(mut self, values: Vec<Json>) -> Self {
        self.args = values.iter().map(Json::to_string).collect();
        self
    }

    /// All arguments for the worker, as a JSON list whose numbers keep all their digits.
    ///
    /// # Errors
    /// When the text is not a JSON list.
    pub fn args_json(mut self, list: &str) -> Result<Self, Error> {
        let items: Vec<&RawValue> = serde_json::from_str(list).map_err(|error| {
            Error::invalid("data", format!("not a JSON list of arguments: {error}"))
        })?;
        self.args = items.into_iter().map(|item| item.get().to_owned()).collect();
        Ok(self)
    }

    /// An id of one's own; submitting it again is refused, so that a repeated call makes no second job.
    pub fn id(mut self, jid: Jid) -> Self {
        self.jid = Some(jid);
        self
    }

    /// 10 runs next, 0 in order of submission, negative later. More than 10 counts as 10, as it does for Node.
    pub fn priority(mut self, priority: f64) -> Self {
        self.options.priority = priority;
        self
    }

    /// Milliseconds to wait before it may run.
    pub fn delay_ms(mut self, delay: f64) -> Self {
        self.options.delay = delay;
        self
    }

    /// Waits until this job has ended, in whatever way.
    pub fn after(mut self, jid: Jid) -> Self {
        self.dependencies.push(jid);
        self
    }

    /// Waits until all jobs that have all of this job's tags have ended.
    pub fn after_tags(mut self) -> Self {
        self.options.dependencies_on_tags = true;
        self
    }

    /// A word by which it is found.
    pub fn tag(mut self, tag: Tag) -> Self {
        self.tags.push(tag);
        self
    }

    /// The job that submits it; they are canceled together.
    pub fn parent(mut self, jid: Jid) -> Self {
        self.parent = Some(jid);
        self
    }

    /// On whose behalf it runs: the tenants of a queue take turns.
    pub fn tenant(mut self, tenant: Tenant) -> Self {
        self.tenant = Some(tenant);
        self
    }

    /// A limit of its queue that counts it ([`Limits::named`](crate::bee::Limits::named)); it starts when all of its limits let it.
    pub fn limit(mut self, limit: &LimitName) -> Self {
        if !self.options.limits.iter().any(|named| named == limit.as_str()) {
            self.options.limits.push(limit.as_str().to_owned());
        }
        self
    }

    /// A text that is kept with the job under this name, such as the id of a request. keyrack makes nothing of it.
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.metadata.insert(name.into(), value.into());
        self
    }

    /// The trace that it belongs to, and the span that submits it. By default that of the [current](keyrack_trace::current) task,
    /// such as the job whose handler submits it.
    pub fn trace(mut self, context: TraceContext) -> Self {
        self.trace = Some(context);
        self
    }

    /// The same if it names none.
    pub(in crate::bee) fn trace_unless_set(mut self, context: TraceContext) -> Self {
        self.trace.get_or_insert(context);
        self
    }

    /// The host whose workers hear of it first; any worker may take it.
    pub fn preferred_host(mut self, host: &Hostname) -> Self {
        self.options.preferred_hostname = Some(host.as_str().to_owned());
        self
    }

    /// How often it is tried again after a failure; as its queue says unless set, which is 5 by default.
    pub fn retries(mut self, retries: u32) -> Self {
        self.options.retries = retries;
        self.options.own_retries = retries == DEFAULT_RETRIES;
        self
    }

    /// Milliseconds before it is tried again; with `progressive` times the number of the retry.
    pub fn retry_delay_ms(self, delay: f64, progressive: bool) -> Self {
        let kind = if progressive { BackoffKind::Linear } else { BackoffKind::Fixed };
        self.backoff(Backoff { kind, delay_ms: delay, ..Backoff::default() })
    }

    /// How long it waits before each retry; as its queue says unless set, which is half a minute by default.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.options.choose_backoff(backoff);
        self
    }

    /// How long an attempt may take. Then it is stopped and has failed; without it, its queue or its worker says so.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(whole_ms(timeout));
        self
    }

    /// Within what time it has to start. If it has not, it ends as expired and is never run.
    pub fn start_within(mut self, time: Duration) -> Self {
        self.start_within_ms = Some(whole_ms(time));
        self
    }

    /// Which other submissions are for the same job. [`Hive::submit`](crate::bee::Hive::submit) returns the id of the job that stands for this one, and
    /// [`Hive::submit_unique`](crate::bee::Hive::submit_unique) also whether it is new.
    pub fn unique(mut self, unique: Unique) -> Self {
        self.unique = Some(unique);
        self
    }

    /// Milliseconds for which its result is kept; half an hour unless set.
    pub fn ttl_ms(mut self, ttl: u64) -> Self {
        self.options.ttl = ttl;
        self
    }

    /// Milliseconds for which it is kept if it fails: as its queue says unless set, which is 7 days by default. 0 is as long
    /// as its result would be.
    pub fn failed_ttl_ms(mut self, ttl: u64) -> Self {
        self.options.failed_ttl = Some(ttl);
        self
    }
}
