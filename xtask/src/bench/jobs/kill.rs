//! `kill -9` of a worker that has a hundred jobs in its hands: another one has to finish them all.

use std::time::Instant;

use anyhow::{Result, ensure};

use super::super::compare::median;
use super::super::report::{Bound, Limit, Section, Table, tenths};
use super::super::server::Server;
use super::Bench;
use super::contender::Contender;
use super::delivery::exactly_once;
use super::driver::Jobs;

const HELD: u32 = 100;
/// Jobs that still wait when the worker dies.
const WAITING: u32 = 900;
/// Ours has to be back after at most this.
const SECONDS_MAX: f64 = 15.0;

/// Kills a worker of ours in each round, and one of BullMQ, which takes its time, only once.
pub(super) fn run(bench: &Bench) -> Result<Section> {
    let server = Server::redis()?;
    let mut table = Table::new(&["system", "seconds until all are finished: median", "worst"]);
    let mut limits = Vec::new();
    for (contender, rounds) in
        [(Contender::BullMq { tuned: true }, 1), (Contender::OnRedis, bench.rounds)]
    {
        let mut seconds = Vec::new();
        for round in 1..=rounds {
            let took = kill_one(bench, &server, contender)?;
            println!("round {round}: {:26} {took:.1} s", contender.name());
            seconds.push(took);
        }
        let worst = seconds.iter().copied().fold(0.0, f64::max);
        table.add(vec![contender.name(), tenths(median(&seconds)), tenths(worst)]);
        if contender == Contender::OnRedis {
            let what = format!("{}, worst in seconds", contender.name());
            limits.push(Limit { what, measured: worst, bound: Bound::AtMost(SECONDS_MAX) });
        }
    }
    let words = format!(
        "A worker process that has started {HELD} jobs and finished none is killed while {WAITING} more wait; a second worker is \
         there already. All {} jobs have to be finished exactly once. Default settings.",
        HELD + WAITING
    );
    Ok(Section { title: "Killed worker", words, table, limits })
}

/// Seconds from the kill to the end of the last job.
fn kill_one(bench: &Bench, server: &Server, contender: Contender) -> Result<f64> {
    server.ask(&["FLUSHALL"])?;
    let all = HELD + WAITING;
    let start = || bench.programs.start(contender, server);
    let (mut victim, mut rescuer) = (start()?, start()?);
    rescuer.submit(Jobs { first: 0, count: HELD, levels: 1 })?;
    victim.hold(HELD)?;
    rescuer.submit(Jobs { first: HELD, count: WAITING, levels: 1 })?;
    rescuer.begin_drain(all)?;
    victim.kill()?;
    let killed = Instant::now();
    let drained = rescuer.end_drain()?;
    let seconds = killed.elapsed().as_secs_f64();
    exactly_once(0..all, &drained.started)?;
    let n_left = rescuer.left()?;
    ensure!(n_left == 0, "\"{}\" has {n_left} jobs left", contender.name());
    Ok(seconds)
}
