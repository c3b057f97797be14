//! Looking through the jobs of a queue, page by page.
//!
//! A page begins behind the last job of the one before, wherever that would stand now: what comes and goes meanwhile
//! neither hides other jobs nor shows them twice. The work of one call is bounded, so a page of a search may be short
//! or empty and still have a next one.

mod cursor;
mod filter;
mod search;

use keyrack_keys::Key;
use keyrack_store::Script;
use serde::{Deserialize, Serialize};

pub use self::filter::Filter;
use self::{cursor::Cursor, search::Search};
use super::{
    hive::Hive,
    job::Job,
    keys::{self, QueueName},
};
use crate::Error;

static LIST: Script = bee_script!("list.lua");

/// The most jobs on a page.
pub const PAGE_MAX: usize = 500;

/// Where in its queue a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum JobState {
    /// In the working queue; the first to run comes first.
    Queued,
    /// Not due yet, or to be tried again; the first due comes first.
    Delayed,
    /// Waiting for other jobs, by submission. Jobs of Node hives are not on this list.
    Waiting,
    /// Waiting for the turn of its tenant, tenant by tenant.
    Parked,
    /// On a worker; the one whose lock ends first comes first.
    Running,
    /// Failed for good; the last to fail comes first.
    Failed,
    /// Completed or failed; the last to expire comes first.
    Ended,
}

impl JobState {
    /// Every place, in the order of a job's life.
    pub const ALL: [JobState; 7] = [
        JobState::Waiting,
        JobState::Delayed,
        JobState::Parked,
        JobState::Queued,
        JobState::Running,
        JobState::Failed,
        JobState::Ended,
    ];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            JobState::Queued => "queued",
            JobState::Delayed => "delayed",
            JobState::Waiting => "waiting",
            JobState::Parked => "parked",
            JobState::Running => "running",
            JobState::Failed => "failed",
            JobState::Ended => "ended",
        }
    }
}

impl std::fmt::Display for JobState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::str::FromStr for JobState {
    type Err = String;

    fn from_str(text: &str) -> Result<JobState, String> {
        JobState::ALL.into_iter().find(|place| place.as_str() == text).ok_or_else(|| {
            let words = JobState::ALL.map(JobState::as_str).join("\", \"");
            format!("\"{text}\" is no place of a job; use one of \"{words}\"")
        })
    }
}

/// Some jobs, and where to go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// What to ask for the next page with; without one, this was the last.
    pub next: Option<String>,
    /// How many jobs were looked at for it.
    pub looked_at: usize,
}

impl Hive {
    /// Up to `max` jobs that meet the filter, from a cursor on.
    ///
    /// A job is read after its place was, so it may have moved on meanwhile; its status tells.
    ///
    /// # Errors
    /// When the cursor is none of ours, or when the store fails.
    pub async fn list(
        &self,
        queue: &QueueName,
        filter: &Filter,
        cursor: Option<&str>,
        max: usize,
    ) -> Result<Page, Error> {
        let from = match cursor {
            Some(text) => Cursor::parse(text)?,
            None => Cursor::default(),
        };
        let mut search = Search::new(self, queue, filter, max.clamp(1, PAGE_MAX));
        let stopped_at = search.run(from).await?;
        let next = stopped_at.map(|cursor| cursor.to_text());
        Ok(Page { jobs: search.jobs, next, looked_at: search.looked_at })
    }
}

impl Hive {
    /// Those of these places where there is something to look at.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn occupied<'q>(
        &self,
        places: &[(&'q QueueName, JobState)],
    ) -> Result<Vec<(&'q QueueName, JobState)>, Error> {
        let looks = places.iter().map(async |(queue, place)| {
            let key = match place {
                JobState::Parked => keys::tenants(queue, &queue.group()),
                place => set_of(queue, *place),
            };
            let mut cmd = redis::cmd("EXISTS");
            cmd.arg(&*self.store().place(&key));
            let exists: bool = cmd.query_async(&mut self.store().connection()).await?;
            Ok::<_, Error>(exists.then_some((*queue, *place)))
        });
        let found = futures_util::future::try_join_all(looks).await?;
        Ok(found.into_iter().flatten().collect())
    }
}

/// The sorted set that holds the jobs of a place.
fn set_of(queue: &QueueName, place: JobState) -> Key {
    let key = match place {
        JobState::Queued | JobState::Parked => keys::queue,
        JobState::Delayed => keys::delayed,
        JobState::Waiting => keys::waiting,
        JobState::Running => keys::locks,
        JobState::Failed => keys::failed,
        JobState::Ended => keys::expires,
    };
    key(queue, &queue.group())
}

#[cfg(test)]
mod tests;
