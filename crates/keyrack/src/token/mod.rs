//! `keyrack token`: tokens for users of the HTTP API.

mod create;
mod list;
mod revoke;

use clap::Subcommand;

use crate::{Exit, Globals};

/// Who is to blame in the audit log: whoever has this machine.
const ACTOR: &str = "console";

/// The arguments of `keyrack token`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a token and print it; nobody can ask for it later
    Create(create::Args),
    /// List tokens, without their secrets
    List(list::Args),
    /// Take a token back: from then on it is not valid
    Revoke(revoke::Args),
}

const AFTER_HELP: &str = "\
A token is sent as \"Authorization: bearer TOKEN\", or typed where the dashboard asks for it. Viewers look, operators change
things, admins do everything. With --own it is good for what belongs to its user and nothing else.";

/// Runs `keyrack token`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    match args.command {
        Command::Create(args) => create::run(args, globals).await,
        Command::List(args) => list::run(args, globals).await,
        Command::Revoke(args) => revoke::run(args, globals).await,
    }
}
