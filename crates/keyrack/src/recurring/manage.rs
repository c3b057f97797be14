//! `keyrack recurring run`, `pause` and `resume`.

use super::{failed, open};
use crate::{Exit, Globals};
use keyrack_format as format;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The name of the recurring job
    pub(super) name: String,
}

/// Queues a job now.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let recurring = open(globals).await?;
    let count = recurring.run_now(&args.name).await.map_err(|error| failed(error, &recurring))?;
    globals.say(format_args!("{} queued", format::counted(count as u64, "job")));
    Ok(Exit::Ok)
}

/// Pauses a recurring job.
pub(super) async fn pause(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let recurring = open(globals).await?;
    recurring.pause(&args.name).await.map_err(|error| failed(error, &recurring))?;
    globals.say(format_args!("recurring job \"{}\" paused", args.name));
    Ok(Exit::Ok)
}

/// Resumes a recurring job.
pub(super) async fn resume(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let recurring = open(globals).await?;
    recurring.resume(&args.name).await.map_err(|error| failed(error, &recurring))?;
    globals.say(format_args!("recurring job \"{}\" resumed", args.name));
    Ok(Exit::Ok)
}
