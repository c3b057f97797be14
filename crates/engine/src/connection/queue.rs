//! Connections that found the engine locked.
//!
//! A thread that waits for a lock does nothing else, though other tasks could run on it, and waking it takes longer than
//! most commands do. So a connection in process puts its commands into a queue, and the holder of the lock runs them before
//! letting go of it. The holder looks at the queue once more afterwards, so nothing is left in it while the lock is free;
//! and whoever has run enough for others wakes the first in the queue, which then takes the lock itself.

use std::{
    any::Any,
    collections::VecDeque,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};

use parking_lot::Mutex;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::{Call, Client, Connection};
use crate::{engine::Busy, state::State};

/// Calls that wait for the lock, first come first served.
#[derive(Default)]
pub(crate) struct CallQueue {
    orders: Mutex<VecDeque<Arc<QueuedCommands>>>,
}

impl CallQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.orders.lock().is_empty()
    }

    pub(crate) fn next(&self) -> Option<Arc<QueuedCommands>> {
        self.orders.lock().pop_front()
    }

    /// Wakes the first in the queue.
    pub(crate) fn wake_first(&self) {
        let first = self.orders.lock().front().cloned();
        if let Some(order) = first {
            order.wake();
            offer_to_other_threads();
        }
    }

    /// Refuses all calls, as while a script runs too long.
    pub(crate) fn refuse_all(&self) {
        let mut orders = self.orders.lock();
        if orders.is_empty() {
            return;
        }
        // Under the lock, so that a task that has left the queue knows that only a runner can hold its call.
        for order in orders.drain(..) {
            order.queued.lock().stage = Stage::Refused;
            order.wake();
        }
        offer_to_other_threads();
    }

    fn join(&self, order: &Arc<QueuedCommands>) {
        self.orders.lock().push_back(Arc::clone(order));
    }

    fn leave(&self, order: &Arc<QueuedCommands>) {
        self.orders.lock().retain(|other| !Arc::ptr_eq(order, other));
    }
}

/// Commands that somebody else may run.
pub(crate) struct QueuedCommands {
    /// Locked while they are run.
    queued: Mutex<QueuedCall>,
    waker: Mutex<Waker>,
    /// Nobody waits for it any more. If it is being run, the runner disconnects its client.
    is_given_up: AtomicBool,
}

struct QueuedCall {
    call: Call<'static>,
    client: Option<Client>,
    db: usize,
    stage: Stage,
}

enum Stage {
    Waiting,
    Run,
    Panicked(Box<dyn Any + Send>),
    Refused,
    GivenUp,
}

impl QueuedCommands {
    fn new(call: Call<'static>, client: Option<Client>, db: usize) -> Arc<QueuedCommands> {
        let queued = Mutex::new(QueuedCall { call, client, db, stage: Stage::Waiting });
        let (waker, is_given_up) = (Mutex::new(Waker::noop().clone()), AtomicBool::new(false));
        Arc::new(QueuedCommands { queued, waker, is_given_up })
    }

    /// Runs its commands, or some of them if there are many.
    pub(crate) fn run(&self, state: &mut State) {
        let mut queued = self.queued.lock();
        let QueuedCall { call, client, db, stage } = &mut *queued;
        if !matches!(stage, Stage::Waiting) {
            return;
        }
        // A panic is for the one whose commands these are.
        *stage = match catch_unwind(AssertUnwindSafe(|| call.go_on(state, client, *db))) {
            Ok(()) => Stage::Run,
            Err(panic) => Stage::Panicked(panic),
        };
        drop(queued);
        // Only now, since a task that gives up says so first and looks at its call afterwards.
        if self.is_given_up.load(Ordering::SeqCst)
            && let Some(client) = self.queued.lock().client.take()
        {
            state.disconnect(client.index);
        }
        self.wake();
        offer_to_other_threads();
    }

    fn wake(&self) {
        let waker = self.waker.lock().clone();
        waker.wake();
    }

    /// Whether it need not wait any longer. If it must, the task of `cx` is woken when it need not.
    fn is_settled(&self, cx: &mut Context<'_>) -> bool {
        self.waker.lock().clone_from(cx.waker());
        // Who holds the call wakes the task afterwards, so there is no need to wait for it.
        self.queued.try_lock().is_some_and(|queued| !matches!(queued.stage, Stage::Waiting))
    }
}

/// Lets another thread run the task that was just woken. Tokio keeps it for this one, which has something else to do,
/// until another task is woken.
fn offer_to_other_threads() {
    if let Some(runtime) = runtime_of_many_threads() {
        runtime.spawn(async {});
    }
}

fn runtime_of_many_threads() -> Option<Handle> {
    let runtime = Handle::try_current().ok()?;
    (runtime.runtime_flavor() == RuntimeFlavor::MultiThread).then_some(runtime)
}

/// Whether there may be something else to run meanwhile. On a runtime with one thread waiting is simpler, and if its
/// clock is moved by hand, the clock must not move because a command waits.
pub(super) fn is_worth_it() -> bool {
    runtime_of_many_threads().is_some()
}

/// Has the next commands of a call run by whoever has the lock.
pub(super) async fn wait_in_queue(
    connection: &mut Connection,
    call: &mut Call<'_>,
) -> Result<(), Busy> {
    if connection.shared.script_control().is_busy() {
        return Err(Busy);
    }
    let owned = std::mem::replace(call, Call::nothing()).into_owned();
    let order = QueuedCommands::new(owned, connection.client.take(), connection.db);
    let mut place = Place { connection, order, is_over: false };
    let mut has_joined = false;
    poll_fn(|cx| {
        if place.order.is_settled(cx) {
            return Poll::Ready(());
        }
        let shared = &place.connection.shared;
        if !std::mem::replace(&mut has_joined, true) {
            shared.call_queue().join(&place.order);
        }
        // The lock may have become free just before that, or nobody has it who could run it.
        shared.serve_queue();
        if place.order.is_settled(cx) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let (owned, stage) = place.take_back();
    *call = owned;
    match stage {
        Stage::Refused => Err(Busy),
        Stage::Panicked(panic) => resume_unwind(panic),
        Stage::Run | Stage::Waiting | Stage::GivenUp => Ok(()),
    }
}

/// A connection's entry in the queue. Commands that were not run when it is dropped count as never sent.
struct Place<'a> {
    connection: &'a mut Connection,
    order: Arc<QueuedCommands>,
    /// What came of it was taken back.
    is_over: bool,
}

impl Place<'_> {
    fn take_back(&mut self) -> (Call<'static>, Stage) {
        let mut queued = self.order.queued.lock();
        self.is_over = true;
        self.connection.client = queued.client.take();
        let call = std::mem::replace(&mut queued.call, Call::nothing());
        (call, std::mem::replace(&mut queued.stage, Stage::GivenUp))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let shared = &self.connection.shared;
        self.order.is_given_up.store(true, Ordering::SeqCst);
        shared.call_queue().leave(&self.order);
        // Whoever is running it disconnects the client.
        let Some(mut queued) = self.order.queued.try_lock() else { return };
        self.connection.client = queued.client.take();
        let stage = std::mem::replace(&mut queued.stage, Stage::GivenUp);
        let waits = queued.call.waits();
        drop(queued);
        let shared = &self.connection.shared;
        if matches!(stage, Stage::Waiting) {
            // It may have been woken to serve the others.
            shared.serve_queue();
        }
        if waits && let Some(client) = &self.connection.client {
            shared.stop_waiting(client.index);
        }
    }
}

#[cfg(test)]
mod tests;
