//! Registers a connection as a client of the engine, until the connection ends.

use std::sync::Arc;

use crate::{
    engine::Shared,
    session::{ClientIndex, ClientInfo, Mailbox},
    state::State,
};

/// Made as soon as the state can be reached, and undone on drop.
pub(super) struct Registration {
    shared: Arc<Shared>,
    client: Option<ClientIndex>,
    /// What CLIENT ID answers, once somebody has asked for it or the client is registered.
    id: Option<u64>,
    mailbox: Mailbox,
    about: ClientInfo,
}

impl Registration {
    pub(super) fn new(shared: Arc<Shared>, mailbox: Mailbox, about: ClientInfo) -> Registration {
        Registration { shared, client: None, id: None, mailbox, about }
    }

    /// The client's index; registers it now if a long script has delayed that so far.
    pub(super) fn take(&mut self, state: &mut State) -> ClientIndex {
        *self.client.get_or_insert_with(|| {
            let about = ClientInfo { id: self.id, ..std::mem::take(&mut self.about) };
            let client = state.connect(0, self.mailbox.clone(), false, about);
            self.id = state.clients.get(client).map(|session| session.id);
            client
        })
    }

    /// What CLIENT ID answers, or will answer.
    pub(super) fn id(&mut self) -> u64 {
        *self.id.get_or_insert_with(|| self.shared.next_client_id())
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(client) = self.client {
            self.shared.leave(client);
        }
    }
}
