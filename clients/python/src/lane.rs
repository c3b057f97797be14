//! Hands jobs to Python and takes what became of them: for plain functions to threads, for coroutines
//! to an event loop.
//!
//! Each crossing into Python costs as much as a quick job, and two Python threads take turns anyway.
//! So as long as jobs are quick, one thread takes them in batches, and the others sleep. When jobs take
//! their time, each thread takes one. A batch whose thread does not come back soon is left to the
//! threads that wait: they take jobs out of it, in Python.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

use crate::port::Signal;

/// The most jobs in a batch.
const BATCH_MAX: usize = 64;
/// Jobs that take less are quick.
const QUICK_S: f64 = 0.000_5;
/// How long a batch of quick jobs may take before others help with it.
const HELP_AFTER: Duration = Duration::from_millis(20);
/// How much the last batch counts in the mean time of a job.
const WEIGHT: f64 = 0.2;

/// What a thread gets.
pub(crate) enum Take<T> {
    /// Jobs to run.
    Jobs(Vec<T>),
    /// Another thread has taken more than it gets to: look there.
    Help,
    /// Nothing came in time.
    Nothing,
    /// The worker has stopped.
    Over,
}

/// Jobs of a worker on their way to Python.
pub(crate) struct Lane<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// Told of jobs, instead of threads.
    signal: Option<Signal>,
}

struct State<T> {
    ready: VecDeque<(Instant, T)>,
    /// Running jobs that should stop, for the event loop.
    stops: Vec<T>,
    /// Seconds that a job takes.
    mean_s: f64,
    threads: usize,
    /// Threads that wait for jobs.
    waiting: usize,
    /// What threads have taken and not handed back.
    out: Vec<Batch>,
    is_over: bool,
}

/// Jobs that a thread has taken.
struct Batch {
    thread: usize,
    taken_at: Instant,
    /// When somebody was last asked to help with it.
    helped_at: Instant,
    /// Whether there may be jobs in it that its thread has not got to.
    has_more: bool,
}

impl Batch {
    fn needs_help(&self, now: Instant) -> bool {
        self.has_more && now - self.helped_at >= HELP_AFTER
    }
}

impl<T> State<T> {
    fn is_quick(&self) -> bool {
        self.mean_s < QUICK_S
    }

    /// Whether a thread is busy with quick jobs, and will be back in a moment.
    fn is_served(&self) -> bool {
        self.is_quick() && self.out.iter().any(|batch| batch.taken_at.elapsed() < HELP_AFTER)
    }

    fn batch(&self) -> usize {
        // The other half is for when this one is done: meanwhile the store brings more.
        if self.is_quick() { self.ready.len().div_ceil(2).min(BATCH_MAX) } else { 1 }
    }
}

impl<T> Lane<T> {
    /// A lane for threads, or for an event loop that watches the signal.
    pub(crate) fn new(signal: Option<Signal>) -> Lane<T> {
        let state = State {
            ready: VecDeque::new(),
            stops: Vec::new(),
            mean_s: 1.0,
            threads: 0,
            waiting: 0,
            out: Vec::new(),
            is_over: false,
        };
        Lane { state: Mutex::new(state), changed: Condvar::new(), signal }
    }

    pub(crate) fn signal(&self) -> Option<&Signal> {
        self.signal.as_ref()
    }

    /// A job that can run.
    pub(crate) fn offer(&self, job: T) {
        let mut state = self.state.lock();
        state.ready.push_back((Instant::now(), job));
        let wakes = state.waiting > 0 && !state.is_served();
        drop(state);
        match &self.signal {
            Some(signal) => signal.raise(),
            None if wakes => drop(self.changed.notify_one()),
            None => {}
        }
    }

    /// A running job should stop.
    pub(crate) fn stop(&self, job: T) {
        if let Some(signal) = &self.signal {
            self.state.lock().stops.push(job);
            signal.raise();
        }
    }

    /// There will be no more jobs.
    pub(crate) fn end(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
        if let Some(signal) = &self.signal {
            signal.raise();
        }
    }

    /// A thread begins to serve the lane, and gets its number.
    pub(crate) fn join(&self) -> usize {
        let mut state = self.state.lock();
        state.threads += 1;
        state.threads
    }

    /// Whether one thread more would find something to do.
    pub(crate) fn lacks_threads(&self, max: usize) -> bool {
        let state = self.state.lock();
        if state.is_over || state.waiting > 0 || state.threads >= max {
            return false;
        }
        let now = Instant::now();
        let is_stuck = state.out.iter().any(|batch| batch.needs_help(now));
        let is_late = state.ready.front().is_some_and(|(since, _)| now - *since >= HELP_AFTER);
        is_stuck || is_late || (!state.ready.is_empty() && !state.is_quick())
    }

    /// A thread has nothing more to do than what it does just now.
    pub(crate) fn relieve(&self, thread: usize) {
        let mut state = self.state.lock();
        if let Some(batch) = state.out.iter_mut().find(|batch| batch.thread == thread) {
            batch.has_more = false;
        }
    }

    /// Takes note of how long a thread took for its jobs.
    pub(crate) fn note(&self, thread: usize, jobs: usize, seconds: f64) {
        let mut state = self.state.lock();
        state.out.retain(|batch| batch.thread != thread);
        if jobs > 0 {
            state.mean_s += WEIGHT * (seconds / jobs as f64 - state.mean_s);
        }
    }

    /// The next jobs for a thread.
    pub(crate) fn take(&self, thread: usize, patience: Duration) -> Take<T> {
        let until = Instant::now() + patience;
        let mut state = self.state.lock();
        loop {
            if !state.ready.is_empty() {
                let n = state.batch();
                let now = Instant::now();
                let batch = Batch { thread, taken_at: now, helped_at: now, has_more: n > 1 };
                state.out.push(batch);
                let jobs = state.ready.drain(..n).map(|(_, job)| job).collect();
                // Whoever waits may be needed for the rest.
                if !state.ready.is_empty() && state.waiting > 0 && !state.is_served() {
                    self.changed.notify_one();
                }
                return Take::Jobs(jobs);
            }
            if state.is_over {
                return Take::Over;
            }
            let now = Instant::now();
            if now >= until {
                return Take::Nothing;
            }
            if let Some(stuck) = state.out.iter_mut().find(|batch| batch.needs_help(now)) {
                // One helper after the other, until one finds that nothing is left.
                stuck.helped_at = now;
                return Take::Help;
            }
            // While somebody is quick nobody else is woken, so all look for themselves now and then.
            let pause = if state.waiting + 1 < state.threads { HELP_AFTER } else { until - now };
            state.waiting += 1;
            self.changed.wait_for(&mut state, pause.min(until - now));
            state.waiting -= 1;
        }
    }

    /// All jobs that can run, those that should stop, and whether there will be no more: for an event
    /// loop.
    pub(crate) fn take_all(&self) -> (Vec<T>, Vec<T>, bool) {
        if let Some(signal) = &self.signal {
            signal.lower();
        }
        let mut state = self.state.lock();
        let ready = state.ready.drain(..).map(|(_, job)| job).collect();
        (ready, std::mem::take(&mut state.stops), state.is_over)
    }
}
