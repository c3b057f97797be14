//! `keyrack recurring`: the jobs that run by the calendar, looked at, steered and defined. `[[recurring]]` in keyrack.toml defines some
//! of them, `create` others in the store; where files are known, the sweep is one of them.
//!
//! Running them by the calendar is the business of `keyrack serve`.

mod define;
mod list;
mod manage;
mod next;

use clap::Subcommand;
use keyrack_jobs::{
    bee::Hive,
    recurring::{Definition, Error, Recurring},
};

use keyrack_services::RECURRING_ORIGIN;

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
    /// List the recurring jobs with their next run
    List,
    /// Show the next runs of all recurring jobs
    Next(next::Args),
    /// Create a recurring job in the store; every server of the store runs it
    Create(Box<define::CreateArgs>),
    /// Change a recurring job of the store; what is not given stays
    Change(Box<define::ChangeArgs>),
    /// Show the definition and version of a recurring job of the store
    Show(manage::Args),
    /// Delete a recurring job of the store
    Delete(define::DeleteArgs),
    /// Queue a recurring job now, without changing its schedule
    Run(manage::Args),
    /// Pause a recurring job
    Pause(manage::Args),
    /// Resume a recurring job from its next run on
    Resume(manage::Args),
}

const AFTER_HELP: &str = "\
\"keyrack serve\" queues recurring jobs. Define them at run time, with \"create\", or in its keyrack.toml:

  [[recurring]]
  name = \"send the newsletter\"
  zone = \"Europe/Berlin\"
  cron = \"30 6 * * MON\"         # or every = \"10m\", at = \"2030-12-24T18:00:00\", or filters:
                                # seconds, minutes, hours, days_of_week, days_of_month,
                                # months, each a list
  kwargs = { kind = \"weekly\" }
  queue = \"mail/newsletter\"     # without it: the hot queue, jobs:hot
  catch_up = 3                  # run up to 3 missed runs, 0 to skip them; default: one run for all

A job from the file can be paused and run, but is changed in the file.";

/// Runs `keyrack recurring`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    match args.command {
        Command::List => list::run(globals).await,
        Command::Next(args) => next::run(&args, globals).await,
        Command::Create(args) => define::create(*args, globals).await,
        Command::Change(args) => define::change(*args, globals).await,
        Command::Show(args) => define::show(&args, globals).await,
        Command::Delete(args) => define::delete(&args, globals).await,
        Command::Run(args) => manage::run(&args, globals).await,
        Command::Pause(args) => manage::pause(&args, globals).await,
        Command::Resume(args) => manage::resume(&args, globals).await,
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
    Ok(Recurring::new(hive, definitions)?.with_origin(RECURRING_ORIGIN))
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
        _ => failure.hint("\"keyrack recurring list\" shows all"),
    }
    .into()
}

/// Below this, two names have nothing to do with each other.
const SIMILAR: f64 = 0.7;
