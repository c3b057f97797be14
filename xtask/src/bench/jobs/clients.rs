//! The packages of other languages against the job systems of those languages: `cargo xtask bench clients`.

mod contestant;

use anyhow::{Result, bail, ensure};

use self::contestant::{Contestant, Language, Programs};
use super::super::compare::median;
use super::super::report::{Bound, Limit, Section, Table, tenths, whole};
use super::super::server::Server;
use super::super::{machine, page};
use super::contender::bullmq_version;
use super::driver::Jobs;
use super::options::Options;
use super::quiet::Quiet;
use super::turn::{Figures, InAndOut, in_and_out};
use crate::setup::peer_versions;

/// One for this many jobs is run before: enough for Node to compile what it runs often.
const JOBS_PER_WARM_UP: u32 = 20;

/// What one contestant did in all rounds.
struct Turns {
    of: Contestant,
    figures: Vec<Figures>,
}

/// Measures all clients; fails at the end when a limit was missed.
pub(in super::super) fn run(arguments: &[&str]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let languages: Vec<Language> = match options.only {
        None => vec![Language::Node, Language::Python],
        Some("node") => vec![Language::Node],
        Some("python") => vec![Language::Python],
        Some(other) => bail!("no section \"{other}\"; there are node and python"),
    };
    let programs = Programs::build(&languages)?;
    let quiet = if options.write { Quiet::Required } else { Quiet::Hoped };
    let server = Server::redis()?;
    let mut sections = Vec::new();
    for language in languages {
        let mut turns: Vec<Turns> = Contestant::ALL
            .into_iter()
            .filter(|contestant| contestant.language() == language)
            .map(|of| Turns { of, figures: Vec::new() })
            .collect();
        for round in 1..=options.rounds {
            for Turns { of, figures } in &mut turns {
                let take = || take_turn(&programs, &server, *of, options.jobs);
                let turn = quiet.turn(take, |turn| turn.others)?;
                println!("round {round}: {:30} {turn}", of.name());
                figures.push(turn);
            }
        }
        sections.push(section(language, &options, &turns));
    }
    let about = format!(
        "The Node and Python packages against the job systems of these languages: `cargo xtask bench clients \
         --write`.\n\n{}- redis-server {} without persistence\n- BullMQ {} and keyrack on Node {}; {} and keyrack \
         on {}\n",
        machine::describe()?,
        machine::redis_version()?,
        bullmq_version(),
        machine::printed("node", "--version")?.trim_start_matches('v'),
        peer_versions().replace("==", " ").replace("[redis]", ""),
        machine::printed("python3", "--version")?.trim(),
    );
    page::conclude("Clients", &about, &sections, options.write)
}

fn section(language: Language, options: &Options<'_>, turns: &[Turns]) -> Section {
    let mut table =
        Table::new(&["system", "submit, jobs/s", "drain, jobs/s", "client CPU, µs a job"]);
    for Turns { of, figures } in turns {
        let middle = Figures::middle(figures);
        let (submit, drain) = (whole(middle.submit_rate), whole(middle.drain_rate));
        table.add(vec![of.name().to_owned(), submit, drain, tenths(middle.client_us)]);
    }
    let words = format!(
        "{} jobs that do nothing and have 100 bytes of JSON each are submitted in bulk, then worked off by one \
         process. All take turns on one redis-server, {} rounds, medians. Every job has to be handled exactly \
         once. The server has a core of its own and the client another; the embedded store has both. {}",
        whole(f64::from(options.jobs)),
        options.rounds,
        language.words(),
    );
    Section { title: language.title(), words, table, limits: limits(language, turns) }
}

fn limits(language: Language, turns: &[Turns]) -> Vec<Limit> {
    let drain: Figure = |turn| turn.drain_rate;
    let submit: Figure = |turn| turn.submit_rate;
    let limit = |what: &str, measured, at_least| Limit {
        what: what.to_owned(),
        measured,
        bound: Bound::AtLeast(at_least),
    };
    let of = |wanted: Contestant, figure: Figure| -> Vec<f64> {
        let turns = turns.iter().find(|turns| turns.of == wanted);
        turns.map_or_else(Vec::new, |turns| turns.figures.iter().map(figure).collect())
    };
    let fastest = |figure: Figure| fastest_other(turns, figure);
    match language {
        Language::Node => vec![
            limit(
                "drain, times tuned BullMQ's rate",
                ratio(&of(Contestant::Node, drain), &fastest(drain)),
                3.5,
            ),
            limit(
                "submit, times tuned BullMQ's rate",
                ratio(&of(Contestant::Node, submit), &fastest(submit)),
                3.5,
            ),
            limit(
                "embedded drain, times the rate on redis",
                ratio(&of(Contestant::NodeEmbedded, drain), &of(Contestant::Node, drain)),
                1.0,
            ),
        ],
        Language::Python => vec![
            limit(
                "drain with coroutines, times the fastest other's rate",
                ratio(&of(Contestant::PythonAsync, drain), &fastest(drain)),
                10.0,
            ),
            limit(
                "drain with plain functions, times the fastest other's rate",
                ratio(&of(Contestant::Python, drain), &fastest(drain)),
                15.0,
            ),
            limit(
                "submit, times the fastest other's rate",
                ratio(&of(Contestant::Python, submit), &fastest(submit)),
                10.0,
            ),
            limit(
                "embedded drain, times the rate on redis",
                ratio(&of(Contestant::PythonEmbedded, drain), &of(Contestant::Python, drain)),
                1.0,
            ),
        ],
    }
}

type Figure = fn(&Figures) -> f64;

/// Of each round, the highest figure among those that are not ours.
fn fastest_other(turns: &[Turns], figure: Figure) -> Vec<f64> {
    let others: Vec<&Turns> = turns.iter().filter(|turns| !turns.of.is_ours()).collect();
    let rounds = others.iter().map(|turns| turns.figures.len()).min().unwrap_or(0);
    let in_round = |round: usize| others.iter().map(move |turns| figure(&turns.figures[round]));
    (0..rounds).map(|round| in_round(round).fold(0.0, f64::max)).collect()
}

/// Taken within a round, whose turns follow each other, and then the median of all rounds.
fn ratio(subject: &[f64], reference: &[f64]) -> f64 {
    median(&subject.iter().zip(reference).map(|(ours, theirs)| ours / theirs).collect::<Vec<f64>>())
}

/// One contestant's share of a round: all jobs in, all jobs out.
fn take_turn(programs: &Programs, server: &Server, of: Contestant, jobs: u32) -> Result<Figures> {
    server.ask(&["FLUSHALL"])?;
    let mut driver = programs.start(of, server)?;
    // The slow ones get fewer: their rates do not depend on it.
    let jobs = (jobs / of.jobs_share()).max(1);
    let warm_up = (jobs / JOBS_PER_WARM_UP).max(1);
    in_and_out(server, &mut driver, Jobs { first: 0, count: warm_up, levels: 1 })?;
    let mut total = InAndOut::default();
    total.add(&in_and_out(server, &mut driver, Jobs { first: warm_up, count: jobs, levels: 1 })?);
    let n_left = driver.left()?;
    ensure!(n_left == 0, "\"{}\" has {n_left} jobs left", of.name());
    Ok(Figures::new(&total, f64::from(jobs)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_against_the_fastest_of_each_round() {
        assert_eq!(ratio(&[10.0, 30.0, 20.0], &[5.0, 10.0, 2.0]), 3.0);
    }

    #[test]
    fn sections_that_there_are_not_are_refused() {
        let error = run(&["--only", "ruby"]).unwrap_err().to_string();
        assert_eq!(error, "no section \"ruby\"; there are node and python");
    }
}
