//! What bytes come in by and go out by: a socket, with TLS or without.

use std::{
    io,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

/// A connection's two-way stream of bytes. Everything about one is compiled for each kind, so that a plain one costs what
/// its socket costs.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Waits until a read is worth a buffer. It may find nothing all the same.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Tells the other side that nothing more will come, as far as that can be told without waiting.
    fn say_goodbye(&mut self, cx: &mut Context<'_>);
}

impl Stream for TcpStream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_read_ready(cx)
    }

    /// Closing the socket says it.
    fn say_goodbye(&mut self, _: &mut Context<'_>) {}
}
