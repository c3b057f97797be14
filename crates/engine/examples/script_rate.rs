//! Calls a script from 64 tasks for a while and prints how many calls a second were answered.
//!
//! `script_rate SECONDS memory`, `script_rate SECONDS FOLDER FSYNC` or `script_rate SECONDS redis://HOST:PORT`: the same
//! tasks on an engine inside this process or on a server, which is what `cargo xtask bench engine` compares.

#![expect(clippy::print_stdout, reason = "prints the result")]

use std::{
    error::Error,
    time::{Duration, Instant},
};

use keyrack_engine::{Engine, Fsync};
use redis::{Script, aio::ConnectionLike};

const TASKS: u64 = 64;
/// Enough keys to leave the processor's caches.
const KEYS: u64 = 100_000;
const SCRIPT: &str = "redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2]) \
                      return redis.call('HSET', KEYS[2], ARGV[2], ARGV[1])";

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (seconds, store) = args.split_first().ok_or("give a number of seconds and a store")?;
    let time = Duration::from_secs(seconds.parse()?);
    let rate = match store {
        ["memory"] => measure(Engine::in_memory().connection(0)?, time).await?,
        [folder, fsync] => {
            let engine = Engine::builder().fsync(mode(fsync)?).open(folder)?;
            let rate = measure(engine.connection(0)?, time).await?;
            engine.close()?;
            rate
        }
        [url] => {
            let client = redis::Client::open(*url)?;
            measure(client.get_multiplexed_async_connection().await?, time).await?
        }
        _ => return Err("give \"memory\", a folder and when to fsync, or an address".into()),
    };
    println!("{rate:.0}");
    Ok(())
}

fn mode(name: &str) -> Result<Fsync, Failure> {
    match name {
        "always" => Ok(Fsync::Always),
        "everysec" => Ok(Fsync::EverySec),
        "no" => Ok(Fsync::No),
        _ => Err(format!("\"{name}\" is none of always, everysec and no").into()),
    }
}

/// Calls a second, over all tasks.
async fn measure<C>(connection: C, time: Duration) -> Result<f64, Failure>
where
    C: ConnectionLike + Clone + Send + 'static,
{
    let started = Instant::now();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| tokio::spawn(call_until(started + time, connection.clone(), task)))
        .collect();
    let mut n_calls = 0;
    for task in tasks {
        n_calls += task.await??;
    }
    Ok(n_calls as f64 / started.elapsed().as_secs_f64())
}

/// One task: the next call starts when the last one is answered. Returns how many there were.
async fn call_until(
    end: Instant,
    mut connection: impl ConnectionLike + Send,
    task: u64,
) -> Result<u64, Failure> {
    let script = Script::new(SCRIPT);
    let mut n_calls = 0;
    // Steps through all keys in an order of its own, as the step has no divisor in common with their number.
    let mut n = task * KEYS / TASKS;
    while Instant::now() < end {
        n = (n + 61_803) % KEYS;
        let mut call = script.key(format!("zset:{n}"));
        call.key(format!("hash:{n}")).arg(n_calls).arg("job:1");
        call.invoke_async::<i64>(&mut connection).await?;
        n_calls += 1;
    }
    Ok(n_calls)
}
