//! `keyrack progress list`.

use std::io::Write as _;

use keyrack_format as format;
use keyrack_progress::{
    Bar, Samples,
    estimate::{Estimate, Model},
};
use serde::Serialize;

use super::{OwnerArgs, estimate_text, open};
use crate::{
    Exit, Globals,
    table::{Cell, Table},
};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    #[command(flatten)]
    owner: OwnerArgs,
}

const AFTER_HELP: &str = "\
RUNS is the number of past runs kept for the estimate. USUALLY is the median of the expected
duration, and RANGE contains it with a probability of 80 %.";

/// A bar, as JSON.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    bar: Bar,
    steps: usize,
    runs: usize,
    last_run_at: Option<f64>,
    next_run_seconds: Option<Estimate>,
}

impl Row {
    fn of(samples: Samples) -> Row {
        Row {
            steps: samples.steps.len().saturating_sub(1),
            runs: samples.traces.len(),
            last_run_at: samples.traces.last().map(|trace| trace.created_at),
            next_run_seconds: Model::of(&samples).whole_run(),
            bar: samples.bar,
        }
    }
}

/// Lists bars.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let progress = open(globals).await?;
    let user = &args.owner.user;
    let mut rows = Vec::new();
    for bar in progress.list_bars(user).await? {
        // One that is removed meanwhile is not listed.
        rows.extend(progress.samples(user, &bar.name).await?.map(Row::of));
    }
    if globals.json {
        globals.print_json(&rows)?;
        return Ok(Exit::Ok);
    }
    if rows.is_empty() {
        globals.say("no bars yet; \"keyrack progress run BAR -- COMMAND\" creates one");
        return Ok(Exit::Ok);
    }
    let now_ms = progress.store().now_ms();
    let mut table = Table::new(&["BAR", "STEPS", "RUNS", "LAST", "USUALLY", "RANGE"]);
    for row in &rows {
        let last = row
            .last_run_at
            .map(|at| format::duration_ms(now_ms.saturating_sub((at * 1000.0) as u64)) + " ago");
        let next = row.next_run_seconds.as_ref();
        let usually = next.map(|next| format::duration_seconds(next.p50));
        let range = next.map(estimate_text::range);
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        table.row(vec![
            row.bar.name.clone().into(),
            Cell::number(format::count(row.steps as u64)),
            Cell::number(format::count(row.runs as u64)),
            Cell::number(or_none(last)),
            Cell::number(or_none(usually)),
            or_none(range).into(),
        ]);
    }
    let mut out = globals.out();
    table.print(&mut out)?;
    out.flush()?;
    Ok(Exit::Ok)
}
