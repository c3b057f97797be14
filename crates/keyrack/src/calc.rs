//! `keyrack calc`: events in, results shown and checked.
//!
//! In reading order: `import` and `ingest` take events in; `list` and `show` look; `check` compares results with their
//! values and mends them; `delete` takes values and keys away; `settings` and `token` are about projects and who may use them. `scope` says which keys are meant,
//! `spark` draws.

mod import;
mod ingest;

mod list;
mod show;

mod check;
mod delete;

mod settings;
mod token;

mod scope;
mod spark;

use clap::Subcommand;
use keyrack_calculations::Accounts;

use crate::{Exit, Globals};

/// The arguments of `keyrack calc`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Import events from a CSV or NDJSON file
    Import(import::Args),
    /// Read events from a Redis list or channel until stopped
    Ingest(ingest::Args),
    /// List accounts, projects, dimensions and keys
    List(list::Args),
    /// Show the results of a key, with a plot of each series
    Show(show::Args),
    /// Recompute results from the stored values and report differences
    Verify(check::Args),
    /// Recompute results from the stored values and store them
    Recompute(check::Args),
    /// Delete values of a key, or the whole key
    Delete(delete::Args),
    /// Show or change the calculation settings of a project
    Settings(settings::Args),
    /// Create and delete project tokens and admin tokens
    Token(token::Args),
}

/// Runs `keyrack calc`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    match args.command {
        Command::Import(args) => import::run(&args, globals).await,
        Command::Ingest(args) => ingest::run(args, globals).await,
        Command::List(args) => list::run(&args, globals).await,
        Command::Show(args) => show::run(&args, globals).await,
        Command::Verify(args) => check::verify(&args, globals).await,
        Command::Recompute(args) => check::recompute(&args, globals).await,
        Command::Delete(args) => delete::run(&args, globals).await,
        Command::Settings(args) => settings::run(&args, globals).await,
        Command::Token(args) => token::run(args, globals).await,
    }
}

/// The accounts of a store that has to be there.
async fn open(globals: &Globals) -> anyhow::Result<Accounts> {
    Ok(Accounts::open(globals.open_existing_store().await?))
}
