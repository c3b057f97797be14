//! `keyrack recurring next`: the next runs as a calendar.

use std::io::Write as _;

use jiff::{SignedDuration, Timestamp};
use keyrack_jobs::recurring::{Target, UPCOMING_MAX, Upcoming};
use serde::Serialize;

use super::{
    list::{local, target},
    open,
};
use crate::{Exit, Globals, table::Table};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many days to look ahead, up to 366
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=366))]
    days: u16,
    /// Show at most N runs, up to 5000
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=UPCOMING_MAX as i64))]
    limit: u16,
}

/// Shows the next runs.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let recurring = open(globals).await?;
    let until = recurring
        .now()
        .checked_add(SignedDuration::from_hours(24 * i64::from(args.days)))
        .unwrap_or(Timestamp::MAX);
    let upcoming = recurring.upcoming(until, usize::from(args.limit)).await?;
    if globals.json {
        globals.print_json(&as_json(&upcoming))?;
        return Ok(Exit::Ok);
    }
    if upcoming.runs.is_empty() {
        globals.say(format_args!("nothing runs in the next {} days", args.days));
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(&["AT", "NAME", "TO"]);
    for run in &upcoming.runs {
        let definition = &upcoming.jobs[run.job].definition;
        let to = target(definition.target());
        table.row(vec![local(run.at).into(), definition.name().into(), to.into()]);
    }
    let mut out = globals.out();
    table.print(&mut out)?;
    out.flush()?;
    if upcoming.more {
        globals.say("there are more; --limit shows up to 5000");
    }
    Ok(Exit::Ok)
}

/// Runs as JSON.
#[derive(Serialize)]
struct CalendarJson<'a> {
    runs: Vec<RunJson<'a>>,
    /// Whether there are more within these days.
    more: bool,
}

/// A run as JSON.
#[derive(Serialize)]
struct RunJson<'a> {
    /// In unix milliseconds.
    at: i64,
    name: &'a str,
    /// The Bee queue; none for the hot queue.
    queue: Option<&'a str>,
}

fn as_json(upcoming: &Upcoming) -> CalendarJson<'_> {
    let runs = upcoming.runs.iter().map(|run| {
        let definition = &upcoming.jobs[run.job].definition;
        RunJson {
            at: run.at.as_millisecond(),
            name: definition.name(),
            queue: match definition.target() {
                Target::Hot => None,
                Target::Bee(queue) => Some(queue.as_str()),
            },
        }
    });
    CalendarJson { runs: runs.collect(), more: upcoming.more }
}
