//! What a client has sent and nobody has run yet.

use std::{
    io,
    pin::pin,
    task::{Context, Poll, ready},
};

use tokio::io::AsyncReadExt;

use super::{pool, stream::Stream};
use crate::resp::{Limits, Parser, ProtocolError};

/// A read is not worth its system call with less room than this.
const READ_LEN_MIN: usize = 4 * 1024;
/// Few commands have more words, so the list of them seldom grows.
const N_ARGS_USUAL: usize = 8;

/// Received bytes, and how far they are understood.
#[derive(Debug, Default)]
pub(super) struct Input {
    /// Without room while it is empty.
    buffer: Vec<u8>,
    /// Everything before this has been run.
    start: usize,
    parser: Parser,
}

impl Input {
    /// Bytes that wait to be run.
    pub(super) fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Waits for bytes and takes what is there; 0 at the end of the stream.
    pub(super) fn poll_read(
        &mut self,
        stream: &mut impl Stream,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        // Only take a buffer when there is something to put into it.
        ready!(stream.poll_ready(cx))?;
        self.make_room();
        // Short reads tell tokio that the socket is empty, which saves asking it again.
        let read = pin!(stream.read_buf(&mut self.buffer)).poll(cx);
        if read.is_pending() {
            self.give_back();
        }
        read
    }

    /// Grows with what has arrived, never with what a client says will arrive.
    fn make_room(&mut self) {
        if self.buffer.capacity() == 0 {
            self.buffer = pool::take();
        }
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        if self.buffer.capacity() - self.buffer.len() < READ_LEN_MIN {
            self.buffer.reserve(self.buffer.len().max(pool::BUFFER_LEN));
        }
    }

    /// The commands that are there in full.
    pub(super) fn commands(&mut self) -> Commands<'_> {
        let rest = &mut self.buffer[self.start..];
        let (start, parser) = (&mut self.start, &mut self.parser);
        Commands { start, rest, parser, args: Vec::with_capacity(N_ARGS_USUAL) }
    }

    /// Lets go of memory that the bytes in hand do not need.
    pub(super) fn give_back(&mut self) {
        let rest = &self.buffer[self.start..];
        if rest.is_empty() {
            pool::give(&mut self.buffer);
            self.start = 0;
        } else if rest.len() < self.buffer.capacity() / 4 {
            let rest = rest.to_vec();
            pool::give(&mut self.buffer);
            self.buffer = rest;
            self.start = 0;
        }
    }
}

/// Walks over the commands in an [`Input`].
pub(super) struct Commands<'a> {
    start: &'a mut usize,
    rest: &'a mut [u8],
    parser: &'a mut Parser,
    args: Vec<&'a [u8]>,
}

impl<'a> Commands<'a> {
    /// Goes to the next command, which then counts as run; false if it has not arrived in full.
    pub(super) fn advance(&mut self, limits: Limits) -> Result<bool, ProtocolError> {
        let len = self.rest.len();
        let found = self.parser.next(&mut self.rest, &mut self.args, limits);
        *self.start += len - self.rest.len();
        found
    }

    /// The words of the command gone to.
    pub(super) fn args(&self) -> &[&'a [u8]] {
        &self.args
    }
}
