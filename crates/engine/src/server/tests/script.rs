//! Scripts that run too long, on a runtime with a single worker.

use std::{
    net::SocketAddr,
    task::{Context, Waker},
};

use keyrack_testkit::RedisServer;
use redis::aio::ConnectionLike;
use tokio::io::AsyncReadExt;

use super::{Client, Server, in_time};
use crate::{Engine, session::ClientInfo};

const BUSY: &str =
    "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n";

/// Has a client run a script that does not end by itself, and waits until everybody knows.
async fn run_endless_script(server: &Server, runner: &mut Client) {
    runner.check("CONFIG SET busy-reply-threshold 1", "+OK\r\n").await;
    runner.send("EVAL \"while true do end\" 0\r\n").await;
    let is_busy = async {
        while !server.engine.shared().script_control().is_busy() {
            tokio::task::yield_now().await;
        }
    };
    in_time("the busy script", is_busy).await;
}

async fn expect_killed(runner: &mut Client) {
    runner.expect("-ERR Script killed by user with SCRIPT KILL...").await;
    // The rest says which script it was.
    while in_time("the line", runner.stream.read_u8()).await.expect("the connection works") != b'\n'
    {
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn others_are_told_and_can_kill_it() {
    let server = Server::start().await;
    let mut runner = server.connect().await;
    run_endless_script(&server, &mut runner).await;
    let mut other = server.connect().await;
    other.check("GET k\r\nPING", &format!("{BUSY}{BUSY}")).await;
    other.check("SCRIPT KILL", "+OK\r\n").await;
    expect_killed(&mut runner).await;
    other.check("SET k v", "+OK\r\n").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn strangers_cannot_kill_it() {
    let server = Server::with(Engine::builder().password("secret").open_in_memory()).await;
    let mut runner = server.connect().await;
    runner.check("AUTH secret", "+OK\r\n").await;
    run_endless_script(&server, &mut runner).await;
    let mut stranger = server.connect().await;
    stranger.check("SCRIPT KILL", "-NOAUTH Authentication required.\r\n").await;
    server.engine.shared().script_control().kill().expect("it runs");
    expect_killed(&mut runner).await;
    stranger.check("AUTH secret", "+OK\r\n").await;
}

/// Sends lines one after the other and returns the answers to them.
async fn answers(address: SocketAddr, lines: &[&str]) -> Vec<String> {
    let mut client = Client::connect(address).await;
    let mut answers = Vec::new();
    for line in lines {
        client.send(format!("{line}\r\ntheend\r\n")).await;
        let mut received = String::new();
        // No server knows the second one, and says so before all else: its answer ends the first one's.
        let end = |text: &str| text.find("-ERR unknown command 'theend'");
        while !(received.ends_with("\r\n") && end(&received).is_some()) {
            let mut buffer = [0; 4096];
            let n =
                in_time(line, client.stream.read(&mut buffer)).await.expect("the connection works");
            received += &String::from_utf8_lossy(&buffer[..n]);
            if n == 0 {
                break;
            }
        }
        let own = end(&received).map_or(&*received, |at| &received[..at]);
        // Numbers of clients differ.
        let own = own.split("$2\r\nid\r\n:").enumerate().map(|(n, part)| match n {
            0 => part,
            _ => part.split_once("\r\n").map_or("", |(_, rest)| rest),
        });
        answers.push(own.collect());
    }
    answers
}

/// What is sent by somebody who has just come.
const LINES: [&str; 35] = [
    "PING",
    "SCRIPT KILL",
    "EXEC",
    "HELLO",
    "HELLO 3",
    "AUTH wrong",
    "HELLO 2 AUTH default wrong",
    "AUTH secret",
    "HELLO",
    "HELLO 3",
    "HELLO 4",
    "HELLO 2 SETNAME me",
    "MULTI",
    "MULTI",
    "SET x 1",
    "WATCH k",
    "UNWATCH",
    "AUTH secret",
    "SCRIPT KILL now",
    "DISCARD",
    "DISCARD",
    "EXEC",
    "EXEC now",
    "nosuch a",
    "GET",
    "WATCH k",
    "UNWATCH",
    "SELECT 1",
    "SHUTDOWN",
    "SHUTDOWN ABORT",
    "MULTI",
    "SHUTDOWN NOSAVE",
    "EXEC",
    "RESET",
    "PING",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_meanwhile_is_answered_as_redis_answers() {
    let redis = RedisServer::builder().password("secret").start();
    let builder = Engine::builder().password("secret").databases(16);
    let server = Server::with(builder.open_in_memory()).await;
    let mut all = Vec::new();
    for address in [redis.addr(), server.listener.local_addr()] {
        let mut runner = Client::connect(address).await;
        runner.check("AUTH secret", "+OK\r\n").await;
        runner.check("CONFIG SET busy-reply-threshold 10", "+OK\r\n").await;
        runner.send("EVAL \"while true do end\" 0\r\n").await;
        let mut other = Client::connect(address).await;
        other.check("AUTH secret", "+OK\r\n").await;
        let is_busy = async {
            let mut buffer = [0; 256];
            while !String::from_utf8_lossy(&buffer).starts_with("-BUSY") {
                other.send("PING\r\n").await;
                let _ = other.stream.read(&mut buffer).await.expect("the connection works");
            }
        };
        in_time("the busy script", is_busy).await;
        all.push(answers(address, &LINES).await);
        let mut killer = Client::connect(address).await;
        killer.check("AUTH secret", "+OK\r\n").await;
        killer.check("SCRIPT KILL", "+OK\r\n").await;
        expect_killed(&mut runner).await;
        killer.check("SCRIPT KILL", "-NOTBUSY No scripts in execution right now.\r\n").await;
    }
    for (line, (theirs, ours)) in LINES.iter().zip(all[0].iter().zip(&all[1])) {
        // Redis says this since 7.2; the one found here may be older.
        let theirs = theirs.replace("the HELLO AUTH", "the HELLO <proto> AUTH");
        assert_eq!(*ours, theirs, "{line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_answered_meanwhile_is_done_afterwards() {
    let server = Server::with(Engine::builder().password("secret").open_in_memory()).await;
    let mut runner = server.connect().await;
    runner.check("AUTH secret", "+OK\r\n").await;
    run_endless_script(&server, &mut runner).await;
    let mut other = server.connect().await;
    other.check("AUTH secret\r\nMULTI", "+OK\r\n+OK\r\n").await;
    let mut watcher = server.connect().await;
    watcher.check("AUTH secret\r\nWATCH k", "+OK\r\n+OK\r\n").await;
    let mut quitter = server.connect().await;
    quitter.send("AUTH secret\r\nQUIT\r\nPING\r\n").await;
    quitter.expect_last("+OK\r\n+OK\r\n").await;
    other.check("SCRIPT KILL", "+QUEUED\r\n").await;
    server.engine.shared().script_control().kill().expect("it runs");
    expect_killed(&mut runner).await;
    other.check("PING", "+QUEUED\r\n").await;
    let not_busy = "-NOTBUSY No scripts in execution right now.\r\n";
    other.check("EXEC", &format!("*2\r\n{not_busy}+PONG\r\n")).await;
    // The script might have changed the key after the watch began.
    watcher.check("MULTI\r\nPING\r\nEXEC", "+OK\r\n+QUEUED\r\n*-1\r\n").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_subscriber_need_not_wait_for_a_script_and_misses_nothing_after_it() {
    let server = Server::start().await;
    let mut runner = server.connect().await;
    run_endless_script(&server, &mut runner).await;
    let mut subscriber = server.engine.subscribe();
    subscriber.subscribe("a");
    subscriber.subscribe("b");
    subscriber.unsubscribe("a");
    drop(server.engine.subscribe());
    let short_lived = server.engine.subscribe();
    short_lived.subscribe("b");
    drop(short_lived);
    server.engine.shared().script_control().kill().expect("it runs");
    expect_killed(&mut runner).await;
    runner.check("PUBLISH a 1\r\nPUBLISH b 2", ":0\r\n:1\r\n").await;
    let message = in_time("the message", subscriber.next_message()).await.expect("it listens");
    assert_eq!((&*message.channel, &*message.payload), (&b"b"[..], &b"2"[..]));
}

#[tokio::test]
async fn who_gives_up_a_wait_need_not_wait_for_a_script_and_gets_nothing_from_it() {
    let server = Server::start().await;
    let mut waiter = server.engine.connection(0).expect("it exists");
    let shared = server.engine.shared();
    let (client, _inbox) = shared.connect(0, true, ClientInfo::default());
    let mut pop = redis::cmd("BLPOP");
    pop.arg("list").arg(0);
    let mut popped = waiter.req_packed_command(&pop);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(popped.as_mut().poll(&mut cx).is_pending());
    // The test has the state, as a script has it while it runs, and pushes after the other has given up.
    let mut state = shared.lock_in_test();
    drop(popped);
    state.execute(client, &[b"RPUSH", b"list", b"item"]);
    drop(state);
    server.connect().await.check("LLEN list", ":1\r\n").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_transaction_that_lost_a_command_to_it_is_not_run() {
    let server = Server::start().await;
    let (mut runner, mut other) = (server.connect().await, server.connect().await);
    other.check("MULTI\r\nSET a 1", "+OK\r\n+QUEUED\r\n").await;
    run_endless_script(&server, &mut runner).await;
    other.check("SET b 2", BUSY).await;
    server.engine.shared().script_control().kill().expect("it runs");
    expect_killed(&mut runner).await;
    let aborted = "-EXECABORT Transaction discarded because of previous errors.\r\n";
    other.check("EXEC", aborted).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn those_who_leave_meanwhile_are_forgotten_afterwards() {
    let server = Server::start().await;
    let (mut runner, mut leaving) = (server.connect().await, server.connect().await);
    leaving.check("PING", "+PONG\r\n").await;
    run_endless_script(&server, &mut runner).await;
    leaving.send("QUIT\r\n").await;
    leaving.expect_last("+OK\r\n").await;
    let mut other = server.connect().await;
    other.check("SCRIPT KILL", "+OK\r\n").await;
    expect_killed(&mut runner).await;
    // The engine knows who has sent a command since.
    other.check("PING", "+PONG\r\n").await;
    assert_eq!(server.engine.shared().lock_blocking().clients.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn shutdown_nosave_is_heard() {
    let server = Server::start().await;
    let mut runner = server.connect().await;
    run_endless_script(&server, &mut runner).await;
    let mut other = server.connect().await;
    other.send("SHUTDOWN NOSAVE\r\n").await;
    in_time("the request", server.engine.shutdown_requested()).await;
    server.engine.shared().script_control().kill().expect("it runs");
}
