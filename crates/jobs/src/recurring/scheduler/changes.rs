//! How a sleeping scheduler hears that recurring jobs were defined or changed.

use keyrack_store::{Event, Store, Subscription};

use crate::recurring::keys;

/// The subscription of a scheduler, opened again whenever it ended.
#[derive(Debug)]
pub(super) struct Changes {
    store: Store,
    open: Option<Subscription>,
}

impl Changes {
    pub(super) fn new(store: Store) -> Changes {
        Changes { store, open: None }
    }

    /// Begins to listen, unless it does. Without a store there is nothing to hear; the next turn tries again.
    pub(super) async fn listen(&mut self) {
        if self.open.is_none() {
            self.open = self.store.subscribe(&[keys::defined_events()]).await.ok();
        }
    }

    /// Resolves when something has changed, or may have.
    pub(super) async fn next(&mut self) {
        let Some(subscription) = &mut self.open else { return std::future::pending().await };
        match subscription.next().await {
            Some(Event::Message(_) | Event::Gap) => {}
            None => {
                self.open = None;
                std::future::pending().await
            }
        }
    }
}
