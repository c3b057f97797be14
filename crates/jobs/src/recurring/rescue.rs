//! Getting jobs back that a scheduler took out of the schedule and never put back.
//!
//! Schedulers of the original take a job out, queue it, and then put it back; one that dies in between leaves it in purgatory.
//! Ours do all of that in one step and leave nothing there.

use std::time::Duration;

use keyrack_store::{Script, script};

use super::{error::Error, keys, plan::Digests, service::Recurring};

static RESCUE: Script = script!("rescue.lua");

/// What came of looking after purgatory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rescued {
    /// Jobs that are scheduled again.
    pub(super) jobs: u64,
    /// Digests that are of no job of the list.
    pub(super) unknown: u64,
}

impl Recurring {
    /// Schedules jobs again that have been in purgatory for so long; with no time at all, every one of them. The run that was
    /// interrupted is not repeated: nobody knows whether it was queued.
    pub(super) async fn rescue(
        &self,
        digests: &Digests,
        after: Duration,
    ) -> Result<Rescued, Error> {
        let now = self.now();
        let jobs: Vec<String> = digests
            .jobs
            .iter()
            .zip(self.next_scores(now))
            .flat_map(|(job, next)| [job.clone(), next])
            .collect();
        let result: Result<(u64, u64), _> = RESCUE
            .call(self.store())
            .key("rjobs", &keys::rjobs())
            .key("hash", &keys::digest())
            .key("purgatory", &keys::purgatory())
            .key("since", &keys::since())
            .arg("digest", &digests.list)
            .arg("now", super::service::seconds(now))
            .arg("after", after.as_secs_f64())
            .args("jobs", jobs)
            .run()
            .await;
        let (jobs, unknown) = result.map_err(|error| self.refused(error))?;
        Ok(Rescued { jobs, unknown })
    }

    /// What a script's refusal means.
    pub(super) fn refused(&self, error: keyrack_store::Error) -> Error {
        match error {
            keyrack_store::Error::Refused { word, detail } if word == "OTHER_LIST" => {
                self.other_list(detail.unwrap_or_default())
            }
            error => error.into(),
        }
    }
}
