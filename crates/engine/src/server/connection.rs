//! The task of one TCP connection.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, timeout_at};

use super::{
    input::Input,
    lookout::Lookout,
    output::Closed,
    peer::{Next, Peer},
    stream::Stream,
};
use crate::{engine::Shared, session::Delivery};

/// A stream and the client behind it.
pub(super) struct Connection<S> {
    pub(super) shared: Arc<Shared>,
    pub(super) stream: S,
    pub(super) input: Input,
    pub(super) peer: Peer,
    pub(super) times: Times,
    pub(super) lookout: Lookout,
}

/// What a client may not take longer for.
pub(super) struct Times {
    auth_timeout: Duration,
    /// By when it has to give the password.
    auth_until: Option<Instant>,
    /// Since when a command has been on its way.
    unfinished: Option<Unfinished>,
}

struct Unfinished {
    since: Instant,
    /// How many commands of the client had been run by then.
    n_commands: u64,
}

/// The slowest that a command which takes long may arrive, in bytes a second.
const RATE_MIN: usize = 64 << 10;

impl Times {
    /// For a client that has just come; 0 s are no limit.
    pub(super) fn new(auth_timeout_s: u64) -> Times {
        let auth_timeout = Duration::from_secs(auth_timeout_s);
        Times { auth_timeout, auth_until: None, unfinished: None }
    }

    fn auth_until(&mut self) -> Option<Instant> {
        if self.auth_timeout.is_zero() {
            return None;
        }
        Some(*self.auth_until.get_or_insert_with(|| Instant::now() + self.auth_timeout))
    }
}

/// What a waiting connection wakes up for.
enum Event {
    Received(usize),
    Delivered(Delivery),
}

impl<S: Stream> Connection<S> {
    /// Serves the client until one side hangs up.
    pub(super) async fn run(mut self) {
        // Whoever ended it, there is nobody left to tell why.
        let _: Result<(), Closed> = self.serve().await;
        poll_fn(|cx| {
            self.stream.say_goodbye(cx);
            Poll::Ready(())
        })
        .await;
    }

    async fn serve(&mut self) -> Result<(), Closed> {
        let mut is_busy = false;
        loop {
            let event = match self.deadline() {
                None => self.next_event(is_busy).await?,
                Some(deadline) => self.event_before(deadline).await?,
            };
            match event {
                Event::Received(n) => {
                    self.peer.n_received += n;
                    is_busy = self.lookout.note_received();
                }
                Event::Delivered(delivery) => {
                    self.peer.deliver(delivery);
                    is_busy = false;
                }
            }
            self.peer.take_deliveries();
            self.take_turns().await?;
            self.send().await?;
            if self.peer.closing || self.input.len() > self.peer.query_buffer_max {
                return Err(Closed);
            }
            self.input.give_back();
        }
    }

    /// By when something has to come.
    fn deadline(&mut self) -> Option<Instant> {
        if !self.peer.limits.authenticated {
            return self.times.auth_until();
        }
        // After RESET the time starts afresh.
        self.times.auth_until = None;
        let timeout_s = self.peer.request_timeout_s;
        if self.input.len() == 0 || self.peer.blocked || timeout_s == 0 {
            self.times.unfinished = None;
            return None;
        }
        let n_commands = self.peer.n_commands;
        let unfinished = self.times.unfinished.take();
        let unfinished = unfinished
            .filter(|unfinished| unfinished.n_commands == n_commands)
            .unwrap_or_else(|| Unfinished { since: Instant::now(), n_commands });
        let since = self.times.unfinished.insert(unfinished).since;
        // What is large may take its time as long as it comes.
        Some(since + Duration::from_secs(timeout_s + (self.input.len() / RATE_MIN) as u64))
    }

    async fn event_before(&mut self, deadline: Instant) -> Result<Event, Closed> {
        if deadline <= Instant::now() {
            return Err(Closed);
        }
        timeout_at(deadline, poll_fn(|cx| self.poll_event(cx))).await.unwrap_or(Err(Closed))
    }

    /// Waits for what comes next; looks for it before the thread goes to sleep, if it `is_busy`.
    async fn next_event(&mut self, is_busy: bool) -> Result<Event, Closed> {
        if is_busy && let Some(mut watch) = self.lookout.begin() {
            while watch.goes_on() {
                tokio::task::yield_now().await;
                let polled = poll_fn(|cx| Poll::Ready(self.poll_event(cx))).await;
                if let Poll::Ready(event) = polled {
                    watch.note_found();
                    return event;
                }
            }
        }
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// Runs what is there, with pauses for others.
    async fn take_turns(&mut self) -> Result<(), Closed> {
        while !self.peer.blocked && !self.peer.closing && self.input.len() > 0 {
            match self.peer.turn(&self.shared, self.input.commands()).await {
                Next::Wait => return Ok(()),
                Next::Again => {
                    self.send().await?;
                    tokio::task::yield_now().await;
                }
                Next::Close => self.peer.closing = true,
            }
        }
        Ok(())
    }

    async fn send(&mut self) -> Result<(), Closed> {
        self.peer.output.send(&mut self.stream, &self.shared, &self.peer.inbox).await
    }

    /// Waits for bytes or deliveries. Bytes first: a flood of messages must not keep UNSUBSCRIBE from being read.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event, Closed>> {
        if let Poll::Ready(read) = self.input.poll_read(&mut self.stream, cx) {
            return Poll::Ready(match read {
                Ok(0) | Err(_) => Err(Closed),
                Ok(n) => Ok(Event::Received(n)),
            });
        }
        let delivery = ready!(self.peer.inbox.poll_next(cx));
        Poll::Ready(delivery.map(Event::Delivered).ok_or(Closed))
    }
}
