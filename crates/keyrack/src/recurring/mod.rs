//! `keyrack recurring`: the jobs that run by the calendar, looked at and steered. `[[recurring]]` in keyrack.toml defines them; where
//! files are known, the sweep is one of them.
//!
//! Running them by the calendar is the business of `keyrack serve`.

mod list;
mod steer;

use clap::Subcommand;
use keyrack_jobs::{
    bee::Hive,
    recurring::{Definition, Error, Recurring},
};

use crate::{Exit, Failure, Globals, files, settings::Settings};

/// The arguments of `keyrack recurring`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the recurring jobs and when each runs next
    List,
    /// Queue a recurring job now; its schedule stays as it is
    Run(steer::Args),
    /// Keep a recurring job from being queued
    Pause(steer::Args),
    /// Let a recurring job be queued again, from its next run on
    Resume(steer::Args),
}

const AFTER_HELP: &str = "\
Recurring jobs are defined in keyrack.toml, and \"keyrack serve\" with that file queues them:

  [[recurring]]
  name = \"send the newsletter\"
  zone = \"Europe/Berlin\"
  cron = \"30 6 * * MON\"         # or filters: seconds, minutes, hours, days_of_week,
                                # days_of_month, months, each a list
  kwargs = { kind = \"weekly\" }
  queue = \"mail/newsletter\"     # without it the job goes to jobs:hot
  catch_up = 3                  # missed runs made up for; without it they become one";

/// Runs `keyrack recurring`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    match args.command {
        Command::List => list::run(globals).await,
        Command::Run(args) => steer::run(&args, globals).await,
        Command::Pause(args) => steer::pause(&args, globals).await,
        Command::Resume(args) => steer::resume(&args, globals).await,
    }
}

/// The jobs that the settings define: those of the file, and the sweep of files unless the file has one of its own.
pub(crate) fn definitions(settings: &Settings) -> anyhow::Result<Vec<Definition>> {
    let mut definitions = settings.recurring().to_vec();
    if let Some(sweep) = files::sweep_definition(settings)?
        && definitions.iter().all(|definition| definition.name() != sweep.name())
    {
        definitions.push(sweep);
    }
    Ok(definitions)
}

/// The jobs that the settings define, in the store that they name.
async fn open(globals: &Globals) -> anyhow::Result<Recurring> {
    let definitions = definitions(&globals.settings)?;
    let hive = Hive::open(globals.open_existing_store().await?).await?;
    Ok(Recurring::new(hive, definitions)?)
}

/// The failure of a command about one job, which may have a better name.
fn failed(error: Error, recurring: &Recurring) -> anyhow::Error {
    let Error::NoSuchJob { name } = &error else { return error.into() };
    let failure = Failure::new(Exit::NotFound, error.to_string());
    let likeness = |known: &str| strsim::jaro_winkler(name, known);
    let known = recurring.definitions().iter().map(|job| job.name());
    match known.max_by(|a, b| likeness(a).total_cmp(&likeness(b))) {
        Some(known) if likeness(known) > SIMILAR => {
            failure.hint(format!("did you mean \"{known}\"?"))
        }
        Some(_) => failure.hint("\"keyrack recurring list\" shows all"),
        None => {
            failure.hint("[[recurring]] in keyrack.toml defines them; see \"keyrack recurring -h\"")
        }
    }
    .into()
}

/// Below this, two names have nothing to do with each other.
const SIMILAR: f64 = 0.7;
