//! `keyrack keys`: what the declared keys are, and whether a database keeps to them.

use std::io::Write as _;

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
    /// List every declared key and channel.
    List,
}

/// Runs `keyrack keys`.
#[expect(clippy::unused_async, reason = "commands that open the store are async")]
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    match args.command {
        Command::List => {
            let mut out = globals.out();
            for family in keyrack_contract::registry().all() {
                writeln!(out, "{}\t{}", family.template, family.content.redis_type())?;
            }
            out.flush()?;
            Ok(Exit::Ok)
        }
    }
}
