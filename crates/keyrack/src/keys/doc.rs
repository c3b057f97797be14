//! `keyrack keys doc`.

use std::io::Write as _;

use keyrack_contract::registry;

use super::families;
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this family: its id (such as "jobs.bee.queue"), its template, or one of its keys
    family: Option<String>,
}

/// Prints the reference as Markdown, or one family as JSON with `--json`.
pub(super) fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let family = args.family.as_deref().map(families::find).transpose()?;
    if globals.json {
        let chosen =
            registry().all().filter(|each| family.is_none_or(|one| std::ptr::eq(*each, one)));
        globals.print_json(&chosen.map(families::as_json).collect::<Vec<_>>())?;
        return Ok(Exit::Ok);
    }
    let page = match family {
        Some(family) => keyrack_keys::docs_of(family),
        None => keyrack_keys::docs(registry()),
    };
    let mut out = globals.out();
    out.write_all(page.trim_start().as_bytes())?;
    out.flush()?;
    Ok(Exit::Ok)
}
