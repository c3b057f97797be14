//! `keyrack jobs retry`.

use keyrack_jobs::bee::{Bulk, JobState};

use super::selection::{self, BulkAction, JobSelection};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
#[command(after_help = "--queue retries all failed jobs of the queue.")]
pub(super) struct Args {
    #[command(flatten)]
    selection: JobSelection,
}

/// Lets jobs run again from the start.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let action =
        BulkAction { bulk: Bulk::Retry, verb: "retry", done: "queued again", is_dry_run: false };
    selection::run(&args.selection, &action, &[JobState::Failed], globals).await
}
