//! The outbox: ends of jobs that are kept until somebody has handed them on, whatever happens to
//! the servers meanwhile.
//!
//! An end is written by the script that ends the job, so there is no end without its entry. It is
//! taken out only after it was handed on. Who dies in between hands it on again, so a receiver has
//! to know each end by its [`JobEnd::id`].
//!
//! Jobs that Node workers end are not written: their scripts know nothing of the outbox. On a
//! cluster, each group has an outbox of its own. A group learns from the default one what is asked
//! of all queues when its first queue is listed, which is before its first job is submitted; groups
//! of Node's queues when a server calls [`Hive::set_outbox_kinds`], every second.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_keys::Layout;
use keyrack_store::Script;
use serde_json::{Map, Value as Json};

use super::{
    hive::Hive,
    keys::{self, Group, QueueName},
};
use crate::Error;

static HANDED_ON: Script = keyrack_store::script!("outbox/handed_on.lua");

/// The statuses of jobs that end, as far as they can be written down.
pub const OUTBOX_STATUSES: &[&str] = &["completed", "failed", "canceled", "expired", "duplicate"];

/// Which ends are written down: for each queue, or for all of them, the statuses.
pub type OutboxKinds = BTreeMap<Option<QueueName>, BTreeSet<&'static str>>;

/// The end of a job, as it was written down.
#[derive(Debug, Clone, PartialEq)]
pub struct JobEnd {
    /// How it ended.
    pub status: String,
    /// The job.
    pub jid: String,
    /// Its queue.
    pub queue: String,
    /// When it ended, in unix milliseconds.
    pub at: u64,
    /// All that was written down.
    pub fields: Map<String, Json>,
}

impl JobEnd {
    /// Reads an entry; what is no end is nothing.
    fn parse(text: &str) -> Option<JobEnd> {
        let mut fields: Map<String, Json> = serde_json::from_str(text).ok()?;
        let text = |name: &str| fields.get(name)?.as_str().map(str::to_owned);
        let (status, jid, queue) = (text("status")?, text("jid")?, text("queue")?);
        let at = fields.get("at")?.as_u64()?;
        // Lua writes an empty list as `{}`.
        for name in ["tags", "data"] {
            if let Some(value) = fields.get_mut(name)
                && value.as_object().is_some_and(Map::is_empty)
            {
                *value = Json::Array(Vec::new());
            }
        }
        Some(JobEnd { status, jid, queue, at, fields })
    }

    /// What tells this end from all others, and is the same whenever it is read.
    pub fn id(&self) -> String {
        let attempts = self.fields.get("attempts").and_then(Json::as_u64).unwrap_or_default();
        format!("{} {} {} {attempts}", self.jid, self.status, self.at)
    }
}

/// Some ends of a group, oldest first.
#[derive(Debug)]
pub struct OutboxPage {
    group: Group,
    /// The first entry as it is stored.
    first: String,
    n_entries: usize,
    /// The ends.
    pub ends: Vec<JobEnd>,
}

impl Hive {
    /// Says which ends are written down from now on; what is not among them no more.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn set_outbox_kinds(&self, kinds: &OutboxKinds) -> Result<(), Error> {
        let mut groups = self.outbox_groups().await?;
        groups.extend(kinds.keys().flatten().map(|queue| self.outbox_group(queue)));
        for group in groups {
            let of_group = kinds.iter().filter(|(queue, statuses)| {
                let is_here = queue.as_ref().is_none_or(|queue| self.outbox_group(queue) == group);
                is_here && !statuses.is_empty()
            });
            let fields: BTreeMap<String, String> = of_group
                .map(|(queue, statuses)| {
                    let statuses: String =
                        statuses.iter().map(|word| format!(" {word} ")).collect();
                    (queue.as_ref().map(ToString::to_string).unwrap_or_default(), statuses)
                })
                .collect();
            self.store_outbox_kinds(&group, fields).await?;
        }
        Ok(())
    }

    /// Lets the group of a new queue write down what is asked of all queues, before its first job
    /// can end.
    pub(super) async fn share_outbox_kinds(&self, queue: &QueueName) -> Result<(), Error> {
        if self.store().layout() == Layout::Documented {
            return Ok(());
        }
        let all = keys::outbox_kinds(&Group::default_group());
        let mut cmd = redis::cmd("HGET");
        cmd.arg(&*self.store().place(&all)).arg("");
        let statuses: Option<String> = cmd.query_async(&mut self.store().connection()).await?;
        let Some(statuses) = statuses else { return Ok(()) };
        let mut cmd = redis::cmd("HSETNX");
        cmd.arg(&*self.store().place(&keys::outbox_kinds(&queue.group()))).arg("").arg(statuses);
        Ok(cmd.exec_async(&mut self.store().connection()).await?)
    }

    async fn store_outbox_kinds(
        &self,
        group: &Group,
        fields: BTreeMap<String, String>,
    ) -> Result<(), Error> {
        let key = keys::outbox_kinds(group);
        let key = self.store().place(&key);
        let mut connection = self.store().connection();
        let stored: BTreeMap<String, String> =
            redis::cmd("HGETALL").arg(&*key).query_async(&mut connection).await?;
        if stored == fields {
            return Ok(());
        }
        // No job may end between the old and the new ones.
        let mut change = redis::pipe();
        change.atomic();
        let gone: Vec<_> = stored.keys().filter(|queue| !fields.contains_key(*queue)).collect();
        if !gone.is_empty() {
            change.cmd("HDEL").arg(&*key).arg(gone).ignore();
        }
        for (queue, statuses) in fields {
            change.cmd("HSET").arg(&*key).arg(queue).arg(statuses).ignore();
        }
        Ok(change.exec_async(&mut connection).await?)
    }

    /// The oldest ends that are still to be handed on, of each group that has some.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn outbox(&self, max: usize) -> Result<Vec<OutboxPage>, Error> {
        let mut pages = Vec::new();
        for group in self.outbox_groups().await? {
            let mut cmd = redis::cmd("LRANGE");
            cmd.arg(&*self.store().place(&keys::outbox(&group))).arg(0).arg(max.max(1) - 1);
            let texts: Vec<String> = cmd.query_async(&mut self.store().connection()).await?;
            let ends = texts.iter().filter_map(|text| JobEnd::parse(text)).collect();
            let n_entries = texts.len();
            if let Some(first) = texts.into_iter().next() {
                pages.push(OutboxPage { group, first, n_entries, ends });
            }
        }
        Ok(pages)
    }

    /// Takes ends out that were handed on. If others have taken some of them out, it takes none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn handed_on(&self, page: OutboxPage) -> Result<(), Error> {
        let call = HANDED_ON.call(self.store()).key("outbox", &keys::outbox(&page.group));
        Ok(call.arg("first", page.first).arg("n_entries", page.n_entries).run().await?)
    }

    /// How many ends were dropped because nobody handed them on.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn outbox_dropped(&self) -> Result<u64, Error> {
        let mut dropped = 0;
        for group in self.outbox_groups().await? {
            let mut cmd = redis::cmd("GET");
            cmd.arg(&*self.store().place(&keys::outbox_dropped(&group)));
            let of_group: Option<u64> = cmd.query_async(&mut self.store().connection()).await?;
            dropped += of_group.unwrap_or_default();
        }
        Ok(dropped)
    }

    /// The groups with an outbox of their own: one for all where groups change no key.
    async fn outbox_groups(&self) -> Result<BTreeSet<Group>, Error> {
        let queues = match self.store().layout() {
            Layout::Documented => Vec::new(),
            Layout::Cluster => self.queues().await?,
        };
        let mut groups: BTreeSet<Group> = queues.iter().map(QueueName::group).collect();
        groups.insert(Group::default_group());
        Ok(groups)
    }

    fn outbox_group(&self, queue: &QueueName) -> Group {
        match self.store().layout() {
            Layout::Documented => Group::default_group(),
            Layout::Cluster => queue.group(),
        }
    }
}
