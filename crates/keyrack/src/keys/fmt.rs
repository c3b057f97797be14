//! `keyrack keys fmt`.

use std::path::PathBuf;

use keyrack_keys::file::tidy;

use super::declared::{read_text, wrong};
use crate::{Exit, Failure, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    paths: Vec<PathBuf>,
    /// Change nothing; end with 10 if a file is not formatted
    #[arg(long)]
    check: bool,
}

/// Formats files in their place.
pub(super) fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let mut exit = Exit::Ok;
    for path in &args.paths {
        let before = read_text(path)?;
        let name = path.display().to_string();
        let after = tidy(&name, &before).map_err(|error| wrong(&[error]))?;
        if after == before {
            continue;
        }
        if args.check {
            globals.say(format_args!("{name} is not formatted"));
            exit = Exit::Findings;
        } else {
            write_whole(path, &after)?;
            globals.say(format_args!("formatted {name}"));
        }
    }
    Ok(exit)
}

/// Replaces a file at once, so that nobody reads half of it.
pub(super) fn write_whole(path: &std::path::Path, text: &str) -> Result<(), Failure> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    written.map_err(|error| {
        let message = format!("could not write \"{}\": {error}", path.display());
        Failure::new(Exit::Failed, message)
    })
}
