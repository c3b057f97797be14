//! How long a job waits for a worker that has nothing else to do.

use anyhow::{Context, Result};

use super::super::report::{Bound, Limit, Section, Table};
use super::super::server::Server;
use super::Bench;
use super::before::{self, Pairs};
use super::contender::Contender;
use super::cost::{Cost, measured};

/// apalis-redis looks for jobs at intervals, so that its answer is a setting.
const CONTENDERS: [Contender; 3] =
    [Contender::BullMq { tuned: true }, Contender::OnRedis, Contender::Embedded];
const JOBS_PER_ROUND: u32 = 200;
const P50_MAX_MS: f64 = 2.0;

/// Measures all rounds of all contenders, in turns.
pub(super) fn run(bench: &Bench) -> Result<Section> {
    let server = Server::redis()?;
    let mut delays = CONTENDERS.map(|_| Vec::new());
    for _ in 0..bench.rounds {
        for (contender, delays) in CONTENDERS.iter().zip(&mut delays) {
            let take = || take_turn(bench, &server, *contender);
            delays.extend(bench.quiet.turn(take, |(_, cost)| cost.others())?.0);
        }
    }
    let mut table = Table::new(&["system", "p50, ms", "p99, ms", "worst, ms"]);
    let mut limits = Vec::new();
    for (contender, delays) in CONTENDERS.iter().zip(&mut delays) {
        delays.sort_by(f64::total_cmp);
        let ms = |share| anyhow::Ok(quantile(delays, share).context("no delays came back")? * 1e3);
        let (p50, p99, worst) = (ms(0.5)?, ms(0.99)?, ms(1.0)?);
        let cells = [p50, p99, worst].map(|number| format!("{number:.2}"));
        table.add([vec![contender.name()], cells.to_vec()].concat());
        if *contender != (Contender::BullMq { tuned: true }) {
            let what = format!("{}, p50 in ms", contender.name());
            limits.push(Limit { what, measured: p50, bound: Bound::AtMost(P50_MAX_MS) });
        }
    }
    for contender in Contender::OURS {
        let take = |bench: &Bench| take_turn(bench, &server, contender);
        let Some(pairs) = before::pairs(bench, take, |(_, cost)| cost.others())? else { continue };
        let pairs = Pairs { now: medians(pairs.now)?, before: medians(pairs.before)? };
        let what = format!("{}, p50, times as quick as before", contender.name());
        limits.push(before::time(what, &pairs));
    }
    let words = format!(
        "{} jobs one by one, each submitted when the worker has been idle for some milliseconds; from the call that submits it to the \
         start of its handler, in one process.",
        JOBS_PER_ROUND * bench.rounds
    );
    Ok(Section { title: "Pick-up", words, table, limits })
}

fn take_turn(bench: &Bench, server: &Server, contender: Contender) -> Result<(Vec<f64>, Cost)> {
    server.ask(&["FLUSHALL"])?;
    let mut driver = bench.programs.start(contender, server)?;
    measured(server, &mut driver, |driver| driver.latency(JOBS_PER_ROUND))
}

/// The p50 of each turn.
fn medians(turns: Vec<(Vec<f64>, Cost)>) -> Result<Vec<f64>> {
    let p50 = |(mut delays, _): (Vec<f64>, Cost)| {
        delays.sort_by(f64::total_cmp);
        quantile(&delays, 0.5).context("no delays came back")
    };
    turns.into_iter().map(p50).collect()
}

/// The smallest value that this share of all values does not exceed.
pub(super) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(
            [0.5, 0.99, 1.0].map(|share| quantile(&values, share).unwrap()),
            [50.0, 99.0, 100.0]
        );
        assert_eq!(quantile(&[7.0], 0.5), Some(7.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
