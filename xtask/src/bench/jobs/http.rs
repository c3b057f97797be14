//! Workers that speak HTTP: the server claims and settles for them, many jobs in a request or one.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::super::compare::median;
use super::super::http::Connection;
use super::super::report::{Bound, Limit, Section, Table, whole};
use super::super::serve::released;
use super::super::server::{Role, Server};
use super::Bench;

/// How workers take jobs.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    name: &'static str,
    connections: u32,
    /// Jobs of one request that settles the last ones and claims the next; one by one, a job takes two requests.
    batch: Option<usize>,
    /// The share of the benchmark's jobs that is measured.
    one_in: u32,
}

pub(super) const MANNERS: [Manner; 2] = [
    Manner { name: "100 in a request", connections: 4, batch: Some(100), one_in: 1 },
    Manner { name: "one by one", connections: 16, batch: None, one_in: 5 },
];
/// How many times the rate of the program before remembered what it had handed out.
const TIMES_BEFORE: f64 = 4.0;
/// How often a server is asked whether it is ready, and the time in between.
const READY_POLLS: u32 = 1_000;
const READY_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Jobs of one submission.
const SUBMITTED_AT_ONCE: u32 = 1_000;

/// Measures this program, and with `--before` another one in turns.
pub(super) fn run(bench: &Bench) -> Result<Section> {
    let now = released("--package keyrack-cli", "keyrack")?;
    let programs: Vec<(&str, &Path)> =
        [Some(("now", now.as_path())), bench.before.as_deref().map(|path| ("before", path))]
            .into_iter()
            .flatten()
            .collect();
    let mut rates = vec![[Vec::new(), Vec::new()]; programs.len()];
    for round in 1..=bench.rounds {
        for (&(name, program), rates) in programs.iter().zip(&mut rates) {
            for (manner, rates) in MANNERS.iter().zip(rates) {
                let rate = rate(program, *manner, bench.jobs / manner.one_in)?;
                println!("round {round}: {name:8} {:18} {:>8} jobs/s", manner.name, whole(rate));
                rates.push(rate);
            }
        }
    }
    let mut table = Table::new(&["program", "100 in a request, jobs/s", "one by one, jobs/s"]);
    let middles: Vec<Vec<f64>> =
        rates.iter().map(|rates| rates.iter().map(|rates| median(rates)).collect()).collect();
    for ((name, _), middles) in programs.iter().zip(&middles) {
        let cells = middles.iter().map(|rate| whole(*rate));
        table.add([(*name).to_owned()].into_iter().chain(cells).collect());
    }
    let limits = match &middles[..] {
        [now, before] => vec![Limit {
            what: "HTTP workers, times the rate of the better manner before".to_owned(),
            measured: best(now) / best(before),
            bound: Bound::AtLeast(TIMES_BEFORE),
        }],
        _ => Vec::new(),
    };
    let words = "Workers over HTTP on a redis-server: 4 connections that settle 100 jobs and claim the next 100 in one \
                 request, and 16 that claim and complete one job after the other. Server, store and workers share the cores."
        .to_owned();
    Ok(Section { title: "Workers over HTTP", words, table, limits })
}

fn best(rates: &[f64]) -> f64 {
    rates.iter().copied().fold(0.0, f64::max)
}

/// Jobs a second that workers get done.
fn rate(program: &Path, manner: Manner, jobs: u32) -> Result<f64> {
    let redis = Server::redis_as(Role::Anywhere, &[])?;
    let store = format!("redis://127.0.0.1:{}", redis.port());
    let server = Server::start_as(Role::Anywhere, "keyrack", program, |command, port, _| {
        command.args(["serve", "--quiet", "--store", &store]);
        command.args(["--http", &format!("127.0.0.1:{port}")]);
    })?;
    wait_until_ready(server.port())?;
    submit(server.port(), jobs)?;
    Ok(f64::from(jobs) / work_off(server.port(), manner, jobs)?)
}

/// Has workers do all jobs of the queue, and returns the seconds that it took.
pub(super) fn work_off(port: u16, manner: Manner, jobs: u32) -> Result<f64> {
    let started = Instant::now();
    let done: Result<Vec<u32>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..manner.connections)
            .map(|n| scope.spawn(move || work(port, &format!("bench-{n}"), manner)))
            .collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined.map(|ended| ended.expect("a worker does not panic")).collect()
    });
    let (done, seconds) = (done?.iter().sum::<u32>(), started.elapsed().as_secs_f64());
    ensure!(done == jobs, "{done} of {jobs} jobs were done");
    Ok(seconds)
}

/// Waits until a server that listens has opened its store.
pub(super) fn wait_until_ready(port: u16) -> Result<()> {
    const REQUEST: &[u8] = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for _ in 0..READY_POLLS {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.write_all(REQUEST)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        if answer.starts_with("HTTP/1.1 200 ") {
            return Ok(());
        }
        thread::sleep(READY_POLL_INTERVAL);
    }
    bail!("the server on port {port} does not get ready")
}

pub(super) fn submit(port: u16, jobs: u32) -> Result<()> {
    let mut connection = Connection::open(port)?;
    for first in (0..jobs).step_by(SUBMITTED_AT_ONCE as usize) {
        let last = jobs.min(first + SUBMITTED_AT_ONCE);
        let list: Vec<Value> = (first..last).map(|n| json!({ "data": [n] })).collect();
        connection.post("/api/1/queues/bench/jobs", &Value::Array(list).to_string())?;
    }
    Ok(())
}

/// Works until the queue is empty; returns how many jobs it has done.
fn work(port: u16, worker: &str, manner: Manner) -> Result<u32> {
    let mut connection = Connection::open(port)?;
    match manner.batch {
        Some(batch) => work_in_batches(&mut connection, worker, batch),
        None => work_one_by_one(&mut connection, worker),
    }
}

fn work_in_batches(connection: &mut Connection, worker: &str, batch: usize) -> Result<u32> {
    let claim = json!({ "worker": worker, "max": batch }).to_string();
    let answer = connection.post("/api/1/queues/bench/claim", &claim)?;
    let mut claimed = jobs_of(&answer)?;
    let mut done = 0;
    loop {
        done += claimed.len() as u32;
        let outcomes: Vec<Value> = claimed.iter().map(completed).collect();
        let is_last = outcomes.is_empty();
        let body = json!({ "worker": worker, "outcomes": outcomes, "max": batch }).to_string();
        let answer = connection.post("/api/1/queues/bench/settle", &body)?;
        let answer: Value = serde_json::from_slice(&answer)?;
        let verdicts = answer["verdicts"].as_array().context("no verdicts")?;
        ensure!(verdicts.iter().all(|verdict| verdict == "ok"), "refused: {answer}");
        claimed = answer["jobs"].as_array().context("no jobs")?.clone();
        // What others leave over by their share comes with the next request.
        if claimed.is_empty() && is_last {
            return Ok(done);
        }
    }
}

fn work_one_by_one(connection: &mut Connection, worker: &str) -> Result<u32> {
    let claim = json!({ "worker": worker }).to_string();
    let mut done = 0;
    loop {
        let answer = connection.post("/api/1/queues/bench/claim", &claim)?;
        let Some(job) = jobs_of(&answer)?.into_iter().next() else { return Ok(done) };
        let jid = job["jid"].as_str().context("no id")?;
        let body = json!({ "worker": worker, "attempt": job["attempt"], "result": 1 }).to_string();
        connection.post(&format!("/api/1/jobs/{jid}/complete"), &body)?;
        done += 1;
    }
}

fn jobs_of(answer: &[u8]) -> Result<Vec<Value>> {
    let answer: Value = serde_json::from_slice(answer)?;
    Ok(answer["jobs"].as_array().context("no jobs")?.clone())
}

fn completed(job: &Value) -> Value {
    json!({ "jid": job["jid"], "attempt": job["attempt"], "end": "completed", "result": 1 })
}
