//! `keyrack entitlements`: what users have paid for, and what is known about it.

mod check;
mod link;
mod purge;
mod setup;
mod show;
mod status;
mod sweep;

pub(crate) use self::setup::{billing, sweep_forever};

use clap::Subcommand;

use crate::{Exit, Globals};

/// The arguments of `keyrack entitlements`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the cached entitlements of a user, without calling RevenueCat
    Show(show::Args),
    /// Look up an entitlement as the server does: cache first, then RevenueCat
    Check(check::Args),
    /// Delete the cached entitlements of a user in all processes
    Purge(purge::Args),
    /// Link a user to an existing RevenueCat id
    Link(link::Args),
    /// Show whether calls to RevenueCat are currently suspended
    Status,
    /// Ask Stripe about open checkouts that are due
    Sweep,
}

const AFTER_HELP: &str = "\
The settings revenue-cat-*, stripe-* and entitlements configure this service;
\"keyrack config show\" lists them.";

/// Runs `keyrack entitlements`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    match args.command {
        Command::Show(args) => show::run(&args, globals).await,
        Command::Check(args) => check::run(&args, globals).await,
        Command::Purge(args) => purge::run(&args, globals).await,
        Command::Link(args) => link::run(&args, globals).await,
        Command::Status => status::run(globals).await,
        Command::Sweep => sweep::run(globals).await,
    }
}
