//! `keyrack jobs cancel`.

use keyrack_jobs::bee::{Bulk, Place};

use super::selection::{self, BulkAction, JobSelection};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    selection: JobSelection,
    /// With --queue: only jobs in this state: running, queued, parked, delayed or waiting
    /// [default: all of these]
    #[arg(long = "in", value_name = "STATE", requires = "queue")]
    place: Option<Place>,
}

/// Jobs that have not ended. Those that wait come first, so that they do not start when others are canceled.
const NOT_ENDED: [Place; 5] =
    [Place::Waiting, Place::Delayed, Place::Parked, Place::Queued, Place::Running];

/// Cancels jobs.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let action =
        BulkAction { bulk: Bulk::Cancel, verb: "cancel", done: "canceled", is_dry_run: false };
    let place = args.place.map(|place| [place]);
    let places = place.as_ref().map_or(&NOT_ENDED[..], |place| &place[..]);
    selection::run(&args.selection, &action, places, globals).await
}
