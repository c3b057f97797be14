//! `keyrack token`: tokens for users of the HTTP API.

mod create;
mod list;
mod revoke;

use clap::Subcommand;

use crate::{Exit, Globals};

/// The actor in the audit log: somebody with a shell on this machine.
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
    /// Create a token and print it; it cannot be shown again
    Create(create::Args),
    /// List tokens without their secrets
    List(list::Args),
    /// Revoke a token
    Revoke(revoke::Args),
}

const AFTER_HELP: &str = "\
Send a token as \"Authorization: bearer TOKEN\", or enter it on the dashboard's sign-in page. Viewers
can read, operators can also change data, admins can do everything. A token with --own gives access
only to the user's own data, such as progress bars.";

/// Runs `keyrack token`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    match args.command {
        Command::Create(args) => create::run(args, globals).await,
        Command::List(args) => list::run(args, globals).await,
        Command::Revoke(args) => revoke::run(args, globals).await,
    }
}
