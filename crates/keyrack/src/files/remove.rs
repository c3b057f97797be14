//! `keyrack files rm`.

use keyrack_files::Files;
use keyrack_format as format;

use crate::{Exit, Globals, terminal};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The bucket
    bucket: String,
    /// The names of the files in the bucket
    #[arg(required = true)]
    key: Vec<String>,
    /// A note for debugging, shown by "keyrack files list"
    #[arg(long, value_name = "TEXT")]
    hint: Option<String>,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

/// Asks for files to be deleted.
pub(super) async fn run(args: &Args, files: &Files, globals: &Globals) -> anyhow::Result<Exit> {
    let count = format::counted(args.key.len() as u64, "file");
    if !args.yes && !terminal::confirmed(&format!("delete {count}?"), "deleting files")? {
        globals.say("nothing was changed");
        return Ok(Exit::Ok);
    }
    for key in &args.key {
        files.request_deletion(&args.bucket, key, args.hint.as_deref()).await?;
    }
    globals.say(format_args!("{count} marked; the next sweep deletes them"));
    Ok(Exit::Ok)
}
