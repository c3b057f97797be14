//! One call for many jobs.

use std::{future::Future, ops::Deref, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use keyrack_jobs::bee::worker::Context;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{Task, failure::BoxError, handler::State};

/// How long the first job of a batch waits for others, unless set.
pub(super) const LINGER: Duration = Duration::from_millis(10);

/// A task of a batch, with the job that it is.
#[derive(Debug)]
pub struct Batched<T> {
    /// The task.
    pub task: T,
    /// Its job.
    pub context: Context,
}

impl<T> Deref for Batched<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.task
    }
}

/// What runs many tasks at once: an async function that takes them all, and the [`State`] if it likes, and returns a result for
/// each, in the same order.
///
/// ```
/// use keyrack::prelude::*;
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Charge { cents: u64 }
/// # impl Task for Charge { const QUEUE: &str = "charges"; type Output = u64; }
///
/// async fn charge_all(charges: Vec<Batched<Charge>>) -> Vec<Result<u64, BoxError>> {
///     charges.iter().map(|charge| Ok(charge.cents)).collect()
/// }
/// # fn example(rack: Keyrack) {
///
/// let worker = rack.jobs().worker().on_batch(100, charge_all);
/// # let _ = worker;
/// # }
/// ```
pub trait BatchHandler<S, Args>: Clone + Send + Sync + 'static {
    /// What it runs.
    type Task: Task;

    /// Runs them. Takes everything by value: the future is to live by itself.
    fn call(
        self,
        tasks: Vec<Batched<Self::Task>>,
        state: S,
    ) -> impl Future<Output = Results<Self::Task>> + Send + 'static;
}

/// What became of each task.
type Results<T> = Vec<Result<<T as Task>::Output, BoxError>>;

macro_rules! batch_handler {
    ($($state:ident)?) => {
        impl<F, R, S, T, E> BatchHandler<S, (T, $(State<$state>)?)> for F
        where
            F: Fn(Vec<Batched<T>>, $(State<$state>)?) -> R + Clone + Send + Sync + 'static,
            R: Future<Output = Vec<Result<T::Output, E>>> + Send + 'static,
            T: Task,
            E: Into<BoxError> + Send,
        {
            type Task = T;

            #[allow(unused_variables, reason = "handlers without state do not need it")]
            fn call(
                self,
                tasks: Vec<Batched<T>>,
                state: S,
            ) -> impl Future<Output = Results<T>> + Send + 'static {
                let running = self(tasks, $(State::<$state>(state))?);
                async move { running.await.into_iter().map(|result| result.map_err(Into::into)).collect() }
            }
        }
    };
}

batch_handler!();
batch_handler!(S);

type Handle<T> = dyn Fn(Vec<Batched<T>>) -> BoxFuture<'static, Results<T>> + Send + Sync;

/// Gathers jobs for one call.
pub(super) struct Batcher<T: Task> {
    most: usize,
    linger: Duration,
    handle: Box<Handle<T>>,
    gathered: Mutex<Gathered<T>>,
}

struct Gathered<T: Task> {
    /// How many batches have left.
    number: u64,
    waiting: Vec<Waiting<T>>,
}

struct Waiting<T: Task> {
    task: Batched<T>,
    answer: oneshot::Sender<Result<T::Output, BoxError>>,
}

impl<T: Task> Gathered<T> {
    fn take(&mut self) -> Vec<Waiting<T>> {
        self.number += 1;
        std::mem::take(&mut self.waiting)
    }
}

impl<T: Task> Batcher<T> {
    pub(super) fn new<S, Args, H>(
        most: usize,
        linger: Duration,
        handler: H,
        state: S,
    ) -> Arc<Batcher<T>>
    where
        S: Clone + Send + Sync + 'static,
        H: BatchHandler<S, Args, Task = T>,
        Args: 'static,
    {
        let handle = Box::new(move |tasks| {
            let (handler, state) = (handler.clone(), state.clone());
            Box::pin(handler.call(tasks, state)) as BoxFuture<'static, Results<T>>
        });
        let gathered = Mutex::new(Gathered { number: 0, waiting: Vec::new() });
        Arc::new(Batcher { most: most.max(1), linger, handle, gathered })
    }

    /// Runs a task with others, and returns what became of it.
    pub(super) async fn run(
        self: Arc<Self>,
        task: T,
        context: Context,
    ) -> Result<T::Output, BoxError> {
        match self.add(Batched { task, context }).await {
            Ok(result) => result,
            Err(_) => Err("the batch handler panicked, or returned too few results".into()),
        }
    }

    /// Adds a task to the batch. The first of a batch has it leave after a while, the last at once.
    fn add(self: &Arc<Self>, task: Batched<T>) -> oneshot::Receiver<Result<T::Output, BoxError>> {
        let (answer, answered) = oneshot::channel();
        let mut gathered = self.gathered.lock();
        gathered.waiting.push(Waiting { task, answer });
        if gathered.waiting.len() >= self.most {
            tokio::spawn(Arc::clone(self).call(gathered.take()));
        } else if gathered.waiting.len() == 1 {
            tokio::spawn(Arc::clone(self).linger(gathered.number));
        }
        answered
    }

    /// Lets a batch leave that has not become full in time.
    async fn linger(self: Arc<Self>, number: u64) {
        tokio::time::sleep(self.linger).await;
        let waiting = {
            let mut gathered = self.gathered.lock();
            if gathered.number != number {
                return;
            }
            gathered.take()
        };
        self.call(waiting).await;
    }

    /// Calls the handler in a task of its own: what one job of the batch has to stop for does not stop the others.
    async fn call(self: Arc<Self>, waiting: Vec<Waiting<T>>) {
        let (tasks, answers): (Vec<_>, Vec<_>) =
            waiting.into_iter().map(|waiting| (waiting.task, waiting.answer)).unzip();
        let results = (self.handle)(tasks).await;
        for (answer, result) in answers.into_iter().zip(results) {
            // A job that was stopped waits no more.
            let _ = answer.send(result);
        }
    }
}
