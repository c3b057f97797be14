//! How late a worker that has nothing else to do starts delayed jobs and retries.

use anyhow::{Context, Result};

use super::super::report::{Bound, Limit, Section, Table};
use super::super::server::Server;
use super::Bench;
use super::contender::Contender;
use super::cost::{Cost, measured};
use super::latency::quantile;

const CONTENDERS: [Contender; 2] = [Contender::OnRedis, Contender::Embedded];
const JOBS_PER_ROUND: u32 = 100;
const P99_MAX_MS: f64 = 20.0;

/// Measures all rounds of both stores, in turns.
pub(super) fn run(bench: &Bench) -> Result<Section> {
    let server = Server::redis()?;
    let mut late = CONTENDERS.map(|_| Vec::new());
    for _ in 0..bench.rounds {
        for (contender, late) in CONTENDERS.iter().zip(&mut late) {
            let take = || take_turn(bench, &server, *contender);
            late.extend(bench.quiet.turn(take, |(_, cost)| cost.others())?.0);
        }
    }
    let mut table = Table::new(&["system", "p50, ms", "p99, ms", "worst, ms"]);
    let mut limits = Vec::new();
    for (contender, late) in CONTENDERS.iter().zip(&mut late) {
        late.sort_by(f64::total_cmp);
        let ms = |share| anyhow::Ok(quantile(late, share).context("no times came back")? * 1e3);
        let (p50, p99, worst) = (ms(0.5)?, ms(0.99)?, ms(1.0)?);
        let cells = [p50, p99, worst].map(|number| format!("{number:.0}"));
        table.add([vec![contender.name()], cells.to_vec()].concat());
        let what = format!("{}, p99 in ms", contender.name());
        limits.push(Limit { what, measured: p99, bound: Bound::AtMost(P99_MAX_MS) });
    }
    let words = format!(
        "{} delayed jobs one by one, each of which fails once; from the time at which the job or its retry is due to the start of its \
         handler, in whole milliseconds of the store's clock. The worker has nothing else to do.",
        JOBS_PER_ROUND * bench.rounds
    );
    Ok(Section { title: "Delays and retries", words, table, limits })
}

fn take_turn(bench: &Bench, server: &Server, contender: Contender) -> Result<(Vec<f64>, Cost)> {
    server.ask(&["FLUSHALL"])?;
    let mut driver = bench.programs.start(contender, server)?;
    measured(server, &mut driver, |driver| driver.late(JOBS_PER_ROUND))
}
