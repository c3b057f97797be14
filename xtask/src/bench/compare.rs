//! Measuring two servers with the same loads, in turns.

use anyhow::Result;

use super::load::{Load, Rate};
use super::server::Server;
use super::table::{Row, Table};

/// Runs every load `rounds` times against each server and puts the best rates into a table.
///
/// The servers take turns test by test, so that a machine that slows down half way slows both.
pub(super) fn compare(
    subject: &Server,
    reference: &Server,
    loads: &[Load<'_>],
    rounds: u32,
) -> Result<Table> {
    let mut table = Table::new(subject.name(), reference.name());
    for load in loads.iter().flat_map(|load| load.singly()) {
        let mut of_subject = Vec::new();
        let mut of_reference = Vec::new();
        for _ in 0..rounds {
            of_reference.push(load.run(reference.port())?);
            of_subject.push(load.run(subject.port())?);
        }
        for line in 0..of_subject[0].len() {
            let best_of =
                |runs: &[Vec<Rate>]| best(runs.iter().map(|rates| rates[line].per_second));
            table.add(Row {
                name: of_subject[0][line].name.clone(),
                subject: best_of(&of_subject),
                reference: best_of(&of_reference),
            });
        }
    }
    Ok(table)
}

/// The best run: what else goes on in a machine only ever makes a server slower.
fn best(rates: impl Iterator<Item = f64>) -> f64 {
    rates.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::load::Work;
    use super::*;

    #[test]
    fn disturbed_run_does_not_count() {
        assert_eq!(best([900.0, 1000.0, 20.0].into_iter()), 1000.0);
    }

    #[test]
    fn every_line_of_every_load_is_compared() {
        let (subject, reference) = (Server::redis().unwrap(), Server::redis().unwrap());
        let load = |label, work| Load { label, work, requests: 10_000, clients: 2, pipeline: 4 };
        let loads =
            [load("-P 4", Work::Tests(&["set", "get"])), load("ping", Work::Command(&["PING"]))];
        let table = compare(&subject, &reference, &loads, 2).unwrap();
        let names: Vec<String> = table.names().map(str::to_owned).collect();
        assert_eq!(names, ["SET -P 4", "GET -P 4", "ping"]);
        table.require(f64::MIN_POSITIVE..=f64::INFINITY).unwrap();
    }
}
