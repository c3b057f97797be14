//! Running the failed jobs of a group again.

use std::collections::HashSet;

use super::no_such_group;
use crate::{
    Error,
    bee::{
        bulk::{BULK_MAX, Bulk, BulkDone},
        hive::Hive,
        keys::QueueName,
        list::{Filter, JobState, PAGE_MAX},
    },
};

/// Which failed jobs of a group run again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupRetry {
    /// The most jobs, those first that failed last; 10,000 unless set.
    pub max: Option<u64>,
    /// Only count them.
    pub is_dry_run: bool,
    /// Where to go on: the `next` of the call before.
    pub cursor: Option<String>,
}

impl Hive {
    /// Lets failed jobs of a group run again, from the start. Jobs that are tried again by themselves are left alone.
    ///
    /// # Errors
    /// [`Error::NoSuchErrorGroup`], when the number of jobs or the cursor makes no sense, or when the store fails.
    pub async fn retry_errors(
        &self,
        queue: &QueueName,
        id: &str,
        request: &GroupRetry,
    ) -> Result<BulkDone, Error> {
        let max = request.max.unwrap_or(BULK_MAX);
        if !(1..=BULK_MAX).contains(&max) {
            return Err(Error::invalid("max", format!("{max}; give 1 to {BULK_MAX}")));
        }
        let filter = Filter { error: Some(id.to_owned()), ..Filter::at(JobState::Failed) };
        let mut done = BulkDone { next: request.cursor.clone(), ..BulkDone::default() };
        let mut seen = HashSet::new();
        while done.matched < max {
            let room = usize::try_from(max - done.matched).unwrap_or(PAGE_MAX).min(PAGE_MAX);
            let page = self.list(queue, &filter, done.next.as_deref(), room).await?;
            let mut jobs = page.jobs;
            jobs.retain(|job| seen.insert(job.jid().to_owned()));
            done.matched += jobs.len() as u64;
            if !request.is_dry_run {
                done.changed += self.change(&jobs, &Bulk::Retry).await?;
            }
            done.next = page.next;
            if done.next.is_none() {
                break;
            }
        }
        // Jobs may outlive their group, and a group its jobs.
        if done.matched == 0 && request.cursor.is_none() {
            let exists = self.has_error_group(queue, id).await?;
            return if exists { Ok(done) } else { Err(no_such_group(queue, id)) };
        }
        Ok(done)
    }

    async fn has_error_group(&self, queue: &QueueName, id: &str) -> Result<bool, Error> {
        match self.error_group(queue, id).await {
            Ok(_) => Ok(true),
            Err(Error::NoSuchErrorGroup { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
