//! Which jobs are due, and when the next one will be.

use jiff::Timestamp;
use keyrack_store::{Script, script};

use super::{
    error::Error,
    keys,
    service::{Recurring, from_score, seconds},
};

static DUE: Script = script!("due.lua");

/// Jobs that one turn takes on; the next follows at once.
const JOBS_MAX: usize = 1000;

/// The schedule as a scheduler sees it when it wakes up.
#[derive(Debug)]
pub(super) struct Due {
    /// The digest of the list in force.
    pub(super) list: Option<String>,
    /// How many jobs are in purgatory, or noted as having been there.
    pub(super) in_purgatory: u64,
    /// When the next job that is not due yet will be.
    pub(super) next: Option<Timestamp>,
    /// Due jobs, the longest waiting first.
    pub(super) jobs: Vec<DueJob>,
}

/// A job that is due.
#[derive(Debug)]
pub(super) struct DueJob {
    pub(super) digest: String,
    /// Its score as the store writes it.
    pub(super) score: String,
    pub(super) paused: bool,
}

impl Recurring {
    pub(super) async fn due(&self, now: Timestamp) -> Result<Due, Error> {
        type Reply = (Option<String>, u64, Option<String>, Vec<(String, String, bool)>);
        let (list, in_purgatory, next, jobs): Reply = DUE
            .call(self.store())
            .key("rjobs", &keys::rjobs())
            .key("hash", &keys::digest())
            .key("purgatory", &keys::purgatory())
            .key("since", &keys::since())
            .key("paused", &keys::paused())
            .arg("now", seconds(now))
            .arg("max", JOBS_MAX)
            .run()
            .await?;
        let jobs = jobs
            .into_iter()
            .map(|(digest, score, paused)| DueJob { digest, score, paused })
            .collect();
        Ok(Due { list, in_purgatory, next: next.as_deref().and_then(from_score), jobs })
    }
}
