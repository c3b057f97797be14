//! Measuring two servers with the same loads, in turns.

use anyhow::{Context, Result};

use super::load::{Load, Rate};
use super::server::Server;
use super::table::{Row, Table};

/// How often each load runs, and which runs count.
#[derive(Clone, Copy)]
pub(super) enum Rounds {
    /// The best of so many runs of each server.
    Best(u32),
    /// The middle of so many pairs of runs: for differences of a few percent, which luck exceeds.
    Paired(u32),
}

/// Runs every load against each server and puts the rates into a table.
///
/// The servers take turns test by test, so that a machine that slows down half way slows both.
pub(super) fn compare(
    subject: &Server,
    reference: &Server,
    loads: &[Load<'_>],
    rounds: Rounds,
) -> Result<Table> {
    let (Rounds::Best(count) | Rounds::Paired(count)) = rounds;
    let mut table = Table::new(subject.name(), reference.name());
    for load in loads.iter().flat_map(|load| load.singly()) {
        let (mut of_subject, mut of_reference) = (Runs::default(), Runs::default());
        for round in 0..count {
            // Whoever comes second meets a warmer machine.
            if round % 2 == 0 {
                of_reference.run(&load, reference)?;
                of_subject.run(&load, subject)?;
            } else {
                of_subject.run(&load, subject)?;
                of_reference.run(&load, reference)?;
            }
        }
        let (of_both, paired): (fn(&Runs) -> f64, _) = match rounds {
            Rounds::Best(_) => (Runs::best, None),
            Rounds::Paired(_) => (Runs::median, Some(of_subject.paired_with(&of_reference))),
        };
        table.add(Row {
            name: of_subject.name.clone(),
            subject: of_both(&of_subject),
            reference: of_both(&of_reference),
            paired,
            per_cpu: of_reference.cpu().zip(of_subject.cpu()).map(|(theirs, ours)| theirs / ours),
        });
    }
    Ok(table)
}

/// What one load measured on one server, run after run.
#[derive(Default)]
pub(super) struct Runs {
    name: String,
    rates: Vec<f64>,
    cpu_ticks: Option<u64>,
}

impl Runs {
    /// Runs a load of a single line once more.
    pub(super) fn run(&mut self, load: &Load<'_>, server: &Server) -> Result<()> {
        let before = server.cpu_ticks();
        let Rate { name, per_second } =
            load.run(server.port())?.pop().context("redis-benchmark has measured nothing")?;
        let ticks = server.cpu_ticks().zip(before).map(|(after, before)| after - before);
        self.cpu_ticks = ticks.map(|ticks| self.cpu_ticks.unwrap_or(0) + ticks);
        self.rates.push(per_second);
        self.name = name;
        Ok(())
    }

    /// The best rate so far.
    pub(super) fn best(&self) -> f64 {
        best(&self.rates)
    }

    /// The rate in the middle, for a server compared with itself: a lucky run would not be matched by another.
    pub(super) fn median(&self) -> f64 {
        median(&self.rates)
    }

    /// The middle of the ratios to the other's run of the same round.
    fn paired_with(&self, other: &Runs) -> f64 {
        let ratios = self.rates.iter().zip(&other.rates).map(|(ours, theirs)| ours / theirs);
        median(&ratios.collect::<Vec<_>>())
    }

    /// The processor time of all runs, if it is known and enough to be compared.
    pub(super) fn cpu(&self) -> Option<f64> {
        self.cpu_ticks.filter(|ticks| *ticks > 0).map(|ticks| ticks as f64)
    }
}

/// The best run: what else goes on in a machine only ever makes a server slower.
fn best(rates: &[f64]) -> f64 {
    rates.iter().copied().fold(0.0, f64::max)
}

/// The run in the middle, where luck makes runs quicker as well as slower.
pub(super) fn median(rates: &[f64]) -> f64 {
    let mut rates = rates.to_vec();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::load::{KEYSPACE, Work};
    use super::*;

    #[test]
    fn disturbed_run_does_not_count() {
        assert_eq!(best(&[900.0, 1000.0, 20.0]), 1000.0);
    }

    #[test]
    fn lucky_run_does_not_move_the_median() {
        assert_eq!(median(&[900.0, 5000.0, 1000.0]), 1000.0);
    }

    #[test]
    fn pairs_are_judged_round_by_round() {
        let runs = |rates: &[f64]| Runs { rates: rates.to_vec(), ..Runs::default() };
        let ratio = runs(&[110.0, 55.0, 1.0]).paired_with(&runs(&[100.0, 50.0, 100.0]));
        assert!((ratio - 1.1).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn every_line_of_every_load_is_compared() {
        let (subject, reference) = (Server::redis().unwrap(), Server::redis().unwrap());
        let load = |label, work| Load {
            label,
            work,
            requests: 10_000,
            clients: 2,
            pipeline: 4,
            keyspace: KEYSPACE,
        };
        let loads =
            [load("-P 4", Work::Tests(&["set", "get"])), load("ping", Work::Command(&["PING"]))];
        let table = compare(&subject, &reference, &loads, Rounds::Best(2)).unwrap();
        let names: Vec<String> = table.names().map(str::to_owned).collect();
        assert_eq!(names, ["SET -P 4", "GET -P 4", "ping"]);
        table.require(f64::MIN_POSITIVE..=f64::INFINITY).unwrap();
    }
}
