//! Opening a port.

use std::{io, net::SocketAddr};

use tokio::net::{TcpListener, TcpSocket, ToSocketAddrs, lookup_host};

/// Clients that may wait to be let in, where the system allows as many. One that comes while there is no room tries again
/// only after a second, so there has to be room for a crowd that comes at once.
const BACKLOG: u32 = 4096;

/// Listens on the first of the addresses that can be listened on.
pub(super) async fn bind(address: impl ToSocketAddrs) -> io::Result<TcpListener> {
    let mut refusal = None;
    for address in lookup_host(address).await? {
        match listen_on(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => refusal = Some(error),
        }
    }
    Err(refusal.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into()))
}

fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A port is free again as soon as nobody listens on it, whatever its old connections do.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
