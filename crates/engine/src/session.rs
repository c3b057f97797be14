//! What the engine remembers about each client, in process or over TCP.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use tokio::sync::{Notify, mpsc};

use crate::{blocking::Wait, pubsub::Kind, reply::Reply, table::Command};

/// Where a session stands in [`Clients`]; given out again after the session ends.
pub(crate) type ClientIndex = usize;

/// One client's state.
#[derive(Debug)]
pub(crate) struct Session {
    /// What CLIENT ID answers; never given out twice.
    pub(crate) id: u64,
    pub(crate) index: ClientIndex,
    pub(crate) db: usize,
    /// The protocol version it speaks: 2 or 3.
    pub(crate) resp: u8,
    pub(crate) authenticated: bool,
    pub(crate) about: ClientInfo,
    pub(crate) transaction: Option<Transaction>,
    pub(crate) watching: Vec<Watch>,
    pub(crate) subscriptions: Subscriptions,
    /// What it waits for, while a blocking command has not been served.
    pub(crate) wait: Option<Wait>,
    pub(crate) reply_mode: ReplyMode,
    pub(crate) is_monitor: bool,
    /// Set by QUIT and CLIENT KILL on itself: answer, then hang up.
    pub(crate) closing: bool,
    pub(crate) mailbox: Mailbox,
}

/// What CLIENT LIST tells about a session.
#[derive(Debug, Default, Clone)]
pub(crate) struct ClientInfo {
    /// What CLIENT ID answers, if the client was told before it could be made known to the state.
    pub(crate) id: Option<u64>,
    pub(crate) name: Vec<u8>,
    pub(crate) lib_name: String,
    pub(crate) lib_version: String,
    /// Its address and ours; empty in process.
    pub(crate) address: String,
    pub(crate) local_address: String,
    pub(crate) created_us: u64,
    pub(crate) active_us: u64,
    pub(crate) last_command: Option<&'static Command>,
}

/// Commands queued after MULTI.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    pub(crate) queue: Vec<Queued>,
    /// A command could not be queued, so EXEC will refuse.
    pub(crate) broken: bool,
}

/// A command waiting for EXEC.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) command: &'static Command,
    pub(crate) args: Vec<Box<[u8]>>,
}

/// A key whose change makes EXEC answer nil.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) db: usize,
    pub(crate) key: Box<[u8]>,
}

/// What a session listens to.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    pub(crate) channels: BTreeSet<Box<[u8]>>,
    pub(crate) patterns: BTreeSet<Box<[u8]>>,
    pub(crate) shard_channels: BTreeSet<Box<[u8]>>,
}

impl Subscriptions {
    pub(crate) fn of(&self, kind: Kind) -> &BTreeSet<Box<[u8]>> {
        match kind {
            Kind::Channel => &self.channels,
            Kind::Pattern => &self.patterns,
            Kind::Shard => &self.shard_channels,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.patterns.is_empty() && self.shard_channels.is_empty()
    }
}

/// What CLIENT REPLY has set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ReplyMode {
    #[default]
    On,
    Off,
    /// The next command's reply is left out.
    SkipNext,
    /// This command's reply is left out.
    Skip,
}

/// Something for a client that is not the answer to the command it has just sent.
#[derive(Debug, Clone)]
pub(crate) enum Delivery {
    /// A published message or a monitored command.
    Push(Arc<Reply>),
    /// The answer to a command that had to wait, and the log position that makes it durable.
    Served { reply: Reply, position: u64 },
    /// Hang up.
    Close,
}

/// The engine's end of a client's delivery queue.
#[derive(Debug, Clone)]
pub(crate) struct Mailbox {
    sender: mpsc::UnboundedSender<Delivery>,
    pile: Arc<DeliveryQueue>,
    pending_max: usize,
}

/// The client's end of its delivery queue.
#[derive(Debug)]
pub(crate) struct Inbox {
    receiver: mpsc::UnboundedReceiver<Delivery>,
    pile: Arc<DeliveryQueue>,
}

/// What both ends know about the queue.
#[derive(Debug, Default)]
struct DeliveryQueue {
    /// Bytes of messages that the client has not taken yet.
    pending: AtomicUsize,
    /// Rung to reach a client that looks at no deliveries because it does not take its answers either.
    hang_up: Notify,
}

/// A mailbox that holds at most about `pending_max` bytes of messages.
pub(crate) fn mailbox(pending_max: usize) -> (Mailbox, Inbox) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let pile = Arc::new(DeliveryQueue::default());
    (Mailbox { sender, pile: pile.clone(), pending_max }, Inbox { receiver, pile })
}

impl Mailbox {
    /// Delivers a message; a client that lets too many pile up is hung up on, as Redis does.
    pub(crate) fn push(&self, message: &Arc<Reply>, size: usize) {
        let before = self.pile.pending.fetch_add(size, Ordering::Relaxed);
        if before + size <= self.pending_max {
            // A client that has gone away misses the message like any other subscriber that left.
            let _ = self.sender.send(Delivery::Push(message.clone()));
        } else if before <= self.pending_max {
            self.send(Delivery::Close);
        }
    }

    /// Delivers something; [`Delivery::Close`] also cuts short what the client is being sent.
    pub(crate) fn send(&self, delivery: Delivery) {
        if matches!(delivery, Delivery::Close) {
            self.pile.hang_up.notify_one();
        }
        let _ = self.sender.send(delivery);
    }

    /// Hangs up once the client has been sent the answers it is owed.
    pub(crate) fn close(&self) {
        let _ = self.sender.send(Delivery::Close);
    }
}

impl Inbox {
    /// The next delivery; `None` once the engine has dropped the session.
    pub(crate) async fn next(&mut self) -> Option<Delivery> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Delivery>> {
        let delivery = std::task::ready!(self.receiver.poll_recv(cx));
        if let Some(delivery) = &delivery {
            self.taken(delivery);
        }
        Poll::Ready(delivery)
    }

    /// A delivery that is there already.
    pub(crate) fn try_next(&mut self) -> Option<Delivery> {
        let delivery = self.receiver.try_recv().ok()?;
        self.taken(&delivery);
        Some(delivery)
    }

    /// Forgets what is there.
    pub(crate) fn clear(&mut self) {
        while self.try_next().is_some() {}
    }

    fn taken(&self, delivery: &Delivery) {
        if let Delivery::Push(message) = delivery {
            self.pile.pending.fetch_sub(message_size(message), Ordering::Relaxed);
        }
    }

    /// Resolves when the client is to be cut off, whatever it still has to take.
    pub(crate) async fn hung_up(&self) {
        self.pile.hang_up.notified().await;
    }
}

/// About how many bytes a message takes on the wire.
pub(crate) fn message_size(message: &Reply) -> usize {
    match message {
        Reply::Push(parts) | Reply::Array(parts) => {
            parts.iter().map(message_size).sum::<usize>() + 16
        }
        Reply::Bulk(bytes) => bytes.len() + 16,
        Reply::Status(text) => text.len() + 3,
        _ => 16,
    }
}

/// All sessions. A command takes its session out while it runs and puts it back after.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    slots: Vec<Option<Box<Session>>>,
    /// Beside the sessions, so that a client can be sent a message by the command it runs itself.
    mailboxes: Vec<Option<Mailbox>>,
    free: Vec<ClientIndex>,
    /// The last number given out, which doors give out too while they cannot reach the state.
    last_id: Arc<AtomicU64>,
    /// Sessions that are in use, taken out or not.
    len: usize,
}

impl Clients {
    pub(crate) fn add(
        &mut self,
        db: usize,
        mailbox: Mailbox,
        authenticated: bool,
        about: ClientInfo,
    ) -> ClientIndex {
        let id = about.id.unwrap_or_else(|| self.last_id.fetch_add(1, Ordering::Relaxed) + 1);
        self.len += 1;
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.mailboxes.push(None);
            self.slots.len() - 1
        });
        self.mailboxes[index] = Some(mailbox.clone());
        self.slots[index] = Some(Box::new(Session {
            id,
            index,
            db,
            resp: 2,
            authenticated,
            about,
            transaction: None,
            watching: Vec::new(),
            subscriptions: Subscriptions::default(),
            wait: None,
            reply_mode: ReplyMode::default(),
            is_monitor: false,
            closing: false,
            mailbox,
        }));
        index
    }

    /// Where the numbers of clients come from.
    pub(crate) fn ids(&self) -> Arc<AtomicU64> {
        self.last_id.clone()
    }

    pub(crate) fn take(&mut self, index: ClientIndex) -> Option<Box<Session>> {
        self.slots.get_mut(index)?.take()
    }

    pub(crate) fn put(&mut self, session: Box<Session>) {
        let index = session.index;
        self.slots[index] = Some(session);
    }

    /// Frees the place of a session that was taken out for good.
    pub(crate) fn forget(&mut self, session: Box<Session>) {
        self.mailboxes[session.index] = None;
        self.free.push(session.index);
        self.len -= 1;
    }

    pub(crate) fn get(&self, index: ClientIndex) -> Option<&Session> {
        self.slots.get(index)?.as_deref()
    }

    pub(crate) fn get_mut(&mut self, index: ClientIndex) -> Option<&mut Session> {
        self.slots.get_mut(index)?.as_deref_mut()
    }

    /// Reaches a client's mailbox, also while the session itself is taken out.
    pub(crate) fn with_mailbox(&self, index: ClientIndex, f: impl FnOnce(&Mailbox)) {
        if let Some(Some(mailbox)) = self.mailboxes.get(index) {
            f(mailbox);
        }
    }

    /// Sessions that are not taken out right now.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Session> {
        self.slots.iter().flatten().map(|session| &**session)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }
}
