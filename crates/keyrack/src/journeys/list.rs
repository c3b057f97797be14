//! `keyrack journeys list`.

use std::{io::Write as _, time::Duration};

use keyrack_format as format;
use keyrack_journeys::Journeys;

use crate::{Exit, Globals, table::Table};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// List at most N journeys
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    limit: usize,
}

/// Lists journeys.
pub(super) async fn run(
    args: &Args,
    journeys: &Journeys,
    globals: &Globals,
) -> anyhow::Result<Exit> {
    let journeys = journeys.list(0, args.limit).await?;
    if globals.json {
        globals.print_json(&journeys)?;
        return Ok(Exit::Ok);
    }
    if journeys.is_empty() {
        globals.say("no journeys; \"keyrack journeys create\" creates one");
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(&["UID", "CREATED", "LASTS", "ASKS FOR", "QUESTION"]);
    for journey in &journeys {
        let created = format::local_s((journey.created_at * 1000.0) as u64);
        let lasts = format::duration::typed(Duration::from_secs_f64(journey.duration_seconds));
        let question = journey.prompt.question();
        let style = journey.prompt.style();
        table.row(vec![
            journey.uid.as_str().into(),
            created.into(),
            lasts.into(),
            style.into(),
            question.into(),
        ]);
    }
    let mut out = globals.out();
    table.print(&mut out)?;
    out.flush()?;
    Ok(Exit::Ok)
}
