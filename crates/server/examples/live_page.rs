//! Looks at a live page in a real browser while jobs come and go, and measures what that takes.
//!
//!     live_page STORE_URL HTTP_ADDRESS SERVER_PID EVENTS_PER_SECOND SECONDS
//!
//! A job that is submitted is one event, and its end another. Prints one line: events a second, the share of looks at which
//! the page had changed since the one before, and kilobytes of the server's memory and of the page's own, each early and late.

use std::{
    env,
    error::Error,
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use keyrack_jobs::bee::{
    End, Hive, Outcome, Submission,
    keys::{QueueName, WorkerId},
};
use keyrack_store::Store;
use keyrack_testkit::Browser;
use tokio::time::{MissedTickBehavior, interval};

type Trouble = Box<dyn Error + Send + Sync>;

/// How often jobs are submitted and settled.
const TICK: Duration = Duration::from_millis(50);
/// How often the page is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Until caches and pools have their size.
const WARM_UP: usize = 10;
/// What ended is soon forgotten, so that the store does not grow either.
const KEPT_MS: u64 = 2_000;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the result is what it is run for")]
async fn main() -> Result<(), Trouble> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [url, address, pid, rate, seconds] = &arguments[..] else {
        return Err("usage: live_page STORE_URL HTTP_ADDRESS PID EVENTS_PER_SECOND SECONDS".into());
    };
    let (rate, seconds): (u64, usize) = (rate.parse()?, seconds.parse()?);
    let hive = Hive::open(Store::open(url).await?).await?;
    let traffic = Traffic::start(hive, rate);
    let browser = Browser::start().await;
    browser.open(&format!("http://{address}/jobs")).await;
    browser.wait_until("document.getElementById('pause').dataset.state === 'live'").await;

    let (mut looks, mut events, mut begun) = (Vec::new(), 0, Instant::now());
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for n in 0..WARM_UP + seconds {
        ticks.tick().await;
        if n == WARM_UP {
            (events, begun) = (traffic.events(), Instant::now());
        }
        if n >= WARM_UP {
            looks.push(Look::take(&browser, pid).await?);
        }
    }
    let per_second = (traffic.events() - events) as f64 / begun.elapsed().as_secs_f64();
    traffic.stop().await?;

    let changed = looks.windows(2).filter(|pair| pair[0].text != pair[1].text).count();
    let third = (looks.len() / 3).max(1);
    let (early, late) = (&looks[..third], &looks[looks.len() - third..]);
    println!(
        "{per_second:.0} {:.3} {} {} {} {}",
        changed as f64 / (looks.len() - 1).max(1) as f64,
        median(early, |look| look.server_kb),
        median(late, |look| look.server_kb),
        median(early, |look| look.page_kb),
        median(late, |look| look.page_kb),
    );
    Ok(())
}

fn median(looks: &[Look], of: impl Fn(&Look) -> u64) -> u64 {
    let mut numbers: Vec<u64> = looks.iter().map(of).collect();
    numbers.sort_unstable();
    numbers[numbers.len() / 2]
}

/// What was seen at one moment.
struct Look {
    server_kb: u64,
    page_kb: u64,
    text: String,
}

impl Look {
    async fn take(browser: &Browser, pid: &str) -> Result<Look, Trouble> {
        let text = browser.text("#live").await;
        Ok(Look { server_kb: resident_kb(pid)?, page_kb: browser.heap().await / 1024, text })
    }
}

/// What a process has in memory.
fn resident_kb(pid: &str) -> Result<u64, Trouble> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    Ok(line.ok_or("no VmRSS")?.trim().trim_end_matches(" kB").parse()?)
}

/// Jobs that come and go in the background.
struct Traffic {
    events: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<Result<(), keyrack_jobs::Error>>,
}

impl Traffic {
    fn start(hive: Hive, rate: u64) -> Traffic {
        let (events, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let task = tokio::spawn(run(hive, rate, events.clone(), is_over.clone()));
        Traffic { events, is_over, task }
    }

    fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    async fn stop(self) -> Result<(), Trouble> {
        self.is_over.store(true, Ordering::Relaxed);
        Ok(self.task.await??)
    }
}

/// Submits jobs and completes those that were submitted before, in a queue after the other.
async fn run(
    hive: Hive,
    rate: u64,
    events: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
) -> Result<(), keyrack_jobs::Error> {
    let queues: Vec<QueueName> = ["emails", "video", "reports", "invoices"]
        .iter()
        .map(|name| QueueName::new(*name))
        .collect::<Result<_, _>>()?;
    let lock = Duration::from_secs(30);
    let jobs_a_tick = (rate / 2 * TICK.as_millis() as u64 / 1000).max(1) as usize;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut n = 0;
    while !is_over.load(Ordering::Relaxed) {
        ticks.tick().await;
        let queue = &queues[n % queues.len()];
        n += 1;
        let job = |i: usize| Submission::to(queue.clone()).arg(i).ttl_ms(KEPT_MS);
        hive.submit_many((0..jobs_a_tick).map(job).collect()).await?;
        let worker = WorkerId::new(format!("bench:1:hive:{queue}:w"))?;
        let claimed = hive.claim(queue, &worker, jobs_a_tick, lock).await?;
        let done = || End::Completed { result: "null".into(), ttl_ms: Some(KEPT_MS) };
        let outcomes: Vec<Outcome> =
            claimed.jobs.iter().map(|job| Outcome::of(job, done())).collect();
        hive.settle(queue, &worker, &outcomes, 0, lock).await?;
        events.fetch_add((jobs_a_tick + outcomes.len()) as u64, Ordering::Relaxed);
    }
    Ok(())
}
