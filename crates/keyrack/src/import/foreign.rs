//! Jobs of other libraries, and what they become here.

use std::{borrow::Cow, collections::HashMap, fmt, time::Duration};

use futures_util::TryStreamExt as _;
use keyrack_jobs::bee::{
    Backoff, Submission,
    keys::{Jid, QueueName, Tag},
};
use keyrack_lint::{WalkRate, walk_keys};
use keyrack_store::{Connection, Store};

use super::{
    bullmq, celery,
    place::{Entry, Place},
    rq,
};

/// For how long a job is kept after its end: an import that is repeated within this time finds it.
const KEPT_MS: u64 = 7 * 86_400_000;

/// A library whose queues can be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Library {
    /// Celery with Redis as its broker
    Celery,
    /// RQ
    Rq,
    /// BullMQ
    #[value(name = "bullmq")]
    BullMq,
}

/// A job of a library.
#[derive(Debug, Clone)]
pub(super) struct Foreign {
    /// Its id, which no other job of the library has.
    pub(super) id: String,
    /// The task or queue by whose name its queue here is found.
    pub(super) name: String,
    /// Its arguments as a JSON list.
    pub(super) args: String,
    /// When it is due, in Unix milliseconds; nothing for now.
    pub(super) due_ms: Option<f64>,
    /// When it may not start any more, in Unix milliseconds.
    pub(super) expires_ms: Option<f64>,
    /// In our measure: less than 0 is later.
    pub(super) priority: f64,
    /// As the queue says, if the library leaves it to its workers.
    pub(super) retries: Option<u32>,
    pub(super) backoff: Option<Backoff>,
    pub(super) timeout: Option<Duration>,
    pub(super) tag: Option<String>,
    /// Its other keys, which are gone with it.
    pub(super) keys: Vec<String>,
}

impl Foreign {
    /// A job that waits, with nothing special about it.
    pub(super) fn new(id: &str, name: &str, args: String) -> Foreign {
        Foreign {
            id: id.to_owned(),
            name: name.to_owned(),
            args,
            due_ms: None,
            expires_ms: None,
            priority: 0.0,
            retries: None,
            backoff: None,
            timeout: None,
            tag: None,
            keys: Vec::new(),
        }
    }

    /// What it becomes here. Names are looked up among those that were given others.
    pub(super) fn submission(
        &self,
        library: Library,
        names: &HashMap<String, String>,
        now_ms: f64,
    ) -> Result<Submission, Unfit> {
        let name = names.get(&self.name).unwrap_or(&self.name);
        let queue = QueueName::new(name.as_str()).map_err(|error| Unfit::new(error.to_string()))?;
        let id = Jid::derived(&queue, &format!("{library} {}", self.id));
        let mut job = Submission::to(queue).id(id).priority(self.priority).ttl_ms(KEPT_MS);
        job = job.args_json(&self.args).map_err(|error| Unfit::new(error.to_string()))?;
        if let Some(due) = self.due_ms {
            job = job.delay_ms((due - now_ms).max(0.0).round());
        }
        if let Some(expires) = self.expires_ms {
            if expires <= now_ms {
                return Err(Unfit::new("it has expired"));
            }
            job = job.start_within(Duration::from_millis((expires - now_ms) as u64));
        }
        if let Some(retries) = self.retries {
            job = job.retries(retries);
        }
        if let Some(backoff) = self.backoff {
            job = job.backoff(backoff);
        }
        if let Some(timeout) = self.timeout {
            job = job.timeout(timeout);
        }
        // A name that cannot be a tag is only of use to people.
        if let Some(tag) = self.tag.as_deref().and_then(|tag| Tag::new(tag).ok()) {
            job = job.tag(tag);
        }
        job.validate().map_err(|error| Unfit::new(error.to_string()))?;
        Ok(job)
    }
}

/// Why a job is not moved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Unfit(Cow<'static, str>);

impl Unfit {
    pub(super) fn new(reason: impl Into<Cow<'static, str>>) -> Unfit {
        Unfit(reason.into())
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Library::Celery => "celery",
            Library::Rq => "rq",
            Library::BullMq => "bullmq",
        })
    }
}

impl Library {
    /// Where it keeps jobs that wait, of these queues or of all.
    pub(super) async fn places(
        self,
        source: &Store,
        prefix: Option<&str>,
        queues: &[String],
    ) -> anyhow::Result<Vec<Place>> {
        match self {
            Library::Celery => celery::places(source, prefix.unwrap_or(""), queues).await,
            Library::Rq => rq::places(source, queues).await,
            Library::BullMq => bullmq::places(source, prefix.unwrap_or("bull"), queues).await,
        }
    }

    /// The jobs that entries of a place stand for.
    pub(super) async fn read(
        self,
        from: &mut Connection,
        prefix: Option<&str>,
        place: &Place,
        entries: &[Entry],
    ) -> anyhow::Result<Vec<Result<Foreign, Unfit>>> {
        match self {
            Library::Celery => Ok(entries.iter().map(|entry| celery::read(place, entry)).collect()),
            Library::Rq => rq::read(from, place, entries).await,
            Library::BullMq => bullmq::read(from, prefix.unwrap_or("bull"), place, entries).await,
        }
    }

    /// Jobs of these queues, or of all, that are left where they are without a look at each.
    pub(super) async fn others(
        self,
        source: &Store,
        prefix: Option<&str>,
        queues: &[String],
    ) -> anyhow::Result<Vec<(Unfit, u64)>> {
        match self {
            Library::Celery => celery::others(source, prefix.unwrap_or("")).await,
            Library::Rq => rq::others(source, queues).await,
            Library::BullMq => bullmq::others(source, prefix.unwrap_or("bull"), queues).await,
        }
    }
}

/// All keys of the source's database that fit a pattern, in order.
pub(super) async fn keys_like(source: &Store, pattern: &str) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for keyspace in &source.own_keyspaces().await? {
        let pace = WalkRate { keys_per_second: None };
        let mut batches = std::pin::pin!(walk_keys(keyspace, Some(pattern), pace));
        while let Some(keys) = batches.try_next().await? {
            found.extend(keys.into_iter().filter_map(|key| String::from_utf8(key).ok()));
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// A text for a pattern of SCAN that means itself.
pub(super) fn literal(text: &str) -> String {
    let special = |letter| matches!(letter, '*' | '?' | '[' | ']' | '\\');
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if special(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}
