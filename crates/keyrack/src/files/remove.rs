//! `keyrack files rm`.

use keyrack_files::Files;
use keyrack_format as format;

use crate::{Exit, Globals, terminal};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The bucket
    bucket: String,
    /// The files in it
    #[arg(required = true)]
    key: Vec<String>,
    /// A word about who wants this, for debugging
    #[arg(long, value_name = "TEXT")]
    hint: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// Asks for files to be deleted.
pub(super) async fn run(args: &Args, files: &Files, globals: &Globals) -> anyhow::Result<Exit> {
    let count = format::counted(args.key.len() as u64, "file");
    if !args.yes && !terminal::agreed(&format!("delete {count}?"), "deleting files")? {
        globals.say("nothing was done");
        return Ok(Exit::Ok);
    }
    for key in &args.key {
        files.request_deletion(&args.bucket, key, args.hint.as_deref()).await?;
    }
    globals.say(format_args!("{count} to be deleted by the next sweep"));
    Ok(Exit::Ok)
}
