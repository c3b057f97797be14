//! `keyrack recommend`: loading the app's tables, and looking at what is recommended to whom.

mod eval;
mod explain;
mod list;
mod server;
mod settings;
mod source;
mod stats;
mod sync;

use clap::Subcommand;
use jiff::tz::TimeZone;
use keyrack_recommender::Recommender;

pub(crate) use self::server::recommendations;
use crate::{Exit, Globals};

/// The arguments of `keyrack recommend`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Load new rows of the app's tables; the first load of a day drops old posts
    Sync(sync::Args),
    /// Delete what earlier loads wrote, and load everything again
    Rebuild(sync::RebuildArgs),
    /// List the posts recommended to a user, with reasons
    For(list::Args),
    /// Explain why a post is recommended to a user, or is not
    Explain(explain::Args),
    /// Measure the quality of recommendations on a simulated app
    Eval(eval::Args),
    /// Show the number of candidate posts and the state of loads
    Stats,
}

/// Runs `keyrack recommend`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    match args.command {
        Command::Sync(args) => sync::run(&args, globals).await,
        Command::Rebuild(args) => sync::rebuild(&args, globals).await,
        Command::For(args) => list::run(args, globals).await,
        Command::Explain(args) => explain::run(args, globals).await,
        Command::Eval(args) => eval::run(&args, globals).await,
        Command::Stats => stats::run(globals).await,
    }
}

/// Where days begin and end.
#[derive(Debug, clap::Args)]
struct Zone {
    /// Time zone that defines a day [default: the setting "recommend-zone"]
    #[arg(long, value_name = "ZONE", value_parser = settings::zone)]
    zone: Option<TimeZone>,
}

impl Zone {
    /// What the settings say, with this zone if one was given.
    fn settings(&self, globals: &Globals) -> anyhow::Result<keyrack_recommender::Settings> {
        let mut settings = settings::of(&globals.settings)?;
        if let Some(zone) = &self.zone {
            settings.zone = zone.clone();
        }
        Ok(settings)
    }
}

/// The recommender of a store that is there already.
async fn open(zone: &Zone, globals: &Globals) -> anyhow::Result<Recommender> {
    let settings = zone.settings(globals)?;
    Ok(Recommender::new(globals.open_existing_store().await?, settings))
}
