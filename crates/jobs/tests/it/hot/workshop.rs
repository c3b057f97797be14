//! Workers that tests start, watch and stop.

use std::sync::Arc;

use keyrack_jobs::hot::{Counters, HotWorker, Job, Outcome, keys, keys::WorkerId};
use keyrack_keys::{Key, Registry};
use keyrack_store::Store;
use redis::{FromRedisValue, ToRedisArgs};
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    task::JoinHandle,
};

pub(crate) fn id(name: &str) -> WorkerId {
    WorkerId::new(name).expect("a good id")
}

pub(crate) fn worker(store: &Store, name: &str) -> HotWorker {
    HotWorker::new(store.clone(), id(name)).concurrency(4)
}

/// A worker at work.
pub(crate) struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
    pub(crate) counters: Arc<Counters>,
}

impl Running {
    pub(crate) fn start(worker: HotWorker) -> Running {
        let counters = worker.counters();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(worker.run(async { drop(stopped.await) }));
        Running { stop, task, counters }
    }

    /// Tells it to stop and waits until it has.
    pub(crate) async fn stop(self) {
        self.tell_to_stop().await.expect("the worker stops in peace");
    }

    /// Tells it to stop; the handle resolves when it has.
    pub(crate) fn tell_to_stop(self) -> JoinHandle<()> {
        self.stop.send(()).expect("the worker runs");
        self.task
    }

    /// Ends it as a crash does.
    pub(crate) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.expect_err("it was killed").is_cancelled());
    }
}

/// A handler that says when it begins and waits for leave to end.
#[derive(Clone)]
pub(crate) struct Gate {
    begun: mpsc::UnboundedSender<String>,
    leave: Arc<Semaphore>,
}

/// The test's side of a gate.
pub(crate) struct Keeper {
    begun: mpsc::UnboundedReceiver<String>,
    leave: Arc<Semaphore>,
}

pub(crate) fn gate() -> (Gate, Keeper) {
    let (sender, begun) = mpsc::unbounded_channel();
    let leave = Arc::new(Semaphore::new(0));
    (Gate { begun: sender, leave: leave.clone() }, Keeper { begun, leave })
}

impl Gate {
    pub(crate) fn handler(
        &self,
    ) -> impl Fn(Job) -> std::pin::Pin<Box<dyn Future<Output = Outcome> + Send>> + Send + Sync + 'static
    {
        let gate = self.clone();
        move |job| {
            let gate = gate.clone();
            Box::pin(async move {
                gate.begun.send(job.kwargs["n"].to_string())?;
                gate.leave.acquire().await?.forget();
                Ok(None)
            })
        }
    }
}

impl Keeper {
    /// Waits until a job begins; returns its number.
    pub(crate) async fn begun(&mut self) -> String {
        self.begun.recv().await.expect("a worker that lives")
    }

    /// Whether a job has begun that was not asked for yet.
    pub(crate) fn none_begun(&mut self) -> bool {
        self.begun.is_empty()
    }

    /// Lets so many jobs end.
    pub(crate) fn let_go(&self, jobs: usize) {
        self.leave.add_permits(jobs);
    }
}

/// A command that takes nothing but its key.
pub(crate) const ALONE: &[&str] = &[];

/// Runs one command on a key.
pub(crate) async fn command<T: FromRedisValue>(
    store: &Store,
    name: &str,
    key: &Key,
    args: impl ToRedisArgs,
) -> T {
    let mut cmd = redis::cmd(name);
    cmd.arg(&*store.place(key)).arg(args);
    cmd.query_async(&mut store.connection())
        .await
        .unwrap_or_else(|error| panic!("{name} on {store}: {error}"))
}

pub(crate) async fn list(store: &Store, key: &Key) -> Vec<String> {
    command(store, "LRANGE", key, (0, -1)).await
}

/// The numbers of the jobs in a list.
pub(crate) async fn numbers(store: &Store, key: &Key) -> Vec<u64> {
    let entries = list(store, key).await;
    let number = |entry: &String| -> Option<u64> {
        serde_json::from_str::<serde_json::Value>(entry).ok()?["kwargs"]["n"].as_u64()
    };
    entries.iter().filter_map(number).collect()
}

/// Proves that no key of a worker is left, and that everything else is as declared.
pub(crate) async fn assert_clean(store: &Store, worker: &str) {
    for key in [
        keys::taken(&id(worker)),
        keys::alive(&id(worker)),
        keys::wake(&id(worker)),
        keys::workers(),
    ] {
        assert!(!command::<bool>(store, "EXISTS", &key, ALONE).await, "{key} is left");
    }
    let registry = Registry::new(&[keys::FAMILIES]);
    let report = keyrack_lint::lint(store, &registry, &Default::default(), |_| {}).await;
    let findings = report.expect("a report").findings;
    assert!(findings.is_empty(), "{findings:?}");
}
