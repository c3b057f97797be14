//! Putting a list in force.

use std::sync::Arc;

use jiff::Timestamp;
use keyrack_store::{Script, script};

use super::{error::Error, keys, plan::Digests, service::Recurring};

static UPDATE: Script = script!("update.lua");

impl Recurring {
    /// Puts this list in force, unless it is already, and returns the digests under which it is. Jobs that were due stay due, and
    /// paused ones paused.
    pub(super) async fn put_in_force(&self) -> Result<Arc<Digests>, Error> {
        let now = self.now();
        let seasons = self.plan.seasons(now);
        let present = self.plan.digests(now);
        let mut values: Vec<String> = vec![seasons.len().to_string()];
        values.extend(seasons.iter().map(|season| season.list.clone()));
        for (place, next) in self.next_scores(now).enumerate() {
            let mut names: Vec<&String> =
                seasons.iter().map(|season| &season.jobs[place]).collect();
            names.sort_unstable();
            names.dedup();
            values.extend([present.jobs[place].clone(), next, names.len().to_string()]);
            values.extend(names.into_iter().cloned());
        }
        let stored: String = UPDATE
            .call(self.store())
            .key("rjobs", &keys::rjobs())
            .key("hash", &keys::digest())
            .key("purgatory", &keys::purgatory())
            .key("since", &keys::since())
            .key("paused", &keys::paused())
            .key("version", &keys::version())
            .arg("digest", &present.list)
            .arg("list_version", self.version)
            .args("values", values)
            .run()
            .await
            .map_err(|error| match error {
                keyrack_store::Error::Refused { word, detail } if word == "NEWER_LIST" => {
                    let found = detail.and_then(|found| found.parse().ok()).unwrap_or_default();
                    Error::NewerList { found, ours: self.version }
                }
                error => error.into(),
            })?;
        self.plan.season(&stored, now).ok_or_else(|| self.other_list(stored))
    }

    /// Brings forward the jobs that are scheduled later than their next run by the present time, as those are whose run was set before the
    /// clock went back. Returns how many there were.
    pub(super) async fn schedule_anew(
        &self,
        digests: &Digests,
        now: Timestamp,
    ) -> Result<u64, Error> {
        let mut cmd = redis::cmd("ZADD");
        cmd.arg(&*self.store().place(&keys::rjobs())).arg("XX").arg("LT").arg("CH");
        let mut any = false;
        for (job, next) in digests.jobs.iter().zip(self.next_scores(now)) {
            if !next.is_empty() {
                cmd.arg(next).arg(job);
                any = true;
            }
        }
        Ok(if any { cmd.query_async(&mut self.store().connection()).await? } else { 0 })
    }
}
