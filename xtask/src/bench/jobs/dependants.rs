//! What a submission costs that waits for a job for which many wait already.

use anyhow::Result;

use super::super::report::{Bound, Limit, Section, Table};
use super::super::server::Server;
use super::Bench;
use super::contender::Contender;
use super::cost::{Cost, measured};

const CONTENDERS: [Contender; 2] = [Contender::OnRedis, Contender::Embedded];
const JOBS: u32 = 10_000;
const GROWTH_MAX: f64 = 1.5;

/// Measures all rounds of both stores, in turns; the median of the growth counts.
pub(super) fn run(bench: &Bench) -> Result<Section> {
    let server = Server::redis()?;
    let mut turns = CONTENDERS.map(|_| Vec::new());
    for _ in 0..bench.rounds {
        for (contender, turns) in CONTENDERS.iter().zip(&mut turns) {
            let take = || take_turn(bench, &server, *contender);
            turns.push(bench.quiet.turn(take, |(_, cost)| cost.others())?.0);
        }
    }
    let heads = ["system", "first thousand, jobs/s", "last thousand, jobs/s"];
    let mut table = Table::new(&heads);
    let mut limits = Vec::new();
    for (contender, turns) in CONTENDERS.iter().zip(&mut turns) {
        turns.sort_by(|[a, b], [c, d]| (b / a).total_cmp(&(d / c)));
        let [first, last] = turns[turns.len() / 2];
        let rate = |seconds: f64| format!("{:.0}", f64::from(JOBS) / 10.0 / seconds);
        table.add(vec![contender.name(), rate(first), rate(last)]);
        let what = format!("{}, times as long at the end", contender.name());
        limits.push(Limit { what, measured: last / first, bound: Bound::AtMost(GROWTH_MAX) });
    }
    let words = format!(
        "{JOBS} jobs that wait for one job, submitted one by one; {} rounds in turns, the round with the median slowdown.",
        bench.rounds
    );
    Ok(Section { title: "Jobs that wait for one job", words, table, limits })
}

fn take_turn(bench: &Bench, server: &Server, contender: Contender) -> Result<([f64; 2], Cost)> {
    server.ask(&["FLUSHALL"])?;
    let mut driver = bench.programs.start(contender, server)?;
    measured(server, &mut driver, |driver| driver.dependants(JOBS))
}
