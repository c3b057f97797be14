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
    /// Load what is new in the app's tables; the first load of a day lets old posts go
    Sync(sync::Args),
    /// Forget what loads have written, and load everything again
    Rebuild(sync::RebuildArgs),
    /// List the posts that a user should see next, and why
    For(list::Args),
    /// Tell why a post is, or is not, recommended to a user
    Explain(explain::Args),
    /// Measure how good recommendations are, on an app that is made up
    Eval(eval::Args),
    /// Show how many posts may be recommended, and how far loads have come
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
    /// The time zone of the users, by which days are counted [default: the setting "recommend-zone"]
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
