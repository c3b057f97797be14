//! `keyrack jobs`: submits, inspects and manages jobs and queues.
//!
//! In reading order: `submit` and `many` put jobs in; `list`, `show`, `why`, `logs`, `search`, `tail`, `stats`, `times`, `errors` and `scaling` look; `cancel`,
//! `retry`, `change`, `pause` and `limits` change something. `selection` chooses several jobs, `rows` how they are shown.

mod many;
mod submit;
mod unique;

mod errors;
mod list;
mod logs;
mod scaling;
mod search;
mod show;
pub(crate) mod stats;
mod tail;
mod times;
mod why;

mod cancel;
mod change;
mod limits;
mod pause;
mod retry;

mod backoff;
pub(crate) mod names;
mod rows;
mod selection;

use clap::Subcommand;
use keyrack_jobs::bee::{Hive, keys::QueueName};

use crate::{Exit, Globals};

/// The arguments of `keyrack jobs`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Submit one job or many, and print their ids
    Submit(Box<submit::Args>),
    /// List the jobs of a queue
    List(list::Args),
    /// Show a job with its options, result and history
    Show(show::Args),
    /// Print what a job has logged, and follow it
    Logs(logs::Args),
    /// Explain why a job is not running yet, and when it may start
    Why(why::Args),
    /// Find jobs by tag
    Search(search::Args),
    /// Print job events as they happen
    Tail(tail::Args),
    /// Print job counts, workers and throughput of queues
    Stats(stats::Args),
    /// Print how long jobs of a queue waited and ran, and how many failed
    Times(times::Args),
    /// Print why jobs failed, in groups; retry or mute a group
    Errors(errors::Args),
    /// Print how many workers a queue needs to start its jobs in time
    Scaling(scaling::Args),
    /// Cancel jobs, also running ones, and the jobs they submitted
    Cancel(cancel::Args),
    /// Run failed or canceled jobs again
    Retry(retry::Args),
    /// Change jobs that wait: when they run, their priority, arguments, options or queue
    Change(Box<change::Args>),
    /// Stop starting jobs of a queue; running jobs finish
    Pause(pause::PauseArgs),
    /// Start jobs of a paused queue again
    Resume(pause::Args),
    /// Show or set the concurrency, rate and retention limits of a queue
    Limits(Box<limits::Args>),
    /// Delete an empty queue with its settings and counters
    Delete(pause::Args),
}

/// Runs `keyrack jobs`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    match args.command {
        Command::Submit(args) => submit::run(*args, globals).await,
        Command::List(args) => list::run(&args, globals).await,
        Command::Show(args) => show::run(&args, globals).await,
        Command::Logs(args) => logs::run(&args, globals).await,
        Command::Why(args) => why::run(&args, globals).await,
        Command::Search(args) => search::run(&args, globals).await,
        Command::Tail(args) => tail::run(&args, globals).await,
        Command::Stats(args) => stats::run(&args, globals).await,
        Command::Times(args) => times::run(&args, globals).await,
        Command::Errors(args) => errors::run(&args, globals).await,
        Command::Scaling(args) => scaling::run(&args, globals).await,
        Command::Cancel(args) => cancel::run(&args, globals).await,
        Command::Retry(args) => retry::run(&args, globals).await,
        Command::Change(args) => change::run(&args, globals).await,
        Command::Pause(args) => pause::pause(&args, globals).await,
        Command::Resume(args) => pause::resume(&args, globals).await,
        Command::Limits(args) => limits::run(&args, globals).await,
        Command::Delete(args) => pause::delete(&args, globals).await,
    }
}

/// The queues of a store that has to be there: whoever forgot to name one must not fill a folder that nobody reads.
async fn open(globals: &Globals) -> anyhow::Result<Hive> {
    Ok(Hive::open(globals.open_existing_store().await?).await?)
}

/// The same, for a command about this queue, which has to be there too.
async fn open_queue(globals: &Globals, queue: &QueueName) -> anyhow::Result<Hive> {
    let hive = open(globals).await?;
    hive.check_queue(queue).await?;
    Ok(hive)
}
