//! `keyrack journeys`: makes journeys, and shows what happens on them.

mod create;
mod list;
mod show;

use keyrack_journeys::{Journeys, keys::JourneyUid};

use crate::{Exit, Globals, terminal};

/// The arguments of `keyrack journeys`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Create a journey and print its uid
    Create(create::Args),
    /// List journeys, newest first
    List(list::Args),
    /// Show the question and the answers of a journey
    Show(show::Args),
    /// Delete a journey and its events
    Rm {
        /// The journey
        #[arg(value_parser = uid)]
        uid: JourneyUid,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
}

/// Runs `keyrack journeys`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let journeys = Journeys::new(globals.open_existing_store().await?);
    match args.command {
        Command::Create(args) => create::run(args, &journeys, globals).await,
        Command::List(args) => list::run(&args, &journeys, globals).await,
        Command::Show(args) => show::run(&args, &journeys, globals).await,
        Command::Rm { uid, yes } => {
            let question = format!("delete the journey \"{uid}\" and its events?");
            if !yes && !terminal::confirmed(&question, "deleting a journey")? {
                globals.say("nothing was changed");
                return Ok(Exit::Ok);
            }
            journeys.delete(&uid).await?;
            globals.say("deleted");
            Ok(Exit::Ok)
        }
    }
}

fn uid(text: &str) -> Result<JourneyUid, String> {
    JourneyUid::new(text).map_err(|error| error.to_string())
}
