//! One request for all who ask at once.

use std::{collections::HashMap, sync::Arc};

use futures_util::future::{BoxFuture, FutureExt as _, Shared};
use keyrack_keys::UserSub;
use parking_lot::Mutex;

/// The requests under way, one for each user and at most one that waits for it to end.
///
/// A request goes on when nobody waits for it any more: its answer is of use to those who ask next.
#[derive(Debug)]
pub(crate) struct SharedRequests<T: Clone> {
    slots: Mutex<HashMap<UserSub, Slot<T>>>,
}

/// `None` when the task was taken down, as when the process ends.
type SharedRequest<T> = Shared<BoxFuture<'static, Option<T>>>;

#[derive(Debug)]
struct Slot<T: Clone> {
    running: SharedRequest<T>,
    next: Option<SharedRequest<T>>,
}

impl<T: Clone> Default for SharedRequests<T> {
    fn default() -> SharedRequests<T> {
        SharedRequests { slots: Mutex::default() }
    }
}

impl<T: Clone + Send + Sync + 'static> SharedRequests<T> {
    /// What comes of the request about a user, which `start` makes unless one is under way. Who wants it `fresh` gets one
    /// that begins after this call, together with all others who do.
    pub(crate) fn join<F>(
        self: &Arc<Self>,
        user: &UserSub,
        fresh: bool,
        start: impl FnOnce() -> F + Send + 'static,
    ) -> SharedRequest<T>
    where
        F: Future<Output = T> + Send,
    {
        let mut slots = self.slots.lock();
        let Some(slot) = slots.get_mut(user) else {
            let flight = self.launch(user, None, start);
            slots.insert(user.clone(), Slot { running: flight.clone(), next: None });
            return flight;
        };
        if !fresh {
            return slot.running.clone();
        }
        let running = slot.running.clone();
        slot.next.get_or_insert_with(|| self.launch(user, Some(running), start)).clone()
    }

    fn launch<F>(
        self: &Arc<Self>,
        user: &UserSub,
        before: Option<SharedRequest<T>>,
        start: impl FnOnce() -> F + Send + 'static,
    ) -> SharedRequest<T>
    where
        F: Future<Output = T> + Send,
    {
        let landing = RequestGuard { flights: self.clone(), user: user.clone() };
        let flying = tokio::spawn(async move {
            if let Some(before) = before {
                before.await;
            }
            let _landing = landing;
            start().await
        });
        flying.map(Result::ok).boxed().shared()
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.lock().is_empty()
    }
}

/// Makes room for the next request when one ends, however it ends.
struct RequestGuard<T: Clone> {
    flights: Arc<SharedRequests<T>>,
    user: UserSub,
}

impl<T: Clone> Drop for RequestGuard<T> {
    fn drop(&mut self) {
        let mut slots = self.flights.slots.lock();
        let next = slots.get_mut(&self.user).and_then(|slot| slot.next.take());
        match next {
            Some(next) => drop(slots.insert(self.user.clone(), Slot { running: next, next: None })),
            None => drop(slots.remove(&self.user)),
        }
    }
}

#[cfg(test)]
mod tests;
