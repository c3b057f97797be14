//! keyrack's jobs against BullMQ and apalis-redis: all on one redis-server, and ours also without one.
//!
//! In reading order: `driver` is a contender's program seen from here, `contender` who takes part; `turn`, `cost`, `quiet`, `sent`
//! and `delivery` measure and check what one does, `before` compares ours with an earlier build; then a module for each section.

mod contender;
mod driver;
mod options;

mod cost;
mod delivery;
mod quiet;
mod sent;
mod turn;

mod backlog;
mod before;
pub(super) mod clients;
mod dependants;
mod http;
pub(super) mod insight;
mod kill;
mod late;
mod latency;
mod priorities;
mod throughput;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use self::contender::{Programs, apalis_version, bullmq_version};
use self::options::Options;
use self::quiet::Quiet;
use super::report::{Section, check};
use super::{machine, page};

type Measure = fn(&Bench) -> Result<Section>;

/// Name and how to measure it.
const SECTIONS: &[(&str, Measure)] = &[
    ("throughput", throughput::run),
    ("backlog", backlog::run),
    ("priorities", priorities::run),
    ("dependants", dependants::run),
    ("http", http::run),
    ("latency", latency::run),
    ("late", late::run),
    ("kill", kill::run),
];

/// What every section needs.
struct Bench {
    programs: Programs,
    jobs: u32,
    rounds: u32,
    quiet: Quiet,
    /// An earlier `keyrack` to compare with; the example `contender` of the same build is beside it.
    before: Option<PathBuf>,
}

impl Bench {
    /// The same with the earlier program in place of this one, if there is one.
    fn of_before(&self) -> Result<Option<Bench>> {
        let Some(keyrack) = &self.before else { return Ok(None) };
        let programs = self.programs.of_before(keyrack)?;
        Ok(Some(Bench { programs, before: None, ..*self }))
    }
}

/// Measures all sections, or the one named; fails at the end when a limit was missed.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let wanted = |name: &str| options.only.is_none_or(|only| only == name);
    let sections: Vec<_> = SECTIONS.iter().filter(|(name, _)| wanted(name)).collect();
    if sections.is_empty() {
        let names: Vec<&str> = SECTIONS.iter().map(|(name, _)| *name).collect();
        let only = options.only.unwrap_or_default();
        bail!("no section \"{only}\"; there are {}", names.join(", "));
    }
    let programs = Programs::build()?;
    let participants = participants()?;
    let quiet = if options.write { Quiet::Required } else { Quiet::Hoped };
    let before = options.before.map(PathBuf::from);
    let bench = Bench { programs, jobs: options.jobs, rounds: options.rounds, quiet, before };
    let mut results = Vec::new();
    for (name, measure) in sections {
        let section = measure(&bench).with_context(|| format!("section \"{name}\" failed"))?;
        println!("\n{section}");
        results.push(section);
    }
    if options.write {
        page::write_chapter("Jobs", &chapter(&participants, &results))?;
    }
    check(&results)
}

fn participants() -> Result<String> {
    Ok(format!(
        "{}- redis-server {} without persistence; BullMQ {} on Node {}; apalis-redis {}\n",
        machine::describe()?,
        machine::redis_version()?,
        bullmq_version(),
        machine::printed("node", "--version")?.trim_start_matches('v'),
        apalis_version(),
    ))
}

fn chapter(participants: &str, sections: &[Section]) -> String {
    let sections: Vec<String> = sections.iter().map(ToString::to_string).collect();
    format!(
        "Against other job systems: `cargo xtask bench jobs --write`.\n\n{participants}\n\
         The redis-server has a core of its own and the client another; keyrack embedded has both. \
         Rounds are discarded if other processes used the CPU.\n\n{}",
        sections.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_section_is_answered_with_the_known_ones() {
        let error = run(&["--only", "speed"]).unwrap_err().to_string();
        let known = "throughput, backlog, priorities, dependants, http, latency, late, kill";
        assert_eq!(error, format!("no section \"speed\"; there are {known}"));
    }
}
