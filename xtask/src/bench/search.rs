//! Searching jobs from the dashboard: how long a page takes when there are a million of them, over real HTTP.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::report::{Bound, Limit, Section, Table, tenths, whole};
use super::serve::{Serve, released};
use super::server::{Role, Server};
use super::{machine, page};
use crate::shell;

const JOBS: u32 = 1_000_000;
const ROUNDS: u32 = 200;
/// What feels like an answer at once.
const P95_MS_MAX: f64 = 100.0;
/// A look at the data of a hundred thousand jobs may take a moment.
const TEXT_P95_MS_MAX: f64 = 500.0;

/// What one kind of search took.
struct Took {
    kind: String,
    p50_ms: f64,
    p95_ms: f64,
    max_ms: f64,
    right: f64,
}

struct Programs {
    server: PathBuf,
    search: PathBuf,
}

/// Measures on the embedded engine and on a redis-server; fails when an answer takes too long, or is wrong.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let (write, jobs) = match arguments {
        [] => (false, JOBS),
        ["--write"] => (true, JOBS),
        ["--jobs", jobs] => (false, jobs.parse().context("--jobs takes a number")?),
        [other, ..] => bail!("unknown argument \"{other}\"; there are --write and --jobs N"),
    };
    let programs = Programs {
        server: released("--package keyrack-cli", "keyrack")?,
        search: released("--package keyrack-server --example find_jobs", "examples/find_jobs")?,
    };
    let sections = [embedded(&programs, jobs)?, redis(&programs, jobs)?];
    let about = format!(
        "How long the dashboard searches: `cargo xtask bench search --write`.\n\n{}",
        machine::with_redis()?
    );
    page::conclude("Search", &about, &sections, write)
}

fn embedded(programs: &Programs, jobs: u32) -> Result<Section> {
    let serve = Serve::start(&programs.server, "embedded:memory")?;
    let store = format!("redis://{}", serve.resp);
    let took = measure(programs, &store, &serve, jobs).context("could not measure embedded")?;
    Ok(section("Search on the embedded engine", jobs, &took))
}

fn redis(programs: &Programs, jobs: u32) -> Result<Section> {
    let server = Server::redis_as(Role::Anywhere, &[])?;
    let store = format!("redis://127.0.0.1:{}", server.port());
    let serve = Serve::start(&programs.server, &store)?;
    let took = measure(programs, &store, &serve, jobs).context("could not measure redis-server")?;
    Ok(section("Search on redis-server", jobs, &took))
}

fn measure(programs: &Programs, store: &str, serve: &Serve, jobs: u32) -> Result<Vec<Took>> {
    let mut command = Command::new(&programs.search);
    command.args([store, &serve.http, &jobs.to_string(), &ROUNDS.to_string()]);
    shell::output(&mut command)?.lines().map(parse).collect()
}

fn section(title: &'static str, jobs: u32, took: &[Took]) -> Section {
    let mut table = Table::new(&["search by", "p50 ms", "p95 ms", "longest ms"]);
    let mut limits = Vec::new();
    for took in took {
        let name = took.kind.replace('-', " ");
        table.add(vec![
            name.clone(),
            tenths(took.p50_ms),
            tenths(took.p95_ms),
            tenths(took.max_ms),
        ]);
        let max = if name.starts_with("text") { TEXT_P95_MS_MAX } else { P95_MS_MAX };
        let limit = |what: &str, measured, bound| Limit {
            what: format!("{what} by {name}"),
            measured,
            bound,
        };
        limits.push(limit("95 % of searches within, in ms,", took.p95_ms, Bound::AtMost(max)));
        limits.push(limit("share of right answers", took.right, Bound::AtLeast(1.0)));
    }
    let words = format!(
        "{} jobs of eight queues, {ROUNDS} searches of each kind through the page \"/find\", one after the other. \"text\" is in the data of one \
         job among the newest 100,000 of a queue, \"text nowhere\" in none of them. A search in all queues that takes too \
         long shows partial results and a button to continue.",
        whole(f64::from(jobs))
    );
    Section { title, words, table, limits }
}

fn parse(line: &str) -> Result<Took> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let numbers: Result<Vec<f64>, _> = words.iter().skip(1).map(|word| word.parse()).collect();
    match numbers.as_deref() {
        Ok(&[p50_ms, p95_ms, max_ms, right]) => {
            Ok(Took { kind: words[0].to_owned(), p50_ms, p95_ms, max_ms, right })
        }
        _ => bail!("the searches printed \"{}\"", line.trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_and_four_numbers_are_a_result() {
        let took = parse("small-tag 1.5 2.5 3.5 1.000\n").unwrap();
        assert_eq!((took.kind.as_str(), took.p95_ms, took.right), ("small-tag", 2.5, 1.0));
        for bad in ["", "id", "id 1 2 3", "id 1 2 3 x", "id 1 2 3 4 5"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn searches_in_data_may_take_longer_than_others() {
        let took = |kind: &str| Took {
            kind: kind.into(),
            p50_ms: 200.0,
            p95_ms: 200.0,
            max_ms: 200.0,
            right: 1.0,
        };
        let section = section("Search", 1, &[took("text-nowhere"), took("large-tag")]);
        let missed: Vec<&str> = section.missed().map(|limit| limit.what.as_str()).collect();
        assert_eq!(missed, ["95 % of searches within, in ms, by large tag"]);
    }
}
