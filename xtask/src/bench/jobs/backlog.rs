//! What a job costs while many others wait: it must not depend on how many.

use anyhow::{Context, Result, ensure};

use super::super::compare::median;
use super::super::report::{Bound, Limit, Section, Table, tenths, whole};
use super::super::server::Server;
use super::Bench;
use super::before;
use super::contender::Contender;
use super::cost::measured;
use super::driver::{Driver, Jobs};
use super::turn::{Figures, InAndOut};

const CONTENDERS: [Contender; 2] = [Contender::OnRedis, Contender::Embedded];
const FEW: u32 = 10_000;
const MANY: u32 = 1_000_000;
/// Few enough at once that a backlog of ten thousand stays about that.
const PORTION: u32 = 5_000;
/// How many times more a job may cost.
const RATIO_MAX: f64 = 1.3;

/// Compares ours with itself, on each store.
pub(super) fn run(bench: &Bench) -> Result<Section> {
    let mut table =
        Table::new(&["system", "jobs waiting", "submit, jobs/s", "drain, jobs/s", "CPU, µs a job"]);
    let mut limits = Vec::new();
    for contender in CONTENDERS {
        // Servers of their own: on one, both queues would suffer from a large keyspace.
        let mut queues =
            [Queue::fill(bench, contender, FEW)?, Queue::fill(bench, contender, MANY)?];
        for round in 1..=bench.rounds {
            for queue in &mut queues {
                let turn = bench.quiet.turn(|| queue.turn(bench.jobs), |turn| turn.others)?;
                queue.turns.push(turn);
                println!("round {round}: {} with {} waiting", contender.name(), queue.n_waiting);
            }
        }
        for queue in &queues {
            let middle = Figures::middle(&queue.turns);
            table.add(vec![
                contender.name(),
                whole(f64::from(queue.n_waiting)),
                whole(middle.submit_rate),
                whole(middle.drain_rate),
                tenths(queue.cpu_us()),
            ]);
        }
        let [few, many] = &queues;
        limits.push(Limit {
            what: format!("{}, times the CPU for a job among a million others", contender.name()),
            measured: many.cpu_us() / few.cpu_us(),
            bound: Bound::AtMost(RATIO_MAX),
        });
    }
    for contender in CONTENDERS {
        let take = |bench: &Bench| Queue::fill(bench, contender, FEW)?.turn(bench.jobs);
        let pairs = before::pairs(bench, take, |turn| turn.others)?;
        let name = format!("{} with {} waiting", contender.name(), whole(f64::from(FEW)));
        limits.extend(pairs.iter().flat_map(|pairs| before::rates(&name, pairs)));
    }
    Ok(Section { title: "Backlog", words: words(bench), table, limits })
}

fn words(bench: &Bench) -> String {
    format!(
        "With a backlog of this size, {} more jobs are submitted and processed, in batches of {}; {} rounds in turns, medians. CPU is that \
         of the redis-server, or of the whole process where the engine is in it.",
        whole(f64::from(bench.jobs)),
        whole(f64::from(PORTION)),
        bench.rounds
    )
}

/// A queue in which a number of jobs wait all the time.
struct Queue {
    contender: Contender,
    n_waiting: u32,
    server: Server,
    driver: Driver,
    n_submitted: u32,
    turns: Vec<Figures>,
}

impl Queue {
    fn fill(bench: &Bench, contender: Contender, n_waiting: u32) -> Result<Queue> {
        let server = Server::redis()?;
        let mut driver = bench.programs.start(contender, &server)?;
        driver.submit(Jobs { first: 0, count: n_waiting, levels: 1 })?;
        let n_submitted = n_waiting;
        let mut queue =
            Queue { contender, n_waiting, server, driver, n_submitted, turns: Vec::new() };
        // Not counted: the first portion meets code and memory that nobody has used.
        queue.turn(PORTION)?;
        Ok(queue)
    }

    /// So many jobs in and out, with the backlog as it is.
    fn turn(&mut self, n_jobs: u32) -> Result<Figures> {
        let mut total = InAndOut::default();
        let mut n_left = n_jobs;
        while n_left > 0 {
            let count = n_left.min(PORTION);
            total.add(&self.portion(count)?);
            n_left -= count;
        }
        Ok(Figures::new(&total, f64::from(n_jobs)))
    }

    fn portion(&mut self, count: u32) -> Result<InAndOut> {
        let jobs = Jobs { first: self.n_submitted, count, levels: 1 };
        self.n_submitted += count;
        let (server, driver) = (&self.server, &mut self.driver);
        let (submit_seconds, submit_cost) = measured(server, driver, |driver| driver.submit(jobs))?;
        let (drained, drain_cost) = measured(server, driver, |driver| driver.drain(count))?;
        let (drain_seconds, started) = (drained.seconds, drained.started);
        let n_started = started.len();
        let at_least = usize::try_from(count).context("too many jobs")?;
        ensure!(n_started >= at_least, "{n_started} of {count} jobs were handled");
        Ok(InAndOut { submit_seconds, submit_cost, drain_seconds, drain_cost, started })
    }

    /// The processor time a job costs where the data is.
    fn cpu_us(&self) -> f64 {
        let of = |turn: &Figures| {
            if self.contender.needs_redis() { turn.server_us() } else { turn.client_us }
        };
        median(&self.turns.iter().map(of).collect::<Vec<f64>>())
    }
}
