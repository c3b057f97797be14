//! What a worker was taught, and what it hands to it.

use std::{
    any::Any,
    fmt,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::Poll,
};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::watch;

/// Why a handler could not do its job.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What a handler returns: a value to announce, nothing, or why it failed.
pub type Outcome = Result<Option<Value>, Failure>;

/// A job as its handler gets it.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub kwargs: Map<String, Value>,
    /// Since when it waited, in unix seconds, if its producer said so.
    pub queued_at: Option<f64>,
    pub(super) stopping: watch::Receiver<bool>,
}

impl Job {
    /// The arguments as a type of the handler's own.
    ///
    /// # Errors
    /// When they do not fit; a type with `deny_unknown_fields` also refuses arguments that it does not have.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(Value::Object(self.kwargs.clone()))
    }

    /// Whether the worker was told to stop: long jobs queue what is left of them and return.
    pub fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Resolves when the worker is told to stop.
    pub async fn stopping(&self) {
        let mut stopping = self.stopping.clone();
        // The worker outlives its jobs, and so does the other end.
        let _ = stopping.wait_for(|stop| *stop).await;
    }
}

type Run = dyn Fn(Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> + Send + Sync;

/// A handler of any type.
pub(super) struct Handler {
    run: Box<Run>,
    pub(super) exclusive: bool,
}

impl Handler {
    pub(super) fn new<F, R>(handler: F, exclusive: bool) -> Handler
    where
        F: Fn(Job) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome> + Send + 'static,
    {
        Handler { run: Box::new(move |job| Box::pin(handler(job))), exclusive }
    }

    /// Runs a job; a panic comes back as its message.
    pub(super) async fn run(&self, job: Job) -> Result<Outcome, String> {
        let begun = catch_unwind(AssertUnwindSafe(|| (self.run)(job)));
        let mut running = begun.map_err(|panic| message(panic.as_ref()))?;
        poll_fn(|cx| {
            // A job that panicked is never looked at again, so nobody sees what it left half done.
            match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(cx))) {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(outcome)) => Poll::Ready(Ok(outcome)),
                Err(panic) => Poll::Ready(Err(message(panic.as_ref()))),
            }
        })
        .await
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler").field("exclusive", &self.exclusive).finish_non_exhaustive()
    }
}
