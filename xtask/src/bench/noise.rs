//! redis-server against itself, which says how much to trust the other benchmarks on this machine.

use std::ops::RangeInclusive;

use anyhow::{Result, bail};

use super::compare::compare;
use super::load::{Load, Work};
use super::server::Server;

const ROUNDS: u32 = 5;
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

const LOADS: &[Load<'_>] = &[
    Load { label: "-P 16", work: Work::Tests(TESTS), requests: 200_000, clients: 50, pipeline: 16 },
    Load { label: "-P 1", work: Work::Tests(TESTS), requests: 40_000, clients: 50, pipeline: 1 },
    Load {
        label: "script",
        work: Work::Command(SCRIPT),
        requests: 100_000,
        clients: 50,
        pipeline: 16,
    },
];
