//! redis-server against itself, which says how much to trust the other benchmarks on this machine.

use std::ops::RangeInclusive;

use anyhow::{Result, bail};

use super::compare::{Rounds, compare};
use super::load::{KEYSPACE, Load, Work};
use super::server::Server;

const ROUNDS: Rounds = Rounds::Best(5);
/// A machine on which equal servers differ by more cannot tell a ratio of 0.8 from one of 1.0.
const TRUSTWORTHY: RangeInclusive<f64> = 0.9..=1.1;

/// Prints the ratios of two equal servers; fails when they are far apart.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        bail!("unknown argument \"{argument}\"");
    }
    let (reference, subject) = (Server::redis()?, Server::redis()?);
    let table = compare(&subject, &reference, LOADS, ROUNDS)?;
    print!("{table}");
    table.require(TRUSTWORTHY)
}

const TESTS: &[&str] = &["set", "get", "zadd"];

/// Two keys in one script, as most changes of keyrack are.
const SCRIPT: &[&str] = &[
    "EVAL",
    "redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2]) \
     return redis.call('HSET', KEYS[2], ARGV[2], ARGV[1])",
    "2",
    "zset",
    "hash",
    "__rand_int__",
    "__rand_int__",
];

const fn load<'a>(label: &'a str, work: Work<'a>, requests: u32, pipeline: u32) -> Load<'a> {
    Load { label, work, requests, clients: 50, pipeline, keyspace: KEYSPACE }
}

const LOADS: &[Load<'_>] = &[
    load("-P 16", Work::Tests(TESTS), 200_000, 16),
    load("-P 1", Work::Tests(TESTS), 40_000, 1),
    load("script", Work::Command(SCRIPT), 100_000, 16),
];
