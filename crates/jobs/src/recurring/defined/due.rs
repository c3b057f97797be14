//! Which jobs are due that were defined at run time.

use jiff::Timestamp;
use keyrack_store::{Script, script};

use crate::recurring::{
    error::Error,
    keys,
    service::{Recurring, from_score, seconds},
};

static DUE: Script = script!("due.lua");

/// Jobs that one turn takes on, with their definitions; the next follows at once.
const JOBS_MAX: usize = 100;

/// What is due, and when the next job will be.
#[derive(Debug)]
pub(in crate::recurring) struct DueDefined {
    pub(in crate::recurring) next: Option<Timestamp>,
    pub(in crate::recurring) jobs: Vec<DueJob>,
}

/// A job that is due.
#[derive(Debug)]
pub(in crate::recurring) struct DueJob {
    pub(super) name: String,
    /// Its score as the store writes it.
    pub(super) score: String,
    /// Its definition as it is stored.
    pub(super) text: Option<String>,
}

impl Recurring {
    pub(in crate::recurring) async fn due_defined(
        &self,
        now: Timestamp,
    ) -> Result<DueDefined, Error> {
        type Reply = (Option<String>, Vec<(String, String, Option<String>)>);
        let (next, jobs): Reply = DUE
            .call(self.store())
            .key("defined", &keys::defined())
            .key("due", &keys::defined_due())
            .arg("now", seconds(now))
            .arg("max", JOBS_MAX)
            .run()
            .await?;
        let jobs = jobs.into_iter().map(|(name, score, text)| DueJob { name, score, text });
        Ok(DueDefined { next: next.as_deref().and_then(from_score), jobs: jobs.collect() })
    }
}
