//! Who finds the engine locked is served by whoever has the lock.

use std::{
    pin::Pin,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use redis::{AsyncCommands, Cmd, Pipeline, RedisFuture, RedisResult, Value, aio::ConnectionLike};

use crate::{Connection, Engine, Host, SimulatedHost};

/// More than anybody serves before letting go.
const MANY: usize = 3 * crate::engine::SERVED_MAX + 1;

fn cmd(words: &str) -> Cmd {
    let mut cmd = Cmd::new();
    words.split(' ').for_each(|word| _ = cmd.arg(word));
    cmd
}

/// An engine whose lock nobody takes who is not in the test.
fn quiet_engine() -> Engine {
    Engine::builder().host(Box::new(SimulatedHost::new(0, 1))).open_in_memory()
}

fn connection(engine: &Engine) -> Connection {
    engine.connection(0).expect("it exists")
}

async fn run(connection: &mut Connection, words: &str) -> RedisResult<Value> {
    connection.req_packed_command(&cmd(words)).await
}

/// Counts how often a task was woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll(future: &mut RedisFuture<'_, Value>) -> Poll<RedisResult<Value>> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_the_lock_runs_what_others_left_in_the_line() {
    let engine = quiet_engine();
    let (mut connection, append) = (connection(&engine), cmd("APPEND k v"));
    for n in 1..=2 {
        let state = engine.shared().lock_in_test();
        let mut appended = connection.req_packed_command(&append);
        assert!(poll(&mut appended).is_pending());
        assert!(poll(&mut appended).is_pending(), "asking again changes nothing");
        drop(state);
        assert!(matches!(poll(&mut appended), Poll::Ready(Ok(Value::Int(len))) if len == n));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_served_enough_wakes_the_next_in_queue() {
    let engine = quiet_engine();
    let incr = cmd("INCR n");
    let mut connections: Vec<Connection> = (0..MANY).map(|_| connection(&engine)).collect();
    let woken: Vec<Arc<Count>> = (0..MANY).map(|_| Arc::default()).collect();
    let state = engine.shared().lock_in_test();
    let mut calls: Vec<_> =
        connections.iter_mut().map(|connection| connection.req_packed_command(&incr)).collect();
    let mut poll = |n: usize| {
        let waker = Waker::from(Arc::clone(&woken[n]));
        calls[n].as_mut().poll(&mut Context::from_waker(&waker))
    };
    assert!((0..MANY).all(|n| poll(n).is_pending()));
    drop(state);
    for (n, woken) in woken.iter().enumerate() {
        assert!(woken.0.load(Ordering::SeqCst) > 0, "{n} was woken");
        let count = n as i64 + 1;
        assert!(matches!(poll(n), Poll::Ready(Ok(Value::Int(n))) if n == count), "{n} in its turn");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_up_in_line_is_not_run_and_others_are() {
    let engine = quiet_engine();
    let incr = cmd("INCR n");
    let mut connections: Vec<Connection> = (0..MANY).map(|_| connection(&engine)).collect();
    let state = engine.shared().lock_in_test();
    let mut calls: Vec<_> =
        connections.iter_mut().map(|connection| connection.req_packed_command(&incr)).collect();
    assert!(calls.iter_mut().all(|call| poll(call).is_pending()));
    // Those who would be woken to serve the rest.
    drop(calls.drain(crate::engine::SERVED_MAX..MANY - 1));
    drop(state);
    let counts = calls.iter_mut().map(|call| match poll(call) {
        Poll::Ready(Ok(Value::Int(n))) => n,
        other => panic!("{other:?}"),
    });
    assert_eq!(
        counts.collect::<Vec<_>>(),
        (1..=crate::engine::SERVED_MAX as i64 + 1).collect::<Vec<_>>()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_gave_up_after_its_wait_had_begun_gets_no_items() {
    let engine = quiet_engine();
    let (mut waiter, mut other) = (connection(&engine), connection(&engine));
    let state = engine.shared().lock_in_test();
    let pop = cmd("BLPOP l 0");
    let mut popped = waiter.req_packed_command(&pop);
    assert!(poll(&mut popped).is_pending());
    drop(state);
    // It waits for an item now, and has not been asked about it since.
    drop(popped);
    run(&mut other, "RPUSH l a").await.expect("it is a list");
    assert_eq!(other.llen::<_, i64>("l").await.expect("it is a list"), 1);
    assert_eq!(run(&mut waiter, "LLEN l").await.expect("it is a list"), Value::Int(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_and_goes_in_line_leaves_no_client_behind() {
    let engine = quiet_engine();
    let ping = cmd("PING");
    let state = engine.shared().lock_in_test();
    let n_clients = state.clients.len();
    let mut short_lived = connection(&engine);
    let mut ponged = short_lived.req_packed_command(&ping);
    assert!(poll(&mut ponged).is_pending());
    drop(state);
    drop(ponged);
    drop(short_lived);
    assert_eq!(engine.shared().lock_in_test().clients.len(), n_clients);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn who_is_in_line_when_a_script_takes_too_long_is_told() {
    let engine = quiet_engine();
    let mut other = connection(&engine);
    run(&mut other, "CONFIG SET busy-reply-threshold 200").await.expect("a known setting");
    let mut runner = connection(&engine);
    let endless = tokio::spawn(async move {
        redis::cmd("EVAL").arg("while true do end").arg(0).exec_async(&mut runner).await
    });
    while !engine.shared().script_control().is_running() {
        tokio::task::yield_now().await;
    }
    assert!(!engine.shared().script_control().is_busy(), "this machine is too slow for the test");
    // In a task of its own, which the thread that runs the script must not keep for itself.
    let mut in_queue = connection(&engine);
    let refused = tokio::spawn(async move { run(&mut in_queue, "PING").await });
    let refused = refused.await.expect("the task ends").expect_err("it is turned away");
    assert_eq!(refused.code(), Some("BUSY"));
    run(&mut other, "SCRIPT KILL").await.expect("it has written nothing");
    endless.await.expect("the task ends").expect_err("it was killed");
    run(&mut other, "PING").await.expect("the engine is free again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn who_gives_up_while_its_script_runs_need_not_wait_for_it() {
    let engine = quiet_engine();
    let (mut caller, mut other) = (connection(&engine), connection(&engine));
    let n_clients = engine.shared().lock_in_test().clients.len();
    let endless = cmd("EVAL while(true)do(function()end)()end 0");
    let mut call = caller.req_packed_command(&endless);
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let state = engine.shared().lock_in_test();
            barrier.wait();
            barrier.wait();
            // Runs what is queued by then.
            drop(state);
        });
        barrier.wait();
        assert!(poll(&mut call).is_pending());
        barrier.wait();
        while !engine.shared().script_control().is_running() {
            std::thread::yield_now();
        }
        assert!(poll(&mut call).is_pending());
        drop(call);
        engine.shared().script_control().kill().expect("it has written nothing");
    });
    drop(caller);
    run(&mut other, "PING").await.expect("the engine is free again");
    drop(other);
    assert_eq!(engine.shared().lock_in_test().clients.len(), n_clients);
}

/// Time stops with a panic when it is told to.
struct Fragile(Arc<AtomicBool>);

impl Host for Fragile {
    fn now_us(&mut self) -> u64 {
        assert!(!self.0.swap(false, Ordering::SeqCst), "no time");
        0
    }

    fn random(&mut self) -> u64 {
        0
    }

    fn is_live(&self) -> bool {
        false
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_for_the_one_whose_command_it_was() {
    let breaks = Arc::new(AtomicBool::new(false));
    let engine = Engine::builder().host(Box::new(Fragile(breaks.clone()))).open_in_memory();
    let (mut first, mut second) = (connection(&engine), connection(&engine));
    let (get, set) = (cmd("GET k"), cmd("SET k v"));
    let state = engine.shared().lock_in_test();
    let (mut broken, mut stored) =
        (first.req_packed_command(&get), second.req_packed_command(&set));
    assert!(poll(&mut broken).is_pending() && poll(&mut stored).is_pending());
    breaks.store(true, Ordering::SeqCst);
    drop(state);
    assert!(matches!(poll(&mut stored), Poll::Ready(Ok(Value::Okay))));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| poll(&mut broken)));
    assert!(panic.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn under_load_every_command_is_run_once_and_in_order() {
    const TASKS: usize = 16;
    const ROUNDS: usize = 200;
    let engine = Engine::in_memory();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let engine = engine.clone();
            tokio::spawn(async move {
                let script = "for _ = 1, 2000 do end return redis.call('INCR', KEYS[1])";
                for round in 1..=ROUNDS as i64 {
                    // A connection for each, as most have it.
                    let mut connection = connection(&engine);
                    let mut pipeline = Pipeline::new();
                    pipeline.cmd("EVAL").arg(script).arg(1).arg(format!("own:{task}"));
                    pipeline.incr("all", 1).ignore().get(format!("own:{task}"));
                    let counts: (i64, i64) =
                        pipeline.query_async(&mut connection).await.expect("it is a number");
                    assert_eq!(counts, (round, round));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no task fails");
    }
    let all: usize = connection(&engine).get("all").await.expect("it is a number");
    assert_eq!(all, TASKS * ROUNDS);
}
