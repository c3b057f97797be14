//! `keyrack progress show`.

use std::io::{self, Write};

use keyrack_format as format;
use keyrack_progress::{
    Bar, Outcome, Progress, Step, Trace, draw,
    estimate::{Estimate, Model, Running},
    keys::BarName,
};
use serde::Serialize;

use super::{OwnerArgs, bar, estimate_text, open, samples};
use crate::{
    Exit, Failure, Globals,
    table::{Cell, Table},
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The bar
    #[arg(value_name = "BAR", value_parser = bar)]
    bar: BarName,
    /// Show this trace: a running one, or one that ended a short while ago
    #[arg(value_name = "UID")]
    uid: Option<String>,
    #[command(flatten)]
    owner: OwnerArgs,
}

/// A bar, as JSON.
#[derive(Serialize)]
struct BarJson<'a> {
    #[serde(flatten)]
    bar: &'a Bar,
    steps: &'a [Step],
    runs: usize,
    next_run_seconds: Option<Estimate>,
}

/// A trace, as JSON.
#[derive(Serialize)]
pub(super) struct ShownTrace<'a> {
    bar: &'a str,
    uid: &'a str,
    #[serde(flatten)]
    trace: &'a Trace,
    /// `running`, `done`, `failed` or `lost`.
    state: &'static str,
    elapsed_seconds: f64,
    remaining_seconds: Option<Estimate>,
}

impl<'a> ShownTrace<'a> {
    /// A trace at a time in unix seconds. What is through has nothing left.
    pub(super) fn at(
        now: f64,
        bar: &'a str,
        uid: &'a str,
        trace: &'a Trace,
        model: &Model,
    ) -> Self {
        let outcome = trace.outcome(now);
        let is_running = outcome == Outcome::Running;
        let remaining_seconds = is_running.then(|| model.estimate_trace(trace, now)).flatten();
        let elapsed_seconds = (trace.until(now) - trace.created_at).max(0.0);
        let state = match outcome {
            Outcome::Running => "running",
            Outcome::Done => "done",
            Outcome::Failed(_) => "failed",
            Outcome::Lost { .. } => "lost",
        };
        ShownTrace { bar, uid, trace, state, elapsed_seconds, remaining_seconds }
    }

    /// The place of the trace, how long it took, and what is left.
    pub(super) fn in_words(&self, place: &str) -> String {
        let took = format::duration_seconds(self.elapsed_seconds);
        match &self.remaining_seconds {
            Some(left) => format!("{place}  {took}, {}", draw::left(left)),
            None => format!("{place}  {took}"),
        }
    }
}

/// Shows a bar or a trace.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let progress = open(globals).await?;
    match &args.uid {
        None => show_bar(&progress, args, globals).await?,
        Some(uid) => show_trace(&progress, args, uid, globals).await?,
    }
    Ok(Exit::Ok)
}

async fn show_bar(progress: &Progress, args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let samples = samples(progress, &args.owner.user, &args.bar).await?;
    let next_run_seconds = Model::of(&samples).whole_run();
    let (bar, steps, runs) = (&samples.bar, &samples.steps[..], samples.traces.len());
    if globals.json {
        return globals.print_json(&BarJson { bar, steps, runs, next_run_seconds });
    }
    let mut out = globals.out();
    let settings = &bar.settings;
    let began = format::local_s((bar.created_at * 1000.0) as u64);
    fact(&mut out, "bar", &format!("{} of {}", bar.name, bar.user_sub))?;
    fact(&mut out, "began", &began)?;
    fact(&mut out, "runs", &format!("{} kept to learn from", format::count(runs as u64)))?;
    let age = settings.sampling_max_age_seconds;
    let age =
        age.map_or("without end".to_owned(), |age| format!("for {}", format::duration_s(age)));
    let keeps = format!(
        "about {}, {age}, {}",
        format::counted(settings.sampling_max_count, "run"),
        settings.sampling_technique.as_str()
    );
    fact(&mut out, "keeps", &keeps)?;
    if let Some(next) = next_run_seconds {
        let next =
            format!("{} ({})", format::duration_seconds(next.p50), estimate_text::range(&next));
        fact(&mut out, "next run", &next)?;
    }
    let names = steps.iter().skip(1).map(|step| match step.iterated {
        true => format!("{} (iterated)", step.name),
        false => step.name.clone(),
    });
    fact(&mut out, "steps", &names.collect::<Vec<_>>().join(", "))?;
    Ok(out.flush()?)
}

async fn show_trace(
    progress: &Progress,
    args: &Args,
    uid: &str,
    globals: &Globals,
) -> anyhow::Result<()> {
    let (user, bar) = (&args.owner.user, args.bar.as_str());
    let trace = progress.trace(user, bar, uid).await?;
    let trace = trace.ok_or_else(|| {
        let message = format!("\"{bar}\" has no trace \"{uid}\"");
        let hint = "traces go a while after they end; \"keyrack progress stats --runs\" lists what was kept";
        Failure::new(Exit::NotFound, message).hint(hint)
    })?;
    let model = progress.model(user, bar).await?;
    let now = progress.now();
    let shown = ShownTrace::at(now, bar, uid, &trace, &model);
    if globals.json {
        return globals.print_json(&shown);
    }
    let mut out = globals.out();
    fact(&mut out, "trace", &format!("{uid} of {bar}"))?;
    fact(&mut out, "began", &format::local_ms((trace.created_at * 1000.0) as u64))?;
    let running = Running::of(&trace, now);
    match trace.outcome(now) {
        Outcome::Running => fact(&mut out, "is at", &draw::place(&running))?,
        Outcome::Done => fact(&mut out, "is at", "through")?,
        failed => {
            fact(&mut out, "was at", &draw::place(&running))?;
            fact(&mut out, "ended", &failed.to_string())?;
        }
    }
    fact(&mut out, "took", &format::duration_seconds(shown.elapsed_seconds))?;
    if let Some(left) = &shown.remaining_seconds {
        fact(&mut out, "left", &draw::left(left))?;
        fact(&mut out, "sure", &format!("{:.0} %", left.sureness * 100.0))?;
    }
    writeln!(out)?;
    steps(&trace, trace.until(now)).print(&mut out)?;
    Ok(out.flush()?)
}

fn steps(trace: &Trace, now: f64) -> Table {
    let mut table = Table::new(&["STEP", "DONE", "TOOK"]);
    for step in &trace.steps {
        let done = match step.iterations {
            0 => "-".to_owned(),
            n => format!("{} of {}", format::count(step.iteration), format::count(n)),
        };
        let took = step.finished_at.unwrap_or(now) - step.started_at;
        table.row(vec![
            step.step_name.clone().into(),
            Cell::number(done),
            Cell::number(format::duration_seconds(took)),
        ]);
    }
    table
}

fn fact(out: &mut impl Write, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "{name:>8}  {}", format::one_line(value, None))
}
