//! The connections there are, and which of them wait for a request.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use super::ConnectionLimits;

/// All connections of a port.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) limits: ConnectionLimits,
    open: AtomicUsize,
    /// Those that wait for a request, in the order in which they began to.
    waiting: Mutex<Waiting>,
    /// Told whenever a connection is gone.
    pub(super) freed: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    connections: BTreeMap<u64, Weak<Connection>>,
}

/// Held as long as a connection is open.
#[derive(Debug)]
pub(super) struct Slot(Arc<Table>);

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    table: Arc<Table>,
    phase: Mutex<Phase>,
    /// Told when the connection has to go for another.
    pub(super) evicted: Notify,
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Waits for a request. `number` is its place among those that wait.
    Waiting { number: u64, deadline: Instant, has_begun: bool },
    /// Answers a request. `stalled_until` is set while the client reads nothing of the answer.
    Busy { stalled_until: Option<Instant> },
    /// Has to go for another.
    Evicted,
}

impl Table {
    pub(super) fn new(limits: ConnectionLimits) -> Arc<Table> {
        let (open, waiting) = (AtomicUsize::new(0), Mutex::default());
        Arc::new(Table { limits, open, waiting, freed: Notify::new() })
    }

    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::Acquire)
    }

    pub(super) fn slot(self: &Arc<Table>) -> Slot {
        self.open.fetch_add(1, Ordering::AcqRel);
        Slot(self.clone())
    }

    /// Closes the connection that has waited longest for a request. False if none waits.
    pub(super) fn evict(&self) -> bool {
        loop {
            let Some((number, connection)) = self.waiting.lock().connections.pop_first() else {
                return false;
            };
            let Some(connection) = connection.upgrade() else { continue };
            let mut phase = connection.phase.lock();
            // It may have gone on since.
            if matches!(*phase, Phase::Waiting { number: now, .. } if now == number) {
                *phase = Phase::Evicted;
                connection.evicted.notify_one();
                return true;
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
        self.0.freed.notify_one();
    }
}

impl Connection {
    /// A connection that waits for its first request.
    pub(super) fn new(table: &Arc<Table>, head_max: Duration) -> Arc<Connection> {
        Arc::new_cyclic(|this| {
            let number = table.waiting.lock().add(this.clone());
            let deadline = Instant::now() + head_max;
            Connection {
                table: table.clone(),
                // A client that connects has a request; only the time between two is free.
                phase: Mutex::new(Phase::Waiting { number, deadline, has_begun: true }),
                evicted: Notify::new(),
            }
        })
    }

    pub(super) fn limits(&self) -> &ConnectionLimits {
        &self.table.limits
    }

    /// A request has arrived. False if the connection has to go all the same.
    pub(super) fn begin_request(&self) -> bool {
        let mut phase = self.phase.lock();
        match *phase {
            Phase::Waiting { number, .. } => {
                *phase = Phase::Busy { stalled_until: None };
                drop(phase);
                self.table.waiting.lock().connections.remove(&number);
                true
            }
            Phase::Busy { .. } => true,
            Phase::Evicted => false,
        }
    }

    /// The response is sent.
    pub(super) fn end_request(self: &Arc<Connection>) {
        let mut phase = self.phase.lock();
        if matches!(*phase, Phase::Busy { .. }) {
            let number = self.table.waiting.lock().add(Arc::downgrade(self));
            let deadline = Instant::now() + self.table.limits.idle;
            *phase = Phase::Waiting { number, deadline, has_begun: false };
        }
    }

    /// The connection has become a WebSocket, or is closed: it waits for no request.
    pub(super) fn leave(&self) {
        self.begin_request();
    }

    /// The client has sent something.
    pub(super) fn received(&self) {
        if let Phase::Waiting { deadline, has_begun: has_begun @ false, .. } =
            &mut *self.phase.lock()
        {
            *has_begun = true;
            *deadline = Instant::now() + self.table.limits.head;
        }
    }

    /// Whether the client reads what it is sent.
    pub(super) fn sending(&self, is_stalled: bool) {
        if let Phase::Busy { stalled_until } = &mut *self.phase.lock() {
            match is_stalled {
                true => {
                    stalled_until.get_or_insert_with(|| Instant::now() + self.table.limits.body);
                }
                false => *stalled_until = None,
            }
        }
    }

    /// When the connection is to be closed, unless something happens.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match *self.phase.lock() {
            Phase::Waiting { deadline, .. } => Some(deadline),
            Phase::Busy { stalled_until } => stalled_until,
            Phase::Evicted => Some(Instant::now()),
        }
    }
}

impl Waiting {
    fn add(&mut self, connection: Weak<Connection>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.connections.insert(number, connection);
        number
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Phase::Waiting { number, .. } = *self.phase.get_mut() {
            self.table.waiting.lock().connections.remove(&number);
        }
    }
}
