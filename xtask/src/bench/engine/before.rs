//! The engine against an earlier build of itself: as a server, and in memory.

use std::path::Path;

use anyhow::Result;

use super::super::compare::Rounds;
use super::super::server::Server;
use super::{Programs, engine, memory, tcp};

/// Single runs differ by more than the share that may be lost, and the middle of 15 pairs still by 2 %.
const ROUNDS: Rounds = Rounds::Paired(31);
/// What share of the earlier rate has to be left, and how much more memory may be used.
const RATE_MIN: f64 = 0.97;
const MEMORY_MAX: f64 = 1.005;

/// Measures both in turns; fails when something got slower or larger.
pub(super) fn run(programs: &Programs, earlier: &Path) -> Result<()> {
    let start_earlier = || -> Result<Server> { engine("earlier", earlier) };
    let rates = tcp::Rates::measure(&programs.engine()?, &start_earlier()?, ROUNDS)?;
    let memory = memory::measure(|| programs.engine(), start_earlier)?;
    for table in rates.tables() {
        table.require(RATE_MIN..=f64::INFINITY)?;
    }
    memory.require(0.0..=MEMORY_MAX)
}
