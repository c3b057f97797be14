//! `keyrack keys export` and `keyrack keys schema`.

use std::io::Write as _;

use keyrack_contract::registry;
use keyrack_keys::file::{Draft, Heading, JSON_SCHEMA, write_draft};

use super::declared::Declared;
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only keys of this owner, such as "jobs" or "jobs.bee"
    #[arg(long)]
    owner: Option<String>,
}

/// Prints the declarations as one keys file.
pub(super) fn run(args: &Args, declared: &Declared, globals: &Globals) -> anyhow::Result<Exit> {
    let is_owned = |owner: &str| {
        args.owner.as_deref().is_none_or(|wanted| {
            owner == wanted || owner.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
        })
    };
    let drafts: Vec<Draft> =
        registry().all().filter(|family| is_owned(family.owner)).map(Draft::from).collect();
    let heading = match declared.documents.as_slice() {
        [one] => Heading { name: one.name, team: one.team, version: one.version, prose: one.prose },
        _ => Heading {
            name: "keyrack",
            prose: "The keys of keyrack, written by \"keyrack keys export\".",
            ..Heading::default()
        },
    };
    let mut out = globals.out();
    out.write_all(write_draft(heading, &drafts).as_bytes())?;
    out.flush()?;
    Ok(Exit::Ok)
}

/// Prints the JSON Schema of keys files.
pub(super) fn schema(globals: &Globals) -> anyhow::Result<Exit> {
    let mut out = globals.out();
    out.write_all(JSON_SCHEMA.as_bytes())?;
    out.flush()?;
    Ok(Exit::Ok)
}
