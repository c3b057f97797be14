//! Hanging up, by the client and by the server.

use tokio::net::{TcpListener, TcpStream};

use super::{super::output::Output, Client, Server, in_time};
use crate::{Engine, Fsync, Reply, session::mailbox};

#[tokio::test]
async fn quit_is_answered_before_the_end() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    client.send("PING\r\nQUIT\r\nPING\r\n").await;
    client.expect_last("+PONG\r\n+OK\r\n").await;
    server.until(|state| state.clients.len() == 0).await;
}

#[tokio::test]
async fn stopping_ends_idle_and_blocked_connections() {
    let server = Server::start().await;
    let (mut idle, mut blocked) = (server.connect().await, server.connect().await);
    idle.check("PING", "+PONG\r\n").await;
    blocked.send("BLPOP list 0\r\n").await;
    server.until(|state| state.waiting.len() == 1).await;
    in_time("the stop", server.listener.stop()).await;
    idle.expect_last("").await;
    blocked.expect_last("").await;
    let state = server.engine.shared().lock_blocking();
    assert_eq!((state.clients.len(), state.waiting.len()), (0, 0));
}

#[tokio::test]
async fn stopping_frees_the_port() {
    let server = Server::start().await;
    let address = server.listener.local_addr();
    in_time("the stop", server.listener.stop()).await;
    let again = server.engine.listen(address).await.expect("the port is free");
    Client::connect(again.local_addr()).await.check("PING", "+PONG\r\n").await;
}

/// Has a client ask for much more than sockets hold, and not read it.
async fn stuck_client(server: &Server) -> Client {
    let mut client = server.connect().await;
    let value = "x".repeat(1 << 20);
    client.send(format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{value}\r\n", value.len())).await;
    client.expect("+OK\r\n").await;
    client.send("GET k\r\n".repeat(100)).await;
    server.until(|state| state.stats.commands >= 2).await;
    client
}

#[tokio::test]
async fn a_second_stop_does_not_wait_for_anybody() {
    let server = Server::start().await;
    let _stuck = stuck_client(&server).await;
    let both = async { tokio::join!(server.listener.stop(), server.listener.stop()) };
    in_time("the stop", both).await;
    server.until(|state| state.clients.len() == 0).await;
}

#[tokio::test]
async fn dropping_the_listener_hangs_up() {
    let server = Server::start().await;
    let _stuck = stuck_client(&server).await;
    let mut idle = server.connect().await;
    let Server { engine, listener } = server;
    drop(listener);
    idle.expect_last("").await;
    while engine.shared().lock_blocking().clients.len() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn acknowledged_writes_are_on_disk() {
    let dir = tempfile::tempdir().expect("a folder");
    let open = || Engine::builder().fsync(Fsync::Always).open(dir.path()).expect("an engine");
    let server = Server::with(open()).await;
    let mut client = server.connect().await;
    client.send("SET a 1\r\nGET a\r\nSET b 2\r\n").await;
    client.expect("+OK\r\n$1\r\n1\r\n+OK\r\n").await;
    in_time("the stop", server.listener.stop()).await;
    server.engine.close().expect("the disk takes the rest");
    drop(server);
    let server = Server::with(open()).await;
    server.connect().await.check("MGET a b", "*2\r\n$1\r\n1\r\n$1\r\n2\r\n").await;
}

#[tokio::test]
async fn a_write_that_may_not_be_on_disk_is_not_acknowledged() {
    let dir = tempfile::tempdir().expect("a folder");
    let engine = Engine::builder().fsync(Fsync::Always).open(dir.path()).expect("an engine");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let mut client = Client { stream: TcpStream::connect(address).await.expect("a connection") };
    let (mut stream, _) = listener.accept().await.expect("the connection");
    let (_mailbox, inbox) = mailbox(0);
    let mut output = Output::default();
    output.push(&Reply::Int(1), 2);
    output.push_at(&Reply::OK, 2, u64::MAX);
    output.push(&Reply::Int(2), 2);

    let (sent, ()) = tokio::join!(output.send(&mut stream, engine.shared(), &inbox), async {
        engine.close().expect("the disk takes the rest");
    });

    assert!(sent.is_err());
    drop(stream);
    client
        .expect_last(":1\r\n-MISCONF Errors writing to the AOF file: the log is closed\r\n")
        .await;
}
