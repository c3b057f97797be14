//! Cancelling or running again many jobs at once.

use futures_util::future::join_all;
use serde::Serialize;

use super::{
    hive::Hive,
    job::Job,
    keys::{Jid, QueueName},
    list::{Filter, PAGE_MAX, Place},
};
use crate::Error;

/// The most jobs that one call goes through.
pub const BULK_MAX: u64 = 10_000;

/// What is done to many jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bulk {
    /// Each is cancelled, with the jobs that it has submitted.
    Cancel,
    /// Each that has failed runs again from the start.
    Retry,
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
        what: Bulk,
        is_dry_run: bool,
        cursor: Option<&str>,
    ) -> Result<BulkDone, Error> {
        if what == Bulk::Retry && filter.place != Place::Failed {
            let reason = format!("\"{}\"; only failed jobs can be run again", filter.place);
            return Err(Error::invalid("place", reason));
        }
        let mut done = BulkDone { next: cursor.map(Into::into), ..BulkDone::default() };
        while done.matched < BULK_MAX {
            let page = self.list(queue, filter, done.next.as_deref(), PAGE_MAX).await?;
            done.matched += page.jobs.len() as u64;
            if !is_dry_run {
                done.changed += self.change(&page.jobs, what).await?;
            }
            done.next = page.next;
            if done.next.is_none() {
                break;
            }
        }
        Ok(done)
    }

    /// Does something to these jobs. Returns how many were changed: one that has moved on meanwhile is left alone.
    ///
    /// # Errors
    /// When the store fails; some of the jobs may have been changed then.
    pub async fn change(&self, jobs: &[Job], what: Bulk) -> Result<u64, Error> {
        let jids: Vec<Jid> = jobs.iter().filter_map(Job::id).collect();
        let changes = jids.iter().map(async |jid| match what {
            Bulk::Cancel => self.cancel(jid).await.map(|_| ()),
            Bulk::Retry => self.retry(jid).await,
        });
        let mut changed = 0;
        for change in join_all(changes).await {
            match change {
                Ok(()) => changed += 1,
                Err(Error::NoSuchJob { .. } | Error::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(changed)
    }
}
