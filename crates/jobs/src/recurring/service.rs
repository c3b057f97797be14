//! The handle to a list of recurring jobs in a store.

use std::sync::Arc;

use jiff::Timestamp;
use keyrack_store::Store;

use super::{
    definition::{Definition, Target},
    error::Error,
    keys,
    plan::{Digests, Plan},
};
use crate::bee::Hive;

/// A list of recurring jobs in a store. Cheap to clone.
///
/// Any process with the same definitions can look at the list and steer it; a [`Scheduler`](super::Scheduler) makes it run.
#[derive(Debug, Clone)]
pub struct Recurring {
    pub(super) hive: Hive,
    pub(super) plan: Arc<Plan>,
    /// Newer lists replace older ones, and not the other way round.
    pub(super) version: u64,
    /// Where the list comes from, for those who want to change it.
    pub(super) origin: Arc<str>,
}

/// Whose list the store has.
#[derive(Debug)]
pub(super) enum InForce {
    Nobodys,
    Ours(Arc<Digests>),
    Others(String),
}

impl Recurring {
    /// A list of jobs for the store of a hive, by the clock of that hive.
    ///
    /// # Errors
    /// When a definition makes no sense, or two are the same.
    pub fn new(hive: Hive, definitions: Vec<Definition>) -> Result<Recurring, Error> {
        let plan = Arc::new(Plan::new(definitions, timestamp(hive.now_ms()))?);
        Ok(Recurring { hive, plan, version: 0, origin: "the list of the program".into() })
    }

    /// The same list with a version: it replaces lists of the same or an older one only. Without one, whoever starts last wins.
    #[must_use]
    pub fn with_version(self, version: u64) -> Recurring {
        Recurring { version, ..self }
    }

    /// The same list, with words that say where it comes from: who wants to change one of its jobs at run time is told.
    #[must_use]
    pub fn with_origin(self, origin: &str) -> Recurring {
        Recurring { origin: origin.into(), ..self }
    }

    /// The definitions of the list, in their order.
    pub fn definitions(&self) -> &[Definition] {
        self.plan.jobs()
    }

    /// Refuses jobs of the hot queue that no worker knows; for programs that have the workers at hand, before they start.
    ///
    /// # Errors
    /// When `knows` says no to the name of a job.
    pub fn check_known(&self, knows: impl Fn(&str) -> bool) -> Result<(), Error> {
        let for_hot = self.definitions().iter().filter(|job| *job.target() == Target::Hot);
        let unknown = for_hot.map(Definition::name).filter(|name| !knows(name));
        let names: Vec<String> = unknown.map(str::to_owned).collect();
        if names.is_empty() { Ok(()) } else { Err(Error::NobodyKnows { names }) }
    }

    pub(super) fn store(&self) -> &Store {
        self.hive.store()
    }

    /// The present time, by the clock of the store.
    pub fn now(&self) -> Timestamp {
        timestamp(self.hive.now_ms())
    }

    /// Reads whose list is in force.
    pub(super) async fn in_force(&self) -> Result<InForce, Error> {
        let mut cmd = redis::cmd("GET");
        cmd.arg(&*self.store().place(&keys::digest()));
        let stored: Option<String> = cmd.query_async(&mut self.store().connection()).await?;
        Ok(self.whose(stored))
    }

    /// Whose list has this digest.
    pub(super) fn whose(&self, stored: Option<String>) -> InForce {
        let Some(stored) = stored else { return InForce::Nobodys };
        match self.plan.season(&stored, self.now()) {
            Some(digests) => InForce::Ours(digests),
            None => InForce::Others(stored),
        }
    }

    /// The digests to use: those in force, or those of today while no list is.
    pub(super) async fn digests(&self) -> Result<Arc<Digests>, Error> {
        match self.in_force().await? {
            InForce::Ours(digests) => Ok(digests),
            InForce::Nobodys => Ok(Arc::new(self.plan.digests(self.now()))),
            InForce::Others(found) => Err(self.other_list(found)),
        }
    }

    pub(super) fn other_list(&self, found: String) -> Error {
        Error::OtherList { found, ours: self.plan.digests(self.now()).list }
    }

    /// The score of each job's first run after `now`; empty for one that never runs again.
    pub(super) fn next_scores(&self, now: Timestamp) -> impl Iterator<Item = String> {
        self.plan.jobs().iter().map(move |job| score(job.schedule().next_after(now)))
    }
}

/// A moment as a score.
pub(super) fn score(at: Option<Timestamp>) -> String {
    at.map(|at| at.as_second().to_string()).unwrap_or_default()
}

/// A moment out of a score.
pub(super) fn from_score(score: &str) -> Option<Timestamp> {
    let seconds: f64 = score.parse().ok()?;
    Timestamp::from_millisecond((seconds * 1000.0).round() as i64).ok()
}

fn timestamp(ms: u64) -> Timestamp {
    i64::try_from(ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok())
        .unwrap_or(Timestamp::MAX)
}

/// A moment in unix seconds, as scripts take it.
pub(super) fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}
