//! `keyrack calc settings`.

use std::{collections::BTreeMap, io::Write as _};

use keyrack_calculations::keys::{Account, Project};

use super::{open, scope};
use crate::{Exit, Failure, Globals};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The account
    #[arg(long, short, value_parser = scope::parse_account)]
    account: Account,
    /// The project
    #[arg(value_parser = scope::parse_project)]
    project: Project,
    /// Settings to change; the project's results are then recomputed
    #[arg(value_name = "NAME=VALUE")]
    changes: Vec<String>,
}

const AFTER_HELP: &str = "\
Settings and their values, default first:

  labels      prefix (2014-10, 2014-W42), compact (201410): form of bucket labels
  zone        event (the event's own offset), or a time zone such as Europe/Berlin
  duplicates  replace, sum, first, max, min, reject: a second value with the same time
  gaps        skip, calendar: calendar counts buckets without values as zeros
  deviation   sample, population: form of the standard deviation
  undefined   absent, zero: result of a statistic with too few values
  updates     union, event: which results an event updates
  firing      bucket, update: a rule fires once per bucket, or at every update";

/// Shows settings, after changing some.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let ledger = open(globals).await?.existing(&args.account).await?;
    let mut settings = ledger.settings(&args.project).await?;
    for change in &args.changes {
        let Some((name, value)) = change.split_once('=') else {
            let message = format!("\"{change}\" is not of the form NAME=VALUE");
            return Err(Failure::new(Exit::Usage, message).into());
        };
        settings.set(name, value)?;
    }
    if !args.changes.is_empty() {
        ledger.set_settings(&args.project, &settings).await?;
    }
    if globals.json {
        globals.print_json(&settings.entries().into_iter().collect::<BTreeMap<_, _>>())?;
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    for (name, value) in settings.entries() {
        writeln!(out, "{name:<11} {value}")?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}
