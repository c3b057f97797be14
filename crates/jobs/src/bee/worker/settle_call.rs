//! One call of a queue worker: what it tells, what it asks for, and what came of it.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::{Duplicates, Settings, queue_worker::Shared};
use crate::{
    Error,
    bee::{
        duplicates::Checked,
        job::Job,
        keys::JobHash,
        reservation::{ReservationEnd, SettleAndClaim},
        settle::{End, Failure, Outcome, Settled},
    },
};

/// What a call is about.
pub(super) struct SettleCall {
    pub(super) outcomes: Vec<Outcome>,
    pub(super) max: usize,
    pub(super) reserve: Option<u64>,
    pub(super) closes: Option<ReservationEnd>,
}

/// A call that has ended, and what came of it.
pub(super) struct SettleReply {
    pub(super) call: SettleCall,
    pub(super) result: Result<Settled, Error>,
    /// How many jobs were claimed, those among them that are not to be run.
    pub(super) n_claimed: usize,
}

/// Settles and claims, and sorts out duplicates among what was claimed.
pub(super) async fn send(
    shared: Arc<Shared>,
    settings: Arc<Settings>,
    call: SettleCall,
    lock: Duration,
) -> SettleReply {
    shared.registry.begun.fetch_add(1, Ordering::SeqCst);
    let Shared { hive, queue, worker, .. } = &*shared;
    let SettleCall { outcomes, max, reserve, closes } = &call;
    let request = SettleAndClaim {
        outcomes,
        max: *max,
        lock,
        reserve: *reserve,
        closes: closes.clone(),
        alone_after: None,
    };
    let mut result = hive.settle_and_claim(queue, worker, &request).await;
    let n_claimed = result.as_ref().map_or(0, |settled| settled.claimed.jobs.len());
    if let Ok(settled) = &mut result {
        let jobs = std::mem::take(&mut settled.claimed.jobs);
        settled.claimed.jobs = without_duplicates(&shared, &settings.duplicates, jobs, lock).await;
        if let Some(reservation) = *reserve
            && !settled.reserved.is_empty()
        {
            match hive.jobs_of_reservation(queue, worker, reservation, &settled.reserved).await {
                Ok(jobs) => settled.claimed.jobs = jobs,
                Err(error) => result = Err(error),
            }
        }
    }
    shared.registry.ended.fetch_add(1, Ordering::SeqCst);
    SettleReply { call, result, n_claimed }
}

/// The jobs that are to be run. Those whose hash cannot be made fail; those that could not be checked are run, since
/// twice is better than never.
async fn without_duplicates(
    shared: &Shared,
    duplicates: &Duplicates,
    jobs: Vec<Job>,
    lock: Duration,
) -> Vec<Job> {
    let hash = |job: &Job| -> Result<JobHash, String> {
        match duplicates {
            Duplicates::By(hash) => hash(job),
            _ => {
                let hash = job.data_hash().map_err(|error| error.to_string())?;
                JobHash::new(hash).map_err(|error| error.to_string())
            }
        }
    };
    if jobs.is_empty() || matches!(duplicates, Duplicates::Run) {
        return jobs;
    }
    let (mut hashed, mut failed) = (Vec::new(), Vec::new());
    for job in jobs {
        match hash(&job) {
            Ok(hash) => hashed.push((job, hash)),
            Err(reason) => failed.push(Outcome::of(&job, End::Failed(Failure::new(reason)))),
        }
    }
    if !failed.is_empty() {
        let settled = shared.hive.settle(&shared.queue, &shared.worker, &failed, 0, lock).await;
        if let Err(error) = settled {
            tracing::debug!(queue = %shared.queue, %error, "could not fail jobs without a hash; their locks will expire");
        }
    }
    let asked: Vec<(&Job, JobHash)> =
        hashed.iter().map(|(job, hash)| (job, hash.clone())).collect();
    match shared.hive.check_duplicates(&shared.queue, &shared.worker, &asked).await {
        Ok(checked) => hashed
            .into_iter()
            .zip(checked)
            .filter(|(_, checked)| *checked == Checked::Original)
            .map(|((job, _), _)| job)
            .collect(),
        Err(_) => hashed.into_iter().map(|(job, _)| job).collect(),
    }
}
