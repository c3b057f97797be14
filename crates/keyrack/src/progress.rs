//! `keyrack progress`: bars that know how long things take, in the terminal.
//!
//! In reading order: `run` wraps a command and records how it goes, `watch` shows a trace as it goes; `list`, `show` and `stats`
//! tell what is known, `rm` forgets it. `meter` is the bar that is drawn, `words` how times are told.

mod run;
mod watch;

mod list;
mod rm;
mod show;
mod stats;

mod estimate_text;
mod meter;

use clap::Subcommand;
use keyrack_jobs::hot;
use keyrack_keys::UserSub;
use keyrack_progress::{Progress, Samples, keys::BarName};

use crate::{Exit, Failure, Globals};

/// The arguments of `keyrack progress`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a command with a progress bar that learns its duration
    Run(run::Args),
    /// Watch a running trace (one run of a bar) until it ends
    Watch(watch::Args),
    /// List the bars with their expected duration
    List(list::Args),
    /// Show a bar with its steps, or one trace
    Show(show::Args),
    /// Print the durations of a bar's steps
    Stats(stats::Args),
    /// Delete a bar, or one of its past runs
    Rm(rm::Args),
}

/// User who owns the bar.
#[derive(Debug, Clone, clap::Args)]
struct OwnerArgs {
    /// User who owns the bar
    #[arg(long, value_name = "SUB", default_value = "local", value_parser = user)]
    user: UserSub,
}

/// Runs `keyrack progress`. The exit code of `run` is that of its command.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    match args.command {
        Command::Run(args) => run::run(args, globals).await,
        Command::Watch(args) => watch::run(&args, globals).await,
        Command::List(args) => list::run(&args, globals).await,
        Command::Show(args) => show::run(&args, globals).await,
        Command::Stats(args) => stats::run(&args, globals).await,
        Command::Rm(args) => rm::run(&args, globals).await,
    }
}

/// The bars of a store that has to be there.
async fn open(globals: &Globals) -> anyhow::Result<Progress> {
    Ok(Progress::open(globals.open_existing_store().await?, hot::keys::hot()))
}

/// All that is known about a bar, which has to be there.
async fn samples(progress: &Progress, user: &UserSub, bar: &BarName) -> anyhow::Result<Samples> {
    let samples = progress.samples(user, bar.as_str()).await?;
    Ok(samples.ok_or_else(|| no_such_bar(bar))?)
}

fn no_such_bar(bar: &BarName) -> Failure {
    let message = format!("there is no progress bar \"{bar}\"");
    let hint = "\"keyrack progress list\" shows all of a user; --user SUB names another";
    Failure::new(Exit::NotFound, message).hint(hint)
}

fn user(text: &str) -> Result<UserSub, String> {
    UserSub::new(text).map_err(|error| error.to_string())
}

fn bar(text: &str) -> Result<BarName, String> {
    BarName::new(text).map_err(|error| error.to_string())
}
