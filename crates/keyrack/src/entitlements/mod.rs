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
    /// Show what the store knows about a user; nobody is asked
    Show(show::Args),
    /// Look up whether a user is entitled, as a server would
    Check(check::Args),
    /// Forget what is known about a user, here and in every process
    Purge(purge::Args),
    /// Say by which id RevenueCat knows a user already
    Link(link::Args),
    /// Tell whether RevenueCat is asked at the moment
    Status,
    /// Ask Stripe about open checkouts whose time it is
    Sweep,
}

const AFTER_HELP: &str = "\
What is asked and sold is set by revenue-cat-key, stripe-key and the settings beside them;
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
