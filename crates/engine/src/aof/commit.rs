//! Waiting until a position of the log is safe.
//!
//! A waiter leaves its waker under the same lock that guards the state it looked at, and the writer
//! changes that state under the lock before it collects wakers, so no wake-up can fall between.
//! Waiters decide from the state alone when they run again; a wake-up too many is harmless.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Acquire, Ordering::Release},
    },
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::{Error, Fsync};

/// How old a write may get before it is synced, with [`Fsync::EverySec`]; later ones wait from then on.
const UNSYNCED_TIME_MAX: Duration = Duration::from_secs(1);

/// Stands for "nothing is late, whatever the time".
const NEVER: u64 = u64::MAX;

/// How far the log is safe, and who waits for more.
#[derive(Debug)]
pub(super) struct Commits {
    /// Everything up to here is on stable storage.
    position: AtomicU64,
    /// The [`Fsync`] setting: which writers have to wait.
    fsync: AtomicU8,
    /// When the oldest write that is not synced will be too old, in µs since `started_at`.
    late_at_us: AtomicU64,
    started_at: Instant,
    /// Whether `State::failure` is set, for a look without the lock.
    has_failed: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failure: Option<LogFailure>,
    /// By position and by ticket, so that a commit takes the front of the map.
    waiting: BTreeMap<(u64, u64), Waiter>,
    n_tickets: u64,
}

#[derive(Debug)]
struct Waiter {
    waker: Waker,
    /// Whether it wrote what it waits for, and will probably write again.
    writes: bool,
}

#[derive(Debug)]
enum LogFailure {
    /// The disk refuses writes; they are tried again.
    Refused(String),
    /// The writer is gone.
    Stopped(Option<String>),
}

impl Default for Commits {
    fn default() -> Commits {
        Commits {
            position: AtomicU64::new(0),
            fsync: AtomicU8::new(Fsync::default() as u8),
            late_at_us: AtomicU64::new(NEVER),
            started_at: Instant::now(),
            has_failed: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }
}

impl Commits {
    /// Everything up to `position` is safe: lets those who wait for it go on, and returns how many
    /// of them are writers.
    pub(super) fn advance(&self, position: u64) -> usize {
        let mut state = self.state.lock();
        self.position.store(position, Release);
        let later = state.waiting.split_off(&(position + 1, 0));
        let ready = std::mem::replace(&mut state.waiting, later);
        drop(state);
        let n_writers = ready.values().filter(|waiter| waiter.writes).count();
        ready.into_values().for_each(|waiter| waiter.waker.wake());
        n_writers
    }

    pub(super) fn fsync(&self) -> Fsync {
        Fsync::from_u8(self.fsync.load(Acquire))
    }

    /// Changes when writes count as done; call [`Commits::review`] afterwards.
    pub(super) fn set_fsync(&self, fsync: Fsync) {
        self.fsync.store(fsync as u8, Release);
    }

    /// Lets everybody who waits look again.
    pub(super) fn review(&self) {
        self.change(|_| {});
    }

    /// The disk refuses writes: everybody who waits gets an error, also those who come later.
    pub(super) fn refuse(&self, reason: String) {
        self.set_failure(Some(LogFailure::Refused(reason)));
    }

    /// The disk takes writes again.
    pub(super) fn recover(&self) {
        if self.has_failed.load(Acquire) {
            self.set_failure(None);
        }
    }

    /// Nothing will be written any more; `reason` says why if that was not asked for.
    pub(super) fn stop(&self, reason: Option<String>) {
        self.set_failure(Some(LogFailure::Stopped(reason)));
    }

    fn set_failure(&self, failure: Option<LogFailure>) {
        self.change(|state| {
            self.has_failed.store(failure.is_some(), Release);
            state.failure = failure;
        });
    }

    /// Changes what waiters look at, and lets all of them look again.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        change(&mut state);
        let woken = std::mem::take(&mut state.waiting);
        drop(state);
        woken.into_values().for_each(|waiter| waiter.waker.wake());
    }

    /// Why writes fail at present; one atomic load while they do not.
    pub(super) fn failure(&self) -> Option<String> {
        if !self.has_failed.load(Acquire) {
            return None;
        }
        self.state.lock().failure.as_ref().map(|failure| match failure {
            LogFailure::Refused(reason) | LogFailure::Stopped(Some(reason)) => reason.clone(),
            LogFailure::Stopped(None) => Error::Closed.to_string(),
        })
    }

    /// Notes the moment of the oldest write that is not synced, if there is one.
    pub(super) fn set_unsynced_since(&self, since: Option<Instant>) {
        let late_at_us = since.map_or(NEVER, |since| {
            let late_at = since + UNSYNCED_TIME_MAX;
            late_at.saturating_duration_since(self.started_at).as_micros() as u64
        });
        self.late_at_us.store(late_at_us, Release);
    }

    /// Whether the disk is so far behind that acknowledging more would put too much at risk.
    fn is_late(&self) -> bool {
        let late_at_us = self.late_at_us.load(Acquire);
        late_at_us != NEVER && self.started_at.elapsed().as_micros() as u64 >= late_at_us
    }

    /// The answer for a writer of `position`, if there is one without looking at the failure.
    pub(super) fn is_settled(&self, position: u64) -> bool {
        let without_sync = || match self.fsync() {
            Fsync::Always => false,
            Fsync::EverySec => !self.is_late(),
            Fsync::No => true,
        };
        self.position.load(Acquire) >= position || without_sync()
    }

    fn poll(
        &self,
        position: u64,
        writes: bool,
        ticket: &mut Option<u64>,
        waker: &Waker,
    ) -> Poll<Result<(), Error>> {
        if self.is_settled(position) {
            return Poll::Ready(Ok(()));
        }
        let mut state = self.state.lock();
        if self.is_settled(position) {
            return Poll::Ready(Ok(()));
        }
        match &state.failure {
            None => {}
            Some(LogFailure::Refused(reason) | LogFailure::Stopped(Some(reason))) => {
                return Poll::Ready(Err(Error::Unsaved { reason: reason.clone() }));
            }
            Some(LogFailure::Stopped(None)) => return Poll::Ready(Err(Error::Closed)),
        }
        let ticket = *ticket.get_or_insert_with(|| {
            state.n_tickets += 1;
            state.n_tickets
        });
        state.waiting.insert((position, ticket), Waiter { waker: waker.clone(), writes });
        Poll::Pending
    }

    fn forget(&self, position: u64, ticket: u64) {
        self.state.lock().waiting.remove(&(position, ticket));
    }
}

/// Resolves when a position of the log is safe; see [`super::Log::committed`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub(crate) struct Committed {
    commits: Arc<Commits>,
    position: u64,
    writes: bool,
    ticket: Option<u64>,
}

impl Committed {
    pub(super) fn new(commits: &Arc<Commits>, position: u64) -> Committed {
        Committed { commits: Arc::clone(commits), position, writes: true, ticket: None }
    }

    /// For somebody who did not write what stands at `position`.
    pub(super) fn for_reader(commits: &Arc<Commits>, position: u64) -> Committed {
        Committed { commits: Arc::clone(commits), position, writes: false, ticket: None }
    }

    /// Blocks the thread until the future resolves.
    #[cfg(test)]
    pub(super) fn wait(mut self) -> Result<(), Error> {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        loop {
            match self.commits.poll(self.position, self.writes, &mut self.ticket, &waker) {
                Poll::Ready(result) => return result,
                Poll::Pending => std::thread::park(),
            }
        }
    }
}

impl Future for Committed {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.commits.poll(this.position, this.writes, &mut this.ticket, cx.waker())
    }
}

impl Drop for Committed {
    fn drop(&mut self) {
        // Once settled, the waker was taken out by whoever settled it.
        if let Some(ticket) = self.ticket
            && !self.commits.is_settled(self.position)
        {
            self.commits.forget(self.position, ticket);
        }
    }
}

#[cfg(test)]
struct Unpark(std::thread::Thread);

#[cfg(test)]
impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
