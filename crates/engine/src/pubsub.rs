//! Who listens to what: channels, patterns, shard channels and MONITOR.

use std::{collections::HashMap, sync::Arc};

use foldhash::fast::FixedState;

use crate::{
    glob,
    reply::Reply,
    session::{ClientIndex, Clients, Session, message_size},
    state::State,
};

type Listeners = HashMap<Box<[u8]>, Vec<ClientIndex>, FixedState>;

/// All subscriptions.
#[derive(Debug, Default)]
pub(crate) struct PubSub {
    channels: Listeners,
    patterns: Listeners,
    shard_channels: Listeners,
    monitors: Vec<ClientIndex>,
}

/// The three kinds of subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Channel,
    Pattern,
    Shard,
}

impl PubSub {
    /// Adds a subscription; a client that has it already keeps it.
    pub(crate) fn subscribe(&mut self, session: &mut Session, kind: Kind, name: &[u8]) {
        if own(session, kind).insert(name.into()) {
            self.listeners(kind).entry(name.into()).or_default().push(session.index);
        }
    }

    pub(crate) fn unsubscribe(&mut self, session: &mut Session, kind: Kind, name: &[u8]) {
        if own(session, kind).remove(name) {
            leave(self.listeners(kind), session.index, name);
        }
    }

    pub(crate) fn remove_client(&mut self, session: &mut Session) {
        for kind in [Kind::Channel, Kind::Pattern, Kind::Shard] {
            for name in std::mem::take(own(session, kind)) {
                leave(self.listeners(kind), session.index, &name);
            }
        }
        self.stop_monitor(session);
    }

    /// Delivers a message to a channel and to matching patterns; returns how many got it.
    pub(crate) fn publish(&self, clients: &Clients, channel: &[u8], message: &[u8]) -> usize {
        let mut n = 0;
        if let Some(listeners) = self.channels.get(channel) {
            let push = [&b"message"[..], channel, message];
            n += deliver(clients, listeners, &push);
        }
        for (pattern, listeners) in &self.patterns {
            if glob::matches(pattern, channel) {
                let push = [&b"pmessage"[..], pattern, channel, message];
                n += deliver(clients, listeners, &push);
            }
        }
        n
    }

    /// Delivers a message to a shard channel.
    pub(crate) fn publish_shard(&self, clients: &Clients, channel: &[u8], message: &[u8]) -> usize {
        let listeners = self.shard_channels.get(channel).map_or(&[][..], Vec::as_slice);
        deliver(clients, listeners, &[b"smessage", channel, message])
    }

    /// Names somebody listens to, with how many do; patterns have no place in PUBSUB CHANNELS.
    pub(crate) fn active(&self, kind: Kind) -> impl Iterator<Item = (&[u8], usize)> {
        let listeners = match kind {
            Kind::Channel => &self.channels,
            Kind::Pattern => &self.patterns,
            Kind::Shard => &self.shard_channels,
        };
        listeners.iter().map(|(name, listeners)| (&**name, listeners.len()))
    }

    pub(crate) fn n_listeners(&self, kind: Kind, name: &[u8]) -> usize {
        let listeners = match kind {
            Kind::Channel => &self.channels,
            Kind::Pattern => &self.patterns,
            Kind::Shard => &self.shard_channels,
        };
        listeners.get(name).map_or(0, Vec::len)
    }

    pub(crate) fn start_monitor(&mut self, session: &mut Session) {
        if !session.is_monitor {
            session.is_monitor = true;
            self.monitors.push(session.index);
        }
    }

    pub(crate) fn stop_monitor(&mut self, session: &mut Session) {
        if std::mem::take(&mut session.is_monitor) {
            self.monitors.retain(|client| *client != session.index);
        }
    }

    pub(crate) fn has_monitors(&self) -> bool {
        !self.monitors.is_empty()
    }

    fn listeners(&mut self, kind: Kind) -> &mut Listeners {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
            Kind::Shard => &mut self.shard_channels,
        }
    }
}

fn own(session: &mut Session, kind: Kind) -> &mut std::collections::BTreeSet<Box<[u8]>> {
    match kind {
        Kind::Channel => &mut session.subscriptions.channels,
        Kind::Pattern => &mut session.subscriptions.patterns,
        Kind::Shard => &mut session.subscriptions.shard_channels,
    }
}

fn leave(listeners: &mut Listeners, client: ClientIndex, name: &[u8]) {
    if let Some(clients) = listeners.get_mut(name) {
        clients.retain(|other| *other != client);
        if clients.is_empty() {
            listeners.remove(name);
        }
    }
}

fn deliver(clients: &Clients, listeners: &[ClientIndex], parts: &[&[u8]]) -> usize {
    if listeners.is_empty() {
        return 0;
    }
    let message = Arc::new(Reply::Push(parts.iter().map(Reply::bulk).collect()));
    let size = message_size(&message);
    for client in listeners {
        clients.with_mailbox(*client, |mailbox| mailbox.push(&message, size));
    }
    listeners.len()
}

impl State {
    /// Shows a command to everybody who monitors.
    pub(crate) fn show_monitors(&mut self, session: &Session, in_script: bool, args: &[&[u8]]) {
        let now = self.now_us();
        let source = if in_script { "lua" } else { &session.about.address };
        let mut line =
            format!("{}.{:06} [{} {source}]", now / 1_000_000, now % 1_000_000, session.db);
        for (i, arg) in args.iter().enumerate() {
            line.push(' ');
            quote(&mut line, if is_secret(args, i) { b"(redacted)" } else { arg });
        }
        let message = Arc::new(Reply::Status(line.into()));
        let size = message_size(&message);
        for client in &self.pubsub.monitors {
            self.clients.with_mailbox(*client, |mailbox| mailbox.push(&message, size));
        }
    }
}

/// Whether the argument at `i` is a user name or password.
fn is_secret(args: &[&[u8]], i: usize) -> bool {
    let is = |i: usize, name: &[u8]| args[i].eq_ignore_ascii_case(name);
    let after_auth = |n: usize| i > n && is(i - n, b"auth");
    (i > 0 && is(0, b"auth")) || (is(0, b"hello") && (after_auth(1) || after_auth(2)))
}

/// Writes bytes as redis-cli shows them: printable ones as they are, others escaped.
fn quote(line: &mut String, bytes: &[u8]) {
    line.push('"');
    for byte in bytes {
        match byte {
            b'\\' => line.push_str("\\\\"),
            b'"' => line.push_str("\\\""),
            b'\n' => line.push_str("\\n"),
            b'\r' => line.push_str("\\r"),
            b'\t' => line.push_str("\\t"),
            0x07 => line.push_str("\\a"),
            0x08 => line.push_str("\\b"),
            b' '..=b'~' => line.push(char::from(*byte)),
            _ => line.push_str(&format!("\\x{byte:02x}")),
        }
    }
    line.push('"');
}
