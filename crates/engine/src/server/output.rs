//! Answers on their way to a client.

use tokio::io::AsyncWriteExt;

use super::{pool, stream::Stream};
use crate::{
    engine::Shared,
    reply::{Error, Reply},
    resp::encode_reply,
    session::Inbox,
};

/// The connection can not or need not go on.
#[derive(Debug)]
pub(super) struct Closed;

/// Encoded replies, and the log position that has to be safe before they go out.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// Without room while it is empty.
    buffer: Vec<u8>,
    position: u64,
    /// The log position that replies may tell of, whoever wrote up to there.
    seen: u64,
    /// How much of the buffer does not depend on `position`.
    settled: usize,
}

impl Output {
    pub(super) fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Adds a reply that may be sent at once.
    pub(super) fn push(&mut self, reply: &Reply, resp: u8) {
        self.push_at(reply, resp, 0);
    }

    /// Adds a reply that may be sent once the log is safe up to `position`.
    pub(super) fn push_at(&mut self, reply: &Reply, resp: u8, position: u64) {
        if self.buffer.capacity() == 0 {
            self.buffer = pool::take();
        }
        if position > self.position {
            if self.position == 0 {
                self.settled = self.buffer.len();
            }
            self.position = position;
        }
        encode_reply(&mut self.buffer, reply, resp);
    }

    /// Notes that replies may tell of what the log has up to `position`.
    pub(super) fn saw(&mut self, position: u64) {
        self.seen = position;
    }

    /// Sends everything once it may be sent. Gives up when the client is to be cut off.
    pub(super) async fn send(
        &mut self,
        stream: &mut impl Stream,
        shared: &Shared,
        inbox: &Inbox,
    ) -> Result<(), Closed> {
        let position = std::mem::take(&mut self.position);
        let saved = if position == 0 {
            Ok(())
        } else {
            tokio::select! {
                biased;
                saved = shared.committed(position) => saved,
                () = inbox.hung_up() => return Err(Closed),
            }
        };
        if let Err(error) = &saved {
            // Whether the writes will be found again after a restart is open, so they get no answer of their own.
            self.buffer.truncate(self.settled);
            let error = Error::new(format!("MISCONF Errors writing to the AOF file: {error}"));
            encode_reply(&mut self.buffer, &Reply::Error(error), 2);
        }
        if !self.buffer.is_empty() {
            tokio::select! {
                biased;
                written = async {
                    shared.shown(self.seen).await;
                    stream.write_all(&self.buffer).await?;
                    // TLS may still have something of it; a socket has not.
                    stream.flush().await
                } => written.map_err(|_| Closed)?,
                () = inbox.hung_up() => return Err(Closed),
            }
        }
        pool::give(&mut self.buffer);
        saved.map_err(|_| Closed)
    }
}
