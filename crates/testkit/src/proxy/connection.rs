//! One proxied connection: two pipes, and the faults that end both.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::net::TcpStream;
use tokio::sync::watch;

use super::pipe::{Lost, pipe};
use super::{Counters, Faults};

/// Carries bytes between `client` and a new connection to `upstream` until both sides are done or
/// a fault ends it.
pub(super) async fn serve(
    mut client: TcpStream,
    upstream: SocketAddr,
    faults: watch::Receiver<Faults>,
    counters: Arc<Counters>,
) {
    let _open = Open::count(counters);
    let Ok(mut server) = TcpStream::connect(upstream).await else { return };
    // Replies are small, and Nagle's algorithm would add a delay nobody asked for.
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);

    if carry(&mut client, &mut server, faults).await == End::Broken {
        let _ = client.set_zero_linger();
        let _ = server.set_zero_linger();
    }
}

#[derive(PartialEq)]
enum End {
    Closed,
    Broken,
}

async fn carry(
    client: &mut TcpStream,
    server: &mut TcpStream,
    faults: watch::Receiver<Faults>,
) -> End {
    let lost = Lost::default();
    let (client_read, client_write) = client.split();
    let (server_read, server_write) = server.split();
    let both = async {
        tokio::try_join!(
            pipe(client_read, server_write, faults.clone(), &lost),
            pipe(server_read, client_write, faults.clone(), &lost),
        )
    };
    tokio::select! {
        ended = both => if ended.is_ok() { End::Closed } else { End::Broken },
        () = broken(faults.clone(), &lost) => End::Broken,
    }
}

/// Resolves when the connection is cut, or when a black hole that took bytes from it is lifted.
async fn broken(mut faults: watch::Receiver<Faults>, lost: &Lost) {
    let cuts_before = faults.borrow().cuts;
    let is_broken =
        |faults: &Faults| faults.cuts > cuts_before || (!faults.black_hole && lost.anything());
    // An error means that the proxy was dropped, which ends its connections too.
    let _ = faults.wait_for(is_broken).await;
}

/// Counts a connection as open for as long as it lives.
struct Open(Arc<Counters>);

impl Open {
    fn count(counters: Arc<Counters>) -> Self {
        counters.open.fetch_add(1, Ordering::SeqCst);
        Self(counters)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}
