//! What clients may not do, and what becomes of them.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{super::accept::hang_up_on_idle, Server};
use crate::{
    Engine,
    session::{ClientInfo, Delivery, Inbox, mailbox},
    test_engine::TestEngine,
};

#[tokio::test]
async fn nonsense_is_answered_and_ends_the_connection() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    client.send("PING\r\n*1\r\nx\r\nPING\r\n").await;
    client.expect_last("+PONG\r\n-ERR Protocol error: expected '$', got 'x'\r\n").await;
}

#[tokio::test]
async fn a_web_browser_is_hung_up_on() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    client.send("POST / HTTP/1.1\r\nHost: localhost\r\n\r\nFLUSHALL\r\n").await;
    client.expect_last("").await;
}

#[tokio::test]
async fn strangers_have_to_give_the_password_first() {
    let server = Server::with(Engine::builder().password("secret").open_in_memory()).await;
    let mut client = server.connect().await;
    client.check("GET k", "-NOAUTH Authentication required.\r\n").await;
    let long = "x".repeat(20_000);
    let echo = format!("*2\r\n$4\r\nECHO\r\n${}\r\n{long}\r\n", long.len());
    client.send(format!("AUTH secret\r\n{echo}")).await;
    client.expect(&format!("+OK\r\n${}\r\n{long}\r\n", long.len())).await;
    let mut stranger = server.connect().await;
    stranger.send(&echo[..30]).await;
    stranger.expect_last("-ERR Protocol error: unauthenticated bulk length\r\n").await;
}

#[tokio::test]
async fn one_client_too_many_is_turned_away() {
    let server = Server::with(Engine::builder().clients_max(1).open_in_memory()).await;
    let mut first = server.connect().await;
    first.check("PING", "+PONG\r\n").await;
    server.connect().await.expect_last("-ERR max number of clients reached\r\n").await;
    server.until(|state| state.stats.rejected_connections == 1).await;
    first.check("PING", "+PONG\r\n").await;
}

#[tokio::test]
async fn a_crowd_that_comes_at_once_does_not_have_to_come_again() {
    let server = Server::start().await;
    let address = server.listener.local_addr();
    // Nobody is let in meanwhile: the only thread is busy here.
    let connect = || std::net::TcpStream::connect_timeout(&address, Duration::from_millis(500));
    let crowd: Vec<_> = (0..1000).map(|_| connect().expect("room to wait")).collect();
    server.until(|state| state.clients.len() == crowd.len()).await;
}

#[tokio::test]
async fn a_place_is_free_again_when_a_client_has_left() {
    let server = Server::with(Engine::builder().clients_max(1).open_in_memory()).await;
    for _ in 0..10 {
        let mut client = server.connect().await;
        client.check("QUIT", "+OK\r\n").await;
        client.expect_last("").await;
        server.until(|state| state.clients.len() == 0).await;
    }
}

#[tokio::test]
async fn an_endless_command_ends_the_connection() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    client.check("CONFIG SET client-query-buffer-limit 1mb", "+OK\r\n").await;
    client.send("*2\r\n$4\r\nECHO\r\n$4000000\r\n").await;
    // The server may hang up before it has read all of this.
    let _ = client.stream.write_all(&vec![b'x'; 3_000_000]).await;
    client.expect_last("").await;
}

#[tokio::test]
async fn a_subscriber_that_does_not_read_is_hung_up_on() {
    let server = Server::start().await;
    let mut other = server.connect().await;
    other.check("CONFIG SET client-output-buffer-limit \"pubsub 1mb 1mb 0\"", "+OK\r\n").await;
    let mut subscriber = server.connect().await;
    subscriber.send("SUBSCRIBE ch\r\n").await;
    subscriber.expect("*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n").await;
    let message = "x".repeat(500_000);
    let publish = format!("*3\r\n$7\r\nPUBLISH\r\n$2\r\nch\r\n${}\r\n{message}\r\n", message.len());
    // Sockets hold some megabytes before the mailbox begins to fill.
    for _ in 0..100 {
        other.send(&publish).await;
        other.expect(":").await;
        let mut rest = [0; 3];
        other.stream.read_exact(&mut rest).await.expect("3 bytes");
    }
    server.until(|state| state.clients.len() == 1).await;
}

#[tokio::test]
async fn client_kill_reaches_a_client_that_does_not_read() {
    let server = Server::start().await;
    let (mut stuck, mut other) = (server.connect().await, server.connect().await);
    stuck.check("CLIENT SETNAME stuck", "+OK\r\n").await;
    let value = "x".repeat(1 << 20);
    stuck.send(format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{value}\r\n", value.len())).await;
    stuck.expect("+OK\r\n").await;
    stuck.send("GET k\r\n".repeat(100)).await;
    let id = {
        let state = server.engine.shared().lock_blocking();
        let stuck = state.clients.iter().find(|session| session.about.name == b"stuck");
        stuck.expect("it is connected").id
    };
    other.check(&format!("CLIENT KILL ID {id}"), ":1\r\n").await;
    server.until(|state| state.clients.len() == 1).await;
}

#[test]
fn silence_ends_a_connection_except_for_those_who_wait() {
    let mut rig = TestEngine::new();
    let mut connect = |address: &str| {
        let (mailbox, inbox) = mailbox(1 << 20);
        let about = ClientInfo { address: address.to_owned(), ..ClientInfo::default() };
        (rig.state.connect(0, mailbox, true, about), inbox)
    };
    let (_, mut silent) = connect("1.1.1.1:1");
    let (subscriber, mut listening) = connect("1.1.1.1:2");
    let (blocked, mut waiting) = connect("1.1.1.1:3");
    let (_, mut in_process) = connect("");
    rig.state.execute(subscriber, &[b"SUBSCRIBE", b"ch"]);
    rig.state.execute(blocked, &[b"BLPOP", b"k", b"0"]);
    rig.check("CONFIG SET timeout 10 => +OK");

    let is_closed = |inbox: &mut Inbox| matches!(inbox.try_next(), Some(Delivery::Close));
    rig.clock.advance_ms(10_000);
    hang_up_on_idle(&mut rig.state);
    assert!(!is_closed(&mut silent));
    rig.clock.advance_ms(1);
    hang_up_on_idle(&mut rig.state);
    assert!(is_closed(&mut silent));
    for inbox in [&mut listening, &mut waiting, &mut in_process] {
        assert!(!is_closed(inbox));
    }
}

/// Has a client try wrong passwords at once, and returns when it has all answers.
async fn guess(client: &mut super::Client, n: usize) {
    client.send("AUTH wrong\r\n".repeat(n)).await;
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    client.expect(&wrong.repeat(n)).await;
}

#[tokio::test]
async fn who_guesses_passwords_has_to_wait_and_others_do_not() {
    let server = Server::with(Engine::builder().password("secret").open_in_memory()).await;
    let (mut failures, mut known) = (server.connect().await, server.connect().await);
    known.check("AUTH secret", "+OK\r\n").await;
    let started = Instant::now();
    // Five are free, then it is 50, 100, 200 ms.
    guess(&mut failures, 9).await;
    assert!(started.elapsed() >= Duration::from_millis(350), "{:?}", started.elapsed());
    let mut other = server.connect().await;
    other.send("HELLO 2 AUTH default wrong\r\n").await;
    // Who has given the password is served meanwhile.
    let started = Instant::now();
    for _ in 0..100 {
        known.check("PING", "+PONG\r\n").await;
    }
    assert!(started.elapsed() < Duration::from_millis(350), "{:?}", started.elapsed());
    other.expect("-WRONGPASS invalid username-password pair or user is disabled.\r\n").await;
    other.check("AUTH secret", "+OK\r\n").await;
}

#[tokio::test]
async fn guesses_cost_nothing_where_that_is_wanted() {
    let server = Server::with(Engine::builder().password("secret").open_in_memory()).await;
    let mut known = server.connect().await;
    known.check("AUTH secret\r\nCONFIG SET auth-delay-max 0", "+OK\r\n+OK\r\n").await;
    let started = Instant::now();
    guess(&mut server.connect().await, 100).await;
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
}

#[tokio::test]
async fn who_does_not_give_the_password_is_hung_up_on() {
    let server = Server::with(Engine::builder().password("secret").open_in_memory()).await;
    let mut known = server.connect().await;
    known.check("AUTH secret\r\nCONFIG SET auth-timeout 1", "+OK\r\n+OK\r\n").await;
    let (mut silent, mut half) = (server.connect().await, server.connect().await);
    half.send("AUT").await;
    let mut late = server.connect().await;
    late.check("AUTH secret", "+OK\r\n").await;
    silent.expect_last("").await;
    half.expect_last("").await;
    late.check("PING", "+PONG\r\n").await;
    known.check("PING", "+PONG\r\n").await;
}

#[tokio::test]
async fn a_command_that_is_begun_and_not_ended_ends_the_connection() {
    let server = Server::start().await;
    let mut other = server.connect().await;
    other.check("CONFIG SET request-timeout 1", "+OK\r\n").await;
    let (mut idle, mut slow) = (server.connect().await, server.connect().await);
    let mut blocked = server.connect().await;
    blocked.send("BLPOP list 0\r\nPING\r\nPI").await;
    idle.check("PING", "+PONG\r\n").await;
    slow.send("PING\r\nPI").await;
    let started = Instant::now();
    slow.expect("+PONG\r\n").await;
    slow.expect_last("").await;
    assert!(started.elapsed() >= Duration::from_millis(900), "{:?}", started.elapsed());
    // Silence between commands is no such thing, nor is waiting for data.
    idle.check("PING", "+PONG\r\n").await;
    other.check("RPUSH list item", ":1\r\n").await;
    blocked.expect("*2\r\n$4\r\nlist\r\n$4\r\nitem\r\n+PONG\r\n").await;
}
