//! What serve does with the hot queue: runs the jobs of progress bars and of files, and sees to what crashes left behind.

use std::{process, time::Duration};

use keyrack_files::SWEEP_JOB;
use keyrack_jobs::hot::{self, HotWorker, Job, Outcome, Unknown, keys::WorkerId};
use keyrack_progress::{HANDLE_EXAMPLE_JOB, JOBS, Progress};
use keyrack_store::Store;
use tokio::sync::watch;
use uuid::Uuid;

use super::stopped;
use crate::{
    Exit, Failure,
    files::Sweeper,
    settings::{HOT, Settings},
};

/// How often outboxes are looked into: only crashes leave anything there.
const OUTBOXES_EVERY: Duration = Duration::from_secs(60);

/// Whether to work on the hot queue.
pub(super) fn works_hot_queue(settings: &Settings) -> Result<bool, Failure> {
    match settings.value(&HOT) {
        "on" => Ok(true),
        "off" => Ok(false),
        other => {
            let message = format!("\"hot\" cannot be \"{other}\"");
            Err(Failure::new(Exit::Usage, message).hint(format!("set it by {}", HOT.ways())))
        }
    }
}

/// Works until told to stop, and then ends what is under way.
pub(super) async fn run(
    store: Store,
    quotas: keyrack_progress::Quotas,
    works_hot_queue: bool,
    sweeper: Option<Sweeper>,
    stopping: watch::Receiver<bool>,
) {
    let progress = Progress::open(store.clone(), hot::keys::hot()).with_quotas(quotas);
    let emptying = empty_outboxes(&progress, stopped(stopping.clone()));
    if !works_hot_queue {
        return emptying.await;
    }
    let working = worker(store, &progress, sweeper).run(stopped(stopping));
    tokio::join!(emptying, working);
}

/// A worker that knows the jobs of progress bars, and that of files if it knows where they are. Jobs that it does not know are
/// somebody else's, and stay in the queue.
fn worker(store: Store, progress: &Progress, sweeper: Option<Sweeper>) -> HotWorker {
    let id = format!("serve.{}.{}", process::id(), Uuid::new_v4().simple());
    let id = WorkerId::new(id).expect("a word and numbers are an id");
    let mut worker = HotWorker::new(store.clone(), id).reliable().unknown(Unknown::Leave);
    for name in JOBS {
        let progress = progress.clone();
        worker = worker.on(name, move |job: Job| handle(progress.clone(), job));
    }
    match sweeper {
        Some(sweeper) => {
            worker.on(SWEEP_JOB, move |job: Job| sweep(sweeper.clone(), store.clone(), job))
        }
        None => worker,
    }
}

async fn sweep(sweeper: Sweeper, store: Store, job: Job) -> Outcome {
    tokio::select! {
        swept = sweeper.run(store) => {
            swept?;
            Ok(None)
        }
        // A sweep may be dropped at any moment; the next one goes on.
        () = job.stopping() => Ok(None),
    }
}

async fn handle(progress: Progress, job: Job) -> Outcome {
    let handled = progress.handle(&job.name, &job.kwargs);
    if job.name != HANDLE_EXAMPLE_JOB {
        return Ok(handled.await?);
    }
    tokio::select! {
        outcome = handled => Ok(outcome?),
        // It takes its time, and nobody is hurt when it does not end.
        () = job.stopping() => Ok(None),
    }
}

async fn empty_outboxes(progress: &Progress, stop: impl Future<Output = ()>) {
    let emptying = async {
        loop {
            if let Err(error) = progress.empty_outboxes().await {
                tracing::warn!(%error, "completed traces may still wait in outboxes");
            }
            tokio::time::sleep(OUTBOXES_EVERY).await;
        }
    };
    tokio::select! {
        () = emptying => {}
        () = stop => {}
    }
}
