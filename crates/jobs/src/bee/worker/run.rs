//! Running claimed jobs: beside others, or alone at their last chance.

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use tokio::{sync::mpsc, time::Instant};

use super::{
    Settings, context::Context, handler::Handler, quarantine::Quarantine, queue_worker::Shared,
    reservations::WorkerEvent,
};
use crate::bee::{
    settle::{End, Outcome, Verdict},
    sweep::WorkerTimeouts,
};

/// The wait between attempts to settle a job that ran alone while the store cannot be reached.
const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// For so long a task runs jobs in turn. What is left is for others to run.
const IN_TURN_MAX: Duration = Duration::from_millis(1);

/// What it takes to run the jobs of a queue worker.
#[derive(Debug)]
pub(super) struct Runner {
    pub(super) shared: Arc<Shared>,
    pub(super) settings: Arc<Settings>,
    pub(super) timeouts: WorkerTimeouts,
    pub(super) handler: Handler,
    pub(super) quarantine: Quarantine,
    /// Where ends go. Nobody takes them when the queue worker has stopped; the jobs were given back then.
    pub(super) finish: mpsc::UnboundedSender<WorkerEvent>,
}

impl Runner {
    /// Runs a job to its end and tells the queue worker.
    pub(super) async fn run(self: Arc<Self>, context: Context) {
        let outcome = self.end_of(context).await;
        self.tell(vec![outcome]);
    }

    /// Runs quick jobs one after the other and tells the queue worker of all: a task for each would take as long as the job.
    /// One that does not end at once gets a task all the same.
    pub(super) async fn run_in_turn(self: Arc<Self>, contexts: Vec<Context>) {
        let (since, mut ended) = (Instant::now(), Vec::with_capacity(contexts.len()));
        let mut contexts = contexts.into_iter();
        let mut runner = Arc::clone(&self);
        while let Some(context) = contexts.next() {
            // It gives the runner back: counting its owners anew for each job would keep the cores waiting.
            let mut end = Box::pin(async move { (runner.end_of(context).await, runner) });
            match poll_fn(|cx| Poll::Ready(end.as_mut().poll(cx))).await {
                Poll::Ready((outcome, given_back)) => {
                    ended.push(outcome);
                    runner = given_back;
                }
                Poll::Pending => {
                    tokio::spawn(async move {
                        let (outcome, runner) = end.await;
                        runner.tell(vec![outcome]);
                    });
                    runner = Arc::clone(&self);
                }
            }
            if since.elapsed() > IN_TURN_MAX {
                for context in contexts {
                    tokio::spawn(Arc::clone(&self).run(context));
                }
                break;
            }
        }
        self.tell(ended);
    }

    fn tell(&self, ended: Vec<Outcome>) {
        let _ = self.finish.send(WorkerEvent::Ended(ended));
    }

    async fn end_of(&self, context: Context) -> Outcome {
        if self.timeouts.is_last_chance(context.job().deaths()) {
            return self.run_alone(context).await;
        }
        let _pass = self.quarantine.beside_others(context.job().parent().is_some()).await;
        self.run_handler(context).await
    }

    async fn run_handler(&self, context: Context) -> Outcome {
        match context.stop_reason() {
            // It was lost or canceled before its turn came, so whatever is said of it changes nothing.
            Some(_) => Outcome::of(context.job(), End::Released),
            None => self.handler.run(context, &self.settings).await,
        }
    }

    /// Runs a job while nothing else does. It is noted before and settled after that, so that as long as the note counts,
    /// nothing but this job can be the end of the process. (The queue worker settles it once more, which changes nothing.)
    async fn run_alone(&self, context: Context) -> Outcome {
        let released = Outcome::of(context.job(), End::Released);
        tokio::select! {
            () = context.seen_running() => {}
            _ = context.stopped() => return released,
        }
        let _pass = tokio::select! {
            pass = self.quarantine.alone() => pass,
            _ = context.stopped() => return released,
        };
        let Shared { hive, queue, worker, .. } = &*self.shared;
        if !matches!(hive.runs_alone(queue, worker, context.job()).await, Ok(Verdict::Ok)) {
            return released;
        }
        let outcome = self.run_handler(context).await;
        let ends = std::slice::from_ref(&outcome);
        while !self.finish.is_closed() {
            if let Ok(settled) = hive.settle(queue, worker, ends, 0, self.timeouts.lock).await {
                self.shared.tell_settled(ends, &settled.verdicts);
                break;
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        }
        outcome
    }
}
