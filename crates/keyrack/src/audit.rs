//! `keyrack audit`: the log of changes.

use std::io::Write as _;

use keyrack_format as format;
use keyrack_identity::{AUDIT_MAX, Change, Identity};

use crate::{
    Exit, Globals,
    table::{Cell, Table},
    terminal::Color,
};

/// The arguments of `keyrack audit`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// List at most N changes, newest first
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Only changes made by this user
    #[arg(long, value_name = "USER")]
    actor: Option<String>,
}

const AFTER_HELP: &str = "\
keyrack keeps the newest 10,000 changes: those that people make on the dashboard or over the API,
and every change to a token. What workers and submitters do is in the history of each job.";

/// Runs `keyrack audit`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let identity = Identity::new(globals.open_existing_store().await?);
    let mut changes = identity.audit(AUDIT_MAX).await?;
    changes.retain(|change| args.actor.as_ref().is_none_or(|actor| change.actor == *actor));
    changes.truncate(args.limit);
    if globals.json {
        globals.print_json(&changes)?;
        return Ok(Exit::Ok);
    }
    if changes.is_empty() {
        globals.say("no changes recorded");
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    table(&changes).print(&mut out)?;
    out.flush()?;
    Ok(Exit::Ok)
}

fn table(changes: &[Change]) -> Table {
    let mut table = Table::new(&["WHEN", "WHO", "WHAT", "TO WHAT", "FROM", "OUTCOME"]);
    for change in changes {
        let about = [&change.subject, &change.user_sub, &change.token_uid];
        let about: Vec<&str> = about.into_iter().filter_map(|text| text.as_deref()).collect();
        let outcome = match &change.failed {
            None => "done".into(),
            Some(why) => Cell::painted(why.as_str(), Some(Color::Red)),
        };
        table.row(vec![
            format::local_s((change.at * 1000.0) as u64).into(),
            change.actor.as_str().into(),
            change.action.as_str().into(),
            about.join(", ").into(),
            change.from.as_deref().unwrap_or("console").into(),
            outcome,
        ]);
    }
    table
}
