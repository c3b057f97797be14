//! Claims about the fault proxy, each in front of a small echo server.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use keyrack_testkit::{FaultProxy, wait_until_async};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};

/// A test that waits for this is ended by the runner.
const FOREVER: Duration = Duration::from_secs(3600);

/// Long enough to be sure that nothing comes.
const SILENCE: Duration = Duration::from_millis(100);

async fn echo_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                let _ = tokio::io::copy(&mut read, &mut write).await;
            });
        }
    });
    addr
}

async fn echo_proxy() -> FaultProxy {
    FaultProxy::start(echo_server().await).await
}

async fn connect(proxy: &FaultProxy) -> TcpStream {
    let mut stream = TcpStream::connect(proxy.addr()).await.unwrap();
    assert_eq!(echo(&mut stream, b"hello").await, b"hello");
    stream
}

async fn echo(stream: &mut TcpStream, bytes: &[u8]) -> Vec<u8> {
    stream.write_all(bytes).await.unwrap();
    let mut reply = vec![0; bytes.len()];
    stream.read_exact(&mut reply).await.unwrap();
    reply
}

async fn is_silent(stream: &mut TcpStream) -> bool {
    timeout(SILENCE, stream.read_u8()).await.is_err()
}

#[tokio::test]
async fn bytes_pass_unchanged_and_the_end_too() {
    let proxy = echo_proxy().await;
    let mut stream = connect(&proxy).await;
    let sent: Vec<u8> = (0..1_000_000_u32).map(|n| n as u8).collect();
    let (mut read, mut write) = stream.split();
    let writing = async {
        write.write_all(&sent).await.unwrap();
        write.shutdown().await.unwrap();
    };
    let mut received = Vec::new();
    let (_, count) = tokio::join!(writing, read.read_to_end(&mut received));
    assert_eq!(count.unwrap(), sent.len());
    assert!(received == sent);
    wait_until_async("the connection to be closed", async || proxy.open() == 0).await;
}

#[tokio::test]
async fn delay_applies_each_way_and_can_be_lifted() {
    let proxy = echo_proxy().await;
    let mut stream = connect(&proxy).await;
    let delay = Duration::from_millis(150);
    proxy.delay(delay);
    let start = Instant::now();
    echo(&mut stream, b"late").await;
    assert!(start.elapsed() >= 2 * delay, "{:?}", start.elapsed());

    proxy.delay(FOREVER);
    proxy.delay(Duration::ZERO);
    echo(&mut stream, b"soon").await;
}

#[tokio::test]
async fn delay_does_not_add_up_over_a_stream() {
    let proxy = echo_proxy().await;
    let mut stream = connect(&proxy).await;
    let delay = Duration::from_millis(200);
    proxy.delay(delay);
    let start = Instant::now();
    // Many chunks: were each delayed after the one before, this would take over a hundred times the delay.
    echo(&mut stream, &[7; 2_000_000]).await;
    assert!(start.elapsed() < 50 * delay, "{:?}", start.elapsed());
}

#[tokio::test]
async fn throttle_limits_the_rate() {
    let proxy = echo_proxy().await;
    let mut stream = connect(&proxy).await;
    proxy.throttle(Some(20_000));
    let start = Instant::now();
    echo(&mut stream, &[7; 10_000]).await;
    // Half a second each way, of which the ways overlap; the last piece's pause is not waited for.
    assert!(start.elapsed() >= Duration::from_millis(450), "{:?}", start.elapsed());

    proxy.throttle(Some(1));
    proxy.throttle(None);
    echo(&mut stream, &[7; 10_000]).await;
}

#[tokio::test]
async fn cut_resets_open_connections_and_accepts_new_ones() {
    let proxy = echo_proxy().await;
    let mut first = connect(&proxy).await;
    let mut second = connect(&proxy).await;
    assert_eq!((proxy.accepted(), proxy.open()), (2, 2));
    proxy.cut();
    for stream in [&mut first, &mut second] {
        let error = stream.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    connect(&proxy).await;
    assert_eq!(proxy.accepted(), 3);
}

#[tokio::test]
async fn refuse_turns_new_connections_away_and_keeps_open_ones() {
    let proxy = echo_proxy().await;
    let mut open = connect(&proxy).await;
    proxy.refuse(true).await;
    let error = TcpStream::connect(proxy.addr()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(echo(&mut open, b"still here").await, b"still here");

    proxy.refuse(false).await;
    connect(&proxy).await;
}

#[tokio::test]
async fn black_hole_is_silent_and_its_end_resets_what_lost_bytes() {
    let proxy = echo_proxy().await;
    let mut talking = connect(&proxy).await;
    let mut idle = connect(&proxy).await;
    proxy.black_hole(true);
    talking.write_all(b"lost").await.unwrap();
    assert!(is_silent(&mut talking).await);
    let mut new = TcpStream::connect(proxy.addr()).await.unwrap();
    new.write_all(b"lost too").await.unwrap();
    assert!(is_silent(&mut new).await);

    proxy.black_hole(false);
    for stream in [&mut talking, &mut new] {
        assert_eq!(stream.read_u8().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
    assert_eq!(echo(&mut idle, b"lost nothing").await, b"lost nothing");
}

#[tokio::test]
async fn black_hole_hides_that_a_side_has_gone() {
    let proxy = echo_proxy().await;
    let stream = connect(&proxy).await;
    proxy.black_hole(true);
    drop(stream);
    // The server would end its side at once, and the proxy then both.
    assert!(
        timeout(SILENCE, wait_until_async("the end", async || proxy.open() == 0)).await.is_err()
    );
    proxy.black_hole(false);
    wait_until_async("the connection to end", async || proxy.open() == 0).await;
}

#[tokio::test]
async fn dropped_proxy_ends_its_connections() {
    let proxy = echo_proxy().await;
    let addr = proxy.addr();
    let mut stream = connect(&proxy).await;
    drop(proxy);
    stream.read_u8().await.unwrap_err();
    assert!(TcpStream::connect(addr).await.is_err());
}

#[tokio::test]
async fn dead_upstream_closes_the_connection() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let proxy = FaultProxy::start(upstream).await;
    let mut stream = TcpStream::connect(proxy.addr()).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap_err().kind(), ErrorKind::UnexpectedEof);
}
