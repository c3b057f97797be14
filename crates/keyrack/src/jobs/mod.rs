//! `keyrack jobs`: putting jobs into queues, looking at them, and steering queues.
//!
//! In reading order: `submit` and `many` put jobs in; `list`, `show`, `why`, `search`, `tail` and `stats` look; `cancel`,
//! `retry`, `pause` and `limits` change something. `chosen` is how several jobs are chosen, `rows` how they are shown.

mod many;
mod submit;

mod list;
mod search;
mod show;
pub(crate) mod stats;
mod tail;
mod why;

mod cancel;
mod limits;
mod pause;
mod retry;

mod chosen;
pub(crate) mod names;
mod rows;

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
    /// Put a job into a queue, or many, and print their ids
    Submit(submit::Args),
    /// List the jobs of a queue
    List(list::Args),
    /// Show all there is to know about a job
    Show(show::Args),
    /// Tell why a job is not running yet, and when it may
    Why(why::Args),
    /// Find jobs by their tags
    Search(search::Args),
    /// Print what happens to jobs as it happens
    Tail(tail::Args),
    /// Print what queues hold, who works on them, and how fast
    Stats(stats::Args),
    /// Cancel jobs, running ones too, with the jobs they have submitted
    Cancel(cancel::Args),
    /// Let jobs that failed or were cancelled run again
    Retry(retry::Args),
    /// Let no more jobs of a queue start
    Pause(pause::PauseArgs),
    /// Let the jobs of a queue start again
    Resume(pause::Args),
    /// Show or set how many jobs of a queue may run at once, start in some time, or are kept
    Limits(limits::Args),
    /// Delete a queue without jobs, with its settings and counters
    Delete(pause::Args),
}

/// Runs `keyrack jobs`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    match args.command {
        Command::Submit(args) => submit::run(args, globals).await,
        Command::List(args) => list::run(&args, globals).await,
        Command::Show(args) => show::run(&args, globals).await,
        Command::Why(args) => why::run(&args, globals).await,
        Command::Search(args) => search::run(&args, globals).await,
        Command::Tail(args) => tail::run(&args, globals).await,
        Command::Stats(args) => stats::run(&args, globals).await,
        Command::Cancel(args) => cancel::run(&args, globals).await,
        Command::Retry(args) => retry::run(&args, globals).await,
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
