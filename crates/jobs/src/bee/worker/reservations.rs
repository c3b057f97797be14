//! The reservations of a queue worker: jobs that it has reserved and not told of yet.

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
use crate::bee::{reservation::ReservationEnd, settle::Outcome};

/// How long a reservation may be open, and so how long a job may run before the store is told that it does.
const OPEN_MAX: Duration = Duration::from_millis(10);

/// What handlers tell their queue worker.
#[derive(Debug)]
pub(super) enum WorkerEvent {
    /// Handlers have ended.
    Ended(Vec<Outcome>),
    /// A job of this reservation is to be seen running before its handler goes on.
    Hurry(u64),
}

/// What the jobs of one reservation have in common.
#[derive(Debug)]
pub(super) struct ReservationHandle {
    reservation: u64,
    is_closed: AtomicBool,
    closed: Notify,
    events: mpsc::UnboundedSender<WorkerEvent>,
}

impl ReservationHandle {
    /// Whether the store knows what became of the reservation.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// Waits until it does.
    pub(super) async fn closed(&self) {
        if self.is_closed() {
            return;
        }
        let _ = self.events.send(WorkerEvent::Hurry(self.reservation));
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
struct Reservation {
    handle: Arc<ReservationHandle>,
    since: Instant,
    jobs: Vec<Context>,
    ended: Vec<Outcome>,
    /// Whether a call is under way that closes it. What ends meanwhile is settled after that.
    is_closing: bool,
    late: Vec<Outcome>,
    is_urgent: bool,
}

impl Reservation {
    fn number(&self) -> u64 {
        self.handle.reservation
    }

    fn is_due(&self, now: Instant) -> bool {
        let is_over = self.ended.len() >= self.jobs.len();
        !self.is_closing && (is_over || self.is_urgent || self.since + OPEN_MAX <= now)
    }
}

/// The open reservations of a queue worker.
#[derive(Debug, Default)]
pub(super) struct Reservations {
    open: Vec<Reservation>,
    n_numbers: u64,
    /// Numbers of which it is not known whether there is a reservation: the answer was lost.
    unsure: Vec<u64>,
}

impl Reservations {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The number for the next reservation.
    pub(super) fn number(&mut self) -> u64 {
        self.unsure.pop().unwrap_or_else(|| {
            self.n_numbers += 1;
            self.n_numbers
        })
    }

    /// Whether the next reservation is one that may be there already.
    pub(super) fn has_unsure(&self) -> bool {
        !self.unsure.is_empty()
    }

    pub(super) fn is_unsure(&mut self, reservation: u64) {
        self.unsure.push(reservation);
    }

    /// The handle of a new reservation, for its jobs.
    pub(super) fn handle(
        reservation: u64,
        events: mpsc::UnboundedSender<WorkerEvent>,
    ) -> Arc<ReservationHandle> {
        let (is_closed, closed) = (AtomicBool::new(false), Notify::new());
        Arc::new(ReservationHandle { reservation, is_closed, closed, events })
    }

    pub(super) fn open(
        &mut self,
        handle: Arc<ReservationHandle>,
        jobs: Vec<Context>,
        since: Instant,
    ) {
        self.open.push(Reservation {
            handle,
            since,
            ended: Vec::with_capacity(jobs.len()),
            jobs,
            is_closing: false,
            late: Vec::new(),
            is_urgent: false,
        });
    }

    fn get_mut(&mut self, reservation: u64) -> Option<&mut Reservation> {
        self.open.iter_mut().find(|open| open.number() == reservation)
    }

    /// Takes note of an end. Gives it back when it is that of no open reservation.
    pub(super) fn note(&mut self, outcome: Outcome) -> Option<Outcome> {
        match outcome.reservation().and_then(|reservation| self.get_mut(reservation)) {
            None => return Some(outcome),
            Some(reservation) if reservation.is_closing => reservation.late.push(outcome),
            Some(reservation) => reservation.ended.push(outcome),
        }
        None
    }

    pub(super) fn hurry(&mut self, reservation: u64) {
        if let Some(reservation) = self.get_mut(reservation) {
            reservation.is_urgent = true;
        }
    }

    /// How many jobs have ended of reservations that are still open.
    pub(super) fn n_ended(&self) -> usize {
        self.open.iter().map(|reservation| reservation.ended.len()).sum()
    }

    /// When a reservation has to be closed though jobs of it run.
    pub(super) fn due_at(&self) -> Option<Instant> {
        let open = self.open.iter().filter(|reservation| !reservation.is_closing);
        open.map(|reservation| reservation.since + OPEN_MAX).min()
    }

    pub(super) fn has_due(&self, now: Instant) -> bool {
        self.open.iter().any(|reservation| reservation.is_due(now))
    }

    /// Begins to close a reservation, if one is due. Its other jobs run from now on.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<(ReservationEnd, Vec<Outcome>)> {
        let reservation = self.open.iter_mut().find(|reservation| reservation.is_due(now))?;
        reservation.is_closing = true;
        let ended = std::mem::take(&mut reservation.ended);
        let mut begun = Vec::new();
        if ended.len() < reservation.jobs.len() {
            let jids: HashSet<&str> = ended.iter().map(|outcome| outcome.jid.as_str()).collect();
            let jobs = reservation.jobs.iter().map(Context::job);
            let jobs = jobs.filter(|job| !jids.contains(job.jid()));
            begun = jobs.map(|job| (job.jid().to_owned(), job.attempts())).collect();
        }
        Some((ReservationEnd { reservation: reservation.number(), begun }, ended))
    }

    /// The store knows of the reservation. Returns what has ended since, and the jobs.
    pub(super) fn closed(&mut self, reservation: u64) -> (Vec<Outcome>, Vec<Context>) {
        let Some(at) = self.open.iter().position(|open| open.number() == reservation) else {
            return (Vec::new(), Vec::new());
        };
        let reservation = self.open.swap_remove(at);
        reservation.handle.close();
        (reservation.late, reservation.jobs)
    }

    /// The store could not be told, so the reservation is as open as before.
    pub(super) fn not_closed(&mut self, reservation: u64) {
        if let Some(reservation) = self.get_mut(reservation) {
            reservation.is_closing = false;
            reservation.ended.append(&mut reservation.late);
        }
    }
}
