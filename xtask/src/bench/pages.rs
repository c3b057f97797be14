//! The pages of the dashboard on a store with ten thousand queues, a million jobs and five hundred causes of failure.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::report::{Bound, Limit, Section, Table, tenths};
use super::serve::{Serve, released};
use super::server::{Role, Server};
use super::{machine, page};
use crate::shell;

const QUEUES: u32 = 10_000;
const JOBS: u32 = 1_000_000;
const GROUPS: u32 = 500;
const ROUNDS: u32 = 60;
const P95_MS_MAX: f64 = 300.0;
/// What a scrape of all metrics may take, and how much it may be.
const METRICS_P95_MS_MAX: f64 = 200.0;
const METRICS_KB_MAX: f64 = 5_000.0;

/// What one page took.
struct Took {
    path: String,
    p50_ms: f64,
    p95_ms: f64,
    max_ms: f64,
    kb: f64,
}

struct Programs {
    server: PathBuf,
    visitor: PathBuf,
}

/// Measures on the embedded engine and on a redis-server; fails when a page takes too long.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let write = match arguments {
        [] => false,
        ["--write"] => true,
        [other, ..] => bail!("unknown argument \"{other}\"; there is --write"),
    };
    let programs = Programs {
        server: released("--package keyrack-cli", "keyrack")?,
        visitor: released("--package keyrack-server --example pages", "examples/pages")?,
    };
    let sections = [embedded(&programs)?, redis(&programs)?];
    let about = format!(
        "How long each page of the dashboard takes: `cargo xtask bench pages --write`.\n\n{}",
        machine::with_redis()?
    );
    page::conclude("Pages", &about, &sections, write)
}

fn embedded(programs: &Programs) -> Result<Section> {
    let serve = Serve::start(&programs.server, "embedded:memory")?;
    let store = format!("redis://{}", serve.resp);
    let took = measure(programs, &store, &serve).context("could not measure embedded")?;
    Ok(section("Pages on the embedded engine", &took))
}

fn redis(programs: &Programs) -> Result<Section> {
    let server = Server::redis_as(Role::Anywhere, &[])?;
    let store = format!("redis://127.0.0.1:{}", server.port());
    let serve = Serve::start(&programs.server, &store)?;
    let took = measure(programs, &store, &serve).context("could not measure redis-server")?;
    Ok(section("Pages on redis-server", &took))
}

fn measure(programs: &Programs, store: &str, serve: &Serve) -> Result<Vec<Took>> {
    let mut command = Command::new(&programs.visitor);
    command.args([store, &serve.http]);
    command.args([QUEUES, JOBS, GROUPS, ROUNDS].map(|number| number.to_string()));
    shell::output(&mut command)?.lines().map(parse).collect()
}

fn section(title: &'static str, took: &[Took]) -> Section {
    let mut table = Table::new(&["page", "p50 ms", "p95 ms", "longest ms", "kB"]);
    let mut limits = Vec::new();
    for took in took {
        table.add(vec![
            took.path.clone(),
            tenths(took.p50_ms),
            tenths(took.p95_ms),
            tenths(took.max_ms),
            tenths(took.kb),
        ]);
        let is_metrics = took.path == "/metrics";
        let p95_max = if is_metrics { METRICS_P95_MS_MAX } else { P95_MS_MAX };
        limits.push(Limit {
            what: format!("95 % of {} within, in ms,", took.path),
            measured: took.p95_ms,
            bound: Bound::AtMost(p95_max),
        });
        if is_metrics {
            limits.push(Limit {
                what: "kB of /metrics".to_owned(),
                measured: took.kb,
                bound: Bound::AtMost(METRICS_KB_MAX),
            });
        }
    }
    let words = format!(
        "{QUEUES} queues with {JOBS} jobs, of which some failed for {GROUPS} causes. Each page was asked for {ROUNDS} times, one after the \
         other, each time over a new connection. kB is what crosses the network. Server, store and client share the machine."
    );
    Section { title, words, table, limits }
}

fn parse(line: &str) -> Result<Took> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let numbers: Result<Vec<f64>, _> = words.iter().skip(1).map(|word| word.parse()).collect();
    match numbers.as_deref() {
        Ok(&[p50_ms, p95_ms, max_ms, kb]) => {
            let path = words[0].rsplit_once("/jobs/").map_or(words[0], |_| "/jobs/{jid}");
            Ok(Took { path: path.to_owned(), p50_ms, p95_ms, max_ms, kb })
        }
        _ => bail!("the visitor printed \"{}\"", line.trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_and_four_numbers_are_a_result() {
        let took = parse("/jobs/01a1-x 1.5 2.5 3.5 10.0\n").unwrap();
        assert_eq!((took.path.as_str(), took.p95_ms, took.kb), ("/jobs/{jid}", 2.5, 10.0));
        for bad in ["", "/", "/ 1 2 3", "/ 1 2 3 x", "/ 1 2 3 4 5"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn metrics_have_less_time_and_room_than_pages() {
        let took = |path: &str| Took {
            path: path.into(),
            p50_ms: 250.0,
            p95_ms: 250.0,
            max_ms: 250.0,
            kb: 6_000.0,
        };
        let section = section("Pages", &[took("/jobs"), took("/metrics")]);
        let missed: Vec<&str> = section.missed().map(|limit| limit.what.as_str()).collect();
        assert_eq!(missed, ["95 % of /metrics within, in ms,", "kB of /metrics"]);
    }
}
