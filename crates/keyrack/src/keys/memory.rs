//! `keyrack keys memory`.

use std::{
    io::Write as _,
    num::{NonZeroU32, NonZeroU64},
};

use keyrack_contract::registry;
use keyrack_format as format;
use keyrack_lint::{Measure, MemoryOptions, MemoryReport, WalkRate};

use super::progress::Bar;
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
With --sample the error after \"±\" holds in 95 of 100 cases, and the biggest key is the biggest measured one.")]
pub(super) struct Args {
    /// Measure every Nth key and some of each family; all names are counted
    #[arg(long, value_name = "N", default_value = "1")]
    sample: NonZeroU64,
    /// Show the N largest families and shapes
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Scan at most N keys per second [default: unlimited]
    #[arg(long, value_name = "N")]
    pace: Option<NonZeroU32>,
}

/// Shows what takes memory.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let options =
        MemoryOptions { sample: args.sample, pace: WalkRate { keys_per_second: args.pace } };
    let store = globals.open_existing_store().await?;
    let bar = Bar::new(globals);
    let report =
        keyrack_lint::memory(&store, registry(), &options, |progress| bar.show(progress)).await?;
    drop(bar);
    if globals.json {
        globals.print_json(&report)?;
    } else {
        print(&report, args.limit, globals)?;
    }
    globals.say(summary(&store.to_string(), &report));
    Ok(Exit::Ok)
}

const TITLES: [&str; 8] = [
    "FAMILY OR SHAPE",
    "KEY COUNT",
    "BYTES",
    "AVERAGE",
    "NO TTL",
    "USUAL TTL",
    "USUAL IDLE",
    "BIGGEST KEY",
];

fn print(report: &MemoryReport, limit: usize, globals: &Globals) -> anyhow::Result<()> {
    let shown = report.groups.iter().take(limit);
    let rows = shown.map(|group| row(&group.name, &group.measure));
    let rows: Vec<[String; 8]> = [TITLES.map(str::to_owned)].into_iter().chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..7).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = globals.out();
    for row in &rows {
        write!(out, "{:1$}", row[0], widths[0])?;
        for (text, width) in row[1..7].iter().zip(&widths[1..]) {
            write!(out, "  {text:>width$}")?;
        }
        writeln!(out, "  {}", row[7])?;
    }
    Ok(out.flush()?)
}

fn row(name: &str, measure: &Measure) -> [String; 8] {
    let bytes = measure.bytes();
    let average = bytes.and_then(|bytes| bytes.checked_div(measure.keys));
    let lasting = measure.lasting_share().map(|(share, error)| {
        let error = if error > 0.0 { format!(" ±{:.0}", error * 100.0) } else { String::new() };
        format!("{:.0}{error} %", share * 100.0)
    });
    let up_to = |range: Option<&str>| match range {
        Some("more") => "> 30d".to_owned(),
        Some(range) => format!("≤ {range}"),
        None => "-".to_owned(),
    };
    let biggest = measure.biggest.as_ref().map(|(key, bytes)| {
        format!("{}  {}", format::bytes(*bytes), format::one_line(key, Some(60)))
    });
    [
        name.to_owned(),
        format::count(measure.keys),
        with_error(measure),
        average.map_or("-".into(), format::bytes),
        lasting.unwrap_or_else(|| "-".into()),
        up_to(measure.ttl.median()),
        up_to(measure.idle.median()),
        biggest.unwrap_or_else(|| "-".into()),
    ]
}

fn with_error(measure: &Measure) -> String {
    match (measure.bytes(), measure.bytes_error()) {
        (Some(bytes), Some(0)) => format::bytes(bytes),
        (Some(bytes), Some(error)) => {
            format!("{} ± {}", format::bytes(bytes), format::bytes(error))
        }
        (Some(bytes), None) => format!("~{}", format::bytes(bytes)),
        (None, _) => "not measured".to_owned(),
    }
}

fn summary(store: &str, report: &MemoryReport) -> String {
    let total = &report.total;
    let mut words =
        format!("{store}: {}, {}", format::counted(total.keys, "key"), with_error(total));
    if total.measured < total.keys {
        words += &format!(", {} measured", format::count(total.measured));
    }
    words
}
