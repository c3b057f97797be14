//! A submission as the script takes it.

use serde_json::{Map, Value as Json};

use super::{DATA_BYTES_MAX, StoredJob, Submission, SubmitOutcome, UniqueRequest};
use crate::{
    Error,
    bee::{
        job::{Job, Options},
        json_compat,
        keys::{Jid, QueueName, Tag, Tenant},
    },
};

impl Submission {
    /// Whether those before it in a list have to be submitted before it.
    pub(super) fn needs_order(&self) -> bool {
        let waits = !self.dependencies.is_empty() || self.options.dependencies_on_tags;
        waits || self.unique.is_some()
    }
    /// Whether a stored job may be what this submission has made: as far as nobody can have changed it since.
    pub fn made(&self, job: &Job) -> bool {
        let (asked, stored) = (&self.options, job.options());
        let dependencies: Vec<String> = self.dependencies.iter().map(ToString::to_string).collect();
        let args: Vec<Json> = serde_json::from_str(&self.data_json()).unwrap_or_default();
        let is_same = args == job.args()
            && self.queue.as_str() == job.queue()
            && self.parent.as_ref().map(Jid::as_str) == job.parent()
            && self.tenant.as_ref().map(Tenant::as_str) == job.tenant()
            && (asked.priority, asked.delay, &dependencies, asked.dependencies_on_tags)
                == (
                    stored.priority,
                    stored.delay,
                    &stored.dependencies,
                    stored.dependencies_on_tags,
                )
            && asked.preferred_hostname == stored.preferred_hostname
            && asked.limits == stored.limits
            && asked.metadata == stored.metadata;
        // A worker may change the others, and the tags.
        let is_untouched = job.attempts() == 0;
        let tags: Vec<&str> = self.tags.iter().map(Tag::as_str).collect();
        let retries = |options: &Options| (options.retries, options.own_backoff(), options.timeout);
        let (rest, stored_rest) = (retries(asked), retries(&stored));
        let kept = (asked.ttl, asked.failed_ttl) == (stored.ttl, stored.failed_ttl);
        is_same && (!is_untouched || (tags == job.tags() && rest == stored_rest && kept))
    }

    /// The six values that the script takes for it at this time.
    pub(super) fn prepare(mut self, now_ms: u64) -> Result<Prepared, Error> {
        self.check()?;
        let digest = self.is_remembered.then(|| self.digest());
        let group = self.queue.group();
        let is_fresh = self.jid.is_none();
        let jid = self.jid.take().unwrap_or_else(|| Jid::fresh(&group));
        let data = self.stored_data()?;
        self.options.dependencies = self.dependencies.iter().map(ToString::to_string).collect();
        self.options.start_by = self.start_within_ms.map(|within| now_ms + within);
        // Not in the digest, which has it anyway.
        self.options.unique = self.unique.as_ref().map(UniqueRequest::from);
        if let Some(trace) = &self.trace {
            // Not in the digest: a request that is sent again may well be another span.
            self.options.traceparent = Some(trace.traceparent());
            self.options.tracestate = trace.tracestate().map(Into::into);
        }
        let tags: Vec<&str> = self.tags.iter().map(Tag::as_str).collect();
        Ok(Prepared {
            data,
            options: self.options.to_json(),
            priority: self.options.priority,
            tags: serde_json::to_string(&tags).expect("texts are JSON"),
            rest: self.rest(digest.as_deref()),
            digest,
            parent: self.parent,
            queue: self.queue,
            jid,
            is_fresh,
        })
    }

    /// The arguments as they are stored.
    pub(in crate::bee) fn stored_data(&self) -> Result<String, Error> {
        let data = self.data_json();
        if data.len() > DATA_BYTES_MAX {
            let reason = format!(
                "{} bytes; at most {DATA_BYTES_MAX} are taken, so store it elsewhere and pass its name",
                data.len()
            );
            return Err(Error::invalid("data", reason));
        }
        let data = json_compat::cjson_order(&data)
            .map_err(|error| Error::invalid("data", error.to_string()))?;
        Ok(data.into_owned())
    }

    /// What few jobs have, as the script's JSON object; empty when it has nothing.
    pub(super) fn rest(&self, digest: Option<&str>) -> String {
        let mut rest = Map::new();
        let options = &self.options;
        if options.delay > 0.0 {
            rest.insert("delay".into(), options.delay.into());
        }
        if !options.dependencies.is_empty() {
            rest.insert("dependencies".into(), options.dependencies.clone().into());
        }
        if options.dependencies_on_tags {
            rest.insert("on_tags".into(), true.into());
        }
        if let Some(start_by) = options.start_by {
            rest.insert("start_by".into(), start_by.into());
        }
        if let Some(unique) = &self.unique {
            rest.insert("unique".into(), unique.for_script(self));
        }
        let texts = [
            ("parent", self.parent.as_ref().map(Jid::as_str)),
            ("host", options.preferred_hostname.as_deref()),
            ("tenant", self.tenant.as_ref().map(Tenant::as_str)),
            ("digest", digest),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                rest.insert(name.into(), text.into());
            }
        }
        if rest.is_empty() { String::new() } else { Json::Object(rest).to_string() }
    }
}

/// A submission as the script takes it.
pub(super) struct Prepared {
    pub(super) queue: QueueName,
    pub(super) jid: Jid,
    /// Nobody else has had this id.
    pub(super) is_fresh: bool,
    pub(super) data: String,
    pub(super) options: String,
    pub(super) priority: f64,
    pub(super) tags: String,
    pub(super) rest: String,
    pub(super) parent: Option<Jid>,
    pub(super) digest: Option<String>,
}

impl Prepared {
    pub(super) fn bytes(&self) -> usize {
        self.data.len() + self.options.len() + self.tags.len() + self.rest.len()
    }

    /// What became of it, by the script's word.
    pub(super) fn outcome(self, word: &str, is_repeat: bool) -> Result<StoredJob, Error> {
        let created = |jid| Ok(StoredJob { jid, outcome: SubmitOutcome::Created });
        if let Some((word, jid)) = word.split_once(' ') {
            let is_replaced = word == "REPLACED";
            let outcome =
                if is_replaced { SubmitOutcome::Replaced } else { SubmitOutcome::Existing };
            return Ok(StoredJob { jid: Jid::new(jid)?, outcome });
        }
        match word {
            "ok" => created(self.jid),
            // An earlier call was carried out and its answer lost. A cluster's client may have repeated it by itself.
            "EXISTS" if is_repeat || self.is_fresh => created(self.jid),
            "EXISTS" => Err(Error::Exists { jid: self.jid.to_string() }),
            _ => Err(Error::ParentCanceled {
                parent: self.parent.map(|jid| jid.to_string()).unwrap_or_default(),
            }),
        }
    }
}
