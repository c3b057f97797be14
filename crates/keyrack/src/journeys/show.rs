//! `keyrack journeys show`.

use std::io::Write as _;

use keyrack_format as format;
use keyrack_journeys::{Journey, Journeys, Totals, keys::JourneyUid};
use serde::Serialize;

use super::uid;
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The journey
    #[arg(value_parser = uid)]
    uid: JourneyUid,
    /// Show the answers at this second [default: at the end]
    #[arg(long, value_name = "SECOND")]
    second: Option<u64>,
}

#[derive(Serialize)]
struct JourneyJson<'a> {
    #[serde(flatten)]
    journey: &'a Journey,
    second: u64,
    totals: &'a Totals,
    histogram: &'a [u64],
}

/// Shows a journey.
pub(super) async fn run(
    args: &Args,
    journeys: &Journeys,
    globals: &Globals,
) -> anyhow::Result<Exit> {
    let journey = journeys.journey(&args.uid).await?;
    let second = args.second.unwrap_or(journey.duration_seconds.ceil() as u64);
    let totals = journeys.totals(&args.uid, second).await?;
    let histogram = journeys.histogram(&args.uid).await?;
    if globals.json {
        globals.print_json(&JourneyJson {
            journey: &journey,
            second,
            totals: &totals,
            histogram: &histogram,
        })?;
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    writeln!(out, "question  {}", format::one_line(journey.prompt.question(), None))?;
    writeln!(out, "answer    {}", journey.prompt.style())?;
    writeln!(out, "lasts     {} s", journey.duration_seconds)?;
    writeln!(out, "events    {}", histogram.iter().sum::<u64>())?;
    writeln!(out, "at {second} s")?;
    let Totals { users, likes, press, press_active, .. } = totals;
    for (name, count) in
        [("users", users), ("likes", likes), ("presses", press), ("pressing", press_active)]
    {
        writeln!(out, "  {name:8}{count}")?;
    }
    for answers in [&totals.numeric_active, &totals.color_active, &totals.word_active] {
        for (answer, count) in answers {
            writeln!(out, "  {answer:<8}{count}")?;
        }
    }
    out.flush()?;
    Ok(Exit::Ok)
}
