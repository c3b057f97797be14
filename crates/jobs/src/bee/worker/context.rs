//! What the handler of a job sees.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use keyrack_trace::TraceContext;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::Notify;

use super::{
    super::{
        hive::Hive,
        job::{Job, Options},
        keys::{Jid, Tag},
        logs::{LogLevel, NewLogLine},
        progress::Progress,
        submit::Submission,
        trace,
    },
    log_writer::LogWriter,
    reservations::ReservationHandle,
};
use crate::Error;

/// Why a handler should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The job was canceled.
    Canceled,
    /// The job was taken away: this worker was silent for too long.
    Lost,
    /// The worker stops. If the handler fails now or goes on for too long, the job is given back.
    Shutdown,
}

/// A running job, as its handler sees it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    hive: Hive,
    job: Job,
    /// What it came with, if it was reserved.
    handle: Option<Arc<ReservationHandle>>,
    /// Why it should stop, and who waits for that. A watch channel would be half of what a context costs.
    stop: Mutex<Option<Stop>>,
    stopped: Notify,
    /// The job's options, once the handler has changed them.
    options: Mutex<Option<Options>>,
    shared: Arc<ForHandlers>,
    /// The number of the last line or progress that this attempt gave to the log writer; 0 if there was none.
    logged: AtomicU64,
    /// How long an attempt may take at a job of its queue that says nothing about it.
    queue_timeout: Option<Duration>,
}

/// What all attempts of a worker share.
#[derive(Debug)]
pub(super) struct ForHandlers {
    pub(super) shutdown: Shutdown,
    logs: Arc<LogWriter>,
}

impl ForHandlers {
    pub(super) fn new(hive: &Hive) -> ForHandlers {
        ForHandlers { shutdown: Shutdown::default(), logs: LogWriter::new(hive) }
    }
}

/// Whether the worker stops, for all of its handlers.
#[derive(Debug, Default)]
pub(super) struct Shutdown {
    has_begun: AtomicBool,
    begun: Notify,
}

impl Shutdown {
    pub(super) fn begin(&self) {
        self.has_begun.store(true, Ordering::SeqCst);
        self.begun.notify_waiters();
    }
}

impl Context {
    pub(super) fn new(
        hive: Hive,
        job: Job,
        handle: Option<Arc<ReservationHandle>>,
        shared: Arc<ForHandlers>,
        queue_timeout: Option<Duration>,
    ) -> Context {
        let (stop, stopped, options) = (Mutex::new(None), Notify::new(), Mutex::new(None));
        let logged = AtomicU64::new(0);
        let inner =
            Inner { hive, job, handle, stop, stopped, options, shared, logged, queue_timeout };
        Context { inner: Arc::new(inner) }
    }

    /// Whether it was taken with others, as quick jobs are.
    pub(super) fn is_of_reservation(&self) -> bool {
        self.inner.handle.is_some()
    }

    /// Whether the store knows that the job runs.
    pub(super) fn is_seen_running(&self) -> bool {
        self.inner.handle.as_ref().is_none_or(|handle| handle.is_closed())
    }

    /// Waits until the store knows that the job runs, which it does before anything that the handler does to it.
    pub(super) async fn seen_running(&self) {
        if let Some(handle) = &self.inner.handle {
            handle.closed().await;
        }
    }

    /// The job, as it was claimed.
    pub fn job(&self) -> &Job {
        &self.inner.job
    }

    /// How long this attempt may take, if the job or its queue says so; otherwise its worker does. Then it fails.
    pub fn time_limit(&self) -> Option<Duration> {
        let own = self.job().options().timeout.map(Duration::from_millis);
        own.or(self.inner.queue_timeout)
    }

    /// The span of this attempt, if it belongs to a trace: for what the handler calls over the network. Jobs that the handler
    /// submits know it by themselves.
    pub fn trace(&self) -> Option<TraceContext> {
        trace::context_of(self.job())
    }

    /// The hive that runs it.
    pub fn hive(&self) -> &Hive {
        &self.inner.hive
    }

    /// Resolves when the job should not go on: it was canceled, or is not this worker's any more.
    pub async fn stopped(&self) -> Stop {
        loop {
            // Made before looking, so that it hears of a reason that comes in between.
            let told = self.inner.stopped.notified();
            if let Some(reason) = self.stop_reason() {
                return reason;
            }
            told.await;
        }
    }

    /// Why the job should not go on, if so.
    pub fn stop_reason(&self) -> Option<Stop> {
        *self.inner.stop.lock()
    }

    /// Resolves when the worker begins to stop. The handler may go on for the worker's drain time, and may use it to come to a
    /// good end; when that is over, [`stopped`](Context::stopped) resolves.
    pub async fn shutting_down(&self) {
        loop {
            // Made before looking, so that it hears of what comes in between.
            let begun = self.inner.shared.shutdown.begun.notified();
            if self.is_shutting_down() {
                return;
            }
            begun.await;
        }
    }

    /// Whether the worker has begun to stop.
    pub fn is_shutting_down(&self) -> bool {
        self.inner.shared.shutdown.has_begun.load(Ordering::SeqCst)
    }

    /// Tells the handler to stop. The first reason stays.
    pub(super) fn stop(&self, reason: Stop) {
        self.inner.stop.lock().get_or_insert(reason);
        self.inner.stopped.notify_waiters();
    }

    /// Reports the progress of the job: any JSON, usually a number up to 100. The last report is stored with the job.
    ///
    /// # Errors
    /// When it cannot be written as JSON or has more than 4,096 bytes, or when the store fails.
    pub async fn progress(&self, progress: impl Serialize) -> Result<(), Error> {
        self.report_progress(progress, None).await
    }

    /// The same with a message.
    ///
    /// # Errors
    /// As [`Context::progress`].
    pub async fn progress_with(
        &self,
        progress: impl Serialize,
        message: impl Into<String>,
    ) -> Result<(), Error> {
        self.report_progress(progress, Some(message.into())).await
    }

    async fn report_progress(
        &self,
        progress: impl Serialize,
        message: Option<String>,
    ) -> Result<(), Error> {
        let value = serde_json::to_value(progress)
            .map_err(|error| Error::invalid("progress", format!("cannot be JSON: {error}")))?;
        let progress = Progress::of(self.job(), value, message, self.inner.hive.now_ms())?;
        self.seen_running().await;
        self.note_logged(self.inner.shared.logs.progress(self.job(), &progress));
        self.inner.hive.publish_progress(self.job(), &progress).await
    }

    /// Adds a line to the log of the job, without waiting: lines are stored together, a quarter of a second later. A text of more
    /// than 4,096 bytes is cut.
    pub fn log(&self, level: LogLevel, text: impl Into<String>) {
        let line = NewLogLine { at: self.inner.hive.now_ms(), level, text: text.into() };
        self.note_logged(self.inner.shared.logs.line(self.job(), &line));
    }

    fn note_logged(&self, number: u64) {
        self.inner.logged.fetch_max(number, Ordering::Relaxed);
    }

    /// Waits until all lines and progress of this attempt are stored, for a second at most.
    pub(super) async fn logs_stored(&self) {
        let number = self.inner.logged.load(Ordering::Relaxed);
        if number > 0 {
            self.inner.shared.logs.stored(number).await;
        }
    }

    /// Submits a job as a child of this one: they are canceled together.
    ///
    /// # Errors
    /// As [`Hive::submit`].
    pub async fn submit(&self, job: Submission) -> Result<Jid, Error> {
        let job = self.as_parent(job).await?;
        self.inner.hive.submit(job).await
    }

    /// Makes this job the parent of one that is about to be submitted.
    ///
    /// # Errors
    /// When its id cannot stand in a key, which only a stray write can have caused.
    pub async fn as_parent(&self, job: Submission) -> Result<Submission, Error> {
        self.seen_running().await;
        // In a task of its own nothing tells the trace.
        let job = match self.trace() {
            Some(trace) if keyrack_trace::current().is_none() => job.trace_unless_set(trace),
            _ => job,
        };
        Ok(job.parent(Jid::new(self.job().jid())?))
    }

    /// Replaces the job's tags.
    ///
    /// # Errors
    /// As [`Hive::set_tags`].
    pub async fn set_tags(&self, tags: &[Tag]) -> Result<(), Error> {
        self.seen_running().await;
        self.inner.hive.set_tags(&Jid::new(self.job().jid())?, tags).await
    }

    /// Changes how the job is retried or for how long its result is kept; stored when the attempt ends.
    pub fn change_options(&self, change: impl FnOnce(&mut Options)) {
        change(self.inner.options.lock().get_or_insert_with(|| self.job().options()));
    }

    /// The options, if the handler has changed them.
    pub(super) fn changed_options(&self) -> Option<Options> {
        self.inner.options.lock().clone()
    }
}
