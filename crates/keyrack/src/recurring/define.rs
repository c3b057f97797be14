//! `keyrack recurring create`, `change`, `delete` and `show`: jobs that are defined at run time.

use std::io::Write as _;

use keyrack_jobs::recurring::{Defined, Definition, Draft, Members, Recurring};
use serde::Serialize;

use super::{failed, list::JobJson, open};
use crate::{Exit, Failure, Globals};

/// When and where a job runs.
#[derive(Debug, clap::Args)]
struct What {
    /// Run by a cron expression: five fields, or six with seconds in front
    #[arg(long, value_name = "EXPRESSION", group = "when")]
    cron: Option<String>,
    /// Run each time TIME has passed, such as 10m: whole seconds from 1s to 366d
    #[arg(long, value_name = "TIME", group = "when", allow_hyphen_values = true)]
    every: Option<String>,
    /// Run once, at a time such as 2030-12-24T18:00:00Z, or without the Z in --zone
    #[arg(long, value_name = "MOMENT", group = "when")]
    at: Option<String>,
    /// The first run of --every [default: one period from now]
    #[arg(long, value_name = "MOMENT", requires = "every")]
    from: Option<String>,
    /// The time zone of --cron and --at, such as Europe/Berlin [default: UTC]
    #[arg(long)]
    zone: Option<String>,
    /// The queue to put the job into
    #[arg(long, group = "to")]
    queue: Option<String>,
    /// Put the job into the hot queue, jobs:hot, under its name
    #[arg(long, group = "to")]
    hot: bool,
    /// The job's one argument, a JSON object
    #[arg(long, value_name = "JSON", value_parser = kwargs)]
    kwargs: Option<Members>,
    /// Missed runs to make up for, up to 1000; 0 skips them [default: 1, one run for all]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = catch_up)]
    catch_up: Option<u32>,
}

#[derive(Debug, clap::Args)]
pub(super) struct CreateArgs {
    /// A name of your choice, up to 256 bytes
    name: String,
    #[command(flatten)]
    what: What,
}

#[derive(Debug, clap::Args)]
pub(super) struct ChangeArgs {
    /// The name of the recurring job
    name: String,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    base: BaseArgs,
}

#[derive(Debug, clap::Args)]
pub(super) struct DeleteArgs {
    /// The name of the recurring job
    name: String,
    #[command(flatten)]
    base: BaseArgs,
}

#[derive(Debug, clap::Args)]
struct BaseArgs {
    /// Do nothing if the job has another version by now; "keyrack recurring list" shows it
    #[arg(long, value_name = "N")]
    if_version: Option<u64>,
}

fn kwargs(text: &str) -> Result<Members, String> {
    serde_json::from_str(text).map_err(|error| format!("no JSON object: {error}"))
}

/// How many is looked at with the rest of the definition.
fn catch_up(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "give a whole number from 0 to 1000".to_owned())
}

impl What {
    fn has_schedule(&self) -> bool {
        self.cron.is_some() || self.every.is_some() || self.at.is_some()
    }

    /// Says in a draft what was said here, and leaves the rest of it alone.
    fn write(self, draft: &mut Draft) {
        if self.has_schedule() {
            let utc = || (self.every.is_none() || self.from.is_some()).then(|| "UTC".to_owned());
            draft.set_schedule(Draft {
                zone: self.zone.or_else(utc),
                cron: self.cron,
                every: self.every,
                from: self.from,
                at: self.at,
                ..Draft::default()
            });
        } else if self.zone.is_some() {
            draft.zone = self.zone;
        }
        if self.hot {
            draft.queue = None;
        }
        draft.queue = self.queue.or(draft.queue.take());
        draft.kwargs = self.kwargs.unwrap_or(std::mem::take(&mut draft.kwargs));
        draft.catch_up = self.catch_up.or(draft.catch_up);
    }
}

/// Creates a recurring job.
pub(super) async fn create(args: CreateArgs, globals: &Globals) -> anyhow::Result<Exit> {
    let lacks = |what: &str, hint: &str| {
        let message = format!("the recurring job \"{}\" has no {what}", args.name);
        Err(Failure::new(Exit::Usage, message).hint(hint).into())
    };
    if !args.what.has_schedule() {
        return lacks("schedule", "give --cron, --every or --at");
    }
    if args.what.queue.is_none() && !args.what.hot {
        return lacks("queue", "give --queue QUEUE, or --hot for the hot queue");
    }
    let mut draft = Draft { name: args.name, ..Draft::default() };
    args.what.write(&mut draft);
    let definition = Definition::try_from(draft)?;
    let recurring = open(globals).await?;
    let defined = recurring.create(definition).await?;
    tell(&recurring, &defined, "created", globals).await
}

/// Changes a recurring job.
pub(super) async fn change(args: ChangeArgs, globals: &Globals) -> anyhow::Result<Exit> {
    let recurring = open(globals).await?;
    let old = recurring.defined(&args.name).await.map_err(|error| failed(error, &recurring))?;
    let mut draft = Draft::from(&old.definition);
    args.what.write(&mut draft);
    let based_on = args.base.if_version.unwrap_or(old.version);
    let changed = recurring.change(Definition::try_from(draft)?, Some(based_on)).await;
    tell(&recurring, &changed.map_err(|error| failed(error, &recurring))?, "changed", globals).await
}

/// Deletes a recurring job.
pub(super) async fn delete(args: &DeleteArgs, globals: &Globals) -> anyhow::Result<Exit> {
    let recurring = open(globals).await?;
    let deleted = recurring.delete(&args.name, args.base.if_version).await;
    deleted.map_err(|error| failed(error, &recurring))?;
    globals.say(format_args!("recurring job \"{}\" deleted", args.name));
    Ok(Exit::Ok)
}

/// Prints the definition of a recurring job.
pub(super) async fn show(args: &super::manage::Args, globals: &Globals) -> anyhow::Result<Exit> {
    let recurring = open(globals).await?;
    let defined = recurring.defined(&args.name).await.map_err(|error| failed(error, &recurring))?;
    let shown = Shown {
        version: defined.version,
        paused: defined.paused,
        created_at: defined.created_at,
        changed_at: defined.changed_at,
        definition: Draft::from(&defined.definition),
    };
    globals.print_json(&shown)?;
    Ok(Exit::Ok)
}

/// A definition as JSON.
#[derive(Serialize)]
struct Shown {
    version: u64,
    paused: bool,
    /// In unix milliseconds.
    created_at: u64,
    /// In unix milliseconds.
    changed_at: u64,
    definition: Draft,
}

/// Prints what came of a change.
async fn tell(
    recurring: &Recurring,
    defined: &Defined,
    done: &str,
    globals: &Globals,
) -> anyhow::Result<Exit> {
    let name = defined.definition.name();
    let listing = recurring.list().await?;
    let of_name = listing.jobs.iter().filter(|job| job.definition.name() == name);
    let Some(job) = of_name.max_by_key(|job| job.version()) else {
        // It ran once already, or somebody deleted it.
        globals.say(format_args!("recurring job \"{name}\" {done}"));
        return Ok(Exit::Ok);
    };
    if globals.json {
        globals.print_json(&JobJson::of(job))?;
        return Ok(Exit::Ok);
    }
    let next = job.next_run.map(super::list::local).unwrap_or_else(|| "never".to_owned());
    let mut out = globals.out();
    writeln!(
        out,
        "recurring job \"{}\" {done}: version {}, next run {next}",
        keyrack_format::visible(name),
        defined.version
    )?;
    out.flush()?;
    Ok(Exit::Ok)
}
