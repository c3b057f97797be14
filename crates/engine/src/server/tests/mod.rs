//! The server over real sockets, byte for byte.

mod limits;
mod order;
mod script;
mod stop;
#[cfg(feature = "tls")]
mod tls;

use std::{future::Future, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::Listener;
use crate::{engine::Engine, state::State};

/// Far longer than anything here takes; only a test that fails waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// An engine with an open port.
struct Server {
    engine: Engine,
    listener: Listener,
}

impl Server {
    async fn start() -> Server {
        Server::with(Engine::in_memory()).await
    }

    async fn with(engine: Engine) -> Server {
        let listener = engine.listen("127.0.0.1:0").await.expect("a free port");
        Server { engine, listener }
    }

    async fn connect(&self) -> Client {
        Client::connect(self.listener.local_addr()).await
    }

    /// Waits until the engine's state is as wanted.
    async fn until(&self, wanted: impl Fn(&State) -> bool) {
        let come_true = async {
            while !wanted(&self.engine.shared().lock_blocking()) {
                tokio::task::yield_now().await;
            }
        };
        in_time("the state", come_true).await;
    }
}

/// A client that sends and expects bytes.
struct Client {
    stream: TcpStream,
}

impl Client {
    async fn connect(address: SocketAddr) -> Client {
        Client { stream: TcpStream::connect(address).await.expect("a connection") }
    }

    async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.expect("the server reads");
    }

    /// Sends a line and expects an answer.
    async fn check(&mut self, line: &str, expected: &str) {
        self.send(format!("{line}\r\n")).await;
        self.expect(expected).await;
    }

    /// Expects exactly these bytes next.
    async fn expect(&mut self, expected: &str) {
        let mut received = vec![0; expected.len()];
        let mut len = 0;
        while len < received.len() {
            let n = in_time(expected, self.stream.read(&mut received[len..])).await;
            let n = n.expect("the connection works");
            let so_far = String::from_utf8_lossy(&received[..len + n]).into_owned();
            assert!(n > 0, "expected {expected:?}, got {so_far:?} and the end");
            len += n;
        }
        assert_eq!(String::from_utf8_lossy(&received), expected);
    }

    /// Expects these bytes and then the end of the connection.
    async fn expect_last(&mut self, expected: &str) {
        let mut received = Vec::new();
        // A reset is an end too: it says that the server had more to read.
        let _ = in_time("the end", self.stream.read_to_end(&mut received)).await;
        assert_eq!(String::from_utf8_lossy(&received), expected);
    }
}

async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("{what:?} did not come in time"))
}
