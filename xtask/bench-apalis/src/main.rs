//! apalis-redis as a contender of `cargo xtask bench jobs`: `bench-apalis REDIS_URL WORKERS [leases]`.
//!
//! The requests it answers are described in `xtask/src/bench/jobs/driver.rs`. Batches of 200 are
//! what was quickest here; without leases (meant for jobs that outlast a heartbeat) and events it is quicker still and
//! acknowledges its jobs all the same.

use std::{
    env,
    io::{self, BufRead, Write},
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};
use apalis::prelude::*;
use apalis_redis::{Client, Config, ConnectionManager, RedisStorage};
use serde::{Deserialize, Serialize};

const BATCH: usize = 200;
/// How many jobs one push holds, and how many pushes are under way at once.
const CHUNK: usize = 500;
const PUSHES_AT_ONCE: usize = 4;
/// An empty queue is asked again after this.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
const PAYLOAD_BYTES: usize = 100;

#[derive(Clone, Serialize, Deserialize)]
struct Payload {
    n: u64,
    text: String,
}

impl Payload {
    fn new(n: u64) -> Payload {
        let around = format!(r#"{{"n":{n},"text":""}}"#).len();
        Payload { n, text: "x".repeat(PAYLOAD_BYTES - around) }
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [url, workers, rest @ ..] = arguments.as_slice() else {
        bail!("give a URL and a number of workers")
    };
    let leases = rest.first().is_some_and(|word| word == "leases");
    let mut contender = Contender::connect(url, workers.parse()?, leases).await?;
    for line in io::stdin().lock().lines() {
        let reply = match contender.answer(&line?).await {
            Ok(numbers) => numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" "),
            Err(error) => format!("error {error:#}").replace('\n', " "),
        };
        writeln!(io::stdout(), "{reply}")?;
    }
    Ok(())
}

struct Contender {
    client: Client,
    connection: ConnectionManager,
    config: Config,
    n_workers: usize,
    /// Workers need names that nobody had before.
    n_drains: usize,
    n_submitted: u64,
}

impl Contender {
    async fn connect(url: &str, n_workers: usize, leases: bool) -> Result<Contender> {
        let client = Client::open(url)?;
        let connection = client.get_connection_manager().await?;
        let config =
            Config::default().queue("bench").batch_size(BATCH).lock_tasks(leases).emit_events(leases);
        Ok(Contender { client, connection, config, n_workers, n_drains: 0, n_submitted: 0 })
    }

    async fn answer(&mut self, line: &str) -> Result<Vec<u64>> {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["submit", first, count, "1"] => {
                let first = first.parse()?;
                self.submit(first..first + count.parse::<u64>()?).await
            }
            ["drain", count] => self.drain(count.parse()?).await,
            ["left"] => self.left().await,
            _ => bail!("unknown request \"{line}\""),
        }
    }

    async fn submit(&mut self, jobs: Range<u64>) -> Result<Vec<u64>> {
        self.n_submitted += jobs.end - jobs.start;
        let payloads: Vec<Payload> = jobs.map(Payload::new).collect();
        let mut shares = vec![Vec::new(); PUSHES_AT_ONCE];
        for (n, chunk) in payloads.chunks(CHUNK).enumerate() {
            shares[n % PUSHES_AT_ONCE].push(chunk.to_vec());
        }
        let started = Instant::now();
        let tasks: Vec<_> = shares
            .into_iter()
            .map(|chunks| {
                let mut storage = self.storage(self.connection.clone());
                tokio::spawn(async move {
                    for chunk in chunks {
                        storage.push_bulk(chunk).await.map_err(|error| anyhow!("{error}"))?;
                    }
                    anyhow::Ok(())
                })
            })
            .collect();
        for task in tasks {
            task.await??;
        }
        Ok(vec![micros(started)])
    }

    /// Runs the workers until so many jobs were handled, and waits until they have acknowledged them all.
    async fn drain(&mut self, count: usize) -> Result<Vec<u64>> {
        self.n_drains += 1;
        let tally = Arc::new(Tally::new(count));
        let mut backends = Vec::new();
        for n in 0..self.n_workers {
            let storage = self.storage(self.client.get_connection_manager().await?);
            backends.push((format!("worker-{}-{n}", self.n_drains), storage));
        }
        let started = Instant::now();
        let workers: Vec<_> = backends
            .into_iter()
            .map(|(name, storage)| tokio::spawn(work(name, storage, tally.clone())))
            .collect();
        for worker in workers {
            worker.await??;
        }
        let took = micros(started);
        Ok([took].into_iter().chain(tally.order()).collect())
    }

    async fn left(&mut self) -> Result<Vec<u64>> {
        let mut scard = redis::cmd("SCARD");
        let n_done: u64 =
            scard.arg(self.config.done_jobs_set()).query_async(&mut self.connection).await?;
        Ok(vec![self.n_submitted - n_done])
    }

    fn storage(&self, connection: ConnectionManager) -> RedisStorage<Payload> {
        RedisStorage::new(connection).with_config(self.config.clone())
    }
}

async fn work(name: String, storage: RedisStorage<Payload>, tally: Arc<Tally>) -> Result<()> {
    let until_all = tally.clone();
    WorkerBuilder::new(name)
        .backend(storage.poll_with_interval(POLL_INTERVAL))
        .data(tally)
        .build(handle)
        .run_with_ctx(move |worker| {
            let tally = until_all.clone();
            async move {
                tally.all_handled().await;
                worker.stop()
            }
        })
        .await
        .context("a worker died")
}

async fn handle(payload: Payload, tally: Data<Arc<Tally>>) -> Result<(), BoxDynError> {
    tally.add(payload.n);
    Ok(())
}

/// The numbers of the jobs in the order in which they were handled.
struct Tally {
    numbers: Vec<AtomicU64>,
    n_handled: AtomicUsize,
    full: tokio::sync::Notify,
}

impl Tally {
    fn new(count: usize) -> Tally {
        // Room for jobs that are handled twice, which the benchmark has to notice.
        let numbers = (0..count * 2).map(|_| AtomicU64::new(u64::MAX)).collect();
        Tally { numbers, n_handled: AtomicUsize::new(0), full: tokio::sync::Notify::new() }
    }

    fn add(&self, n: u64) {
        let at = self.n_handled.fetch_add(1, Ordering::Relaxed);
        self.numbers[at].store(n, Ordering::Release);
        if at + 1 == self.numbers.len() / 2 {
            self.full.notify_waiters();
        }
    }

    async fn all_handled(&self) {
        let full = self.full.notified();
        if self.n_handled.load(Ordering::Acquire) < self.numbers.len() / 2 {
            full.await;
        }
    }

    fn order(&self) -> impl Iterator<Item = u64> {
        let n_handled = self.n_handled.load(Ordering::Acquire);
        self.numbers[..n_handled].iter().map(|n| n.load(Ordering::Acquire))
    }
}

fn micros(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX)
}
