//! `keyrack jobs cancel`.

use keyrack_jobs::bee::{Bulk, JobState};

use super::selection::{self, BulkAction, JobSelection};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    selection: JobSelection,
    /// With --queue: only jobs in this state: running, queued, parked, delayed or waiting
    /// [default: all of these]
    #[arg(long = "in", value_name = "STATE", requires = "queue")]
    place: Option<JobState>,
}

/// Jobs that have not ended. Those that wait come first, so that they do not start when others are canceled.
const NOT_ENDED: [JobState; 5] =
    [JobState::Waiting, JobState::Delayed, JobState::Parked, JobState::Queued, JobState::Running];

/// Cancels jobs.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let action =
        BulkAction { bulk: Bulk::Cancel, verb: "cancel", done: "canceled", is_dry_run: false };
    let place = args.place.map(|place| [place]);
    let places = place.as_ref().map_or(&NOT_ENDED[..], |place| &place[..]);
    selection::run(&args.selection, &action, places, globals).await
}
