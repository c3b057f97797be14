//! Group commit: events of one key that come while others are being stored are stored together, in one call.
//!
//! One task stores for all who wait. It goes on when one of them stops waiting: nobody else's events may depend on that.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{Ledger, key::KeyId, record::EVENTS_PER_CALL, record::EventResults};
use crate::{error::Error, event::Event};

/// Events that wait to be stored, by their keys. A key that is there has a task that stores.
pub(super) type Queues = Mutex<HashMap<KeyId, Vec<Pending>>>;

/// Events of somebody who waits until they are stored.
pub(super) struct Pending {
    events: Vec<Event>,
    tell: oneshot::Sender<Result<EventResults, Error>>,
}

impl Ledger {
    /// Stores events of one key, together with those of others that wait.
    pub(super) async fn record_group(
        &self,
        id: KeyId,
        events: Vec<Event>,
    ) -> Result<EventResults, Error> {
        let (tell, told) = oneshot::channel();
        let pending = Pending { events, tell };
        let is_first = {
            let mut queues = self.inner.queues.lock();
            let queue = queues.get_mut(&id);
            match queue {
                Some(queue) => {
                    queue.push(pending);
                    false
                }
                None => {
                    queues.insert(id.clone(), vec![pending]);
                    true
                }
            }
        };
        if is_first {
            tokio::spawn(self.clone().store_all(id.clone()));
        }
        told.await.unwrap_or_else(|_| Err(Error::Busy { key: id.shown() }))
    }

    /// Stores what waits for a key, until nothing does.
    async fn store_all(self, id: KeyId) {
        let _storing = CommitGuard { ledger: &self, id: &id };
        while let Some(waiting) = self.next_waiting(&id) {
            let _turn = self.turn(&id).await;
            self.store_together(&id, waiting).await;
        }
    }

    fn next_waiting(&self, id: &KeyId) -> Option<Vec<Pending>> {
        let mut queues = self.inner.queues.lock();
        let waiting = queues.get_mut(id).map(std::mem::take).unwrap_or_default();
        if waiting.is_empty() {
            queues.remove(id);
            return None;
        }
        Some(waiting)
    }

    /// Stores events in the order in which they came, and tells everybody what became of theirs.
    async fn store_together(&self, id: &KeyId, waiting: Vec<Pending>) {
        let (mut events, mut waiters) = (Vec::new(), Vec::new());
        for pending in waiting {
            waiters.push((pending.events.len(), pending.tell));
            events.extend(pending.events);
        }
        let mut told: EventResults = Vec::with_capacity(events.len());
        let mut failure = None;
        for chunk in events.chunks(EVENTS_PER_CALL) {
            match self.record_chunk(id, chunk).await {
                Ok(outcomes) => told.extend(outcomes),
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        let mut told = told.into_iter();
        for (n, tell) in waiters {
            let own: EventResults = told.by_ref().take(n).collect();
            let answer = match &mut failure {
                Some(error) if own.len() < n => Err(take_copy(error)),
                _ => Ok(own),
            };
            // Who has stopped waiting need not be told.
            let _ = tell.send(answer);
        }
    }
}

/// The error, which leaves another behind that says the same: each who waits is told.
fn take_copy(error: &mut Error) -> Error {
    let again = match &*error {
        Error::Busy { key } => Error::Busy { key: key.clone() },
        other => {
            let detail = other.to_string();
            redis::RedisError::from((redis::ErrorKind::Io, "could not store events", detail)).into()
        }
    };
    std::mem::replace(error, again)
}

/// Lets nobody wait for a task that has ended, however it did.
struct CommitGuard<'a> {
    ledger: &'a Ledger,
    id: &'a KeyId,
}

impl Drop for CommitGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.ledger.inner.queues.lock().remove(self.id);
        }
    }
}
