//! What insight costs: the same load of jobs with something switched on and off, in turns.
//!
//! `pairs` takes the turns and makes ratios of them; then a module for each section.

mod pairs;

mod collector;
mod webhooks;

use anyhow::{Result, bail};

use super::super::report::Section;
use super::super::{machine, page};
use super::options::Options;
use super::quiet::Quiet;

type Measure = fn(&Load) -> Result<Section>;

const SECTIONS: &[(&str, Measure)] = &[("collector", collector::run), ("webhooks", webhooks::run)];

/// How much is measured.
struct Load {
    jobs: u32,
    rounds: u32,
    quiet: Quiet,
}

/// Measures all sections, or the one named; fails at the end when a limit was missed.
pub(in super::super) fn run(arguments: &[&str]) -> Result<()> {
    let options = Options::parse(arguments)?;
    if options.before.is_some() {
        bail!("\"--before\" is for `cargo xtask bench jobs`");
    }
    let wanted = |name: &str| options.only.is_none_or(|only| only == name);
    let sections: Vec<_> = SECTIONS.iter().filter(|(name, _)| wanted(name)).collect();
    if sections.is_empty() {
        let only = options.only.unwrap_or_default();
        bail!("no section \"{only}\"; there are collector, webhooks");
    }
    let quiet = if options.write { Quiet::Required } else { Quiet::Hoped };
    let load = Load { jobs: options.jobs, rounds: options.rounds, quiet };
    let results: Result<Vec<Section>> =
        sections.into_iter().map(|(_, measure)| measure(&load)).collect();
    let about = format!(
        "The cost of telling others: `cargo xtask bench insight --write`.\n\n{}\n\
         Each round has a turn of every manner, in another order each time. A ratio is that of two turns of a round: the median \
         of all rounds, with the lowest and the highest. What the stored wait and run times cost the store is not measured here: \
         they cannot be switched off. `cargo xtask bench jobs --before` compares with any earlier build.",
        machine::with_redis()?
    );
    page::conclude("Insight", &about, &results?, options.write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_section_is_answered_with_the_known_ones() {
        let error = run(&["--only", "speed"]).unwrap_err().to_string();
        assert_eq!(error, "no section \"speed\"; there are collector, webhooks");
    }
}
