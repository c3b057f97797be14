//! `keyrack jobs times`.

use std::{io::Write as _, time::Duration};

use keyrack_format as format;
use keyrack_jobs::bee::{
    keys::QueueName,
    times::{Histogram, Record, Resolution, Times, TimesQuery},
};

use super::{names, open_queue};
use crate::{
    Exit, Globals,
    table::{Cell, Table},
};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The queue
    #[arg(value_name = "QUEUE", value_parser = names::queue)]
    queue: QueueName,
    /// How far to look back, up to 90d
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = format::duration::parse_positive)]
    last: Duration,
    /// The length of a row: minute, quarter (of an hour) or hour [default: by --last]
    #[arg(long, value_name = "LENGTH")]
    resolution: Option<Resolution>,
}

const AFTER_HELP: &str = "\
WAIT is the time from when a job was ready until a worker took it, RUN from then to its end, both
for attempts that completed or failed. ERRORS is the share of ended jobs that failed for good.
Rows of a minute are kept for a day, of a quarter of an hour for 7 days, of an hour for 90 days.
Jobs run by Node workers are not counted.";

/// Prints how long jobs waited and ran.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let hive = open_queue(globals, &args.queue).await?;
    let last_ms = u64::try_from(args.last.as_millis()).unwrap_or(u64::MAX);
    let query =
        TimesQuery { resolution: args.resolution, ..TimesQuery::last(last_ms, hive.now_ms()) };
    let times = hive.times(&args.queue, &query).await?;
    if globals.json {
        globals.print_json(&times)?;
        return Ok(Exit::Ok);
    }
    if times.records.is_empty() {
        globals.say(format_args!("nothing happened in \"{}\" in that time", args.queue));
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    rows(&times).print(&mut out)?;
    if !times.slowest.is_empty() {
        writeln!(out)?;
        slowest(&times).print(&mut out)?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}

fn rows(times: &Times) -> Table {
    let mut table = Table::new(&[
        "FROM",
        "SUBMITTED",
        "COMPLETED",
        "FAILED",
        "RETRIED",
        "ERRORS",
        "WAIT P50",
        "P95",
        "P99",
        "RUN P50",
        "P95",
        "P99",
    ]);
    for record in &times.records {
        table.row(row(format::local_s(record.at), record));
    }
    table.row(row("all".to_owned(), &times.sum));
    table
}

fn row(name: String, record: &Record) -> Vec<Cell> {
    let number = |n: u64| Cell::number(format::count(n));
    let errors =
        record.error_rate.map_or_else(|| "-".to_owned(), |rate| format!("{:.1} %", rate * 100.0));
    let mut cells = vec![
        Cell::from(name),
        number(record.submitted),
        number(record.completed),
        number(record.failed),
        number(record.retried),
        Cell::number(errors),
    ];
    cells.extend([&record.wait, &record.run].into_iter().flat_map(percentiles));
    cells
}

fn percentiles(times: &Histogram) -> [Cell; 3] {
    [0.5, 0.95, 0.99].map(|share| {
        let ms = times.percentile_ms(share);
        Cell::number(ms.map_or_else(|| "-".to_owned(), |ms| format::duration_ms(ms.round() as u64)))
    })
}

fn slowest(times: &Times) -> Table {
    let mut table = Table::new(&["SLOWEST", "RUN", "ENDED"]);
    for attempt in &times.slowest {
        table.row(vec![
            Cell::from(attempt.jid.clone()),
            Cell::number(format::duration_ms(attempt.run_ms)),
            Cell::from(format::local_s(attempt.at)),
        ]);
    }
    table
}
