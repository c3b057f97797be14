//! Putting right what others have left: jobs that nothing names, entries that name no job, queues that nobody has listed.
//!
//! keyrack's own scripts leave nothing of the kind. Node hives do not keep all lists, and a script of an earlier version
//! could stop half way when the slot of a cluster moved.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_keys::{Family, Parsed, Registry};
use keyrack_store::{Keyspace, Script};

use super::{
    hive::Hive,
    keys::{self, Group, Jid, QueueName},
    sweep::WorkerTimeouts,
};
use crate::Error;

static HEAL: Script = bee_script!("heal.lua");
static RECONCILE: Script = bee_script!("reconcile.lua");

/// Keys that one step of a walk looks at.
const SCANNED: usize = 1_000;
/// Jobs that are looked at in one call.
const JOBS_MAX: usize = 100;

/// Lists of a queue, in the order in which they are gone through.
const LISTS: [&str; 5] = ["waiting", "failed", "expires", "queue", "delayed"];

/// How far the lists of a queue have been gone through.
#[derive(Debug, Clone, Default)]
pub(super) struct Reconciling {
    list: usize,
    cursor: String,
}

impl Hive {
    /// Puts jobs that nothing names back into their queue, under a lock, or on the list of results that expire. Looks at
    /// every job of the store, and twice before it changes one; returns how many it has put back.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn heal_jobs(&self, timeouts: &WorkerTimeouts) -> Result<u64, Error> {
        let mut suspects: BTreeMap<Group, Vec<Jid>> = BTreeMap::new();
        let mut walk = self.walk(&keys::job::FAMILY).await?;
        while let Some(some) = walk.next().await? {
            for (group, jids) in by_group(some) {
                let strays = self.strays(timeouts, &group, &jids, false).await?;
                suspects.entry(group).or_default().extend(strays);
            }
        }
        let mut healed = 0;
        for (group, jids) in suspects {
            for jid in self.strays(timeouts, &group, &jids, true).await? {
                tracing::warn!(%jid, "put a job back that nothing named");
                healed += 1;
            }
        }
        Ok(healed)
    }

    /// Those of the jobs that are not in their places; puts them back if told to.
    async fn strays(
        &self,
        timeouts: &WorkerTimeouts,
        group: &Group,
        jids: &[Jid],
        puts_back: bool,
    ) -> Result<Vec<Jid>, Error> {
        let mut strays = Vec::new();
        for some in jids.chunks(JOBS_MAX) {
            let call = self.call(&HEAL, group).key("job", &keys::job(&some[0], group));
            let call = call
                .arg("lock_ms", timeouts.lock.as_millis() as u64)
                .arg("puts_back", u8::from(puts_back))
                .args("jids", some.iter().map(Jid::as_str).collect::<Vec<_>>());
            let found: Vec<String> = call.run().await?;
            strays.extend(found.into_iter().filter_map(|jid| Jid::new(jid).ok()));
        }
        Ok(strays)
    }

    /// Puts queues on the list of all queues that only others have filled. Returns how many were not on it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn discover_queues(&self) -> Result<u64, Error> {
        let known = self.queues().await?;
        let mut found = BTreeSet::new();
        let lists: [&'static Family; 5] = [
            &keys::queue::FAMILY,
            &keys::delayed::FAMILY,
            &keys::expires::FAMILY,
            &keys::locks::FAMILY,
            &keys::bees::FAMILY,
        ];
        for family in lists {
            let mut walk = self.walk(family).await?;
            while let Some(some) = walk.next().await? {
                let names = some.into_iter().filter_map(|mut parsed| parsed.parts.pop());
                found.extend(names.filter_map(|name| QueueName::new(name).ok()));
            }
        }
        found.retain(|queue| known.binary_search(queue).is_err());
        for queue in &found {
            self.list_queue(queue).await?;
        }
        Ok(found.len() as u64)
    }

    /// A walk over all keys of a family.
    async fn walk(&self, family: &'static Family) -> Result<Walk, Error> {
        let keyspaces = self.store().own_keyspaces().await?.into_iter();
        let pattern = family.pattern(self.store().layout());
        Ok(Walk {
            family,
            pattern,
            keyspaces,
            at: None,
            registry: Registry::new(&[keys::FAMILIES]),
        })
    }

    /// Takes the next entries out of the lists of a queue that do not belong there, and returns how many. Groups failed jobs
    /// that others have failed.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn reconcile(
        &self,
        queue: &QueueName,
        at: &mut Reconciling,
    ) -> Result<u64, Error> {
        let cursor = if at.cursor.is_empty() { "0" } else { &at.cursor };
        let call = self.call_on_queue(&RECONCILE, queue);
        let call = call.arg("list", LISTS[at.list % LISTS.len()]).arg("cursor", cursor);
        let (changed, next, ungrouped): (u64, String, Vec<String>) = call.run().await?;
        if !ungrouped.is_empty() {
            let jids: Vec<Jid> = ungrouped.into_iter().filter_map(|id| Jid::new(id).ok()).collect();
            self.note_errors(queue, &jids).await?;
        }
        if next == "0" {
            *at = Reconciling { list: (at.list + 1) % LISTS.len(), cursor: String::new() };
        } else {
            at.cursor = next;
        }
        Ok(changed)
    }

    /// Goes through all lists of a queue once; returns how many entries were changed.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn reconcile_lists(&self, queue: &QueueName) -> Result<u64, Error> {
        let (mut at, mut changed) = (Reconciling::default(), 0);
        loop {
            let before = at.list;
            changed += self.reconcile(queue, &mut at).await?;
            if before > at.list {
                return Ok(changed);
            }
        }
    }
}

/// The jobs of some keys, by the groups that they are in.
fn by_group(some: Vec<Parsed>) -> BTreeMap<Group, Vec<Jid>> {
    let mut groups: BTreeMap<Group, Vec<Jid>> = BTreeMap::new();
    for Parsed { shard, mut parts, .. } in some {
        let Some(jid) = parts.pop().and_then(|jid| Jid::new(jid).ok()) else { continue };
        let group = shard.and_then(|shard| Group::new(shard).ok());
        groups.entry(group.unwrap_or_else(|| jid.group())).or_default().push(jid);
    }
    groups
}

/// A walk over all keys of a family in the store's own database.
struct Walk {
    family: &'static Family,
    pattern: String,
    keyspaces: std::vec::IntoIter<Keyspace>,
    /// Where the walk is, and how far it has come there.
    at: Option<(Keyspace, u64)>,
    registry: Registry,
}

impl Walk {
    /// The next keys, or nothing at the end.
    async fn next(&mut self) -> Result<Option<Vec<Parsed>>, Error> {
        let Some((keyspace, cursor)) = self.at.take().or_else(|| Some((self.keyspaces.next()?, 0)))
        else {
            return Ok(None);
        };
        let (next, raw) = keyspace.scan(cursor, Some(&self.pattern), SCANNED).await?;
        self.at = (next != 0).then_some((keyspace, next));
        let parsed = raw.iter().filter_map(|key| self.registry.parse(key));
        Ok(Some(parsed.filter(|parsed| std::ptr::eq(parsed.family, self.family)).collect()))
    }
}
