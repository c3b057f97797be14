//! Cancelling, running again or changing many jobs at once.

use std::collections::HashSet;

use futures_util::future::join_all;
use serde::Serialize;

use super::{
    change::Change,
    hive::Hive,
    job::Job,
    keys::QueueName,
    list::{Filter, JobState, PAGE_MAX},
};
use crate::Error;

/// The most jobs that one call goes through.
pub const BULK_MAX: u64 = 10_000;

/// What is done to many jobs.
#[derive(Debug, Clone)]
pub enum Bulk {
    /// Each is canceled, with the jobs that it has submitted.
    Cancel,
    /// Each that has failed runs again from the start.
    Retry,
    /// Each that waits is changed.
    Change(Box<Change>),
}

impl Bulk {
    /// Fails unless it can be done to jobs in this place.
    ///
    /// # Errors
    /// Which jobs it can be done to.
    pub fn check_place(&self, place: JobState) -> Result<(), Error> {
        let waits = matches!(
            place,
            JobState::Waiting | JobState::Delayed | JobState::Parked | JobState::Queued
        );
        let wrong = match self {
            Bulk::Cancel => return Ok(()),
            Bulk::Retry if place != JobState::Failed => "only failed jobs can be run again",
            Bulk::Change(_) if !waits => {
                "only jobs that wait can be changed: waiting, delayed, parked or queued"
            }
            _ => return Ok(()),
        };
        Err(Error::invalid("place", format!("\"{place}\"; {wrong}")))
    }
}

/// What a bulk call did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkDone {
    /// Jobs that meet the filter, as far as this call went.
    pub matched: u64,
    /// Jobs that were changed; nothing in a dry run.
    pub changed: u64,
    /// Where to go on, if there may be more.
    pub next: Option<String>,
}

impl Hive {
    /// Does something to all jobs that meet a filter, or only counts them in a dry run.
    ///
    /// # Errors
    /// When there is no such thing to do in that place, when the cursor is none of ours, or when the store fails.
    pub async fn bulk(
        &self,
        queue: &QueueName,
        filter: &Filter,
        what: &Bulk,
        is_dry_run: bool,
        cursor: Option<&str>,
    ) -> Result<BulkDone, Error> {
        what.check_place(filter.place)?;
        let what = self.ready_for_many(what).await?;
        let mut done = BulkDone { next: cursor.map(Into::into), ..BulkDone::default() };
        // A change may put a job further down in the list that is gone through.
        let mut seen = HashSet::new();
        while done.matched < BULK_MAX {
            let page = self.list(queue, filter, done.next.as_deref(), PAGE_MAX).await?;
            let mut jobs = page.jobs;
            jobs.retain(|job| seen.insert(job.jid().to_owned()));
            done.matched += jobs.len() as u64;
            if !is_dry_run {
                done.changed += self.change(&jobs, &what).await?;
            }
            done.next = page.next;
            if done.next.is_none() {
                break;
            }
        }
        Ok(done)
    }

    /// What is to be done, if it makes sense: whatever is wrong with a change is told before the first job is changed.
    ///
    /// # Errors
    /// When the change makes no sense, its queue does not exist, or the store fails.
    pub async fn ready_for_many(&self, what: &Bulk) -> Result<Bulk, Error> {
        let Bulk::Change(change) = what else { return Ok(what.clone()) };
        self.target_of(change).await?;
        Ok(Bulk::Change(Box::new(change.pinned(self.now_ms()))))
    }

    /// Does something to these jobs. Returns how many were changed: one that has moved on meanwhile is left alone.
    ///
    /// # Errors
    /// When the store fails; some of the jobs may have been changed then.
    pub async fn change(&self, jobs: &[Job], what: &Bulk) -> Result<u64, Error> {
        let target = match what {
            Bulk::Change(change) => self.target_of(change).await?,
            _ => None,
        };
        let changes = jobs.iter().filter_map(|job| Some((job, job.id()?))).map(
            async |(job, jid)| match what {
                Bulk::Cancel => self.cancel(&jid).await.map(|_| true),
                Bulk::Retry => self.retry(&jid).await.map(|()| true),
                Bulk::Change(change) => {
                    self.change_read_job(job.clone(), &jid, change, target.as_ref()).await
                }
            },
        );
        let mut changed = 0;
        for change in join_all(changes).await {
            match change {
                Ok(is_changed) => changed += u64::from(is_changed),
                Err(Error::NoSuchJob { .. } | Error::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(changed)
    }
}
