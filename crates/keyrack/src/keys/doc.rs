//! `keyrack keys doc`.

use std::io::Write as _;

use keyrack_contract::registry;

use super::{declared::Declared, families};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this family: its id (such as "jobs.bee.queue"), its template, or one of its keys
    family: Option<String>,
    /// Print one HTML page that needs nothing else
    #[arg(long, conflicts_with = "family")]
    html: bool,
}

/// Prints the reference as Markdown or HTML, or families as JSON with `--json`.
pub(super) fn run(args: &Args, declared: &Declared, globals: &Globals) -> anyhow::Result<Exit> {
    let family = args.family.as_deref().map(families::find).transpose()?;
    if globals.json {
        let chosen =
            registry().all().filter(|each| family.is_none_or(|one| std::ptr::eq(*each, one)));
        globals.print_json(&chosen.map(families::as_json).collect::<Vec<_>>())?;
        return Ok(Exit::Ok);
    }
    let names: Vec<&str> = declared.documents.iter().map(|document| document.name).collect();
    let title = if names.is_empty() { "keyrack".to_owned() } else { names.join(", ") };
    let about: Vec<&str> = declared
        .documents
        .iter()
        .map(|document| document.prose.trim())
        .filter(|prose| !prose.is_empty())
        .collect();
    let page = match family {
        Some(family) => keyrack_keys::docs_of(family),
        None if args.html => keyrack_keys::html(&title, &about.join("\n\n"), registry()),
        None if names.is_empty() => keyrack_keys::docs(registry()),
        None => keyrack_keys::docs_titled(&title, &about.join("\n\n"), registry()),
    };
    let mut out = globals.out();
    out.write_all(page.trim_start().as_bytes())?;
    out.flush()?;
    Ok(Exit::Ok)
}
