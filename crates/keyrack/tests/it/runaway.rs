//! Scripts that do not end, on a server with two threads and other things to do.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use keyrack_testkit::{wait_for, wait_until};
use redis::{Commands as _, Connection, RedisError};
use tempfile::TempDir;

use crate::program::Serve;

/// How long anybody may have to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the script is watched.
const BUSY_TIME: Duration = Duration::from_secs(15);
/// How long a server may take to stop though a script runs that cannot be ended.
const STOP_TIME_MAX: Duration = Duration::from_secs(15);

fn folder() -> TempDir {
    TempDir::new().expect("a folder")
}

/// A server with two threads, whatever the machine has.
fn serve(dir: &TempDir) -> Serve {
    Serve::start_with(dir.path(), "", &[("TOKIO_WORKER_THREADS", "2")])
}

fn send(address: SocketAddr, command: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the RESP port answers");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    stream.write_all(format!("{command}\r\n").as_bytes()).expect("the server reads");
    stream
}

/// The answer to a command on a connection of its own, which comes in time.
#[track_caller]
fn answer(address: SocketAddr, command: &str) -> String {
    let mut buffer = [0; 1024];
    let n = send(address, command).read(&mut buffer);
    let n = n.unwrap_or_else(|error| panic!("{command} was not answered in time: {error}"));
    String::from_utf8_lossy(&buffer[..n]).into_owned()
}

/// Starts a script that does not end, and waits until others are told.
fn run_away(serve: &Serve, body: &str) -> TcpStream {
    let address = serve.resp();
    assert_eq!(answer(address, "CONFIG SET busy-reply-threshold 200"), "+OK\r\n");
    let runner = send(address, &format!("EVAL \"{body}\" 0"));
    wait_until("others to be told", || {
        let mut buffer = [0; 1024];
        let n = send(address, "PING").read(&mut buffer).unwrap_or(0);
        buffer[..n].starts_with(b"-BUSY")
    });
    runner
}

#[test]
fn while_a_script_runs_away_everybody_is_told_within_a_second_and_afterwards_all_is_well() {
    let dir = folder();
    let serve = serve(&dir);
    let address = serve.resp();
    // Waits that end meanwhile, by the clock of the engine and by those who give up.
    let mut pops: Vec<TcpStream> =
        (0..20).map(|n| send(address, &format!("BLPOP never:{n} {}", 1 + n % 4))).collect();
    let waiters: Vec<TcpStream> = (0..20).map(|_| send(address, "BLPOP never 0")).collect();
    let mut subscriber = send(address, "SUBSCRIBE news");
    let mut runner = run_away(&serve, "while true do end");
    let started = Instant::now();
    let mut known = send(address, "PING");
    drop(waiters);
    while started.elapsed() < BUSY_TIME {
        let asked = Instant::now();
        assert!(answer(address, "PING").starts_with("-BUSY"));
        let mut buffer = [0; 1024];
        known.write_all(b"PING\r\n").expect("the server reads");
        let n = known.read(&mut buffer).expect("an answer in time");
        assert!(buffer[..n].starts_with(b"-BUSY"));
        assert!(serve.get("/livez").0.starts_with("HTTP/1.1 200 "));
        assert!(serve.get("/readyz").0.starts_with("HTTP/1.1 503 "), "nothing can be done with it");
        assert!(serve.get("/metrics").1.contains("keyrack_store_up 0\n"));
        assert!(asked.elapsed() < PATIENCE, "after {:?}", started.elapsed());
        // Clients come and go.
        drop((
            send(address, "BLPOP never 0"),
            send(address, "SUBSCRIBE news"),
            send(address, "GET"),
        ));
    }
    assert_eq!(answer(address, "SCRIPT KILL"), "+OK\r\n");
    let mut killed = [0; 1024];
    let n = runner.read(&mut killed).expect("an answer in time");
    assert!(killed[..n].starts_with(b"-ERR Script killed by user"));
    let mut redis = serve.redis();
    redis.set::<_, _, ()>("k", "v").expect("it is served again");
    for pop in &mut pops {
        let mut nothing = [0; 5];
        pop.read_exact(&mut nothing).expect("an answer in time");
        assert_eq!(&nothing, b"*-1\r\n");
    }
    // One answer for the subscription, then the message.
    redis.publish::<_, _, ()>("news", "it is over").expect("it is served again");
    let mut heard = String::new();
    wait_until("the message", || {
        let mut buffer = [0; 1024];
        let n = subscriber.read(&mut buffer).unwrap_or(0);
        heard += &String::from_utf8_lossy(&buffer[..n]);
        heard.contains("it is over")
    });
    // Those who gave up do not take what comes for others.
    redis.rpush::<_, _, ()>("never", "item").expect("it is served again");
    assert_eq!(redis.llen::<_, usize>("never").expect("a list"), 1);
    wait_until("the server to be ready again", || {
        serve.get("/readyz").0.starts_with("HTTP/1.1 200 ")
    });
}

#[test]
fn the_password_can_be_given_while_a_script_runs_away() {
    let dir = folder();
    let more = [("TOKIO_WORKER_THREADS", "2"), ("KEYRACK_RESP_PASSWORD", "secret")];
    let serve = Serve::start_with(dir.path(), "", &more);
    let address = serve.resp();
    let authenticate = |commands: &str| answer(address, &format!("AUTH secret\r\n{commands}"));
    assert!(authenticate("CONFIG SET busy-reply-threshold 100").starts_with("+OK\r\n"));
    let _runner = send(address, "AUTH secret\r\nEVAL \"while true do end\" 0");
    wait_until("others to be told", || authenticate("PING").contains("-BUSY"));
    assert!(answer(address, "SCRIPT KILL").starts_with("-NOAUTH"));
    let mut killer = send(address, "AUTH secret");
    let mut killed = String::new();
    killer.write_all(b"SCRIPT KILL\r\n").expect("the server reads");
    wait_until("both answers", || {
        let mut buffer = [0; 64];
        let n = killer.read(&mut buffer).unwrap_or(0);
        killed += &String::from_utf8_lossy(&buffer[..n]);
        killed == "+OK\r\n+OK\r\n"
    });
}

/// Ends a server, which must not take long; returns how long it took.
fn terminate(serve: &mut Serve) -> Duration {
    let started = Instant::now();
    assert_eq!(serve.process.terminate().code(), Some(0));
    let took = started.elapsed();
    assert!(took < STOP_TIME_MAX, "{took:?}");
    took
}

fn ask<T: redis::FromRedisValue>(redis: &mut Connection, key: &str) -> Result<T, RedisError> {
    redis.get(key)
}

#[test]
fn sigterm_ends_a_server_whose_script_runs_away() {
    let dir = folder();
    let mut serve = serve(&dir);
    serve.redis().set::<_, _, ()>("before", 1).expect("acknowledged");
    let _runner = run_away(&serve, "while true do end");
    // Such a script is ended, so nobody has to be hung up on.
    assert!(terminate(&mut serve) < STOP_TIME_MAX / 2);
    let serve = Serve::start(dir.path());
    assert_eq!(ask::<i32>(&mut serve.redis(), "before").expect("kept"), 1);
}

#[test]
fn nothing_of_a_script_that_has_written_and_runs_away_is_left_after_sigterm() {
    let dir = folder();
    let mut serve = serve(&dir);
    serve.redis().set::<_, _, ()>("before", 1).expect("acknowledged");
    let body = "redis.call('SET', 'half', 1) redis.call('DEL', 'before') while true do end";
    let _runner = run_away(&serve, body);
    assert!(answer(serve.resp(), "SCRIPT KILL").starts_with("-UNKILLABLE"));
    terminate(&mut serve);
    let serve = Serve::start(dir.path());
    let mut redis = serve.redis();
    assert_eq!(ask::<i32>(&mut redis, "before").expect("kept"), 1);
    assert_eq!(ask::<Option<i32>>(&mut redis, "half").expect("an answer"), None);
}

#[test]
fn shutdown_nosave_ends_a_server_whose_script_has_written_and_runs_away() {
    let dir = folder();
    let mut serve = serve(&dir);
    let _runner = run_away(&serve, "redis.call('SET', 'half', 1) while true do end");
    let _shutdown = send(serve.resp(), "SHUTDOWN NOSAVE");
    let started = Instant::now();
    let code = wait_for("the end", || serve.process.exit_status());
    assert_eq!(code.code(), Some(0));
    assert!(started.elapsed() < STOP_TIME_MAX);
}
