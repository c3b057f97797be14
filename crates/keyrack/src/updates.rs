//! `keyrack updates`: tells of something new to deploy, and deploys it.

mod follow;

use keyrack_format as format;
use keyrack_updates::{Updates, keys::Repo};

use crate::{Exit, Globals};

/// The arguments of `keyrack updates`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Run a command whenever a repository is updated
    Follow(follow::Args),
    /// Announce that a repository was updated
    Announce {
        /// The repository
        #[arg(value_parser = repo)]
        repo: Repo,
    },
}

/// Runs `keyrack updates`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let updates = Updates::new(globals.open_existing_store().await?);
    match args.command {
        Command::Follow(args) => follow::run(args, &updates, globals).await,
        Command::Announce { repo } => {
            let heard = updates.announce(&repo).await?;
            globals.say(format_args!("announced; {} heard it", format::counted(heard, "follower")));
            Ok(Exit::Ok)
        }
    }
}

fn repo(text: &str) -> Result<Repo, String> {
    Repo::new(text).map_err(|error| error.to_string())
}
