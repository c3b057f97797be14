//! Entitlements: reads from memory, and how soon what one process finds out reaches the others.

use anyhow::{Context, Result, bail};

use super::report::{Bound, Limit, Section, Table, tenths, whole};
use super::server::{Role, Server};
use super::{machine, page};
use crate::shell;

/// A read stands before everything that costs money, so it has to cost nothing.
const READS_MIN: f64 = 500_000.0;
/// Within this, nobody notices that they had to wait for what they bought.
const PURGE_MS_MAX: f64 = 100.0;

/// Measures on the embedded engine and on a redis-server; fails when a limit is missed.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let write = match arguments {
        [] => false,
        ["--write"] => true,
        [other, ..] => bail!("unknown argument \"{other}\"; there is --write"),
    };
    let redis = Server::redis_as(Role::Anywhere, &[])?;
    let on_redis = format!("redis://127.0.0.1:{}", redis.port());
    let mut table = Table::new(&["store", "reads per second", "slowest purge, ms"]);
    let mut limits = Vec::new();
    for (name, url) in [("embedded", "embedded:memory"), ("redis-server", &*on_redis)] {
        let (reads, purge_ms) =
            measure(url).with_context(|| format!("could not measure {name}"))?;
        table.add(vec![name.to_owned(), whole(reads), tenths(purge_ms)]);
        let what = format!("reads per second from memory, {name}");
        limits.push(Limit { what, measured: reads, bound: Bound::AtLeast(READS_MIN) });
        let what = format!("each of 200 purges reaches 8 other processes within, in ms, {name}");
        limits.push(Limit { what, measured: purge_ms, bound: Bound::AtMost(PURGE_MS_MAX) });
    }
    let words = "Two readers read the entitlements of 1,000 users a million times each; then 200 users are purged, one after \
                 the other, while eight other processes remember them. A purge counts from before it is sent until the last \
                 of them has said over a pipe that it has forgotten the user. An embedded store serves the other processes \
                 over TCP."
        .to_owned();
    let section = Section { title: "Reads and purges", words, table, limits };
    let about = format!(
        "How quickly entitlements are read and forgotten: `cargo xtask bench entitlements --write`.\n\n{}",
        machine::describe()?
    );
    page::conclude("Entitlements", &about, &[section], write)
}

fn measure(url: &str) -> Result<(f64, f64)> {
    let mut example =
        shell::cargo("run --release --quiet --package keyrack-entitlements --example tiers");
    let text = shell::output(example.args(["--", url]))?;
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(reads)), Some(Ok(purge_ms))) => Ok((reads, purge_ms)),
        _ => bail!("the example printed \"{}\"", text.trim()),
    }
}
