//! Scripts that run too long, on a runtime with a single worker.

use super::{Client, Server, in_time};
use crate::Engine;

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
    runner.expect("-ERR Script killed by user with SCRIPT KILL.").await;
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
    leaving.expect(BUSY).await;
    drop(leaving);
    let mut other = server.connect().await;
    other.check("SCRIPT KILL", "+OK\r\n").await;
    expect_killed(&mut runner).await;
    // The engine knows who has sent a command since.
    other.check("PING", "+PONG\r\n").await;
    assert_eq!(server.engine.shared().lock_patiently().clients.len(), 2);
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
