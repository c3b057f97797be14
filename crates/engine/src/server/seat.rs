//! A connection's place among the engine's clients, given up when the connection ends.

use std::sync::Arc;

use crate::{
    engine::Shared,
    session::{About, ClientIndex, Mailbox},
    state::State,
};

/// A place that is taken as soon as the state can be reached, and left in any case.
pub(super) struct Seat {
    shared: Arc<Shared>,
    client: Option<ClientIndex>,
    mailbox: Mailbox,
    about: About,
}

impl Seat {
    pub(super) fn new(shared: Arc<Shared>, mailbox: Mailbox, about: About) -> Seat {
        Seat { shared, client: None, mailbox, about }
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
        if let Some(client) = self.client {
            self.shared.leave(client);
        }
    }
}
