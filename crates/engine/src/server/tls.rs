//! TLS before the first command.

use std::{
    future::poll_fn,
    io,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use tokio::{io::AsyncWrite as _, net::TcpStream, time::timeout};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::{connection::Connection, stream::Stream};
use crate::session::Inbox;

/// How long a client may take to agree on keys.
const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(10);

/// The first byte of every TLS connection: a record of the handshake. No command begins with it.
const HANDSHAKE_RECORD: u8 = 0x16;

/// What those are told who speak plainly.
const PLAIN: &[u8] = b"-ERR this port takes TLS only, as with redis-cli --tls\r\n";

impl Connection<TcpStream> {
    /// Agrees on keys, and serves the client until one side hangs up.
    pub(super) async fn run_over_tls(self, acceptor: TlsAcceptor) {
        let Connection { shared, stream, input, mut peer, times, lookout } = self;
        if let Some(stream) = agree(&acceptor, stream, &mut peer.inbox).await {
            Connection { shared, stream, input, peer, times, lookout }.run().await;
        }
    }
}

/// Agrees on keys. Gives up when that takes too long, and when the server stops.
async fn agree(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
    inbox: &mut Inbox,
) -> Option<TlsStream<TcpStream>> {
    let mut handshake = pin!(timeout(HANDSHAKE_TIME_MAX, handshake(acceptor, stream)));
    poll_fn(|cx| {
        if let Poll::Ready(ended) = handshake.as_mut().poll(cx) {
            return Poll::Ready(ended.ok().and_then(Result::ok));
        }
        // Nothing is delivered to who has not asked for anything, so this is the end.
        inbox.poll_next(cx).map(|_| None)
    })
    .await
}

async fn handshake(acceptor: &TlsAcceptor, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 1 && first[0] != HANDSHAKE_RECORD {
        // What is left unread would turn the end into a reset, and that could overtake the words.
        let _ = stream.try_read(&mut [0; 4096]);
        let _ = stream.try_write(PLAIN);
        return Err(io::ErrorKind::InvalidData.into());
    }
    acceptor.accept(stream).await
}

impl Stream for TlsStream<TcpStream> {
    /// There may be bytes that are read from the socket and not from here.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn say_goodbye(&mut self, cx: &mut Context<'_>) {
        let _ = Pin::new(self).poll_shutdown(cx);
    }
}
