//! The sweep: deletes the files that are due.
//!
//! A sweep takes a few files on at a time, which no other sweep does then, so that any number may run at once. One that crashes
//! loses its claim after a minute. A file that cannot be deleted stops nobody: it is tried again later, and later each time.

use std::{collections::HashMap, time::Duration};

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use keyrack_store::Script;
use tokio::time::timeout;

use crate::{
    buckets::{Buckets, Deleted},
    error::Error,
    file::File,
    files::{Entry, Failure, Files},
    keys,
};

static CLAIM: Script = keyrack_store::script!("sweep/claim.lua");
static SETTLE: Script = keyrack_store::script!("sweep/settle.lua");
static PRUNE: Script = keyrack_store::script!("sweep/prune.lua");

/// By which name workers of the hot queue know the sweep, as a job without arguments.
pub const SWEEP_JOB: &str = "runners.sweep_partial_file_uploads";

/// How many files are taken on at once, unless said otherwise.
const BATCH: usize = 20;

/// How long a file belongs to the sweep that took it on.
const CLAIM_TIME: Duration = Duration::from_secs(60);

/// How long one deletion may take: well within the claim, so that it never hits what was uploaded after it.
const DELETE_TIME_MAX: Duration = Duration::from_secs(30);

/// When a file that failed is tried again: after a minute, then twice as late each time, but daily at least.
const RETRY_AFTER: Duration = Duration::from_secs(60);
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 3600);

/// Failures that are reported one by one; the rest is counted.
const REPORTED_MAX: usize = 100;

/// How long a reason may be that is stored.
const REASON_CHARS_MAX: usize = 500;

/// Those who know which files are on record: the table of files of an application.
pub trait Records: Send + Sync {
    /// Whether a file may be deleted. This is also the place to delete its row, which a constraint of the database may veto.
    ///
    /// The error says in words why that cannot be told now; the file is tried again later.
    fn fate<'a>(&'a self, file: &'a File) -> BoxFuture<'a, Result<SweepAction, String>>;
}

/// What is to become of a file that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepAction {
    /// It is deleted.
    Delete,
    /// It is on record, so that only its entry goes: an upload crashed between saving and taking it out.
    Keep,
}

/// How the work on one file ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOutcome {
    /// It was deleted.
    Deleted,
    /// There was no such file.
    Missing,
    /// It is on record, and stays.
    Kept,
    /// It could not be deleted, in words.
    Failed(String),
}

/// What a sweep has done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Swept {
    /// Files deleted.
    pub deleted: u64,
    /// Files that were not there.
    pub missing: u64,
    /// Files that are on record, and stay.
    pub kept: u64,
    /// Of those deleted, the ones that no one had asked to be: uploads that failed.
    pub unexpected: u64,
    /// Files that could not be deleted.
    pub failed: u64,
    /// The first of those, with the reason.
    pub failures: Vec<(Vec<u8>, String)>,
}

/// A sweep to be run.
#[derive(Clone, Copy)]
pub struct Sweep<'a> {
    files: &'a Files,
    buckets: &'a Buckets,
    records: Option<&'a dyn Records>,
    batch: usize,
}

impl std::fmt::Debug for Sweep<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sweep").field("batch", &self.batch).finish_non_exhaustive()
    }
}

impl<'a> Sweep<'a> {
    /// A sweep of everything that is due.
    pub fn new(files: &'a Files, buckets: &'a Buckets) -> Sweep<'a> {
        Sweep { files, buckets, records: None, batch: BATCH }
    }

    /// The same, asking first whether a file is on record.
    #[must_use]
    pub fn asking(self, records: &'a dyn Records) -> Sweep<'a> {
        Sweep { records: Some(records), ..self }
    }

    /// The same with so many files at once.
    #[must_use]
    pub fn batch(self, files: usize) -> Sweep<'a> {
        Sweep { batch: files.max(1), ..self }
    }

    /// Sweeps until nothing is due that was when it began. It may be dropped at any moment.
    ///
    /// # Errors
    /// When the store fails; a bucket that does is a failure of its files.
    pub async fn run(&self) -> Result<Swept, Error> {
        let due = self.files.now();
        let mut swept = Swept::default();
        loop {
            let until = self.files.now() + CLAIM_TIME.as_secs_f64();
            let entries = self.claim(due, until).await?;
            if entries.is_empty() {
                break;
            }
            // Boxed and collected, or else no task of its own could run this.
            let ending = |entry| async move { (entry, self.end(entry).await) }.boxed();
            let ending: Vec<_> = entries.iter().map(ending).collect();
            let ending = stream::iter(ending).buffer_unordered(self.batch);
            let ended: Vec<_> = ending.collect().await;
            for (entry, end) in ended {
                self.settle(entry, until, &end).await?;
                swept.add(entry, end);
            }
        }
        self.prune().await?;
        Ok(swept)
    }

    async fn claim(&self, due: f64, until: f64) -> Result<Vec<Entry>, Error> {
        let call = CLAIM.call(self.files.store()).key("purgatory", &keys::purgatory());
        let call = call.key("claims", &keys::claims()).key("failures", &keys::failures());
        let call = call.arg("now", self.files.now()).arg("due", due);
        let call = call.arg("claimed_until", until).arg("max", self.batch);
        let claimed: Vec<(Vec<u8>, Option<Vec<u8>>)> = call.run().await?;
        Ok(claimed
            .into_iter()
            .map(|(member, failure)| Entry::new(member, until, failure))
            .collect())
    }

    /// Deletes one file, if it is to be.
    async fn end(&self, entry: &Entry) -> FileOutcome {
        let deletion = async {
            let file = entry.file.as_ref().map_err(Clone::clone)?;
            if let Some(records) = self.records
                && records.fate(file).await? == SweepAction::Keep
            {
                return Ok(FileOutcome::Kept);
            }
            match self.buckets.delete(file).await {
                Ok(Deleted::Gone) => Ok(FileOutcome::Deleted),
                Ok(Deleted::Missing) => Ok(FileOutcome::Missing),
                Err(error) => Err(error.to_string()),
            }
        };
        match timeout(DELETE_TIME_MAX, deletion).await {
            Ok(ended) => ended.unwrap_or_else(FileOutcome::Failed),
            Err(_) => {
                FileOutcome::Failed(format!("no answer within {} s", DELETE_TIME_MAX.as_secs()))
            }
        }
    }

    async fn settle(&self, entry: &Entry, until: f64, end: &FileOutcome) -> Result<(), Error> {
        let (mut retry_at, mut failure) = (String::new(), String::new());
        if let FileOutcome::Failed(reason) = end {
            let failed = next_failure(entry.failure.as_ref(), self.files.now(), reason);
            retry_at = (failed.failed_at + retry_after(failed.failures).as_secs_f64()).to_string();
            failure = serde_json::to_string(&failed).unwrap_or_default();
        }
        let call = SETTLE.call(self.files.store()).key("purgatory", &keys::purgatory());
        let call = call.key("claims", &keys::claims()).key("failures", &keys::failures());
        let call = call.arg("member", &entry.member).arg("claimed_until", until);
        // Whoever has it now will come to the same end.
        let _is_ours: bool = call.arg("retry_at", retry_at).arg("failure", failure).run().await?;
        Ok(())
    }

    /// Forgets failures of files that others have taken out, a few at a time.
    async fn prune(&self) -> Result<(), Error> {
        let (store, mut cursor) = (self.files.store(), 0_u64);
        loop {
            let mut cmd = redis::cmd("HSCAN");
            cmd.arg(&*store.place(&keys::failures())).arg(cursor).arg("COUNT").arg(100);
            let (next, found): (u64, HashMap<Vec<u8>, Vec<u8>>) =
                cmd.query_async(&mut store.connection()).await?;
            if !found.is_empty() {
                let members: Vec<Vec<u8>> = found.into_keys().collect();
                let call = PRUNE.call(store).key("purgatory", &keys::purgatory());
                let call = call.key("failures", &keys::failures()).args("members", members);
                let _dropped: u64 = call.run().await?;
            }
            cursor = next;
            if cursor == 0 {
                return Ok(());
            }
        }
    }
}

impl Swept {
    fn add(&mut self, entry: &Entry, end: FileOutcome) {
        let shown = String::from_utf8_lossy(&entry.member);
        match end {
            FileOutcome::Deleted => {
                self.deleted += 1;
                if entry.file.as_ref().is_ok_and(|file| !file.expected) {
                    self.unexpected += 1;
                    tracing::warn!(file = %shown, "deleted a file that was uploaded for nothing");
                }
            }
            FileOutcome::Missing => self.missing += 1,
            FileOutcome::Kept => self.kept += 1,
            FileOutcome::Failed(reason) => {
                self.failed += 1;
                // Whoever runs the sweep is told, and the store remembers it.
                tracing::debug!(file = %shown, reason, "could not delete a file");
                if self.failures.len() < REPORTED_MAX {
                    self.failures.push((entry.member.clone(), reason));
                }
            }
        }
    }
}

fn next_failure(last: Option<&Failure>, now: f64, reason: &str) -> Failure {
    let failures = last.map_or(0, |last| last.failures).saturating_add(1);
    Failure { failures, failed_at: now, reason: reason.chars().take(REASON_CHARS_MAX).collect() }
}

/// How long after so many failures a file is tried again.
fn retry_after(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    RETRY_AFTER.saturating_mul(1 << doublings).min(RETRY_AFTER_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_fails_is_tried_later_each_time_but_daily() {
        let minutes = |failures| retry_after(failures).as_secs() / 60;
        assert_eq!(
            [1, 2, 3, 11, 12, 1000, u32::MAX].map(minutes),
            [1, 2, 4, 1024, 1440, 1440, 1440]
        );
    }

    #[test]
    fn a_reason_is_cut_and_failures_are_counted() {
        let first = next_failure(None, 1.0, &"x".repeat(1000));
        assert_eq!((first.failures, first.reason.len()), (1, REASON_CHARS_MAX));
        assert_eq!(next_failure(Some(&first), 2.0, "y").failures, 2);
    }
}
