//! Why jobs failed: the failures of a queue in groups, one for each cause.
//!
//! Failures of one cause have the same [`Fingerprint`]: the type of the error, and its message without numbers, ids, quoted
//! values, paths and the like. Jobs have no name but their queue, so groups are those of a queue; the id of a group does not
//! depend on it, and the same failure has the same id in every queue.
//!
//! Every failed attempt counts, in the call that settles it, and costs a few commands. A completed job costs nothing. The caller
//! makes the fingerprint. The script makes those of failures that it finds by itself: an attempt that ran for too long, and a job
//! that lost its workers. A job that did not start in time has expired, and is in no group. What Node workers or earlier versions
//! of keyrack have failed is grouped once a server goes through the lists of the queue, by its last exception or its reason.
//!
//! A queue has at most [`GROUPS_MAX`] groups. When a new one comes, the group makes room that was seen last the longest ago, where
//! each doubling of its count makes up for six hours. Its numbers are added to [`OtherErrors`]: so any number of different
//! messages takes bounded room, and what fails often or lately stays.
//!
//! In reading order: [`fingerprint`] and `normalise` tell causes apart, `record` reads what is stored, `mute` keeps a group from
//! raising alerts, `retry` runs its jobs again, `note` groups what others have failed.

pub mod fingerprint;
mod mute;
mod normalise;
mod note;
mod record;
mod retry;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use keyrack_store::Script;
use serde::Serialize;

pub use self::{
    fingerprint::Fingerprint,
    mute::{MUTES_MAX, Mute, MuteRequest, check_version},
    record::{ErrorGroup, ErrorHour, ErrorJob, OtherErrors},
    retry::GroupRetry,
};
use super::{
    hive::Hive,
    keys::{self, QueueName},
};
use crate::Error;

static ERRORS: Script = bee_script!("errors.lua");
// The path of a script is that from the file which names it, so all are named here.
static MUTE: Script = bee_script!("errors/mute.lua");
static NOTE: Script = bee_script!("errors/note.lua");

/// The most groups of a queue. `include/errors.lua` has the same number.
pub const GROUPS_MAX: usize = 100;
/// Queues that are asked at once, and in all, for a group.
const AT_ONCE: usize = 32;
/// The same of a command that reads one member.
const RANKS_AT_ONCE: usize = 500;
const QUEUES_MAX: usize = 10_000;

/// The failures of a queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Errors {
    /// The queue.
    pub queue: String,
    /// The groups, the last seen first.
    pub groups: Vec<ErrorGroup>,
    /// What was counted of groups that had to make room for others.
    pub other: Option<OtherErrors>,
}

/// How many groups of failures a queue has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErrorCounts {
    /// Groups.
    pub groups: u64,
    /// How often a group had to make room for another.
    pub folded: u64,
    /// Failed attempts that were counted in those.
    pub in_other: u64,
}

/// Which groups are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorQuery {
    /// Text in their type or message, in small or capital letters.
    pub text: Option<String>,
    /// Whether muted ones are left out.
    pub without_muted: bool,
}

impl ErrorQuery {
    fn is_met_by(&self, group: &ErrorGroup) -> bool {
        let has = |text: &String| {
            let text = text.to_lowercase();
            [&group.kind, &group.text, &group.message]
                .iter()
                .any(|place| place.to_lowercase().contains(&text))
                || group.id == text
        };
        self.text.as_ref().is_none_or(has) && !(self.without_muted && group.mute.is_some())
    }
}

/// The fields of a hash.
type Fields = Vec<(String, String)>;

impl Hive {
    /// The failures of a queue, in groups.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn errors(&self, queue: &QueueName, query: &ErrorQuery) -> Result<Errors, Error> {
        let (groups, mutes): (Fields, Fields) = self.call_on_queue(&ERRORS, queue).run().await?;
        let mut errors = record::parse(queue, &groups, &mutes, self.now_ms());
        errors.groups.retain(|group| query.is_met_by(group));
        Ok(errors)
    }

    /// The failures of all queues, in groups: those queues first that failed last or most often. Besides, how many more queues have
    /// groups that are not among them, of which there are none up to `max`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn errors_of_all(
        &self,
        query: &ErrorQuery,
        max: usize,
    ) -> Result<(Vec<Errors>, usize), Error> {
        let queues = self.queues().await?;
        let ranks = stream::iter(queues.into_iter().take(QUEUES_MAX)).map(async |queue| {
            let mut cmd = redis::cmd("ZREVRANGE");
            cmd.arg(&*self.store().place(&keys::error_ranks(&queue, &queue.group())));
            cmd.arg(0).arg(0).arg("WITHSCORES");
            let first: Vec<(String, f64)> = cmd.query_async(&mut self.store().connection()).await?;
            Ok::<_, Error>(first.first().map(|(_, rank)| (*rank, queue)))
        });
        let mut ranks: Vec<(f64, QueueName)> = ranks
            .buffered(RANKS_AT_ONCE)
            .try_filter_map(|ranked| std::future::ready(Ok(ranked)))
            .try_collect()
            .await?;
        ranks.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let left_out = ranks.len().saturating_sub(max);
        ranks.truncate(max);
        let read = stream::iter(ranks).map(async |(_, queue)| self.errors(&queue, query).await);
        Ok((read.buffered(AT_ONCE).try_collect().await?, left_out))
    }

    /// One group of failures.
    ///
    /// # Errors
    /// [`Error::NoSuchErrorGroup`], or when the store fails.
    pub async fn error_group(&self, queue: &QueueName, id: &str) -> Result<ErrorGroup, Error> {
        let errors = self.errors(queue, &ErrorQuery::default()).await?;
        let group = errors.groups.into_iter().find(|group| group.id == id);
        group.ok_or_else(|| no_such_group(queue, id))
    }

    /// How many groups of failures a queue has, and how many had to make room.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn error_counts(&self, queue: &QueueName) -> Result<ErrorCounts, Error> {
        let group = queue.group();
        let mut reads = redis::pipe();
        reads.cmd("ZCARD").arg(&*self.store().place(&keys::error_ranks(queue, &group)));
        reads
            .cmd("HGET")
            .arg(&*self.store().place(&keys::errors(queue, &group)))
            .arg(record::OTHER);
        let (groups, other): (u64, Option<String>) =
            reads.query_async(&mut self.store().connection()).await?;
        let other = other.and_then(|stored| record::other(&stored)).unwrap_or_default();
        Ok(ErrorCounts { groups, folded: other.folded, in_other: other.count })
    }

    /// The queues in which there is a group, by name.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn queues_with_error(&self, id: &str) -> Result<Vec<String>, Error> {
        let queues = self.queues().await?;
        let asked = stream::iter(queues.into_iter().take(QUEUES_MAX)).map(async |queue| {
            let mut cmd = redis::cmd("HEXISTS");
            cmd.arg(&*self.store().place(&keys::errors(&queue, &queue.group()))).arg(id);
            let has: bool = cmd.query_async(&mut self.store().connection()).await?;
            Ok::<_, Error>(has.then(|| queue.to_string()))
        });
        asked
            .buffered(AT_ONCE)
            .try_filter_map(|queue| std::future::ready(Ok(queue)))
            .try_collect()
            .await
    }
}

fn no_such_group(queue: &QueueName, id: &str) -> Error {
    Error::NoSuchErrorGroup { queue: queue.to_string(), group: id.to_owned() }
}
