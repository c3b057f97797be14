//! The tables of the second and third part: work that is really done, and work drawn at random.

use std::{fs, thread};

use anyhow::Result;

use super::{
    super::report::{Bound, Limit, Section, Table},
    judge::{Series, Verdict, judge},
    percent,
    real::{GROWS_FOR, Work},
    recorded::Recorded,
    shapes::{Shape, Trait},
    tenths_of_percent,
};

/// How many past runs are known: when a bar is young, and when it has learned.
const PASTS: [usize; 2] = [3, 10];
/// How often each kind of work is done.
const REAL_RUNS: usize = 200;
/// How many bars of each kind are drawn, and how many runs of each are tested.
const DRAWN_BARS: u64 = 120;
const DRAWN_RUNS: usize = 3;
/// The seeds from here on are nobody's but this part's.
const SEED: u64 = 77_000_000;

const REAL_WORDS: &str = "\
Each kind of work was done 200 times in a row, for some hundredths of a second each on an idle machine, and recorded with a hundredfold \
time. Each run is \
tested with the 3 or 10 runs before it as its past, and never learned from before. It is looked at a hundred times; the error, as a \
share of the run's whole length, and whether the truth lay between p10 and p90 are taken at every twentieth of the run from a tenth \
on. The linear bar counts items or steps, whichever errs less, and is told the number of items to come; tqdm replays the same \
run with its clock set; indicatif ran beside the work itself. A jump is the move of the expected end from one look to the next in the \
same step, as a share of the run. All constants of the estimate were chosen on other generators, with other seeds. The widths of early and \
late runs were chosen there too, but after this part had been run once.";

const DRAWN_WORDS: &str = "\
The same on bars drawn at random: one to six steps, with iterations or without, set-ups, a pace inside steps that bends anywhere by \
up to a few times, numbers of iterations that differ from run to run, and what the row says. 120 bars of each row, three runs of each.";

/// Both parts. What has to hold on average has to over all kinds of both.
pub(super) fn sections() -> Result<[Section; 2]> {
    let (real, drawn) = (real()?, drawn()?);
    let words = REAL_WORDS.to_owned() + &load();
    let mut sections = [
        section("Work that is really done", words, &real),
        section("Work drawn at random", DRAWN_WORDS.to_owned(), &drawn),
    ];
    let all: Vec<Row> = real.into_iter().chain(drawn).collect();
    sections[1].limits.push(Limit {
        what: "error ÷ that of a linear bar, mean of all kinds of both parts".to_owned(),
        measured: mean_by_linear(&all),
        bound: Bound::AtMost(0.5),
    });
    Ok(sections)
}

/// How busy the machine was, as that is part of the work; nothing where it does not say.
fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    load.split(' ').nth(1).filter(|load| !load.is_empty()).map_or_else(String::new, |load| {
        format!(
            " The machine, of {cores} cores, had other work to do: its load average was {load}."
        )
    })
}

/// Work that is really done.
fn real() -> Result<Vec<Row>> {
    let mut recorded = Vec::new();
    for work in Work::ALL {
        recorded.push((work, work.record(REAL_RUNS)?));
        println!("recorded {}", work.name());
    }
    at_once(recorded, |(work, runs)| {
        // Work that grows begins anew as another bar.
        let bars: Vec<&[Recorded]> = match work {
            Work::Growing => runs.chunks(GROWS_FOR).collect(),
            _ => vec![&runs[..]],
        };
        PASTS.map(|past| {
            let series = bars.iter().map(|runs| Series { runs, tested_from: past, past });
            Ok((work.name(), past, judge(&series.collect::<Vec<_>>())?))
        })
    })
}

/// Work drawn at random.
fn drawn() -> Result<Vec<Row>> {
    let kinds: Vec<(u64, Trait)> = (0..).zip(Trait::ALL).collect();
    at_once(kinds, |(kind, is)| {
        PASTS.map(|past| {
            let draw = |bar| {
                let mut shape = Shape::draw(is, SEED + kind * 10_000 + bar);
                (0..past + DRAWN_RUNS).map(|_| shape.run()).collect::<Vec<_>>()
            };
            let bars: Vec<Vec<Recorded>> = (0..DRAWN_BARS).map(draw).collect();
            let series = bars.iter().map(|runs| Series { runs, tested_from: past, past });
            Ok((is.name(), past, judge(&series.collect::<Vec<_>>())?))
        })
    })
}

/// The rows of all kinds, each kind worked out by a thread of its own.
fn at_once<K: Send>(
    kinds: Vec<K>,
    rows: impl Fn(K) -> [Result<Row>; PASTS.len()] + Sync,
) -> Result<Vec<Row>> {
    thread::scope(|scope| {
        let rows = &rows;
        let threads: Vec<_> =
            kinds.into_iter().map(|kind| scope.spawn(move || rows(kind))).collect();
        let joined = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        joined.flatten().collect()
    })
}

type Row = (&'static str, usize, Verdict);

fn section(title: &'static str, words: String, rows: &[Row]) -> Section {
    let mut table = Table::new(&[
        "work",
        "past runs",
        "keyrack",
        "linear",
        "mean of past",
        "tqdm",
        "indicatif",
        "÷ best",
        "÷ linear",
        "in range",
        "jump",
    ]);
    for (name, past, verdict) in rows {
        let indicatif = verdict.indicatif().map_or_else(|| "–".to_owned(), tenths_of_percent);
        table.add(vec![
            (*name).to_owned(),
            past.to_string(),
            tenths_of_percent(verdict.ours()),
            tenths_of_percent(verdict.linear()),
            tenths_of_percent(verdict.mean()),
            tenths_of_percent(verdict.tqdm()),
            indicatif,
            format!("{:.2}", verdict.by_best()),
            format!("{:.2}", verdict.by_linear()),
            percent(verdict.within()),
            percent(verdict.jump),
        ]);
    }
    Section { title, words, table, limits: limits(rows) }
}

/// What has to hold for each row, and for all together.
fn limits(rows: &[Row]) -> Vec<Limit> {
    let [young, learned] = PASTS;
    let mut limits = Vec::new();
    for (name, past, verdict) in rows {
        let bound = if *past == young { Bound::AtLeast(0.70) } else { Bound::Within(0.75, 0.85) };
        let what = format!("in range, {name}, {past} past runs");
        limits.push(Limit { what, measured: verdict.within(), bound });
        if *past == learned {
            let what = format!("error ÷ the best other, {name}");
            limits.push(Limit { what, measured: verdict.by_best(), bound: Bound::AtMost(1.05) });
        }
    }
    let jump = rows.iter().map(|row| row.2.jump).fold(0.0, f64::max);
    limits.push(Limit {
        what: "error ÷ that of a linear bar, mean of these kinds".to_owned(),
        measured: mean_by_linear(rows),
        bound: Bound::None,
    });
    limits.push(Limit {
        what: "largest jump within a step".to_owned(),
        measured: jump,
        bound: Bound::AtMost(0.25),
    });
    limits
}

/// The error by that of a linear bar, once bars have learned; all kinds count the same.
fn mean_by_linear(rows: &[Row]) -> f64 {
    let learned = rows.iter().filter(|row| row.1 == PASTS[1]);
    let by_linear: Vec<f64> = learned.map(|row| row.2.by_linear()).collect();
    by_linear.iter().sum::<f64>() / by_linear.len() as f64
}
