//! Measures the calculations for `cargo xtask bench calc`: `measure_calculations URL WHAT N`, one line of `name value` for each result.
//!
//! Five calculations over three intervals each. WHAT is `rate`, events a second in batches over ten keys; `growth`, microseconds for
//! one event at 1,000 stored values and at N; `baseline`, the same at N values against recomputing everything with each event;
//! `memory`, bytes for each of N values; `all`, events a second in batches for one key with all calculations over all intervals;
//! `together`, the same for single events of which 64 are sent at once.

mod baseline;

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream};
use keyrack_calculations::{
    Accounts, Event, Ledger, account,
    keys::{Calculation, Interval, Project},
    project,
};
use keyrack_store::Store;

/// As in the `keyrack` program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const INTERVALS: [&str; 3] = ["hours", "days", "months"];
const CALCULATIONS: [&str; 5] =
    ["sum", "count", "average", "standard_deviation", "linear_regression"];
/// Events in one call.
const BATCH: u64 = 1000;
/// Single events that are sent at once.
const AT_ONCE: usize = 64;
/// Events that are timed one by one.
const TIMED: u64 = 500;

type Failed = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, what, n] = &arguments[..] else {
        return Err("measure_calculations URL WHAT N".into());
    };
    let n: u64 = n.parse()?;
    let store = Store::open(url).await?;
    let ledger = Accounts::open(store.clone()).ledger(&account("7")?).await?;
    let project = project("2")?;
    match what.as_str() {
        "rate" => print("events_per_s", rate(&ledger, &project, n).await?)?,
        "growth" => {
            fill(&ledger, &project, 0..1_000).await?;
            print("us_at_1000", cost(&ledger, &project, 1_000).await?)?;
            fill(&ledger, &project, 1_000 + TIMED..n).await?;
            print("us_at_n", cost(&ledger, &project, n).await?)?;
        }
        "baseline" => {
            fill(&ledger, &project, 0..n).await?;
            print("us", cost(&ledger, &project, n).await?)?;
            let mut plain = baseline::Baseline::new(ledger.store().clone());
            plain.fill(0..n).await?;
            print("us_baseline", baseline_cost(&mut plain, n).await?)?;
        }
        "memory" => {
            let before = store.info().await?.memory_bytes as f64;
            fill(&ledger, &project, 0..n).await?;
            let after = store.info().await?.memory_bytes as f64;
            print("bytes_per_value", (after - before) / n as f64)?;
        }
        "all" => print("events_per_s", all_of_one_key(&ledger, &project, n).await?)?,
        "together" => print("events_per_s", together(&ledger, &project, n).await?)?,
        shape => {
            let shape = shape.strip_prefix("shape:").and_then(|shape| shape.split_once('x'));
            let Some((intervals, calculations)) = shape else {
                return Err(format!("nothing is measured as \"{what}\"").into());
            };
            let shape = Shape::new(intervals.parse()?, calculations.parse()?);
            print("us_in_batches", shape.in_batches(&ledger, &project, n).await?)?;
            print("us_alone", shape.alone(&ledger, &project, n).await?)?;
        }
    }
    Ok(())
}

fn print(name: &str, value: f64) -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{name} {value:.3}")
}

/// The time of the n-th event: one each ten minutes.
fn time(n: u64) -> String {
    let (minutes, days) = (n * 10, n / 144);
    let start = jiff::civil::date(2000, 1, 1);
    let date = start.saturating_add(jiff::Span::new().days(days as i64));
    format!("{date} {:02}:{:02}:00 +0000", minutes / 60 % 24, minutes % 60)
}

fn event(key: &str, n: u64) -> Result<Event, Failed> {
    let value = format!("{}.{}", n % 97, n % 10);
    Ok(Event::new("bench", key, &value, &time(n), &INTERVALS, &CALCULATIONS)?)
}

/// Events a second, in batches, over ten keys.
async fn rate(ledger: &Ledger, project: &Project, n: u64) -> Result<f64, Failed> {
    let mut batches = Vec::new();
    for first in (0..n).step_by(BATCH as usize) {
        let events = (first..(first + BATCH).min(n)).map(|at| event(&format!("k{}", at % 10), at));
        batches.push(events.collect::<Result<Vec<_>, _>>()?);
    }
    let started = Instant::now();
    for batch in batches {
        ledger.record(project, batch).await?;
    }
    Ok(n as f64 / started.elapsed().as_secs_f64())
}

/// The time of the n-th event: one each second.
fn second(n: u64) -> String {
    let start = jiff::civil::date(2000, 1, 1).at(0, 0, 0, 0);
    let at = start.saturating_add(jiff::Span::new().seconds(n as i64));
    format!("{} +0000", at.strftime("%Y-%m-%d %H:%M:%S"))
}

/// An event a second later than the one before, with all calculations over all intervals.
fn full_event(n: u64) -> Result<Event, Failed> {
    Shape::new(Interval::WORDS.len(), Calculation::WORDS.len()).event(n)
}

/// Events a second for one key with everything that can be calculated, in batches.
async fn all_of_one_key(ledger: &Ledger, project: &Project, n: u64) -> Result<f64, Failed> {
    let events = (0..n).map(full_event).collect::<Result<Vec<_>, _>>()?;
    let started = Instant::now();
    for batch in events.chunks(2 * BATCH as usize) {
        ledger.record(project, batch.to_vec()).await?;
    }
    Ok(n as f64 / started.elapsed().as_secs_f64())
}

/// The same for events that come one by one, from many at once.
async fn together(ledger: &Ledger, project: &Project, n: u64) -> Result<f64, Failed> {
    let events = (0..n).map(full_event).collect::<Result<Vec<_>, _>>()?;
    let started = Instant::now();
    let mut recording = stream::iter(events)
        .map(|event| ledger.record(project, vec![event]))
        .buffer_unordered(AT_ONCE);
    while let Some(told) = recording.next().await {
        told?;
    }
    drop(recording);
    Ok(n as f64 / started.elapsed().as_secs_f64())
}

/// How many intervals and calculations an event has.
struct Shape {
    intervals: &'static [&'static str],
    calculations: &'static [&'static str],
}

impl Shape {
    /// The first of each: from seconds to years, and from the documented calculations to the others.
    fn new(intervals: usize, calculations: usize) -> Shape {
        Shape {
            intervals: &Interval::WORDS[..intervals.min(Interval::WORDS.len())],
            calculations: &Calculation::WORDS[..calculations.min(Calculation::WORDS.len())],
        }
    }

    fn event(&self, n: u64) -> Result<Event, Failed> {
        let value = format!("{}.{}", n % 97, n % 10);
        let at = second(n);
        Ok(Event::new("bench", "k", &value, &at, self.intervals, self.calculations)?)
    }

    /// Microseconds for one event of many that are stored together.
    async fn in_batches(&self, ledger: &Ledger, project: &Project, n: u64) -> Result<f64, Failed> {
        let events = (0..n).map(|n| self.event(n)).collect::<Result<Vec<_>, _>>()?;
        let started = Instant::now();
        for batch in events.chunks(BATCH as usize) {
            ledger.record(project, batch.to_vec()).await?;
        }
        Ok(started.elapsed().as_secs_f64() * 1e6 / n as f64)
    }

    /// Microseconds for one event by itself, the usual one of many.
    async fn alone(&self, ledger: &Ledger, project: &Project, from: u64) -> Result<f64, Failed> {
        let mut times = Vec::new();
        for at in from..from + TIMED {
            let events = vec![self.event(at)?];
            let started = Instant::now();
            ledger.record(project, events).await?;
            times.push(started.elapsed());
        }
        Ok(median(times))
    }
}

/// Stores values without measuring.
async fn fill(
    ledger: &Ledger,
    project: &Project,
    range: std::ops::Range<u64>,
) -> Result<(), Failed> {
    for first in range.clone().step_by(BATCH as usize) {
        let events = (first..(first + BATCH).min(range.end)).map(|at| event("k", at));
        ledger.record(project, events.collect::<Result<_, _>>()?).await?;
    }
    Ok(())
}

/// Microseconds for one more event, the usual one of many.
async fn cost(ledger: &Ledger, project: &Project, from: u64) -> Result<f64, Failed> {
    let mut times = Vec::new();
    for at in from..from + TIMED {
        let events = vec![event("k", at)?];
        let started = Instant::now();
        ledger.record(project, events).await?;
        times.push(started.elapsed());
    }
    Ok(median(times))
}

async fn baseline_cost(plain: &mut baseline::Baseline, from: u64) -> Result<f64, Failed> {
    let mut times = Vec::new();
    for at in from..from + TIMED / 10 {
        let started = Instant::now();
        plain.record(at).await?;
        times.push(started.elapsed());
    }
    Ok(median(times))
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}
