//! What serve does for progress bars: runs their jobs, and sees to what crashes left behind.

use std::{process, time::Duration};

use keyrack_jobs::hot::{self, HotWorker, Job, Outcome, Unknown, keys::WorkerId};
use keyrack_progress::{HANDLE_EXAMPLE_JOB, JOBS, Progress};
use keyrack_store::Store;
use tokio::sync::watch;
use uuid::Uuid;

use super::stopped;
use crate::{
    Exit, Failure,
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

/// Looks after progress bars until told to stop, and then ends what is under way.
pub(super) async fn run(store: Store, works_hot_queue: bool, stopping: watch::Receiver<bool>) {
    let progress = Progress::open(store.clone(), hot::keys::hot());
    let emptying = empty_outboxes(&progress, stopped(stopping.clone()));
    if !works_hot_queue {
        return emptying.await;
    }
    let working = worker(store, &progress).run(stopped(stopping));
    tokio::join!(emptying, working);
}

/// A worker that knows the jobs of progress bars. Jobs that it does not know are somebody else's, and stay in the queue.
fn worker(store: Store, progress: &Progress) -> HotWorker {
    let id = format!("serve.{}.{}", process::id(), Uuid::new_v4().simple());
    let id = WorkerId::new(id).expect("a word and numbers are an id");
    let mut worker = HotWorker::new(store, id).reliable().unknown(Unknown::Leave);
    for name in JOBS {
        let progress = progress.clone();
        worker = worker.on(name, move |job: Job| handle(progress.clone(), job));
    }
    worker
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
