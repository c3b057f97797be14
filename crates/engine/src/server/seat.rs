//! A connection's place among the engine's clients, given up when the connection ends.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::{
    engine::Shared,
    session::{About, ClientIndex, Mailbox},
    state::State,
};

/// A place that is taken as soon as the state can be reached, and left in any case.
pub(super) struct Seat {
    shared: Arc<Shared>,
    departed: Arc<Departed>,
    client: Option<ClientIndex>,
    mailbox: Mailbox,
    about: About,
}

impl Seat {
    pub(super) fn new(
        shared: Arc<Shared>,
        departed: Arc<Departed>,
        mailbox: Mailbox,
        about: About,
    ) -> Seat {
        Seat { shared, departed, client: None, mailbox, about }
    }

    /// The client's number, given to it now if a long script has kept it waiting so far.
    pub(super) fn take(&mut self, state: &mut State) -> ClientIndex {
        *self.client.get_or_insert_with(|| {
            state.connect(0, self.mailbox.clone(), false, std::mem::take(&mut self.about))
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some(client) = self.client else { return };
        match self.shared.lock() {
            Ok(mut state) => state.disconnect(client),
            Err(_busy) => self.departed.clients.lock().push(client),
        }
    }
}

/// Clients that left while a script ran too long: waiting for it would block threads that are needed to hear SCRIPT KILL.
#[derive(Debug, Default)]
pub(super) struct Departed {
    clients: Mutex<Vec<ClientIndex>>,
}

impl Departed {
    pub(super) fn forget(&self, state: &mut State) {
        for client in self.clients.lock().drain(..) {
            state.disconnect(client);
        }
    }
}
