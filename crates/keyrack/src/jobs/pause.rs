//! `keyrack jobs pause` and `keyrack jobs resume`.

use keyrack_jobs::bee::keys::QueueName;

use super::{names, open, open_queue};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The queue
    #[arg(value_parser = names::queue)]
    queue: QueueName,
}

/// Pauses a queue. One that nobody has used yet may be paused before its first job.
pub(super) async fn pause(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    open(globals).await?.pause(&args.queue).await?;
    globals.say(format_args!("\"{}\" is paused; jobs that run go on", args.queue));
    Ok(Exit::Ok)
}

/// Lets the jobs of a queue start again.
pub(super) async fn resume(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    open_queue(globals, &args.queue).await?.resume(&args.queue).await?;
    globals.say(format_args!("\"{}\" goes on", args.queue));
    Ok(Exit::Ok)
}
