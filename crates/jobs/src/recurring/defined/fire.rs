//! Putting due jobs that were defined at run time into their queues.
//!
//! As with the list of a program, what goes to a Bee queue is submitted first, under an id made from the definition and the time at
//! which it was due.

use jiff::Timestamp;
use keyrack_store::{Script, script};

use super::{
    Defined,
    due::{DueDefined, DueJob},
    text,
};
use crate::{
    hot,
    recurring::{
        definition::Target,
        error::Error,
        fire::{Fired, hot_entry, missed_runs},
        keys,
        schedule::Schedule,
        service::{Recurring, from_score, score},
    },
};

static FIRE: Script = script!("fire.lua");

/// What the script is told about a job.
#[derive(Default)]
struct Prepared {
    next: String,
    /// Whether it stays though it has no next run.
    stays: bool,
    entries: Vec<String>,
    runs: u64,
    paused: bool,
}

impl Recurring {
    /// Queues due jobs and sets their next runs. A job that runs once is gone then.
    pub(in crate::recurring) async fn fire_defined(
        &self,
        due: &DueDefined,
        now: Timestamp,
    ) -> Result<Fired, Error> {
        let mut fired = Fired::default();
        let (mut values, mut prepared): (Vec<String>, Vec<Prepared>) = (Vec::new(), Vec::new());
        for job in &due.jobs {
            match self.prepare_defined(job, now).await {
                Ok(mut ready) => {
                    let version = text::version(job.text.as_deref().unwrap_or_default());
                    values.extend([job.name.clone(), version.to_owned(), job.score.clone()]);
                    let stays = if ready.stays { "1" } else { "0" };
                    values.extend([ready.next.clone(), stays.to_owned()]);
                    values.push(ready.entries.len().to_string());
                    values.append(&mut ready.entries);
                    prepared.push(ready);
                }
                Err(error) => fired.failed.push((job.name.clone(), error)),
            }
        }
        if prepared.is_empty() {
            return Ok(fired);
        }
        let words: Vec<String> = FIRE
            .call(self.store())
            .key("defined", &keys::defined())
            .key("due", &keys::defined_due())
            .key("hot", &hot::keys::hot())
            .args("jobs", values)
            .run()
            .await?;
        for (word, ready) in words.iter().zip(prepared) {
            match word.as_str() {
                "done" if ready.paused => fired.paused += 1,
                "done" => fired.queued += ready.runs,
                _ => fired.taken += 1,
            }
        }
        Ok(fired)
    }

    /// Finds out what the script has to do for a job, after submitting what goes to a Bee queue.
    async fn prepare_defined(&self, due: &DueJob, now: Timestamp) -> Result<Prepared, Error> {
        let Some(text) = &due.text else {
            tracing::warn!(job = due.name, "a recurring job is due that is not defined; removed");
            return Ok(Prepared::default());
        };
        let defined = text::read(&due.name, text)?;
        let job = &defined.definition;
        let next = score(job.schedule().next_after(now));
        if defined.paused {
            return Ok(Prepared { next, stays: true, paused: true, ..Prepared::default() });
        }
        let due_at = from_score(&due.score).unwrap_or(now);
        let runs = missed_runs(job, due_at, now);
        let mut entries = Vec::new();
        match job.target() {
            Target::Hot => entries = vec![hot_entry(job, self.hive.now_ms())?; runs.len()],
            Target::Bee(queue) => self.submit(job, queue, &identity(&defined), &runs).await?,
        }
        let stays = !matches!(job.schedule(), Schedule::Once(_));
        Ok(Prepared { next, stays, entries, runs: runs.len() as u64, paused: false })
    }
}

/// What the ids of its runs are made from: the same for all versions of a definition, so that a change makes no run twice.
fn identity(defined: &Defined) -> String {
    format!("{} {}", defined.created_at, defined.definition.name())
}
