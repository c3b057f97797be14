//! `keyrack keys`: what the declared keys are, and whether a database keeps to them.

mod doc;
mod explain;
mod list;

mod infer;
mod lint;

mod acl;

mod families;
mod progress;

use clap::Subcommand;

use crate::{Exit, Globals};

/// The arguments of `keyrack keys`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the declared keys and channels
    List(list::Args),
    /// Print the key reference (docs/keys.md), or one family of it
    Doc(doc::Args),
    /// Explain a key: its family, parts, type, content and TTL
    Explain(explain::Args),
    /// Check a live database against the declarations
    Lint(lint::Args),
    /// Print a Redis ACL user with exactly the rights keyrack needs
    Acl(acl::Args),
    /// Propose declarations for a database that keyrack did not write
    Infer(infer::Args),
}

/// Runs `keyrack keys`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    match args.command {
        Command::List(args) => list::run(&args, globals),
        Command::Doc(args) => doc::run(&args, globals),
        Command::Explain(args) => explain::run(&args, globals),
        Command::Lint(args) => lint::run(&args, globals).await,
        Command::Acl(args) => acl::run(&args, globals),
        Command::Infer(args) => infer::run(&args, globals).await,
    }
}
