//! `keyrack keys import`.

use std::{io::Write as _, path::PathBuf};

use keyrack_format as format;
use keyrack_keys::file::{Heading, write_draft};

use super::declared::read_text;
use crate::{Exit, Failure, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The page: Markdown or plain text
    page: PathBuf,
    /// Name of the document
    #[arg(long, value_name = "NAME", default_value = "imported")]
    name: String,
}

/// Drafts a keys file.
pub(super) fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let drafts = keyrack_keys::import(&args.name, &read_text(&args.page)?);
    if drafts.is_empty() {
        let message = format!("\"{}\" lists no keys", args.page.display());
        let hint = "it looks for bullets, fenced lines, \"Name: `key`\" and \"redis_key = key\"";
        return Err(Failure::new(Exit::NotFound, message).hint(hint).into());
    }
    let heading = Heading {
        name: &args.name,
        prose: "Imported from a page of text; comments mark what is a guess.",
        ..Heading::default()
    };
    let mut out = globals.out();
    out.write_all(write_draft(heading, &drafts).as_bytes())?;
    out.flush()?;
    let n_channels = drafts.iter().filter(|draft| draft.family.is_channel()).count() as u64;
    let n_keys = drafts.len() as u64 - n_channels;
    globals.say(format_args!(
        "{} and {}; \"# unsure\" marks guesses",
        format::counted(n_keys, "key"),
        format::counted(n_channels, "channel")
    ));
    Ok(Exit::Ok)
}
