//! Subscriptions that survive reconnects and admit when messages may have been missed.
//!
//! One hub per store owns the one connection that subscribes, however many subscriptions there are: a thousand people
//! watching progress bars cost one connection.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{Stream, StreamExt};
use redis::{
    PushInfo, PushKind, RedisResult, Value, aio::PubSubSink, aio::PubSubStream,
    cluster_async::ClusterConnection,
};
use tokio::sync::{mpsc, oneshot};

use crate::{
    error::Error,
    open::{CONNECT_TIMEOUT, OpenedBackend, RETRY_DELAY_MAX, RETRY_DELAY_MIN, cluster_client},
};

/// What a subscription yields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Somebody published.
    Message(Message),
    /// The connection was lost for a while, or the reader was too slow: messages may have been missed. Whoever needs the
    /// present state reads it now.
    Gap,
}

/// A published message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The channel's documented name.
    pub channel: Arc<str>,
    /// What was published.
    pub payload: Vec<u8>,
}

/// A stream of [`Event`]s; unsubscribes when dropped.
#[derive(Debug)]
pub struct Subscription {
    id: u64,
    events: mpsc::Receiver<Event>,
    /// Messages were dropped because this side did not keep up.
    missed: Arc<AtomicBool>,
    hub: mpsc::UnboundedSender<Request>,
}

/// Events that may wait for a slow reader.
const EVENTS_MAX: usize = 1024;

impl Subscription {
    /// The next event; `None` only when the store itself is gone.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|cx| self.poll_event(cx)).await
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        match self.events.poll_recv(cx) {
            // What was kept comes first; the gap is where the next message would have been.
            Poll::Pending if self.missed.swap(false, Ordering::AcqRel) => {
                Poll::Ready(Some(Event::Gap))
            }
            poll => poll,
        }
    }
}

impl Stream for Subscription {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.get_mut().poll_event(cx)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let _ = self.hub.send(Request::Leave(self.id));
    }
}

/// A channel's name as it is stored and as it is documented.
type ChannelName = (String, String);

/// The handle to the task that owns the connection.
#[derive(Debug)]
pub(crate) struct Hub {
    requests: mpsc::UnboundedSender<Request>,
    /// Taken by the task when the first subscription starts it.
    pending: parking_lot::Mutex<Option<(OpenedBackend, mpsc::UnboundedReceiver<Request>)>>,
    next_id: AtomicU64,
}

#[derive(Debug)]
enum Request {
    Join {
        listener: Listener,
        channels: Vec<ChannelName>,
        done: oneshot::Sender<Result<(), Error>>,
    },
    Leave(u64),
}

#[derive(Debug, Clone)]
struct Listener {
    id: u64,
    events: mpsc::Sender<Event>,
    missed: Arc<AtomicBool>,
}

impl Listener {
    fn tell(&self, event: Event) {
        if self.events.try_send(event).is_err() {
            self.missed.store(true, Ordering::Release);
        }
    }
}

impl Hub {
    pub(crate) fn new(opened: OpenedBackend) -> Hub {
        let (requests, receiver) = mpsc::unbounded_channel();
        let pending = parking_lot::Mutex::new(Some((opened, receiver)));
        Hub { requests, pending, next_id: AtomicU64::new(0) }
    }

    pub(crate) async fn subscribe(
        &self,
        channels: Vec<ChannelName>,
    ) -> Result<Subscription, Error> {
        if let Some((opened, requests)) = self.pending.lock().take() {
            tokio::spawn(SubscriptionTask::new(opened, requests).run());
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, events) = mpsc::channel(EVENTS_MAX);
        let missed = Arc::new(AtomicBool::new(false));
        let listener = Listener { id, events: sender, missed: missed.clone() };
        let (done, subscribed) = oneshot::channel();
        let subscription = Subscription { id, events, missed, hub: self.requests.clone() };
        let _ = self.requests.send(Request::Join { listener, channels, done });
        match subscribed.await {
            Ok(result) => result.map(|()| subscription),
            Err(_) => Err(gone()),
        }
    }
}

fn gone() -> Error {
    Error::Unreachable { target: "the store".into(), reason: "its subscriptions have ended".into() }
}

/// The task: who listens to what, and the connection that serves them.
struct SubscriptionTask {
    opened: OpenedBackend,
    requests: mpsc::UnboundedReceiver<Request>,
    channels: HashMap<String, Channel>,
    feed: Option<Feed>,
}

struct Channel {
    documented: Arc<str>,
    listeners: Vec<Listener>,
}

/// What woke the task.
enum Wake {
    Request(Option<Request>),
    /// A message for a channel, by its stored name.
    Published(String, Vec<u8>),
    /// The server ended a subscription; when nobody asked for that, the channel has moved to another node.
    Left(String),
    Lost,
}

impl SubscriptionTask {
    fn new(opened: OpenedBackend, requests: mpsc::UnboundedReceiver<Request>) -> SubscriptionTask {
        SubscriptionTask { opened, requests, channels: HashMap::new(), feed: None }
    }

    async fn run(mut self) {
        loop {
            let wake = match &mut self.feed {
                Some(feed) => tokio::select! {
                    request = self.requests.recv() => Wake::Request(request),
                    next = feed.next() => next.unwrap_or(Wake::Lost),
                },
                None => Wake::Request(self.requests.recv().await),
            };
            match wake {
                Wake::Request(None) => return,
                Wake::Request(Some(Request::Join { listener, channels, done })) => {
                    let result = self.join(&listener, channels).await;
                    if result.is_err() {
                        self.leave(listener.id).await;
                    }
                    let _ = done.send(result);
                }
                Wake::Request(Some(Request::Leave(id))) => self.leave(id).await,
                Wake::Published(name, payload) => self.deliver(&name, payload),
                Wake::Left(name) if !self.channels.contains_key(&name) => {}
                Wake::Left(_) | Wake::Lost => self.come_back().await,
            }
        }
    }

    fn deliver(&self, name: &str, payload: Vec<u8>) {
        if let Some(channel) = self.channels.get(name) {
            let message = Message { channel: channel.documented.clone(), payload };
            for listener in &channel.listeners {
                listener.tell(Event::Message(message.clone()));
            }
        }
    }

    async fn join(&mut self, listener: &Listener, channels: Vec<ChannelName>) -> Result<(), Error> {
        for (name, documented) in channels {
            let is_new = !self.channels.contains_key(&name);
            let channel = self.channels.entry(name.clone()).or_insert_with(|| Channel {
                documented: documented.into(),
                listeners: Vec::new(),
            });
            channel.listeners.push(listener.clone());
            if is_new {
                self.ensure_feed().await?.subscribe(&name).await?;
            }
        }
        Ok(())
    }

    async fn leave(&mut self, id: u64) {
        let mut empty = Vec::new();
        for (name, channel) in &mut self.channels {
            channel.listeners.retain(|listener| listener.id != id);
            if channel.listeners.is_empty() {
                empty.push(name.clone());
            }
        }
        for name in empty {
            self.channels.remove(&name);
            if let Some(feed) = &mut self.feed {
                // A lost connection has no subscription to end.
                let _ = feed.unsubscribe(&name).await;
            }
        }
    }

    async fn ensure_feed(&mut self) -> Result<&mut Feed, Error> {
        let feed = match self.feed.take() {
            Some(feed) => feed,
            None => Feed::connect(&self.opened).await?,
        };
        Ok(self.feed.insert(feed))
    }

    /// Subscribes to everything again after the connection was lost, then tells everybody that there was a gap.
    async fn come_back(&mut self) {
        self.feed = None;
        let mut pause = RETRY_DELAY_MIN;
        while !self.channels.is_empty() && self.requests.sender_strong_count() > 0 {
            if self.resubscribe().await.is_ok() {
                break;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY_DELAY_MAX);
        }
        let mut told = Vec::new();
        for listener in self.channels.values().flat_map(|channel| &channel.listeners) {
            if !told.contains(&listener.id) {
                told.push(listener.id);
                listener.tell(Event::Gap);
            }
        }
    }

    async fn resubscribe(&mut self) -> RedisResult<()> {
        let mut feed = Feed::connect(&self.opened).await?;
        for name in self.channels.keys() {
            feed.subscribe(name).await?;
        }
        self.feed = Some(feed);
        Ok(())
    }
}

/// A connection that subscribes.
enum Feed {
    Embedded(keyrack_engine::Subscriber),
    Server {
        sink: PubSubSink,
        messages: PubSubStream,
        switches: Option<tokio::sync::watch::Receiver<u64>>,
    },
    Cluster {
        connection: ClusterConnection,
        pushes: mpsc::UnboundedReceiver<PushInfo>,
    },
}

/// A connection whose other end went silent is noticed by a PING that nobody answers.
const PING_INTERVAL: Duration = Duration::from_secs(5);

impl Feed {
    async fn connect(opened: &OpenedBackend) -> RedisResult<Feed> {
        let connecting = async {
            match opened {
                OpenedBackend::Embedded(engine) => Ok(Feed::Embedded(engine.subscribe())),
                OpenedBackend::Server(link) => Feed::server(&link.address().client()?, None).await,
                OpenedBackend::Sentinel(primary) => {
                    Feed::server(&primary.client()?, Some(primary.switches())).await
                }
                OpenedBackend::Cluster(cluster) => {
                    let (sender, pushes) = mpsc::unbounded_channel();
                    let client = cluster_client(&cluster.address().logins()?, Some(sender))?;
                    let connection = client.get_async_connection().await?;
                    Ok(Feed::Cluster { connection, pushes })
                }
            }
        };
        match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(result) => result,
            Err(_) => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
        }
    }

    async fn server(
        client: &redis::Client,
        switches: Option<tokio::sync::watch::Receiver<u64>>,
    ) -> RedisResult<Feed> {
        let (sink, messages) = client.get_async_pubsub().await?.split();
        Ok(Feed::Server { sink, messages, switches })
    }

    async fn subscribe(&mut self, channel: &str) -> RedisResult<()> {
        match self {
            Feed::Embedded(subscriber) => {
                subscriber.subscribe(channel);
                Ok(())
            }
            Feed::Server { sink, .. } => sink.subscribe(channel).await,
            Feed::Cluster { connection, .. } => connection.ssubscribe(channel).await,
        }
    }

    async fn unsubscribe(&mut self, channel: &str) -> RedisResult<()> {
        match self {
            Feed::Embedded(subscriber) => {
                subscriber.unsubscribe(channel);
                Ok(())
            }
            Feed::Server { sink, .. } => sink.unsubscribe(channel).await,
            Feed::Cluster { connection, .. } => connection.sunsubscribe(channel).await,
        }
    }

    /// What comes next; `None` when the connection is lost.
    async fn next(&mut self) -> Option<Wake> {
        match self {
            Feed::Embedded(subscriber) => {
                let message = subscriber.next_message().await?;
                Some(Wake::Published(String::from_utf8(message.channel).ok()?, message.payload))
            }
            Feed::Server { sink, messages, switches } => loop {
                tokio::select! {
                    message = messages.next() => {
                        let message = message?;
                        let (channel, payload) = (message.get_channel_name(), message.get_payload_bytes());
                        return Some(Wake::Published(channel.to_owned(), payload.to_vec()));
                    }
                    () = switched(switches) => return None,
                    () = tokio::time::sleep(PING_INTERVAL) => {
                        let ping = sink.ping::<Value>();
                        tokio::time::timeout(PING_INTERVAL, ping).await.ok()?.ok()?;
                    }
                }
            },
            Feed::Cluster { pushes, .. } => loop {
                let push = pushes.recv().await?;
                match (push.kind, push.data.as_slice()) {
                    (
                        PushKind::SMessage,
                        [Value::BulkString(channel), Value::BulkString(payload)],
                    ) => {
                        return Some(Wake::Published(
                            String::from_utf8(channel.clone()).ok()?,
                            payload.clone(),
                        ));
                    }
                    (PushKind::SUnsubscribe, [Value::BulkString(channel), ..]) => {
                        return Some(Wake::Left(String::from_utf8(channel.clone()).ok()?));
                    }
                    (PushKind::Disconnection, _) => return None,
                    _ => {}
                }
            },
        }
    }
}

/// Resolves when the primary has moved; never without Sentinels.
async fn switched(switches: &mut Option<tokio::sync::watch::Receiver<u64>>) {
    match switches {
        Some(switches) => {
            let _ = switches.changed().await;
        }
        None => std::future::pending().await,
    }
}

impl std::fmt::Debug for OpenedBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Opened")
    }
}
