//! Hands jobs to the event loop and takes what became of them.
//!
//! The loop takes all jobs that can run, up to a batch, whenever it hands results back. Jobs of handlers
//! that do not wait for anything so end in the turn in which they begin.

use std::collections::VecDeque;

use keyrack_bridge::Failure;
use parking_lot::Mutex;

use crate::wake::Wake;

/// The most jobs that are handed over at once: other work of the loop has its turn in between.
const BATCH_MAX: usize = 256;

pub(crate) struct Lane<T> {
    state: Mutex<State<T>>,
    wake: Wake,
}

struct State<T> {
    ready: VecDeque<T>,
    /// What JavaScript has, each at the place by which it is called there.
    given: Vec<Option<T>>,
    free: Vec<u32>,
    /// Places of jobs that should stop.
    stops: Vec<(u32, &'static str)>,
    end: Option<Result<(), Failure>>,
}

/// What the loop gets.
pub(crate) struct Taken<T> {
    /// Jobs to run, with their places.
    pub(crate) jobs: Vec<(u32, T)>,
    pub(crate) stops: Vec<(u32, &'static str)>,
    /// How the worker ended, if it has.
    pub(crate) end: Option<Result<(), Failure>>,
}

impl<T: Clone> Lane<T> {
    pub(crate) fn new(wake: Wake) -> Lane<T> {
        let state = State {
            ready: VecDeque::new(),
            given: Vec::new(),
            free: Vec::new(),
            stops: Vec::new(),
            end: None,
        };
        Lane { state: Mutex::new(state), wake }
    }

    /// A job that can run.
    pub(crate) fn offer(&self, job: T) {
        self.state.lock().ready.push_back(job);
        self.wake.raise();
    }

    /// The job at a place should stop.
    pub(crate) fn stop(&self, place: u32, reason: &'static str) {
        self.state.lock().stops.push((place, reason));
        self.wake.raise();
    }

    /// There will be no more jobs.
    pub(crate) fn end(&self, result: Result<(), Failure>) {
        self.state.lock().end = Some(result);
        self.wake.raise();
    }

    /// The job at a place.
    pub(crate) fn at(&self, place: u32) -> Option<T> {
        self.state.lock().given.get(place as usize).cloned().flatten()
    }

    /// Takes back jobs that have ended, in order.
    pub(crate) fn take_back(&self, places: impl Iterator<Item = u32>) -> Vec<Option<T>> {
        let state = &mut *self.state.lock();
        places
            .map(|place| {
                let job = state.given.get_mut(place as usize).and_then(Option::take);
                if job.is_some() {
                    state.free.push(place);
                }
                job
            })
            .collect()
    }

    /// The next jobs that `is_wanted` lets pass; `place` is told the place of each.
    pub(crate) fn take(&self, is_wanted: impl Fn(&T) -> bool, place: impl Fn(&T, u32)) -> Taken<T> {
        self.wake.lower();
        let state = &mut *self.state.lock();
        let mut jobs = Vec::new();
        while jobs.len() < BATCH_MAX
            && let Some(job) = state.ready.pop_front()
        {
            if !is_wanted(&job) {
                continue;
            }
            let at = state.free.pop().unwrap_or_else(|| {
                state.given.push(None);
                (state.given.len() - 1) as u32
            });
            place(&job, at);
            state.given[at as usize] = Some(job.clone());
            jobs.push((at, job));
        }
        if !state.ready.is_empty() {
            self.wake.raise();
        }
        Taken { jobs, stops: std::mem::take(&mut state.stops), end: state.end.clone() }
    }
}
