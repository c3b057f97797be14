//! `keyrack files`: uploads, the files that wait to be deleted, and the sweep that deletes them.

mod keep;
mod list;
mod remove;
mod sweep;
mod upload;

pub(crate) use self::sweep::{Sweeper, sweep_definition};

use keyrack_files::{Buckets, Files};
use keyrack_format as format;

use crate::{
    Exit, Failure, Globals,
    settings::{FILES, Settings},
};

/// The arguments of `keyrack files`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Upload a file so that no failure leaves a file that nothing refers to
    Upload(upload::Args),
    /// List the files that will be deleted (in purgatory), earliest first
    List(list::Args),
    /// Delete the files whose time has passed
    Sweep(sweep::Args),
    /// Mark files for deletion by the next sweep
    Rm(remove::Args),
    /// Undo: take a file out of purgatory, so that it is not deleted
    Keep(keep::Args),
}

/// Runs `keyrack files`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let files = Files::new(globals.open_existing_store().await?);
    match args.command {
        Command::Upload(args) => upload::run(args, &files, globals).await,
        Command::List(args) => list::run(&args, &files, globals).await,
        Command::Sweep(args) => sweep::run(&args, &files, globals).await,
        Command::Rm(args) => remove::run(&args, &files, globals).await,
        Command::Keep(args) => keep::run(&args, &files, globals).await,
    }
}

/// The buckets that the settings name, for those that can do without.
pub(crate) fn named_buckets(settings: &Settings) -> anyhow::Result<Option<Buckets>> {
    let url = settings.get(&FILES).value.as_deref();
    Ok(url.map(Buckets::open).transpose()?)
}

/// The buckets that the settings name.
fn buckets(settings: &Settings) -> anyhow::Result<Buckets> {
    let named = named_buckets(settings)?;
    named.ok_or_else(|| {
        let failure =
            Failure::new(Exit::Usage, "the setting \"files\" is missing: where the files are");
        failure.hint(format!("set it by {}", FILES.ways())).into()
    })
}

/// A member of the set, as a line of a terminal takes it.
fn shown(member: &[u8]) -> String {
    format::one_line(&String::from_utf8_lossy(member), None)
}
