//! A live page while much happens: what the server and a real browser hold in memory, early and late.

use std::process::Command;

use anyhow::{Context, Result, bail};

use super::report::{Bound, Limit, Section, Table, whole};
use super::serve::{Serve, released};
use super::server::{Role, Server};
use super::{machine, page};
use crate::shell;

const EVENTS_PER_SECOND: u32 = 5_000;
const SECONDS: u32 = 120;
/// Schedulers of shared machines take their share.
const RATE_SHARE_MIN: f64 = 0.95;
/// Pools and caches breathe; what leaked would be a hundred times as much: every event is at least a hundred bytes.
const SERVER_GROWTH_KB_MAX: f64 = 4_096.0;
const PAGE_GROWTH_KB_MAX: f64 = 512.0;
/// The page is looked at once a second, and brought up to date as often: now and then a look comes twice between.
const CHANGED_SHARE_MIN: f64 = 0.9;

/// What one run gave.
struct Outcome {
    per_second: f64,
    changed: f64,
    server_kb: (f64, f64),
    page_kb: (f64, f64),
}

/// Measures; fails when something grows, or when the page does not keep up.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let (write, seconds) = match arguments {
        [] => (false, SECONDS),
        ["--write"] => (true, SECONDS),
        ["--seconds", seconds] => (false, seconds.parse().context("--seconds takes a number")?),
        [other, ..] => bail!("unknown argument \"{other}\"; there are --write and --seconds N"),
    };
    let server = released("--package keyrack-cli", "keyrack")?;
    let watcher = released("--package keyrack-server --example live_page", "examples/live_page")?;
    // The jobs lie somewhere else, so that the server's memory is what the pages take.
    let redis = Server::redis_as(Role::Anywhere, &[])?;
    let store = format!("redis://127.0.0.1:{}", redis.port());
    let serve = Serve::start(&server, &store)?;
    let mut command = Command::new(watcher);
    command.args([&store, &serve.http, &serve.pid().to_string()]);
    command.args([EVENTS_PER_SECOND, seconds].map(|number| number.to_string()));
    let section = section(seconds, &parse(&shell::output(&mut command)?)?);
    let about = format!(
        "What a live page takes: `cargo xtask bench live --write`.\n\n{}",
        machine::with_redis()?
    );
    page::conclude("A live page", &about, &[section], write)
}

fn section(seconds: u32, outcome: &Outcome) -> Section {
    let mut table = Table::new(&["memory of", "early kB", "late kB"]);
    for (name, (early, late)) in [("server", outcome.server_kb), ("page", outcome.page_kb)] {
        table.add(vec![name.to_owned(), whole(early), whole(late)]);
    }
    let limit = |what: &str, measured, bound| Limit { what: what.to_owned(), measured, bound };
    let growth = |(early, late): (f64, f64)| (late - early).max(0.0);
    let rate_min = f64::from(EVENTS_PER_SECOND) * RATE_SHARE_MIN;
    let limits = vec![
        limit("events a second", outcome.per_second, Bound::AtLeast(rate_min)),
        limit(
            "share of seconds in which the page had changed",
            outcome.changed,
            Bound::AtLeast(CHANGED_SHARE_MIN),
        ),
        limit(
            "kB by which the server grew",
            growth(outcome.server_kb),
            Bound::AtMost(SERVER_GROWTH_KB_MAX),
        ),
        limit(
            "kB by which the page grew",
            growth(outcome.page_kb),
            Bound::AtMost(PAGE_GROWTH_KB_MAX),
        ),
    ];
    let words = format!(
        "The page \"/jobs\" in Chromium for {seconds} s, while jobs are submitted and completed: {EVENTS_PER_SECOND} events a second. Early and late \
         are the medians of the first and the last third; the page's memory is its JavaScript heap without garbage. Server, store, \
         browser and jobs share the machine."
    );
    Section { title: "Memory of a live page", words, table, limits }
}

fn parse(line: &str) -> Result<Outcome> {
    let numbers: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
    match numbers.as_deref() {
        Ok(&[per_second, changed, server_early, server_late, page_early, page_late]) => {
            Ok(Outcome {
                per_second,
                changed,
                server_kb: (server_early, server_late),
                page_kb: (page_early, page_late),
            })
        }
        _ => bail!("the watcher printed \"{}\"", line.trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_six_numbers_are_a_result() {
        let outcome = parse("5000 0.99 100 120 30 20\n").unwrap();
        assert_eq!((outcome.server_kb, outcome.page_kb), ((100.0, 120.0), (30.0, 20.0)));
        for bad in ["", "1 2 3 4 5", "1 2 3 4 5 x", "1 2 3 4 5 6 7"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn growth_is_missed_and_shrinking_is_not() {
        let missed = |line: &str| section(1, &parse(line).unwrap()).missed().count();
        assert_eq!(missed("5000 1.0 90000 80000 900 800"), 0);
        assert_eq!(missed("5000 1.0 90000 99000 900 2000"), 2);
        assert_eq!(missed("1000 0.1 90000 90000 900 900"), 2);
    }
}
