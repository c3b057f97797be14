//! The connection in process where it is not just a command and its reply.

use std::task::{Context, Poll, Waker};

use redis::{Cmd, Pipeline, RedisResult, Value, aio::ConnectionLike};

use super::call::COMMANDS_MAX;
use crate::{Connection, Engine, Fsync, SimulatedHost};

fn cmd(words: &str) -> Cmd {
    let mut cmd = Cmd::new();
    words.split(' ').for_each(|word| _ = cmd.arg(word));
    cmd
}

async fn run(connection: &mut Connection, words: &str) -> RedisResult<Value> {
    connection.req_packed_command(&cmd(words)).await
}

/// Begins a command that has to wait, and gives up on it after `meanwhile`.
fn give_up(connection: &mut Connection, words: &str, meanwhile: impl FnOnce()) {
    let cmd = cmd(words);
    let mut waiting = connection.req_packed_command(&cmd);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(matches!(waiting.as_mut().poll(&mut cx), Poll::Pending), "{words} waits");
    meanwhile();
}

fn bulks(items: &[&str]) -> Value {
    Value::Array(items.iter().map(|item| Value::BulkString(item.as_bytes().to_vec())).collect())
}

#[tokio::test]
async fn an_answer_that_nobody_took_is_not_the_next_ones() {
    let engine = Engine::in_memory();
    let (mut waiter, mut pusher) =
        (engine.connection(0).expect("it exists"), engine.connection(0).expect("it exists"));
    give_up(&mut waiter, "BLPOP old 0", || {
        let cmd = cmd("RPUSH old a");
        let mut cx = Context::from_waker(Waker::noop());
        let pushed = pusher.req_packed_command(&cmd).as_mut().poll(&mut cx);
        assert!(matches!(pushed, Poll::Ready(Ok(Value::Int(1)))));
    });
    let popped = tokio::spawn(async move { run(&mut waiter, "BLPOP new 0").await });
    tokio::task::yield_now().await;
    run(&mut pusher, "RPUSH new b").await.expect("it is a list");
    assert_eq!(popped.await.expect("the task ends").expect("it is a list"), bulks(&["new", "b"]));
}

#[tokio::test]
async fn who_gave_up_gets_no_more_items() {
    let engine = Engine::in_memory();
    let mut connection = engine.connection(0).expect("it exists");
    give_up(&mut connection, "BLPOP l 0", || {});
    run(&mut connection, "RPUSH l a").await.expect("it is a list");
    let left = run(&mut connection, "LRANGE l 0 -1").await.expect("it is a list");
    assert_eq!(left, bulks(&["a"]));
}

#[tokio::test]
async fn a_long_pipeline_answers_in_order_and_a_long_transaction_as_one() {
    let engine = Engine::in_memory();
    let mut connection = engine.connection(0).expect("it exists");
    for atomic in [false, true] {
        let mut pipeline = Pipeline::new();
        if atomic {
            pipeline.atomic();
        }
        let n = COMMANDS_MAX as i64 * 3 + 1;
        (0..n).for_each(|_| _ = pipeline.cmd("INCR").arg("n"));
        let counts: Vec<i64> = pipeline.query_async(&mut connection).await.expect("it is a number");
        assert_eq!(counts, (1..=n).collect::<Vec<_>>(), "atomic: {atomic}");
        run(&mut connection, "DEL n").await.expect("it can be deleted");
    }
}

#[test]
fn reading_a_key_that_has_expired_waits_for_no_disk() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let clock = SimulatedHost::new(1_700_000_000_000, 1);
    let builder = Engine::builder().fsync(Fsync::Always).host(Box::new(clock.clone()));
    let engine = builder.open(folder.path()).expect("the folder is new");
    let (client, _inbox) = engine.shared().connect(0, true, crate::session::ClientInfo::default());
    let mut state = engine.shared().lock_blocking();
    let set = state.execute(client, &[b"SET", b"k", b"v", b"PX", b"5"]);
    assert!(set.position > 0);
    clock.advance_ms(5);
    let got = state.execute(client, &[b"GET", b"k"]);
    assert_eq!(got.position, 0);
    clock.advance_ms(5);
    let set = state.execute(client, &[b"SET", b"k", b"v", b"NX"]);
    assert!(set.position > 0);
}
