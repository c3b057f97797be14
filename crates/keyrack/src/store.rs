//! `keyrack store`: looking after the store.

mod check;
mod repair;
mod stats;

mod copy;
mod verify;

mod reader;
mod side;
mod tally;
mod value;

use std::path::PathBuf;

use clap::Subcommand;
use keyrack_store::{Store, StoreUrl};

use crate::{Exit, Failure, Globals, globals::must_be_there};

/// The arguments of `keyrack store`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Verify the log of a data folder, without changing it
    Check {
        /// The data folder, unless the settings name it
        dir: Option<PathBuf>,
    },
    /// Truncate a damaged log at the first damage, and save the removed part beside it
    Repair {
        /// The data folder, unless the settings name it
        dir: Option<PathBuf>,
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Print the kind, version and size of the store
    Stats,
    /// Copy everything from one store to another, of the same kind or not
    Copy(copy::Args),
    /// Compare what two stores hold, family by family
    Verify(verify::Args),
}

/// Runs `keyrack store`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    match args.command {
        Command::Check { dir } => check::run(&folder(dir, globals)?, globals),
        Command::Repair { dir, yes } => repair::run(&folder(dir, globals)?, yes, globals),
        Command::Stats => stats::run(globals).await,
        Command::Copy(args) => copy::run(&args, globals).await,
        Command::Verify(args) => verify::run(&args, globals).await,
    }
}

/// The data folder to look at, which has to be there.
fn folder(dir: Option<PathBuf>, globals: &Globals) -> anyhow::Result<PathBuf> {
    let dir = match dir {
        Some(dir) => dir,
        None => folder_of_store(&globals.settings.store_url()?)?,
    };
    must_be_there(&dir)?;
    Ok(dir)
}

/// Opens a store that an argument names; a data folder has to be there.
async fn open_existing(url: &str) -> anyhow::Result<Store> {
    let parsed: StoreUrl = url.parse().map_err(keyrack_store::Error::from)?;
    if let Some(folder) = parsed.folder() {
        must_be_there(folder)?;
    }
    Ok(Store::open(url).await?)
}

fn folder_of_store(url: &str) -> anyhow::Result<PathBuf> {
    let url: StoreUrl = url.parse().map_err(keyrack_store::Error::from)?;
    let folder = url.folder().map(PathBuf::from);
    Ok(folder.ok_or_else(|| {
        Failure::new(Exit::Usage, format!("the store \"{url}\" has no data folder"))
            .hint("name the folder, or give --store embedded:DIR")
    })?)
}
