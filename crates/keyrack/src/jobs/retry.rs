//! `keyrack jobs retry`.

use keyrack_jobs::bee::{Bulk, Place};

use super::chosen::{self, Chosen, Deed};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
#[command(after_help = "With --queue all failed jobs of the queue run again.")]
pub(super) struct Args {
    #[command(flatten)]
    chosen: Chosen,
}

/// Lets jobs run again from the start.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let deed = Deed { bulk: Bulk::Retry, verb: "retry", done: "queued again" };
    chosen::run(&args.chosen, &deed, &[Place::Failed], globals).await
}
