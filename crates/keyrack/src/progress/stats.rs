//! `keyrack progress stats`.

use std::io::Write as _;

use keyrack_format as format;
use keyrack_progress::{Eta, Sample, Samples, StepEta, keys::BarName};
use serde::Serialize;

use super::{OwnerArgs, bar, open, samples};
use crate::{
    Exit, Globals,
    table::{Cell, Table},
};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The bar
    #[arg(value_name = "BAR", value_parser = bar)]
    bar: BarName,
    /// Also list the past runs
    #[arg(long)]
    runs: bool,
    #[command(flatten)]
    owner: OwnerArgs,
}

const AFTER_HELP: &str = "\
SHORTEST, MEDIAN and LONGEST describe the past runs that were kept; for steps with iterations, the
time per iteration. TECHNIQUE is how the duration sent to HTTP clients is computed, and EXPECTED is
that duration: for \"best_fit.linear\" the time per iteration plus a constant.";

/// The statistics of a bar, as JSON.
#[derive(Serialize)]
struct Stats<'a> {
    bar: &'a str,
    version: u64,
    eta: &'a Eta,
    steps: Vec<Spread>,
    runs: &'a [Sample],
}

/// How long one step took in past runs; an iterated one for an iteration.
#[derive(Serialize)]
struct Spread {
    step: String,
    iterated: bool,
    shortest_seconds: Option<f64>,
    median_seconds: Option<f64>,
    longest_seconds: Option<f64>,
}

/// Prints statistics.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let progress = open(globals).await?;
    let samples = samples(&progress, &args.owner.user, &args.bar).await?;
    let eta = Eta::from_samples(&samples);
    let steps = spreads(&samples);
    if globals.json {
        let (bar, version, runs) = (args.bar.as_str(), samples.bar.version, &samples.traces[..]);
        globals.print_json(&Stats { bar, version, eta: &eta, steps, runs })?;
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    table(&steps, &eta).print(&mut out)?;
    if args.runs {
        writeln!(out)?;
        runs(&samples).print(&mut out)?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}

fn spreads(samples: &Samples) -> Vec<Spread> {
    let steps = samples.steps.iter().skip(1).enumerate();
    let spread = steps.map(|(at, step)| {
        let taken = samples.traces.iter().filter_map(|trace| trace.steps.get(at));
        let seconds = taken.map(|step| step.duration() / step.iterations.unwrap_or(1) as f64);
        let mut seconds: Vec<f64> = seconds.collect();
        seconds.sort_unstable_by(f64::total_cmp);
        Spread {
            step: step.name.clone(),
            iterated: step.iterated,
            shortest_seconds: seconds.first().copied(),
            median_seconds: seconds.get(seconds.len() / 2).copied(),
            longest_seconds: seconds.last().copied(),
        }
    });
    spread.collect()
}

fn table(steps: &[Spread], eta: &Eta) -> Table {
    let mut table = Table::new(&["STEP", "SHORTEST", "MEDIAN", "LONGEST", "TECHNIQUE", "EXPECTED"]);
    let number = |seconds: Option<f64>| {
        Cell::number(seconds.map_or_else(|| "-".to_owned(), format::duration_seconds))
    };
    for (at, step) in steps.iter().enumerate() {
        let name = if step.iterated { format!("{} (each)", step.step) } else { step.step.clone() };
        let known = eta.steps.get(at);
        table.row(vec![
            name.into(),
            number(step.shortest_seconds),
            number(step.median_seconds),
            number(step.longest_seconds),
            known.map(technique).unwrap_or_default().into(),
            known.map(expected).unwrap_or_default().into(),
        ]);
    }
    table
}

fn technique(step: &StepEta) -> String {
    match step.percentile {
        Some(percentile) => format!("{} {percentile}", step.technique.as_str()),
        None => step.technique.as_str().to_owned(),
    }
}

fn expected(step: &StepEta) -> String {
    let each = if step.iterated { " each" } else { "" };
    match step.eta_b {
        Some(before) => {
            format!(
                "{}{each}, {} before",
                format::duration_seconds(step.eta_a),
                format::duration_seconds(before)
            )
        }
        None => format!("{}{each}", format::duration_seconds(step.eta_a)),
    }
}

fn runs(samples: &Samples) -> Table {
    let mut table = Table::new(&["RUN", "BEGAN", "TOOK", "ITERATIONS"]);
    for run in &samples.traces {
        let iterations: u64 = run.steps.iter().filter_map(|step| step.iterations).sum();
        let took = run.steps.last().map_or(0.0, |last| last.finished_at - run.created_at);
        table.row(vec![
            run.uid.clone().into(),
            format::local_s((run.created_at * 1000.0) as u64).into(),
            Cell::number(format::duration_seconds(took)),
            Cell::number(format::count(iterations)),
        ]);
    }
    table
}
