//! Answers, messages and blocked commands in the right order.

use tokio::io::AsyncReadExt;

use super::Server;
use crate::{Engine, SimulatedHost};

#[tokio::test]
async fn a_pipeline_is_answered_in_order() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    client.send("SET k 1\r\nINCR k\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\nNOSUCH\r\nPING\r\n").await;
    let unknown = "-ERR unknown command 'NOSUCH', with args beginning with: \r\n";
    client.expect(&format!("+OK\r\n:2\r\n$1\r\n2\r\n{unknown}+PONG\r\n")).await;
}

#[tokio::test]
async fn a_command_may_come_in_any_pieces() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    for byte in b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\nPING\r\n" {
        client.send([*byte]).await;
    }
    client.expect("$2\r\nhi\r\n+PONG\r\n").await;
}

#[tokio::test]
async fn large_arguments_and_long_pipelines_come_back_whole() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    let large = "x".repeat(3 << 20);
    client.send(format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{large}\r\n", large.len())).await;
    client.expect("+OK\r\n").await;
    let n = 1000;
    client.send("GET k\r\nSTRLEN k\r\n".to_owned() + &"PING\r\n".repeat(n)).await;
    let answer = format!("${}\r\n{large}\r\n:{}\r\n", large.len(), large.len());
    client.expect(&(answer + &"+PONG\r\n".repeat(n))).await;
}

#[tokio::test]
async fn hello_changes_the_protocol_in_the_middle_of_a_pipeline() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    client.send("GET none\r\nCLIENT REPLY SKIP\r\nHELLO 3\r\nGET none\r\n").await;
    client.expect("$-1\r\n_\r\n").await;
}

#[tokio::test]
async fn commands_after_a_blocked_one_wait_for_it() {
    let server = Server::start().await;
    let (mut blocked, mut other) = (server.connect().await, server.connect().await);
    blocked.send("BLPOP list 0\r\nECHO after\r\n").await;
    server.until(|state| state.waiting.len() == 1).await;
    blocked.send("LLEN list\r\n").await;
    other.check("RPUSH list a b", ":2\r\n").await;
    blocked.expect("*2\r\n$4\r\nlist\r\n$1\r\na\r\n$5\r\nafter\r\n:1\r\n").await;
}

#[tokio::test]
async fn a_blocked_command_comes_to_its_deadline() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    client.check("BLPOP list 0.01\r\nPING", "*-1\r\n+PONG\r\n").await;
}

#[tokio::test]
async fn a_blocked_client_that_leaves_takes_nothing() {
    let server = Server::start().await;
    let (mut blocked, mut other) = (server.connect().await, server.connect().await);
    blocked.send("BLPOP list 0\r\n").await;
    server.until(|state| state.waiting.len() == 1).await;
    drop(blocked);
    server.until(|state| state.clients.len() == 1).await;
    other.check("RPUSH list a", ":1\r\n").await;
    other.check("LLEN list", ":1\r\n").await;
}

const SUBSCRIBED: &str = "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n";
const MESSAGE: &str = "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$2\r\nhi\r\n";

#[tokio::test]
async fn messages_reach_subscribers_unasked() {
    let server = Server::start().await;
    let (mut subscriber, mut other) = (server.connect().await, server.connect().await);
    subscriber.check("SUBSCRIBE ch", SUBSCRIBED).await;
    other.check("PUBLISH ch hi", ":1\r\n").await;
    subscriber.expect(MESSAGE).await;
}

#[tokio::test]
async fn no_message_comes_after_the_end_of_its_subscription() {
    let server = Server::start().await;
    let (mut subscriber, mut other) = (server.connect().await, server.connect().await);
    let unsubscribed = "*3\r\n$11\r\nunsubscribe\r\n$2\r\nch\r\n:0\r\n";
    for _ in 0..100 {
        subscriber.check("SUBSCRIBE ch", SUBSCRIBED).await;
        // Both commands are on their way at once; whoever is first, the message comes first or not at all.
        subscriber.send("UNSUBSCRIBE ch\r\n").await;
        other.send("PUBLISH ch hi\r\n").await;
        let mut answer = [0; 4];
        other.stream.read_exact(&mut answer).await.expect("4 bytes");
        match &answer {
            b":1\r\n" => subscriber.expect(&format!("{MESSAGE}{unsubscribed}")).await,
            _ => subscriber.expect(unsubscribed).await,
        }
    }
    subscriber.check("PING", "+PONG\r\n").await;
}

#[tokio::test]
async fn a_message_to_oneself_comes_before_the_answer() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    client.send("CLIENT REPLY SKIP\r\nHELLO 3\r\nSUBSCRIBE ch\r\nPUBLISH ch hi\r\nPING\r\n").await;
    let (subscribed, message) = (SUBSCRIBED.replacen('*', ">", 1), MESSAGE.replacen('*', ">", 1));
    client.expect(&format!("{subscribed}{message}:1\r\n+PONG\r\n")).await;
}

#[tokio::test]
async fn a_monitor_sees_what_others_do() {
    let clock = SimulatedHost::new(1_700_000_000_000, 1);
    let server = Server::with(Engine::builder().host(Box::new(clock)).open_in_memory()).await;
    let (mut monitor, mut other) = (server.connect().await, server.connect().await);
    monitor.check("MONITOR", "+OK\r\n").await;
    other.check("SET k \"a b\"", "+OK\r\n").await;
    let address = other.stream.local_addr().expect("an address");
    let line = format!("+1700000000.000000 [0 {address}] \"SET\" \"k\" \"a b\"\r\n");
    monitor.expect(&line).await;
}
