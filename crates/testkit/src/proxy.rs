//! A TCP proxy that breaks the network on command.
//!
//! A test gives its client the proxy's address in place of the server's, and then delays,
//! throttles, cuts, refuses or loses what passes. Every fault acts on open connections at once.

mod connection;
mod pipe;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::port::Port;

/// What is wrong with the network right now.
#[derive(Clone, Debug, Default)]
struct Faults {
    delay: Duration,
    bytes_per_second: Option<u32>,
    black_hole: bool,
    refuse: bool,
    /// Connections from before the last cut have a smaller number and end.
    cuts: u64,
}

#[derive(Debug, Default)]
struct Counters {
    accepted: AtomicUsize,
    open: AtomicUsize,
    listening: watch::Sender<bool>,
}

/// A running proxy in front of one server; gone, with its connections, when dropped.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use keyrack_testkit::{FaultProxy, RedisServer};
///
/// let server = RedisServer::start();
/// let proxy = FaultProxy::start(server.addr()).await;
/// let client = redis::Client::open(proxy.redis_url()).unwrap();
/// let mut connection = client.get_multiplexed_async_connection().await.unwrap();
/// proxy.cut();
/// redis::cmd("PING").exec_async(&mut connection).await.unwrap_err();
/// # }
/// ```
#[derive(Debug)]
pub struct FaultProxy {
    port: Port,
    faults: watch::Sender<Faults>,
    counters: Arc<Counters>,
    acceptor: JoinHandle<()>,
}

impl FaultProxy {
    /// Starts a proxy without faults. Needs a tokio runtime, which it runs on.
    pub async fn start(upstream: SocketAddr) -> Self {
        let port = Port::lease();
        let (faults, watched) = watch::channel(Faults::default());
        let counters = Arc::new(Counters::default());
        let addr = (Ipv4Addr::LOCALHOST, port.number()).into();
        let acceptor = tokio::spawn(accept(addr, upstream, watched, counters.clone()));
        let this = Self { port, faults, counters, acceptor };
        this.wait_until_listening(true).await;
        this
    }

    /// The address to give to the client.
    pub fn addr(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port.number()).into()
    }

    /// `redis://…` of the proxy.
    pub fn redis_url(&self) -> String {
        format!("redis://{}", self.addr())
    }

    /// Makes every byte arrive this much later, in both directions.
    pub fn delay(&self, delay: Duration) {
        self.faults.send_modify(|faults| faults.delay = delay);
    }

    /// Lets at most so many bytes a second pass in each direction of a connection; `None` is no limit.
    ///
    /// # Panics
    /// On a limit of zero, which is what [`FaultProxy::black_hole`] is for.
    pub fn throttle(&self, bytes_per_second: Option<u32>) {
        assert_ne!(bytes_per_second, Some(0), "use black_hole to let nothing pass");
        self.faults.send_modify(|faults| faults.bytes_per_second = bytes_per_second);
    }

    /// Ends all open connections with a reset. New ones are accepted as before.
    pub fn cut(&self) {
        self.faults.send_modify(|faults| faults.cuts += 1);
    }

    /// Refuses new connections, as a host without the server does, or accepts them again.
    ///
    /// Returns when the change has come into effect. Open connections stay.
    pub async fn refuse(&self, refuse: bool) {
        self.faults.send_modify(|faults| faults.refuse = refuse);
        self.wait_until_listening(!refuse).await;
    }

    /// Loses every byte in both directions while connections seem open, new ones too: the peer
    /// has vanished without a word. Lifting it resets the connections that lost something, as a
    /// host that came back would.
    pub fn black_hole(&self, on: bool) {
        self.faults.send_modify(|faults| faults.black_hole = on);
    }

    /// How many connections were ever accepted.
    pub fn accepted(&self) -> usize {
        self.counters.accepted.load(Ordering::SeqCst)
    }

    /// How many connections are open now.
    pub fn open(&self) -> usize {
        self.counters.open.load(Ordering::SeqCst)
    }

    async fn wait_until_listening(&self, wanted: bool) {
        let mut listening = self.counters.listening.subscribe();
        listening.wait_for(|&now| now == wanted).await.expect("the sender lives as long as we do");
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

/// Accepts connections while the faults allow it. Its connections end with it.
async fn accept(
    addr: SocketAddr,
    upstream: SocketAddr,
    mut faults: watch::Receiver<Faults>,
    counters: Arc<Counters>,
) {
    let mut connections = JoinSet::new();
    // The sender is gone only when the proxy is dropped, and then there is nothing left to do.
    while faults.wait_for(|faults| !faults.refuse).await.is_ok() {
        let listener = listen(addr).await;
        counters.listening.send_replace(true);
        let refused = loop {
            tokio::select! {
                refused = told_to_refuse(faults.clone()) => break refused,
                client = listener.accept() => {
                    let Ok((client, _)) = client else { continue };
                    counters.accepted.fetch_add(1, Ordering::SeqCst);
                    let watched = faults.clone();
                    connections.spawn(connection::serve(client, upstream, watched, counters.clone()));
                }
                Some(_) = connections.join_next() => {}
            }
        };
        drop(listener);
        counters.listening.send_replace(false);
        if !refused {
            return;
        }
    }
}

/// Whether it came to that, and not to the end of the proxy.
async fn told_to_refuse(mut faults: watch::Receiver<Faults>) -> bool {
    faults.wait_for(|faults| faults.refuse).await.is_ok()
}

async fn listen(addr: SocketAddr) -> TcpListener {
    let listener: io::Result<TcpListener> = TcpListener::bind(addr).await;
    // The port is leased to us, so only a program outside the tests can have it.
    listener.unwrap_or_else(|error| panic!("could not listen on {addr}: {error}"))
}
