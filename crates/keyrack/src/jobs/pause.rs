//! `keyrack jobs pause`, `keyrack jobs resume` and `keyrack jobs delete`: queues as a whole.

use keyrack_jobs::bee::keys::QueueName;

use super::{names, open, open_queue};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The queue
    #[arg(value_parser = names::queue)]
    queue: QueueName,
}

#[derive(Debug, clap::Args)]
pub(super) struct PauseArgs {
    /// The queue
    #[arg(value_parser = names::queue)]
    queue: QueueName,
    /// Create the queue if it does not exist, so that it is paused before its first job
    #[arg(long)]
    create: bool,
}

/// Pauses a queue.
pub(super) async fn pause(args: &PauseArgs, globals: &Globals) -> anyhow::Result<Exit> {
    let hive = open(globals).await?;
    if !args.create {
        hive.check_queue(&args.queue).await?;
    }
    hive.pause(&args.queue).await?;
    globals.say(format_args!("queue \"{}\" paused; running jobs finish", args.queue));
    Ok(Exit::Ok)
}

/// Lets the jobs of a queue start again.
pub(super) async fn resume(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    open_queue(globals, &args.queue).await?.resume(&args.queue).await?;
    globals.say(format_args!("queue \"{}\" resumed", args.queue));
    Ok(Exit::Ok)
}

/// Forgets a queue without jobs.
pub(super) async fn delete(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    open_queue(globals, &args.queue).await?.delete_queue(&args.queue).await?;
    globals.say(format_args!("queue \"{}\" deleted", args.queue));
    Ok(Exit::Ok)
}
