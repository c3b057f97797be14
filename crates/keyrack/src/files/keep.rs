//! `keyrack files keep`.

use keyrack_files::{Entry, Files};
use keyrack_format as format;

use crate::{Exit, Failure, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The bucket
    bucket: String,
    /// The name of the file in the bucket
    key: String,
}

/// Entries that are read at a time.
const PAGE: usize = 1000;

/// Takes every entry of a file out, whatever else it says.
pub(super) async fn run(args: &Args, files: &Files, globals: &Globals) -> anyhow::Result<Exit> {
    let is_meant = |entry: &Entry| {
        entry.file.as_ref().is_ok_and(|file| file.bucket == args.bucket && file.key == args.key)
    };
    let mut found = Vec::new();
    for page in 0.. {
        let entries = files.list(page * PAGE, PAGE).await?;
        let is_last = entries.len() < PAGE;
        found.extend(entries.into_iter().filter(is_meant));
        if is_last {
            break;
        }
    }
    let mut kept = 0;
    for entry in &found {
        kept += u64::from(files.keep(&entry.member).await?);
    }
    if kept == 0 {
        let message =
            format!("the file \"{}\" in \"{}\" is not in purgatory", args.key, args.bucket);
        let hint = "\"keyrack files list\" lists the files in purgatory";
        return Err(Failure::new(Exit::NotFound, message).hint(hint).into());
    }
    globals.say(format_args!("kept; removed from purgatory ({})", format::counted(kept, "time")));
    Ok(Exit::Ok)
}
