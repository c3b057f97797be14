//! The lots of a station: jobs that it has reserved and not told of yet.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, mpsc},
    time::Instant,
};

use super::context::Context;
use crate::bee::{lot::Closing, settle::Outcome};

/// How long a lot may be open, and so how long a job may run before the store is told that it does.
const OPEN_MAX: Duration = Duration::from_millis(10);

/// What handlers tell their station.
#[derive(Debug)]
pub(super) enum News {
    /// Handlers have ended.
    Ended(Vec<Outcome>),
    /// A job of this lot is to be seen running before its handler goes on.
    Hurry(u64),
}

/// What the jobs of one lot have in common.
#[derive(Debug)]
pub(super) struct Ticket {
    lot: u64,
    is_closed: AtomicBool,
    closed: Notify,
    news: mpsc::UnboundedSender<News>,
}

impl Ticket {
    /// Whether the store knows what became of the lot.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// Waits until it does.
    pub(super) async fn closed(&self) {
        if self.is_closed() {
            return;
        }
        let _ = self.news.send(News::Hurry(self.lot));
        loop {
            // Made before looking, so that it hears of what comes in between.
            let told = self.closed.notified();
            if self.is_closed() {
                return;
            }
            told.await;
        }
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.closed.notify_waiters();
    }
}

#[derive(Debug)]
struct Lot {
    ticket: Arc<Ticket>,
    since: Instant,
    jobs: Vec<Context>,
    ended: Vec<Outcome>,
    /// Whether a call is under way that closes it. What ends meanwhile is settled after that.
    is_closing: bool,
    late: Vec<Outcome>,
    is_urgent: bool,
}

impl Lot {
    fn number(&self) -> u64 {
        self.ticket.lot
    }

    fn is_due(&self, now: Instant) -> bool {
        let is_over = self.ended.len() >= self.jobs.len();
        !self.is_closing && (is_over || self.is_urgent || self.since + OPEN_MAX <= now)
    }
}

/// The open lots of a station.
#[derive(Debug, Default)]
pub(super) struct Lots {
    open: Vec<Lot>,
    n_numbers: u64,
    /// Numbers of which it is not known whether there is a lot: the answer was lost.
    unsure: Vec<u64>,
}

impl Lots {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The number for the next lot.
    pub(super) fn number(&mut self) -> u64 {
        self.unsure.pop().unwrap_or_else(|| {
            self.n_numbers += 1;
            self.n_numbers
        })
    }

    /// Whether the next lot is one that may be there already.
    pub(super) fn has_unsure(&self) -> bool {
        !self.unsure.is_empty()
    }

    pub(super) fn is_unsure(&mut self, lot: u64) {
        self.unsure.push(lot);
    }

    /// The ticket of a new lot, for its jobs.
    pub(super) fn ticket(lot: u64, news: mpsc::UnboundedSender<News>) -> Arc<Ticket> {
        let (is_closed, closed) = (AtomicBool::new(false), Notify::new());
        Arc::new(Ticket { lot, is_closed, closed, news })
    }

    pub(super) fn open(&mut self, ticket: Arc<Ticket>, jobs: Vec<Context>, since: Instant) {
        self.open.push(Lot {
            ticket,
            since,
            ended: Vec::with_capacity(jobs.len()),
            jobs,
            is_closing: false,
            late: Vec::new(),
            is_urgent: false,
        });
    }

    fn get_mut(&mut self, lot: u64) -> Option<&mut Lot> {
        self.open.iter_mut().find(|open| open.number() == lot)
    }

    /// Takes note of an end. Gives it back when it is that of no open lot.
    pub(super) fn note(&mut self, outcome: Outcome) -> Option<Outcome> {
        match outcome.lot().and_then(|lot| self.get_mut(lot)) {
            None => return Some(outcome),
            Some(lot) if lot.is_closing => lot.late.push(outcome),
            Some(lot) => lot.ended.push(outcome),
        }
        None
    }

    pub(super) fn hurry(&mut self, lot: u64) {
        if let Some(lot) = self.get_mut(lot) {
            lot.is_urgent = true;
        }
    }

    /// How many jobs have ended of lots that are still open.
    pub(super) fn n_ended(&self) -> usize {
        self.open.iter().map(|lot| lot.ended.len()).sum()
    }

    /// When a lot has to be closed though jobs of it run.
    pub(super) fn due_at(&self) -> Option<Instant> {
        let open = self.open.iter().filter(|lot| !lot.is_closing);
        open.map(|lot| lot.since + OPEN_MAX).min()
    }

    pub(super) fn has_due(&self, now: Instant) -> bool {
        self.open.iter().any(|lot| lot.is_due(now))
    }

    /// Begins to close a lot, if one is due. Its other jobs run from now on.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<(Closing, Vec<Outcome>)> {
        let lot = self.open.iter_mut().find(|lot| lot.is_due(now))?;
        lot.is_closing = true;
        let ended = std::mem::take(&mut lot.ended);
        let mut begun = Vec::new();
        if ended.len() < lot.jobs.len() {
            let jids: HashSet<&str> = ended.iter().map(|outcome| outcome.jid.as_str()).collect();
            let jobs = lot.jobs.iter().map(Context::job);
            let jobs = jobs.filter(|job| !jids.contains(job.jid()));
            begun = jobs.map(|job| (job.jid().to_owned(), job.attempts())).collect();
        }
        Some((Closing { lot: lot.number(), begun }, ended))
    }

    /// The store knows of the lot. Returns what has ended since, and the jobs.
    pub(super) fn closed(&mut self, lot: u64) -> (Vec<Outcome>, Vec<Context>) {
        let Some(at) = self.open.iter().position(|open| open.number() == lot) else {
            return (Vec::new(), Vec::new());
        };
        let lot = self.open.swap_remove(at);
        lot.ticket.close();
        (lot.late, lot.jobs)
    }

    /// The store could not be told, so the lot is as open as before.
    pub(super) fn not_closed(&mut self, lot: u64) {
        if let Some(lot) = self.get_mut(lot) {
            lot.is_closing = false;
            lot.ended.append(&mut lot.late);
        }
    }
}
