//! Journeys that are watched: how late events come to a thousand watchers over real WebSockets.
//!
//! Server, clients and the people on the journey share the machine, so that a real server does better.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::report::{Bound, Limit, Section, Table, tenths, whole};
use super::serve::released;
use super::server::{Role, Server};
use super::{machine, page};
use crate::shell;

const WATCHERS: u32 = 1_000;
const EVENTS_PER_SECOND: u32 = 200;
const SECONDS: u32 = 20;
/// What a watcher notices as late.
const P99_MS_MAX: f64 = 250.0;

/// What one run gave.
struct Outcome {
    came: f64,
    expected: f64,
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
}

/// Measures on the embedded engine and on a redis-server; fails when events come too late, or not at all.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let write = match arguments {
        [] => false,
        ["--write"] => true,
        [other, ..] => bail!("unknown argument \"{other}\"; there is --write"),
    };
    let program = released("--package keyrack-server --example watchers", "examples/watchers")?;
    let redis = Server::redis_as(Role::Anywhere, &[])?;
    let on_redis = format!("redis://127.0.0.1:{}", redis.port());
    let mut table = Table::new(&["store", "events came", "p50 ms", "p99 ms", "latest ms"]);
    let mut limits = Vec::new();
    for (name, url) in [("embedded", "embedded:memory"), ("redis-server", &on_redis)] {
        let outcome =
            measure(&program, url).with_context(|| format!("could not measure {name}"))?;
        table.add(vec![
            name.to_owned(),
            whole(outcome.came),
            tenths(outcome.p50_ms),
            tenths(outcome.p99_ms),
            tenths(outcome.max_ms),
        ]);
        let limit = |what: &str, measured, bound| Limit {
            what: format!("{what}, {name}"),
            measured,
            bound,
        };
        limits.push(limit(
            "99 % of events within, in ms",
            outcome.p99_ms,
            Bound::AtMost(P99_MS_MAX),
        ));
        let share = outcome.came / outcome.expected;
        limits.push(limit("share of events that came", share, Bound::AtLeast(1.0)));
    }
    let words = format!(
        "{WATCHERS} watchers of one journey over WebSockets, {EVENTS_PER_SECOND} events a second for {SECONDS} s. Server and clients \
         share the machine; an event counts from before it is stored until a client has read it."
    );
    let section = Section { title: "Watchers", words, table, limits };
    let about = format!(
        "Delivery latency of events: `cargo xtask bench journeys --write`.\n\n{}",
        machine::describe()?
    );
    page::conclude("Journeys", &about, &[section], write)
}

fn measure(program: &PathBuf, url: &str) -> Result<Outcome> {
    let mut command = std::process::Command::new(program);
    command.arg(url).args([WATCHERS, EVENTS_PER_SECOND, SECONDS].map(|number| number.to_string()));
    parse(&shell::output(&mut command)?)
}

fn parse(line: &str) -> Result<Outcome> {
    let numbers: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
    match numbers.as_deref() {
        Ok(&[came, expected, p50_ms, p99_ms, max_ms]) => {
            Ok(Outcome { came, expected, p50_ms, p99_ms, max_ms })
        }
        _ => bail!("the watchers printed \"{}\"", line.trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_five_numbers_are_a_result() {
        let outcome = parse("10 20 1.5 2.5 3.5\n").unwrap();
        assert_eq!((outcome.came, outcome.expected, outcome.p99_ms), (10.0, 20.0, 2.5));
        for bad in ["", "1 2 3 4", "1 2 3 4 x", "1 2 3 4 5 6"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
