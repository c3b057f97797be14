//! A workbench for the tests of workers: handlers that tell when they begin and end when they are told to.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use keyrack_jobs::bee::{
    Failure, Hive, Job, Status, Submission,
    keys::{Jid, QueueName},
    worker::{Context, Settings, Worker},
};
use keyrack_store::Store;
use keyrack_testkit::wait_until_async;
use tokio::{sync::oneshot, task::JoinHandle};

pub(super) fn queue() -> QueueName {
    QueueName::new("emails").expect("a queue")
}

pub(super) async fn hive(url: &str) -> Hive {
    Hive::open(Store::open(url).await.expect("a store")).await.expect("a hive")
}

pub(super) fn settings(concurrency: usize) -> Settings {
    Settings { concurrency, stop_grace: Duration::from_millis(100), ..Settings::default() }
}

/// A worker that runs in the background.
pub(super) struct Running {
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

impl Running {
    pub(super) fn start(worker: Worker) -> Running {
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(async move {
            let shutdown = async {
                let _ = stopped.await;
            };
            worker.run(shutdown).await.expect("a worker that runs");
        });
        Running { stop, ended }
    }

    pub(super) async fn stop(self) {
        let _ = self.stop.send(());
        self.ended.await.expect("the worker did not panic");
    }

    /// Ends the worker as a crash would: nothing is given back.
    pub(super) fn crash(self) {
        self.ended.abort();
    }
}

/// The ids of the jobs that a handler was called for, in order.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    pub(super) fn note(&self, context: &Context) {
        self.0.lock().expect("not poisoned").push(context.job().jid().to_owned());
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().expect("not poisoned").clone()
    }

    /// A handler that takes note and ends at once.
    pub(super) fn handler(
        &self,
    ) -> impl Fn(Context) -> std::future::Ready<Result<(), Failure>> + Send + Sync + 'static {
        let calls = self.clone();
        move |context| {
            calls.note(&context);
            std::future::ready(Ok(()))
        }
    }
}

pub(super) async fn submit(hive: &Hive, n: usize) -> Jid {
    hive.submit(Submission::to(queue()).arg(n)).await.expect("submitted")
}

pub(super) async fn wait_for_status(hive: &Hive, jid: &Jid, status: Status) -> Job {
    wait_until_async(&format!("the job to be {status}"), async || {
        hive.job(jid).await.is_ok_and(|job| job.status() == status)
    })
    .await;
    hive.job(jid).await.expect("the job")
}

/// How often the history has this event.
pub(super) fn count(job: &Job, event: &str) -> usize {
    job.history().iter().filter(|entry| entry.event == event).count()
}
