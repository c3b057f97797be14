//! The task of one TCP connection.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::net::TcpStream;

use super::{
    input::Input,
    output::Closed,
    peer::{Next, Peer},
};
use crate::{engine::Shared, session::Delivery};

/// A socket and the client behind it.
pub(super) struct Connection {
    pub(super) shared: Arc<Shared>,
    pub(super) stream: TcpStream,
    pub(super) input: Input,
    pub(super) peer: Peer,
}

/// What a waiting connection wakes up for.
enum Event {
    Received(usize),
    Delivered(Delivery),
}

impl Connection {
    /// Serves the client until one side hangs up.
    pub(super) async fn run(mut self) {
        // Whoever ended it, there is nobody left to tell.
        let _: Result<(), Closed> = self.serve().await;
    }

    async fn serve(&mut self) -> Result<(), Closed> {
        loop {
            match poll_fn(|cx| self.poll_event(cx)).await? {
                Event::Received(n) => self.peer.n_received += n,
                Event::Delivered(delivery) => self.peer.deliver(delivery),
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

    /// Runs what is there, with pauses for others.
    async fn take_turns(&mut self) -> Result<(), Closed> {
        while !self.peer.blocked && !self.peer.closing && self.input.len() > 0 {
            match self.peer.turn(&self.shared, self.input.commands()) {
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
