//! The door for subscriptions inside the process.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use parking_lot::Mutex;

use crate::{
    engine::Shared,
    reply::Reply,
    session::{ClientIndex, ClientInfo, Delivery, Inbox, Mailbox, mailbox},
    state::State,
};

/// Receives published messages, in order, as a stream.
///
/// Its methods wait for nothing. While somebody else has the engine locked, what they ask for is done by the next who
/// locks it, before anything else: a message that is published after a subscription arrives.
///
/// A subscriber that lets too many bytes of messages pile up is cut off, as a slow reader over TCP would be: the
/// stream then ends.
pub struct Subscriber {
    shared: Arc<Shared>,
    registration: Arc<Mutex<Registration>>,
    inbox: Inbox,
    closed: bool,
}

/// Whether the state knows the subscriber as a client. Locked only by the holder of the state.
enum Registration {
    /// To be made known to the state by its first command.
    New(Mailbox),
    Taken(ClientIndex),
}

impl Registration {
    fn take(&mut self, state: &mut State) -> ClientIndex {
        match self {
            Registration::Taken(client) => *client,
            Registration::New(mailbox) => {
                let client = state.connect(0, mailbox.clone(), true, ClientInfo::default());
                *self = Registration::Taken(client);
                client
            }
        }
    }
}

/// A published message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The pattern that matched, for pattern subscriptions.
    pub pattern: Option<Vec<u8>>,
    /// The channel it was published to.
    pub channel: Vec<u8>,
    /// What was published.
    pub payload: Vec<u8>,
}

impl Subscriber {
    pub(crate) fn new(shared: Arc<Shared>) -> Subscriber {
        let (mailbox, inbox) = mailbox(shared.pending_output_max());
        let registration = Arc::new(Mutex::new(Registration::New(mailbox)));
        Subscriber { shared, registration, inbox, closed: false }
    }

    /// Listens to a channel. Messages published after this call arrive.
    pub fn subscribe(&self, channel: impl AsRef<[u8]>) {
        self.run(b"SUBSCRIBE", channel.as_ref());
    }

    /// Listens to all channels that a pattern matches.
    pub fn psubscribe(&self, pattern: impl AsRef<[u8]>) {
        self.run(b"PSUBSCRIBE", pattern.as_ref());
    }

    /// Listens to a shard channel, as SPUBLISH serves them.
    pub fn ssubscribe(&self, channel: impl AsRef<[u8]>) {
        self.run(b"SSUBSCRIBE", channel.as_ref());
    }

    /// Stops listening to a channel.
    pub fn unsubscribe(&self, channel: impl AsRef<[u8]>) {
        self.run(b"UNSUBSCRIBE", channel.as_ref());
    }

    /// Stops listening to a pattern.
    pub fn punsubscribe(&self, pattern: impl AsRef<[u8]>) {
        self.run(b"PUNSUBSCRIBE", pattern.as_ref());
    }

    /// Stops listening to a shard channel.
    pub fn sunsubscribe(&self, channel: impl AsRef<[u8]>) {
        self.run(b"SUNSUBSCRIBE", channel.as_ref());
    }

    /// The next message; `None` once this subscriber was cut off.
    pub async fn next_message(&mut self) -> Option<Message> {
        std::future::poll_fn(|cx| self.poll_message(cx)).await
    }

    fn run(&self, command: &'static [u8], name: &[u8]) {
        let (registration, name) = (self.registration.clone(), name.to_vec());
        self.shared.do_soon(move |state| {
            let client = registration.lock().take(state);
            state.execute(client, &[command, &name]);
        });
    }

    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        while !self.closed {
            match std::task::ready!(self.inbox.poll_next(cx)) {
                Some(Delivery::Push(reply)) => {
                    if let Some(message) = message(&reply) {
                        return Poll::Ready(Some(message));
                    }
                }
                Some(Delivery::Served { .. }) => {}
                Some(Delivery::Close) | None => self.closed = true,
            }
        }
        Poll::Ready(None)
    }
}

fn message(reply: &Reply) -> Option<Message> {
    let Reply::Push(parts) = reply else { return None };
    let bytes = |part: &Reply| match part {
        Reply::Bulk(bytes) => bytes.clone(),
        _ => Vec::new(),
    };
    match parts.as_slice() {
        [_, channel, payload] => {
            Some(Message { pattern: None, channel: bytes(channel), payload: bytes(payload) })
        }
        [_, pattern, channel, payload] => Some(Message {
            pattern: Some(bytes(pattern)),
            channel: bytes(channel),
            payload: bytes(payload),
        }),
        _ => None,
    }
}

impl Stream for Subscriber {
    type Item = Message;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        self.get_mut().poll_message(cx)
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let registration = self.registration.clone();
        self.shared.do_soon(move |state| {
            if let Registration::Taken(client) = *registration.lock() {
                state.disconnect(client);
            }
        });
    }
}

impl std::fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscriber").finish_non_exhaustive()
    }
}
