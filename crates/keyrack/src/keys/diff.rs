//! `keyrack keys diff`.

use std::{io::Write as _, path::PathBuf};

use keyrack_keys::{Breaks, Change, Family, Version};
use serde_json::{Value, json};

use super::declared::read_files;
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file as it was
    old: PathBuf,
    /// The file as it is
    new: PathBuf,
    /// End with 10 if a reader or writer breaks
    #[arg(long)]
    check: bool,
}

/// Tells what breaks.
pub(super) fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let families = |path: &PathBuf| -> Result<Vec<&'static Family>, crate::Failure> {
        let documents = read_files(&[path])?;
        Ok(documents.into_iter().flat_map(|document| document.families).collect())
    };
    let changes = keyrack_keys::diff(&families(&args.old)?, &families(&args.new)?);
    let version = keyrack_keys::version(&changes);
    if globals.json {
        let changes: Vec<Value> = changes.iter().map(as_json).collect();
        globals.print_json(&json!({ "version": word(version), "changes": changes }))?;
    } else {
        let mut out = globals.out();
        for change in &changes {
            writeln!(out, "{}", line(change))?;
            if !change.migration.is_empty() {
                writeln!(out, "    {}", change.migration)?;
            }
        }
        out.flush()?;
    }
    globals.say(match version {
        Version::Same => "the declarations are the same".to_owned(),
        version => format!("next version: {}", word(version)),
    });
    let breaks = version == Version::Major && args.check;
    Ok(if breaks { Exit::Findings } else { Exit::Ok })
}

fn line(change: &Change) -> String {
    let breaks = match change.breaks {
        Breaks::Nobody => "",
        Breaks::Readers => " (breaks readers)",
        Breaks::Writers => " (breaks writers)",
        Breaks::Both => " (breaks readers and writers)",
    };
    format!("{}: {}{breaks}", change.family, change.what)
}

fn word(version: Version) -> &'static str {
    match version {
        Version::Same => "same",
        Version::Patch => "patch",
        Version::Minor => "minor",
        Version::Major => "major",
    }
}

fn as_json(change: &Change) -> Value {
    let breaks: &[&str] = match change.breaks {
        Breaks::Nobody => &[],
        Breaks::Readers => &["readers"],
        Breaks::Writers => &["writers"],
        Breaks::Both => &["readers", "writers"],
    };
    json!({
        "family": change.family,
        "what": change.what,
        "breaks": breaks,
        "migration": change.migration,
        "version": word(change.version),
    })
}
