//! Connections that found the engine locked.
//!
//! A thread that waits for a lock does nothing else, though other tasks could run on it, and waking it takes longer than
//! most commands do. So a connection in process leaves its commands in a line, and whoever has the lock runs them before
//! letting go of it. Who lets go looks at the line once more afterwards, so nobody is left in it while the lock is free;
//! and whoever has run enough for others wakes the first in line, who then takes the lock itself.

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

/// Those who wait, first come first served.
#[derive(Default)]
pub(crate) struct Line {
    orders: Mutex<VecDeque<Arc<Order>>>,
}

impl Line {
    pub(crate) fn is_empty(&self) -> bool {
        self.orders.lock().is_empty()
    }

    pub(crate) fn next(&self) -> Option<Arc<Order>> {
        self.orders.lock().pop_front()
    }

    /// Has the first in line look for itself.
    pub(crate) fn wake_first(&self) {
        let first = self.orders.lock().front().cloned();
        if let Some(order) = first {
            order.wake();
            offer_to_other_threads();
        }
    }

    /// Turns all away, as while a script runs too long.
    pub(crate) fn turn_away(&self) {
        let mut orders = self.orders.lock();
        if orders.is_empty() {
            return;
        }
        // Under the lock, so that who has left the line knows that only a runner can have the slip.
        for order in orders.drain(..) {
            order.slip.lock().stage = Stage::TurnedAway;
            order.wake();
        }
        offer_to_other_threads();
    }

    fn join(&self, order: &Arc<Order>) {
        self.orders.lock().push_back(Arc::clone(order));
    }

    fn leave(&self, order: &Arc<Order>) {
        self.orders.lock().retain(|other| !Arc::ptr_eq(order, other));
    }
}

/// Commands that somebody else may run.
pub(crate) struct Order {
    /// Locked while they are run.
    slip: Mutex<Slip>,
    waker: Mutex<Waker>,
    /// Nobody waits for it any more. If it is being run, its client is for the runner to see off.
    is_given_up: AtomicBool,
}

struct Slip {
    call: Call<'static>,
    client: Option<Client>,
    db: usize,
    stage: Stage,
}

enum Stage {
    Waiting,
    Run,
    Panicked(Box<dyn Any + Send>),
    TurnedAway,
    GivenUp,
}

impl Order {
    fn new(call: Call<'static>, client: Option<Client>, db: usize) -> Arc<Order> {
        let slip = Mutex::new(Slip { call, client, db, stage: Stage::Waiting });
        let (waker, is_given_up) = (Mutex::new(Waker::noop().clone()), AtomicBool::new(false));
        Arc::new(Order { slip, waker, is_given_up })
    }

    /// Runs its commands, or some of them if there are many.
    pub(crate) fn run(&self, state: &mut State) {
        let mut slip = self.slip.lock();
        let Slip { call, client, db, stage } = &mut *slip;
        if !matches!(stage, Stage::Waiting) {
            return;
        }
        // A panic is for the one whose commands these are.
        *stage = match catch_unwind(AssertUnwindSafe(|| call.go_on(state, client, *db))) {
            Ok(()) => Stage::Run,
            Err(panic) => Stage::Panicked(panic),
        };
        drop(slip);
        // Only now, since who gives up looks at the slip after saying so.
        if self.is_given_up.load(Ordering::SeqCst)
            && let Some(client) = self.slip.lock().client.take()
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
        // Who has the slip wakes the task afterwards, so there is no need to wait for it.
        self.slip.try_lock().is_some_and(|slip| !matches!(slip.stage, Stage::Waiting))
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
pub(super) async fn wait_in_line(
    connection: &mut Connection,
    call: &mut Call<'_>,
) -> Result<(), Busy> {
    if connection.shared.script_control().is_busy() {
        return Err(Busy);
    }
    let owned = std::mem::replace(call, Call::nothing()).into_owned();
    let order = Order::new(owned, connection.client.take(), connection.db);
    let mut place = Place { connection, order, is_over: false };
    let mut has_joined = false;
    poll_fn(|cx| {
        if place.order.is_settled(cx) {
            return Poll::Ready(());
        }
        let shared = &place.connection.shared;
        if !std::mem::replace(&mut has_joined, true) {
            shared.line().join(&place.order);
        }
        // The lock may have become free just before that, or nobody has it who could run it.
        shared.serve_line();
        if place.order.is_settled(cx) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let (owned, stage) = place.take_back();
    *call = owned;
    match stage {
        Stage::TurnedAway => Err(Busy),
        Stage::Panicked(panic) => resume_unwind(panic),
        Stage::Run | Stage::Waiting | Stage::GivenUp => Ok(()),
    }
}

/// A connection's place in the line. Who gives it up before its commands were run has not sent them.
struct Place<'a> {
    connection: &'a mut Connection,
    order: Arc<Order>,
    /// What came of it was taken back.
    is_over: bool,
}

impl Place<'_> {
    fn take_back(&mut self) -> (Call<'static>, Stage) {
        let mut slip = self.order.slip.lock();
        self.is_over = true;
        self.connection.client = slip.client.take();
        let call = std::mem::replace(&mut slip.call, Call::nothing());
        (call, std::mem::replace(&mut slip.stage, Stage::GivenUp))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let shared = &self.connection.shared;
        self.order.is_given_up.store(true, Ordering::SeqCst);
        shared.line().leave(&self.order);
        // Whoever is running it sees the client off.
        let Some(mut slip) = self.order.slip.try_lock() else { return };
        self.connection.client = slip.client.take();
        let stage = std::mem::replace(&mut slip.stage, Stage::GivenUp);
        let waits = slip.call.waits();
        drop(slip);
        let shared = &self.connection.shared;
        if matches!(stage, Stage::Waiting) {
            // It may have been woken to serve the others.
            shared.serve_line();
        }
        if waits && let Some(client) = &self.connection.client {
            shared.stop_waiting(client.index);
        }
    }
}

#[cfg(test)]
mod tests;
