//! keyrack's estimate of remaining time against bars of other kinds, on work whose truth is known.
//!
//! In reading order: `dice` is the chance. The first part: `workload` the runs, `moment` what is seen of one at some time and what
//! others say then, `score` how far off each is; everything follows from seeds, so the figures are the same on every machine. The
//! second and third: `real` is work that is done and `shapes` work that is drawn, `recorded` a run of either, `judge` how good
//! estimates were, with `tqdm` beside them, and `parts` the tables. `cost` is what an estimate costs.

mod cost;
mod dice;
mod judge;
mod moment;
mod parts;
mod real;
mod recorded;
mod score;
mod shapes;
mod tqdm;
mod workload;

use std::thread;

use anyhow::{Result, bail};
use keyrack_progress::estimate::{Model, PastRun};

use self::{
    dice::Dice,
    moment::Moment,
    score::Score,
    workload::{Bar, Kind},
};
use super::{
    page,
    report::{Bound, Limit, Section, Table},
};
use crate::setup;

/// How much of the work is done when the estimates are compared.
const SHARES: [f64; 3] = [0.10, 0.25, 0.50];
/// How many past runs are known, and how many bars are made with so many.
const PASTS: [(usize, u64); 4] = [(5, 150), (20, 120), (100, 50), (500, 30)];
/// The same for bars that have hardly begun to learn; they are told for themselves.
const FEW: [(usize, u64); 2] = [(1, 150), (2, 150)];
/// How many runs of each bar are looked at.
const RUNS: usize = 6;

/// The scores of one kind of work, for each share.
type Scores = [Score; SHARES.len()];

/// The scores of one kind of work with so many past runs.
struct Measured {
    kind: Kind,
    past: usize,
    scores: Scores,
}

const ABOUT: &str = "How long a run will still take, against bars of other kinds: `cargo xtask bench eta --write`. How the estimate is made is in the \
    documentation of `keyrack_progress::estimate`. Runs are generated from fixed seeds, but for the work that is \
    really done while the benchmark runs.";

const USAGE: &str = "usage: cargo xtask bench eta [--write | --first-part]";

/// Measures, prints, and fails when a limit was missed.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let (write, first_part_only) = match arguments {
        [] => (false, false),
        ["--write"] => (true, false),
        // For whoever changes the estimate: the other parts are looked at when nothing changes any more.
        ["--first-part"] => (false, true),
        _ => bail!("{USAGE}"),
    };
    let all: Vec<Measured> = thread::scope(|scope| {
        let kinds = Kind::ALL.map(|kind| scope.spawn(move || measure(kind).collect::<Vec<_>>()));
        kinds.into_iter().flat_map(|kind| kind.join().expect("no panic")).collect()
    });
    let mut sections = vec![by_kind(&all), by_past(&all), cost::section()];
    if !first_part_only {
        // Once, before many threads ask for it.
        setup::tqdm()?;
        sections.extend(parts::sections()?);
    }
    page::conclude("Estimates", ABOUT, &sections, write)
}

fn measure(kind: Kind) -> impl Iterator<Item = Measured> {
    FEW.into_iter().chain(PASTS).map(move |(past, bars)| {
        let mut scores = Scores::default();
        for bar in 0..bars {
            let seed = (kind as u64) << 32 | (past as u64) << 16 | bar;
            measure_bar(kind, past, &mut Dice::new(seed), &mut scores);
        }
        Measured { kind, past, scores }
    })
}

/// Lets a bar gather a past, and then compares estimates for the runs that follow.
fn measure_bar(kind: Kind, past: usize, dice: &mut Dice, scores: &mut [Score]) {
    let mut bar = Bar::new(kind, dice);
    let mut known: Vec<PastRun> = Vec::new();
    let mut lengths = Vec::new();
    for at in 0..past + RUNS {
        let run = bar.run(dice);
        if at >= past {
            let newest = at - past..;
            let model = Model::learn(&known[newest.clone()]);
            for (share, score) in SHARES.into_iter().zip(scores.iter_mut()) {
                let moment = Moment::at(&run, share);
                let estimate = model.estimate(&moment.running).expect("there are past runs");
                score.add(&run, &moment, &estimate, &lengths[newest.clone()]);
            }
        }
        lengths.push(run.seconds());
        known.push(moment::past(&run));
    }
}

fn by_kind(all: &[Measured]) -> Section {
    let mut table = Table::new(&[
        "work",
        "done",
        "keyrack",
        "linear",
        "countdown",
        "÷ linear",
        "÷ countdown",
        "in range",
    ]);
    let mut limits = Vec::new();
    let mut overall = Scores::default();
    for kind in Kind::ALL {
        let scores = over_pasts(all.iter().filter(|one| one.kind == kind));
        add_rows(&mut table, kind.name(), &scores);
        limits.push(range_limit(kind.name(), &scores));
        if !kind.stands_alone() {
            overall.iter_mut().zip(&scores).for_each(|(overall, score)| overall.add_mean(score));
        }
    }
    add_rows(&mut table, "all but the last two", &overall);
    limits.push(range_limit("all but the last two", &overall));
    for (share, score) in SHARES.iter().zip(&overall) {
        let limit = |of, measured, most| Limit {
            what: format!("error ÷ that of {of}, {} done", percent(*share)),
            measured,
            bound: Bound::AtMost(most),
        };
        limits.push(limit("a linear bar", score.by_linear(), 0.5));
        limits.push(limit("a countdown", score.by_countdown(), 0.8));
    }
    Section { title: "By kind of work", words: WORDS.to_owned(), table, limits }
}

const WORDS: &str = "\
The mean absolute error of the remaining time, as a share of the run's whole length, once so much of the work is done; and how \
often the truth lay between p10 and p90, which should be in 80 %. 5 to 500 past runs are known, all equally often. The linear bar \
divides what is left by the pace so far, as tqdm does; of two ways of counting for it, by items and by steps, the better counts, and it \
is told the number of items to come, which keyrack is not. The countdown starts at the 75th percentile of past runs and stops at 0. \
The plain loop, with nothing but iterations of one kind, is where a linear bar is at its best; it stands for itself, as do runs that \
hardly differ, by a twentieth of a percent to some percent. The constants of the estimate were chosen on other seeds of the same kinds \
of work and of loops with pauses, except for one change about bars with one to three past runs, made with these results known.";

fn by_past(all: &[Measured]) -> Section {
    let mut table = Table::new(&[
        "past runs",
        "keyrack",
        "linear",
        "countdown",
        "÷ linear",
        "÷ countdown",
        "in range",
    ]);
    for (past, _) in FEW.into_iter().chain(PASTS) {
        let mut score = Score::default();
        for one in all.iter().filter(|one| one.past == past && !one.kind.stands_alone()) {
            one.scores.iter().for_each(|one| score.add_mean(one));
        }
        let mut cells = vec![past.to_string()];
        cells.extend(figures(&score));
        table.add(cells);
    }
    let words = "The same over all kinds of work but the last two and all moments; and for bars that have hardly begun to learn."
        .to_owned();
    Section { title: "By number of past runs", words, table, limits: Vec::new() }
}

/// The scores for each share, all pasts but the smallest counting the same.
fn over_pasts<'a>(all: impl Iterator<Item = &'a Measured>) -> Scores {
    let mut mean = Scores::default();
    for one in all.filter(|one| PASTS.iter().any(|(past, _)| *past == one.past)) {
        mean.iter_mut().zip(&one.scores).for_each(|(mean, score)| mean.add_mean(score));
    }
    mean
}

fn add_rows(table: &mut Table, name: &str, scores: &[Score]) {
    for (share, score) in SHARES.iter().zip(scores) {
        let mut cells = vec![name.to_owned(), percent(*share)];
        cells.extend(figures(score));
        table.add(cells);
    }
}

fn figures(score: &Score) -> [String; 6] {
    let ratio = |value: f64| format!("{value:.2}");
    [
        tenths_of_percent(score.ours()),
        tenths_of_percent(score.linear()),
        tenths_of_percent(score.countdown()),
        ratio(score.by_linear()),
        ratio(score.by_countdown()),
        percent(score.within()),
    ]
}

fn range_limit(name: &str, scores: &[Score]) -> Limit {
    let measured = scores.iter().map(Score::within).sum::<f64>() / scores.len() as f64;
    Limit { what: format!("in range, {name}"), measured, bound: Bound::Within(0.75, 0.85) }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn tenths_of_percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_gives_the_same_scores() {
        let scores = || {
            let mut scores = [Score::default(); SHARES.len()];
            measure_bar(Kind::Mixed, 5, &mut Dice::new(7), &mut scores);
            scores.map(|score| (score.ours(), score.within()))
        };
        assert_eq!(scores(), scores());
    }

    #[test]
    fn unknown_argument_is_answered_with_the_usage() {
        let error = run(&["--fast"]).unwrap_err().to_string();
        assert_eq!(error, USAGE);
    }
}
