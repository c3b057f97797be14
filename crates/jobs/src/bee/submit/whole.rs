//! Submitting a list of jobs of which all are stored or none.

use super::{Hive, Jid, Prepared, Submission, traced::SubmitSpans};
use crate::Error;

/// The most jobs that are submitted as a whole: other clients of the store wait for so long.
pub const JOBS_AS_A_WHOLE_MAX: usize = 10_000;

/// A job that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredJob {
    /// Its id.
    pub jid: Jid,
    /// What has become of the submission.
    pub outcome: SubmitOutcome,
}

/// What has become of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SubmitOutcome {
    /// It is a new job.
    Created,
    /// A job that was submitted before stands for it.
    Existing,
    /// So it does, and runs with the arguments of this one.
    Replaced,
}

impl SubmitOutcome {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            SubmitOutcome::Created => "created",
            SubmitOutcome::Existing => "existing",
            SubmitOutcome::Replaced => "replaced",
        }
    }
}

/// Why a list was refused.
#[derive(Debug)]
pub struct RefusedList {
    /// The place of the job that was refused, if it was one.
    pub place: Option<usize>,
    /// Why.
    pub error: Error,
}

impl From<Error> for RefusedList {
    fn from(error: Error) -> RefusedList {
        RefusedList { place: None, error }
    }
}

impl Hive {
    /// Submits jobs of one queue, all of them or none, whatever others do meanwhile.
    ///
    /// A job that is [remembered](Submission::remembered) and was submitted before by an equal call is as good as new.
    ///
    /// # Errors
    /// When one of the jobs makes no sense, has an id that is taken or a parent that was canceled; when they are of several
    /// queues, or more than [`JOBS_AS_A_WHOLE_MAX`]; or when the store fails.
    pub async fn submit_whole(
        &self,
        mut submissions: Vec<Submission>,
    ) -> Result<Vec<StoredJob>, RefusedList> {
        let spans = SubmitSpans::begin(&mut submissions);
        let stored = keyrack_trace::within(spans.context(), self.store_whole(submissions)).await;
        spans.end_whole(stored)
    }

    async fn store_whole(
        &self,
        submissions: Vec<Submission>,
    ) -> Result<Vec<StoredJob>, RefusedList> {
        let n_jobs = submissions.len();
        let Some(queue) = submissions.first().map(|job| job.queue().clone()) else {
            return Ok(Vec::new());
        };
        if n_jobs > JOBS_AS_A_WHOLE_MAX {
            let reason = format!("{n_jobs} of them; give at most {JOBS_AS_A_WHOLE_MAX} at once");
            return Err(Error::invalid("jobs", reason).into());
        }
        let (mut jobs, now_ms) = (Vec::with_capacity(n_jobs), self.now_ms());
        for (place, submission) in submissions.into_iter().enumerate() {
            let refused = |error| RefusedList { place: Some(place), error };
            if *submission.queue() != queue {
                let reason = format!("\"{}\" and \"{queue}\"; give one", submission.queue());
                return Err(refused(Error::invalid("queue", reason)));
            }
            jobs.push(submission.prepare(now_ms).map_err(refused)?);
        }
        self.list_queue(&queue).await?;
        let (words, is_repeat) = self.store_batch(&queue, &jobs, true).await?;
        outcome(jobs, &words, is_repeat)
    }
}

fn outcome(
    jobs: Vec<Prepared>,
    words: &[String],
    is_repeat: bool,
) -> Result<Vec<StoredJob>, RefusedList> {
    // Nobody else makes such ids, so an earlier call was carried out and its answer lost.
    let is_ours = is_repeat || jobs.iter().any(|job| job.is_fresh);
    let was_carried_out = is_ours && words.iter().all(|word| word == "EXISTS" || word == "SAME");
    let mut stored = Vec::with_capacity(jobs.len());
    for (place, (job, word)) in jobs.into_iter().zip(words).enumerate() {
        let was_before = word == "SAME" && !was_carried_out;
        let word = if word == "SAME" || was_carried_out { "ok" } else { word.as_str() };
        let one = job.outcome(word, false);
        let mut one = one.map_err(|error| RefusedList { place: Some(place), error })?;
        if was_before {
            one.outcome = SubmitOutcome::Existing;
        }
        stored.push(one);
    }
    Ok(stored)
}
