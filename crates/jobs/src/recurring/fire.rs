//! Putting due jobs into their queues and setting their next run.
//!
//! For the hot queue both are one script. A Bee queue may lie in another part of a cluster, so its job is submitted first, under
//! an id made from the job and the time at which it was due: whoever repeats that, after a crash or at the same time, finds it
//! submitted and only sets the next run. That holds for as long as the queue remembers a finished job, an hour unless set.

use jiff::{SignedDuration, Timestamp};
use keyrack_store::{Script, script};

use super::{
    definition::{Definition, Target},
    due::DueJob,
    error::Error,
    keys,
    plan::Digests,
    schedule::Schedule,
    service::{Recurring, from_score, score},
};
use crate::{
    bee::{
        Submission,
        keys::{Jid, QueueName},
    },
    hot,
};

static FIRE: Script = script!("fire.lua");

/// What became of due jobs.
#[derive(Debug, Default)]
pub struct Fired {
    /// Runs that were queued.
    pub queued: u64,
    /// Jobs that were paused: only their next run was set.
    pub paused: u64,
    /// Jobs that somebody else was quicker with.
    pub taken: u64,
    /// Jobs that could not be queued and stay due: their names, and why.
    pub failed: Vec<(String, Error)>,
}

impl Recurring {
    /// Queues due jobs and sets their next runs.
    pub(super) async fn fire(
        &self,
        digests: &Digests,
        due: &[DueJob],
        now: Timestamp,
    ) -> Result<Fired, Error> {
        let mut fired = Fired::default();
        let (mut values, mut runs): (Vec<String>, Vec<u64>) = (Vec::new(), Vec::new());
        for job in due {
            match self.prepare(digests, job, now).await {
                Ok(prepared) => {
                    runs.push(prepared.runs);
                    values.extend([job.digest.clone(), job.score.clone(), prepared.next]);
                    values.push(prepared.entries.len().to_string());
                    values.extend(prepared.entries);
                }
                Err(error) => fired.failed.push((self.name_of(digests, job), error)),
            }
        }
        if runs.is_empty() {
            return Ok(fired);
        }
        let words: Result<Vec<String>, _> = FIRE
            .call(self.store())
            .key("rjobs", &keys::rjobs())
            .key("hash", &keys::digest())
            .key("paused", &keys::paused())
            .key("hot", &hot::keys::hot())
            .arg("digest", &digests.list)
            .args("jobs", values)
            .run()
            .await;
        for (word, runs) in words.map_err(|error| self.refused(error))?.iter().zip(runs) {
            match word.as_str() {
                "queued" => fired.queued += runs,
                "paused" => fired.paused += 1,
                _ => fired.taken += 1,
            }
        }
        Ok(fired)
    }

    /// Finds out what the script has to do for a job, after submitting what goes to a Bee queue.
    async fn prepare(
        &self,
        digests: &Digests,
        due: &DueJob,
        now: Timestamp,
    ) -> Result<Prepared, Error> {
        let Some(place) = digests.place(&due.digest) else {
            // Nobody with this list could ever run it.
            tracing::warn!(digest = due.digest, "a digest in rjobs is of no defined job; removed");
            return Ok(Prepared::default());
        };
        let job = &self.plan.jobs()[place];
        let next = score(job.schedule().next_after(now));
        if next.is_empty() && !matches!(job.schedule(), Schedule::Once(_)) {
            tracing::warn!(job = job.name(), "the recurring job has no further run");
        }
        let runs = missed_runs(job, from_score(&due.score).unwrap_or(now), now);
        let mut entries = Vec::new();
        match job.target() {
            _ if due.paused => {}
            Target::Hot => {
                let entry = hot_entry(job, self.hive.now_ms())?;
                entries = vec![entry; runs.len()];
            }
            Target::Bee(queue) => self.submit(job, queue, &due.digest, &runs).await?,
        }
        Ok(Prepared { next, entries, runs: runs.len() as u64 })
    }

    fn name_of(&self, digests: &Digests, due: &DueJob) -> String {
        let place = digests.place(&due.digest);
        place.map_or(&*due.digest, |place| self.plan.jobs()[place].name()).to_owned()
    }

    /// Submits runs of a job under ids that are made from its identity and their times.
    pub(super) async fn submit(
        &self,
        job: &Definition,
        queue: &QueueName,
        identity: &str,
        runs: &[Timestamp],
    ) -> Result<(), Error> {
        let submissions =
            runs.iter().map(|run| submission(job, queue).id(run_id(queue, identity, *run)));
        let failed = |source| Error::Bee { queue: queue.to_string(), source };
        let answers = self.hive.submit_many(submissions.collect()).await.map_err(failed)?;
        for answer in answers {
            match answer {
                Ok(_) | Err(crate::Error::Exists { .. }) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
    }
}

/// What the script is told about a job.
#[derive(Default)]
struct Prepared {
    next: String,
    entries: Vec<String>,
    runs: u64,
}

/// A run that is queued later than this was missed.
const LATE_MAX: SignedDuration = SignedDuration::from_mins(1);

/// The runs to queue: the one that is due, and missed ones after it as far as the job catches up with them. A job that skips what it
/// missed runs for the last one, if that is not too late.
pub(super) fn missed_runs(job: &Definition, due_at: Timestamp, now: Timestamp) -> Vec<Timestamp> {
    let runs_from = |first: Option<Timestamp>| {
        let runs = std::iter::successors(first, |run| job.schedule().next_after(*run));
        runs.take_while(|run| *run <= now)
    };
    if job.catch_up() > 0 {
        return runs_from(Some(due_at)).take(job.catch_up() as usize).collect();
    }
    let in_time = now.checked_sub(LATE_MAX).unwrap_or(Timestamp::MIN);
    let first = if due_at >= in_time { Some(due_at) } else { job.schedule().next_after(in_time) };
    runs_from(first).last().into_iter().collect()
}

/// The job's entry for the hot queue.
pub(super) fn hot_entry(job: &Definition, now_ms: u64) -> Result<String, Error> {
    hot::encode(job.name(), job.kwargs(), now_ms).map_err(Error::Hot)
}

/// The job for its Bee queue.
pub(super) fn submission(job: &Definition, queue: &QueueName) -> Submission {
    Submission::to(queue.clone()).arg(job.kwargs())
}

/// The id of the job that stands for one run, the same for everybody who comes to it.
fn run_id(queue: &QueueName, identity: &str, run: Timestamp) -> Jid {
    let name = format!("keyrack recurring {identity} {}", run.as_second());
    let hash = sha1_smol::Sha1::from(name).digest().bytes();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    Jid::with_uuid(&queue.group(), uuid::Builder::from_sha1_bytes(bytes).into_uuid())
}
