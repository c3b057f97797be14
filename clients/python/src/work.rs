//! A worker whose handlers are Python functions.
//!
//! The crate's own worker claims jobs, renews their leases and settles them, on threads that never take
//! the GIL. Its handler here only offers the job to a lane and waits for what Python says of it.

use std::{
    os::fd::RawFd,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use keyrack_bridge::{Failure, Next, log, report, run_beside, timeouts};
use keyrack_jobs::bee::{
    Failure as Attempt,
    keys::{Jid, QueueName},
    worker::{self, Context, Duplicates, Settings, Stop},
};
use parking_lot::{Condvar, Mutex};
use pyo3::{prelude::*, pybacked::PyBackedStr};
use serde_json::value::RawValue;
use tokio::{
    runtime::Handle,
    sync::{oneshot, watch},
};

use crate::{
    error::raised,
    lane::{Lane, Take},
    port::Signal,
    rack::{Opened, Rack, check_process, seconds},
};

/// How often a thread that waits for jobs lets Python look for signals.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often the worker is looked at whether it needs another thread.
const SUPERVISE_EVERY: Duration = Duration::from_millis(10);

/// What Python says of a job.
enum Reply {
    Completed(String),
    Failed(Attempt),
    Canceled,
}

/// A job on its way through Python.
struct Ticket {
    /// The place of its task among those of the worker.
    task: usize,
    context: Context,
    /// Why it should stop; 0 while it should not.
    stop: AtomicU8,
    /// Nothing once it was answered, or once nobody waits for it.
    reply: Mutex<Option<oneshot::Sender<Reply>>>,
}

/// The reasons to stop, at the number that stands for each.
const STOPS: [&str; 5] = ["", "canceled", "lost", "shutdown", "timeout"];

impl Ticket {
    fn stop(&self, reason: u8) {
        let _ = self.stop.compare_exchange(0, reason, Ordering::SeqCst, Ordering::SeqCst);
    }

    fn answer(&self, reply: Reply) {
        if let Some(to) = self.reply.lock().take() {
            // Nobody waits for the end of a job that ran for too long.
            let _ = to.send(reply);
        }
    }
}

type Jobs = Lane<Arc<Ticket>>;

/// Runs a job in Python.
async fn handle(lane: Arc<Jobs>, task: usize, context: Context) -> Result<Box<RawValue>, Attempt> {
    let (reply, mut answer) = oneshot::channel();
    let ticket = Arc::new(Ticket {
        task,
        context: context.clone(),
        stop: AtomicU8::new(0),
        reply: Mutex::new(Some(reply)),
    });
    lane.offer(ticket.clone());
    // Dropped before its end, the job is not this worker's any more, or has run for too long.
    let left = Left { ticket, lane };
    let reply = tokio::select! {
        biased;
        reply = &mut answer => reply,
        stop = context.stopped() => {
            left.tell(match stop {
                Stop::Canceled => 1,
                Stop::Lost => 2,
                Stop::Shutdown => 3,
            });
            answer.await
        }
    };
    match reply {
        Ok(Reply::Completed(result)) => RawValue::from_string(result).map_err(|error| {
            Attempt::fatal(format!("the result cannot be written as JSON: {error}"))
        }),
        Ok(Reply::Failed(failure)) => Err(failure),
        Ok(Reply::Canceled) => {
            if let Ok(jid) = Jid::new(context.job().jid()) {
                context.hive().cancel(&jid).await?;
            }
            Err(Attempt::fatal("canceled by its handler"))
        }
        Err(_) => Err(Attempt::new("the handler was dropped")),
    }
}

struct Left {
    ticket: Arc<Ticket>,
    lane: Arc<Jobs>,
}

impl Left {
    fn tell(&self, reason: u8) {
        self.ticket.stop(reason);
        self.lane.stop(self.ticket.clone());
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        if self.ticket.reply.lock().take().is_some() {
            self.tell(4);
        }
    }
}

/// A job that runs, as its handler sees it.
#[pyclass(frozen, module = "keyrack._keyrack")]
pub(crate) struct RunningJob {
    ticket: Arc<Ticket>,
    pid: u32,
    runtime: Handle,
}

#[pymethods]
impl RunningJob {
    /// Its id.
    #[getter]
    fn id(&self) -> &str {
        self.ticket.context.job().jid()
    }

    /// Its queue.
    #[getter]
    fn queue(&self) -> &str {
        self.ticket.context.job().queue()
    }

    /// Which attempt this is, from 1.
    #[getter]
    fn attempt(&self) -> u64 {
        self.ticket.context.job().attempts()
    }

    /// How often it was tried again after a failure.
    #[getter]
    fn retries(&self) -> u64 {
        self.ticket.context.job().retries()
    }

    /// On whose behalf it runs.
    #[getter]
    fn tenant(&self) -> Option<&str> {
        self.ticket.context.job().tenant()
    }

    /// The words it is found by.
    #[getter]
    fn tags(&self) -> Vec<String> {
        self.ticket.context.job().tags()
    }

    /// Its arguments as JSON.
    #[getter]
    fn data(&self) -> &str {
        self.ticket.context.job().data()
    }

    /// Whether the handler should stop: the job was canceled, is not this worker's any more, or has run
    /// for too long, or the worker stops.
    #[getter]
    fn canceled(&self) -> bool {
        self.ticket.stop.load(Ordering::SeqCst) != 0
    }

    /// Why the handler should stop: `canceled`, `lost`, `shutdown`, `timeout`, or None.
    #[getter]
    fn stop_reason(&self) -> Option<&'static str> {
        let word = STOPS[usize::from(self.ticket.stop.load(Ordering::SeqCst))];
        (!word.is_empty()).then_some(word)
    }

    /// Adds a line to the log of the job. Waits for nothing.
    fn log(&self, level: &str, text: String) -> PyResult<()> {
        check_process(self.pid).map_err(raised)?;
        log(&self.ticket.context, level, text).map_err(raised)
    }

    /// Tells how far the job is, as JSON, with a message or without.
    #[pyo3(signature = (progress, message=None))]
    fn report_json(&self, py: Python<'_>, progress: &str, message: Option<String>) -> PyResult<()> {
        check_process(self.pid).map_err(raised)?;
        let progress: Box<RawValue> = serde_json::from_str(progress)
            .map_err(|error| raised(Failure::invalid(format!("progress: {error}"))))?;
        let context = &self.ticket.context;
        py.detach(|| self.runtime.block_on(report(context, progress, message))).map_err(raised)
    }
}

/// A queue to serve: its name, how many of its jobs run at once, seconds that one may take, whether its
/// handler is a coroutine, whether duplicates are left out, and its weight among the queues of the worker.
type Served = (String, usize, f64, bool, bool, u32);

/// What a job failed with: the job, the reason, what is to become of it, and after how many seconds.
type Failed<'py> = (PyRef<'py, RunningJob>, String, PyBackedStr, Option<f64>);

/// Jobs for Python: each with the place of its task and its arguments as JSON.
type Given = Vec<(RunningJob, usize, String)>;

/// A worker.
#[pyclass(frozen, module = "keyrack._keyrack")]
pub(crate) struct Worker {
    pid: u32,
    opened: Mutex<Option<Arc<Opened>>>,
    runtime: Handle,
    /// Jobs of plain functions, and of coroutines.
    plain: Arc<Jobs>,
    coroutines: Arc<Jobs>,
    threads_max: usize,
    stop: watch::Sender<bool>,
    end: Arc<End>,
}

/// How the worker ended, once it has.
#[derive(Default)]
struct End {
    result: Mutex<Option<Result<(), Failure>>>,
    changed: Condvar,
}

impl Worker {
    fn give(&self, tickets: Vec<Arc<Ticket>>) -> Given {
        // Whoever waits for a job no more has told others so.
        let alive = tickets.into_iter().filter(|ticket| ticket.reply.lock().is_some());
        alive
            .map(|ticket| {
                let (task, data) = (ticket.task, ticket.context.job().data().to_owned());
                (self.running(ticket), task, data)
            })
            .collect()
    }

    fn running(&self, ticket: Arc<Ticket>) -> RunningJob {
        RunningJob { ticket, pid: self.pid, runtime: self.runtime.clone() }
    }
}

fn settle(
    completed: Vec<(PyRef<'_, RunningJob>, PyBackedStr)>,
    failed: Vec<Failed<'_>>,
    canceled: Vec<PyRef<'_, RunningJob>>,
) -> usize {
    let n = completed.len() + failed.len() + canceled.len();
    for (job, result) in completed {
        job.ticket.answer(Reply::Completed(result.to_string()));
    }
    for (job, reason, next, delay) in failed {
        let failure = Next::named(&next).told(reason, delay.map(|seconds| seconds * 1000.0));
        job.ticket.answer(Reply::Failed(failure));
    }
    for job in canceled {
        job.ticket.answer(Reply::Canceled);
    }
    n
}

#[pymethods]
impl Worker {
    /// A worker that starts at once.
    #[new]
    fn new(
        rack: &Rack,
        queues: Vec<Served>,
        drain: f64,
        stop_grace: f64,
        lease: Option<f64>,
        shared_concurrency: Option<usize>,
    ) -> PyResult<Worker> {
        let opened = rack.opened().map_err(raised)?;
        let timeouts = timeouts(lease.map(seconds)).map_err(raised)?;
        let (plain, coroutines) =
            (Arc::new(Lane::new(None)), Arc::new(Lane::new(Some(Signal::new()?))));
        let mut worker =
            worker::Worker::new(&opened.parts().hive).timeouts(timeouts).drain(seconds(drain));
        if let Some(shared) = shared_concurrency {
            worker = worker.shared_concurrency(shared);
        }
        let mut threads_max = 0;
        for (task, (name, concurrency, time_limit, is_coroutine, skips, weight)) in
            queues.into_iter().enumerate()
        {
            let settings = Settings {
                concurrency,
                time_limit: seconds(time_limit),
                stop_grace: seconds(stop_grace),
                duplicates: if skips { Duplicates::ByData } else { Duplicates::Run },
                weight,
                ..Settings::default()
            };
            threads_max += if is_coroutine { 0 } else { concurrency };
            let lane = if is_coroutine { coroutines.clone() } else { plain.clone() };
            let queue = QueueName::new(name).map_err(raised)?;
            worker = worker.on(queue, settings, move |context| handle(lane.clone(), task, context));
        }
        let (stop, mut stopping) = watch::channel(false);
        let end = Arc::new(End::default());
        let (ended, lanes) = (end.clone(), [plain.clone(), coroutines.clone()]);
        let hive = opened.parts().hive.clone();
        opened.handle().spawn(async move {
            let told = async move { drop(stopping.wait_for(|stopping| *stopping).await) };
            let result = run_beside(&hive, worker.run(told)).await.map_err(Failure::from);
            *ended.result.lock() = Some(result);
            ended.changed.notify_all();
            lanes.iter().for_each(|lane| lane.end());
        });
        Ok(Worker {
            pid: std::process::id(),
            runtime: opened.handle().clone(),
            opened: Mutex::new(Some(opened)),
            plain,
            coroutines,
            threads_max,
            stop,
            end,
        })
    }

    /// Tells the worker to finish its jobs and to take no more.
    fn stop(&self) -> PyResult<()> {
        check_process(self.pid).map_err(raised)?;
        self.stop.send_replace(true);
        Ok(())
    }

    /// Waits until another thread is needed (True), or until the worker has ended (False).
    fn supervise(&self, py: Python<'_>) -> PyResult<bool> {
        check_process(self.pid).map_err(raised)?;
        loop {
            let ended = py.detach(|| {
                // A few short waits for each look at signals: those need the GIL.
                for _ in 0..10 {
                    let mut result = self.end.result.lock();
                    if result.is_none() {
                        self.end.changed.wait_for(&mut result, SUPERVISE_EVERY);
                    }
                    if let Some(result) = &*result {
                        return Some(result.clone().map(|()| false));
                    }
                    if self.plain.lacks_threads(self.threads_max) {
                        return Some(Ok(true));
                    }
                }
                None
            });
            match ended {
                Some(result) => {
                    if !matches!(result, Ok(true)) {
                        let opened = self.opened.lock().take();
                        py.detach(|| drop(opened));
                    }
                    return result.map_err(raised);
                }
                None => py.check_signals()?,
            }
        }
    }

    /// A thread begins to take jobs of plain functions, and gets its number.
    fn join(&self) -> PyResult<usize> {
        check_process(self.pid).map_err(raised)?;
        Ok(self.plain.join())
    }

    /// Hands back what became of jobs, after so many seconds, and waits for the next: jobs, an empty
    /// list to help other threads, or None at the end.
    fn exchange(
        &self,
        py: Python<'_>,
        thread: usize,
        completed: Vec<(PyRef<'_, RunningJob>, PyBackedStr)>,
        failed: Vec<Failed<'_>>,
        canceled: Vec<PyRef<'_, RunningJob>>,
        elapsed: f64,
    ) -> PyResult<Option<Given>> {
        check_process(self.pid).map_err(raised)?;
        let n = settle(completed, failed, canceled);
        self.plain.note(thread, n, elapsed);
        loop {
            match py.detach(|| self.plain.take(thread, PATIENCE)) {
                Take::Jobs(tickets) => {
                    let given = self.give(tickets);
                    if !given.is_empty() {
                        return Ok(Some(given));
                    }
                }
                Take::Help => return Ok(Some(Vec::new())),
                Take::Nothing => {}
                Take::Over => return Ok(None),
            }
        }
    }

    /// Hands back what became of jobs.
    fn settle(
        &self,
        completed: Vec<(PyRef<'_, RunningJob>, PyBackedStr)>,
        failed: Vec<Failed<'_>>,
        canceled: Vec<PyRef<'_, RunningJob>>,
    ) -> PyResult<()> {
        check_process(self.pid).map_err(raised)?;
        settle(completed, failed, canceled);
        Ok(())
    }

    /// Says that a thread has nothing more to do than what it does just now.
    fn relieve(&self, thread: usize) -> PyResult<()> {
        check_process(self.pid).map_err(raised)?;
        self.plain.relieve(thread);
        Ok(())
    }

    /// The descriptor that an event loop watches for jobs of coroutines.
    fn fileno(&self) -> RawFd {
        self.coroutines.signal().map_or(-1, Signal::fileno)
    }

    /// Hands back what became of jobs of coroutines, and takes the next, those that should stop, and
    /// whether there will be no more.
    fn poll(
        &self,
        completed: Vec<(PyRef<'_, RunningJob>, PyBackedStr)>,
        failed: Vec<Failed<'_>>,
        canceled: Vec<PyRef<'_, RunningJob>>,
    ) -> PyResult<(Given, Vec<String>, bool)> {
        check_process(self.pid).map_err(raised)?;
        settle(completed, failed, canceled);
        let (ready, stops, is_over) = self.coroutines.take_all();
        let stops = stops.iter().map(|ticket| ticket.context.job().jid().to_owned()).collect();
        Ok((self.give(ready), stops, is_over))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.pid == std::process::id() {
            self.stop.send_replace(true);
        } else {
            // Its locks may be held by threads of the parent.
            std::mem::forget(self.opened.get_mut().take());
        }
    }
}
