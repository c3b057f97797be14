//! keyrack as a contender of `cargo xtask bench jobs`: `contender STORE_URL [COLLECTOR_URL]`.
//!
//! The requests it answers are described in `xtask/src/bench/jobs/driver.rs`.

#![expect(clippy::print_stdout, reason = "prints its answers")]

use std::{
    error::Error,
    io::{self, BufRead},
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use keyrack_jobs::bee::{
    self, Hive, Submission,
    keys::{self, QueueName},
    worker::{Context, Settings, Worker},
};
use keyrack_store::Store;
use keyrack_trace::otlp::{self, Endpoint};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc};

/// As in the `keyrack` program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CONCURRENCY: usize = 100;
/// How many jobs one call submits, and how many calls are under way at once.
const CHUNK: usize = 1_000;
const CALLS_AT_ONCE: usize = 4;
const PAYLOAD_BYTES: usize = 100;
/// Long enough for the worker to have nothing to do.
const IDLE: Duration = Duration::from_millis(5);

/// The delay of a job and of its retry.
const DELAY_MS: f64 = 20.0;

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Serialize, Deserialize)]
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
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or("give the URL of a store")?;
    if let Some(collector) = arguments.next() {
        // As in the `keyrack` program, too: reqwest asks for it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let resource = vec![("service.name", "contender".to_owned())];
        otlp::start(Endpoint::parse(&collector)?, resource)?;
    }
    let hive = Hive::open(Store::open(&url).await?).await?;
    let contender = Contender { hive, queue: QueueName::new("bench")? };
    for line in io::stdin().lock().lines() {
        match contender.answer(&line?).await {
            Ok(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
                println!("{}", numbers.join(" "));
            }
            Err(error) => println!("error {}", error.to_string().replace('\n', " ")),
        }
    }
    Ok(())
}

struct Contender {
    hive: Hive,
    queue: QueueName,
}

impl Contender {
    async fn answer(&self, line: &str) -> Result<Vec<u64>, Failure> {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["submit", first, count, levels] => {
                let first = first.parse()?;
                self.submit(first..first + count.parse::<u64>()?, levels.parse()?).await
            }
            ["drain", count] => self.drain(count.parse()?).await,
            ["left"] => self.left().await,
            ["latency", count] => self.latency(count.parse()?).await,
            ["late", count] => self.late(count.parse()?).await,
            ["dependants", count] => self.dependants(count.parse()?).await,
            ["hold", count] => self.hold(count.parse()?).await,
            _ => Err(format!("unknown request \"{line}\"").into()),
        }
    }

    async fn submit(&self, jobs: Range<u64>, levels: u64) -> Result<Vec<u64>, Failure> {
        let jobs: Vec<Submission> = jobs.map(|n| self.job(n, levels)).collect();
        let mut shares = vec![Vec::new(); CALLS_AT_ONCE];
        for (n, chunk) in jobs.chunks(CHUNK).enumerate() {
            shares[n % CALLS_AT_ONCE].push(chunk.to_vec());
        }
        let started = Instant::now();
        let tasks: Vec<_> = shares
            .into_iter()
            .map(|chunks| tokio::spawn(submit_all(self.hive.clone(), chunks)))
            .collect();
        for task in tasks {
            task.await??;
        }
        Ok(vec![micros(started)])
    }

    /// Level 0 is the most urgent one, and 10 the highest priority.
    fn job(&self, n: u64, levels: u64) -> Submission {
        let job = Submission::to(self.queue.clone()).arg(Payload::new(n));
        if levels == 1 { job } else { job.priority((levels - 1 - n % levels) as f64) }
    }

    /// Runs a worker until so many jobs were handled; it settles them before it ends.
    async fn drain(&self, count: usize) -> Result<Vec<u64>, Failure> {
        let tally = Arc::new(Tally::new(count));
        let (handled, all_handled) = (Arc::clone(&tally), Arc::clone(&tally));
        let worker = self.worker(move |context| {
            let tally = Arc::clone(&handled);
            async move { tally.add(number(&context)?) }
        });
        let started = Instant::now();
        worker.run(async move { all_handled.all_handled().await }).await?;
        let took = micros(started);
        Ok([took].into_iter().chain(tally.order()).collect())
    }

    async fn left(&self) -> Result<Vec<u64>, Failure> {
        let group = self.queue.group();
        let waiting = [keys::queue, keys::delayed, keys::waiting, keys::locks, keys::failed];
        let mut counts = redis::pipe();
        for key in waiting {
            counts.zcard(&*self.hive.store().place(&key(&self.queue, &group)));
        }
        let counts: Vec<u64> = counts.query_async(&mut self.hive.store().connection()).await?;
        Ok(vec![counts.iter().sum()])
    }

    async fn latency(&self, count: u64) -> Result<Vec<u64>, Failure> {
        let (arrive, mut arrivals) = mpsc::unbounded_channel();
        let worker = self.worker(move |_| {
            // Nobody waits for it only when the contender has ended.
            let _ = arrive.send(Instant::now());
            async { Ok(()) }
        });
        let stop = Arc::new(Notify::new());
        let stopped = Arc::clone(&stop);
        let running = tokio::spawn(worker.run(async move { stopped.notified().await }));
        let mut delays = Vec::new();
        for n in 0..count {
            tokio::time::sleep(IDLE).await;
            let job = self.job(n, 1);
            let started = Instant::now();
            self.hive.submit(job).await?;
            let arrived = arrivals.recv().await.ok_or("the worker has ended")?;
            delays.push(u64::try_from((arrived - started).as_micros())?);
        }
        stop.notify_one();
        running.await??;
        Ok(delays)
    }

    /// Delayed jobs, each of which fails once. Returns how late each delay and each retry was started.
    async fn late(&self, count: u64) -> Result<Vec<u64>, Failure> {
        let (arrive, mut arrivals) = mpsc::unbounded_channel();
        let hive = self.hive.clone();
        let worker = self.worker(move |context| {
            let late = hive.now_ms() as f64 - due_at(&context).unwrap_or(0.0);
            // Nobody waits for it only when the contender has ended.
            let _ = arrive.send((late.max(0.0) * 1e3) as u64);
            let is_first = context.job().retries() == 0;
            async move { if is_first { Err(bee::Failure::new("once more")) } else { Ok(()) } }
        });
        let stop = Arc::new(Notify::new());
        let stopped = Arc::clone(&stop);
        let running = tokio::spawn(worker.run(async move { stopped.notified().await }));
        let mut late = Vec::new();
        for n in 0..count {
            tokio::time::sleep(IDLE).await;
            let job = self.job(n, 1).delay_ms(DELAY_MS).retry_delay_ms(DELAY_MS, false);
            self.hive.submit(job).await?;
            for _ in 0..2 {
                late.push(arrivals.recv().await.ok_or("the worker has ended")?);
            }
        }
        stop.notify_one();
        running.await??;
        Ok(late)
    }

    /// Jobs that wait for one job, one by one. Returns the time of the first and of the last tenth of them.
    async fn dependants(&self, count: u64) -> Result<Vec<u64>, Failure> {
        let awaited = self.hive.submit(self.job(0, 1)).await?;
        let mut micros_of = Vec::new();
        for tenth in 0..10 {
            let started = Instant::now();
            for n in 0..count / 10 {
                let job = self.job(1 + tenth * count / 10 + n, 1).after(awaited.clone());
                self.hive.submit(job).await?;
            }
            micros_of.push(micros(started));
        }
        Ok(vec![micros_of[0], micros_of[9]])
    }

    /// The worker stays until the process is killed.
    async fn hold(&self, count: usize) -> Result<Vec<u64>, Failure> {
        let tally = Arc::new(Tally::new(count));
        let held = Arc::clone(&tally);
        let worker = self.worker(move |context| {
            let tally = Arc::clone(&held);
            async move {
                tally.add(number(&context)?)?;
                std::future::pending().await
            }
        });
        tokio::spawn(worker.run(std::future::pending()));
        tally.all_handled().await;
        Ok(tally.order().collect())
    }

    fn worker<F, R>(&self, handler: F) -> Worker
    where
        F: Fn(Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), bee::Failure>> + Send + 'static,
    {
        let settings = Settings { concurrency: CONCURRENCY, ..Settings::default() };
        Worker::new(&self.hive).on(self.queue.clone(), settings, handler)
    }
}

async fn submit_all(hive: Hive, chunks: Vec<Vec<Submission>>) -> Result<(), Failure> {
    for chunk in chunks {
        for answer in hive.submit_many(chunk).await? {
            answer?;
        }
    }
    Ok(())
}

/// The number of a job, out of its payload.
fn number(context: &Context) -> Result<u64, bee::Failure> {
    let payload: Result<(Payload,), _> = serde_json::from_str(context.job().data());
    let failure = |error| bee::Failure::fatal(format!("no payload: {error}"));
    Ok(payload.map_err(failure)?.0.n)
}

/// When the delay ended that a job comes from, in unix milliseconds.
fn due_at(context: &Context) -> Option<f64> {
    let history = context.job().history();
    history.iter().rev().find(|entry| entry.event == "delayed")?.more["till"].as_f64()
}

/// The numbers of the jobs in the order in which they were handled.
struct Tally {
    numbers: Vec<AtomicU64>,
    n_wanted: usize,
    n_handled: AtomicUsize,
    full: Notify,
}

impl Tally {
    fn new(n_wanted: usize) -> Tally {
        // Room for jobs that are handled twice, or that were claimed before the worker was told to stop.
        let numbers = (0..2 * (n_wanted + CONCURRENCY)).map(|_| AtomicU64::new(u64::MAX)).collect();
        Tally { numbers, n_wanted, n_handled: AtomicUsize::new(0), full: Notify::new() }
    }

    fn add(&self, n: u64) -> Result<(), bee::Failure> {
        let at = self.n_handled.fetch_add(1, Ordering::AcqRel);
        let place = self.numbers.get(at).ok_or(bee::Failure::fatal("too many jobs"))?;
        place.store(n, Ordering::Release);
        if at + 1 == self.n_wanted {
            self.full.notify_one();
        }
        Ok(())
    }

    async fn all_handled(&self) {
        self.full.notified().await;
    }

    fn order(&self) -> impl Iterator<Item = u64> {
        let n_handled = self.n_handled.load(Ordering::Acquire).min(self.numbers.len());
        self.numbers[..n_handled].iter().map(|n| n.load(Ordering::Acquire))
    }
}

fn micros(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX)
}
