//! Traces that are watched: how late updates come to five thousand watchers over real WebSockets, and what each of them costs.
//!
//! Server and clients share the machine, so that a server of one's own does better.

use std::{path::PathBuf, process::Command};

use anyhow::{Result, bail};

use super::report::{Bound, Limit, Section, Table, tenths, whole};
use super::serve::{Serve, released};
use super::{machine, page};
use crate::shell;

const WATCHERS: u32 = 5_000;
const UPDATES: u32 = 100;
const UPDATES_PER_SECOND: u32 = 2;
/// What a watcher notices as late.
const P99_MS_MAX: f64 = 250.0;
const USER: &str = "alice";

/// What one run gave.
struct Outcome {
    ended: f64,
    updates: f64,
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
    kb_per_watcher: f64,
}

/// Measures; fails when updates come too late, or somebody does not see the end.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let write = match arguments {
        [] => false,
        ["--write"] => true,
        [other, ..] => bail!("unknown argument \"{other}\"; there is --write"),
    };
    let programs = build()?;
    let outcome = measure(&programs)?;
    let section = section(&outcome);
    let about = format!(
        "Delivery latency of trace updates: `cargo xtask bench watch --write`.\n\n{}",
        machine::describe()?
    );
    page::conclude("Watched traces", &about, &[section], write)
}

fn section(outcome: &Outcome) -> Section {
    let mut table =
        Table::new(&["watchers", "updates seen", "p50 ms", "p99 ms", "latest ms", "kB each"]);
    table.add(vec![
        WATCHERS.to_string(),
        whole(outcome.updates),
        tenths(outcome.p50_ms),
        tenths(outcome.p99_ms),
        tenths(outcome.max_ms),
        tenths(outcome.kb_per_watcher),
    ]);
    let limit = |what: &str, measured, bound| Limit { what: what.to_owned(), measured, bound };
    let limits = vec![
        limit("99 % of updates within, in ms", outcome.p99_ms, Bound::AtMost(P99_MS_MAX)),
        limit("watchers that saw the end", outcome.ended, Bound::AtLeast(f64::from(WATCHERS))),
        limit("kilobytes of the server for each watcher", outcome.kb_per_watcher, Bound::None),
    ];
    let words = format!(
        "{WATCHERS} watchers of one trace over WebSockets, {UPDATES} updates, {UPDATES_PER_SECOND} a second, then the end. An update \
         counts from before it is sent over HTTP until a client has read it. Server and clients share the machine."
    );
    Section { title: "Watchers of a trace", words, table, limits }
}

struct Programs {
    server: PathBuf,
    watchers: PathBuf,
}

fn build() -> Result<Programs> {
    Ok(Programs {
        server: released("--package keyrack-cli", "keyrack")?,
        watchers: released(
            "--package keyrack-server --example trace_watchers",
            "examples/trace_watchers",
        )?,
    })
}

fn measure(programs: &Programs) -> Result<Outcome> {
    let serve = Serve::start(&programs.server, "embedded:memory")?;
    let store = format!("redis://{}", serve.resp);
    let mut make = Command::new(&programs.server);
    make.args(["token", "create", USER, "--store", &store]);
    let token = shell::output(&mut make)?;
    // Every client is a file to the system, and the usual limit is below what is needed.
    let script = format!("ulimit -n $(ulimit -Hn); exec {} \"$@\"", programs.watchers.display());
    let mut command = Command::new("sh");
    command.args(["-c", &script, "watchers", &serve.http, token.trim(), USER]);
    command.args([WATCHERS, UPDATES, UPDATES_PER_SECOND].map(|number| number.to_string()));
    command.arg(serve.pid().to_string());
    parse(&shell::output(&mut command)?)
}

fn parse(line: &str) -> Result<Outcome> {
    let numbers: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
    match numbers.as_deref() {
        Ok(&[ended, updates, p50_ms, p99_ms, max_ms, kb_per_watcher]) => {
            Ok(Outcome { ended, updates, p50_ms, p99_ms, max_ms, kb_per_watcher })
        }
        _ => bail!("the watchers printed \"{}\"", line.trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_six_numbers_are_a_result() {
        let outcome = parse("10 20 1.5 2.5 3.5 9.5\n").unwrap();
        assert_eq!((outcome.ended, outcome.p99_ms, outcome.kb_per_watcher), (10.0, 2.5, 9.5));
        for bad in ["", "1 2 3 4 5", "1 2 3 4 5 x", "1 2 3 4 5 6 7"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
