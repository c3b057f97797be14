//! `keyrack jobs cancel`.

use keyrack_jobs::bee::{Bulk, Place};

use super::chosen::{self, Chosen, Deed};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    chosen: Chosen,
    /// Of the queue only jobs that are running, queued, parked, delayed, waiting, failed or ended; without it, all that
    /// have not ended
    #[arg(long = "in", value_name = "PLACE", requires = "queue")]
    place: Option<Place>,
}

/// Jobs that have not ended. Those that wait come first, lest they start when others are cancelled.
const NOT_ENDED: [Place; 5] =
    [Place::Waiting, Place::Delayed, Place::Parked, Place::Queued, Place::Running];

/// Cancels jobs.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let deed = Deed { bulk: Bulk::Cancel, verb: "cancel", done: "cancelled" };
    let place = args.place.map(|place| [place]);
    let places = place.as_ref().map_or(&NOT_ENDED[..], |place| &place[..]);
    chosen::run(&args.chosen, &deed, places, globals).await
}
