//! `keyrack files list`.

use std::io::Write as _;

use keyrack_files::{Entry, Failure, Files};
use keyrack_format as format;
use serde::Serialize;

use super::shown;
use crate::{
    Exit, Globals,
    table::{Cell, Table},
    terminal::Color,
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only files that are due now
    #[arg(long)]
    due: bool,
    /// List at most N files
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    limit: usize,
}

/// An entry as JSON.
#[derive(Serialize)]
pub(super) struct EntryJson<'a> {
    /// As it stands in the store.
    member: String,
    bucket: Option<&'a str>,
    key: Option<&'a str>,
    expected: Option<bool>,
    hint: Option<&'a str>,
    /// When it is to be deleted, in unix seconds.
    at: f64,
    failure: Option<&'a Failure>,
}

/// Lists what is in purgatory.
pub(super) async fn run(args: &Args, files: &Files, globals: &Globals) -> anyhow::Result<Exit> {
    let entries =
        if args.due { files.due(args.limit).await? } else { files.list(0, args.limit).await? };
    print(&entries, files.now(), globals)?;
    let (all, due) = files.count().await?;
    let total = if args.due { due } else { all };
    if !globals.json && total as usize > entries.len() {
        globals.say(format_args!(
            "{} in total; for more, use --limit",
            format::counted(total, "file")
        ));
    }
    Ok(Exit::Ok)
}

/// Prints entries as a table, or as JSON.
pub(super) fn print(entries: &[Entry], now: f64, globals: &Globals) -> anyhow::Result<()> {
    if globals.json {
        let entries: Vec<EntryJson<'_>> = entries.iter().map(as_json).collect();
        return globals.print_json(&entries);
    }
    if entries.is_empty() {
        globals.say("no files");
        return Ok(());
    }
    let mut table = Table::new(&["DELETED", "BUCKET", "KEY", "WHY"]);
    for entry in entries {
        table.row(row(entry, now));
    }
    let mut out = globals.out();
    table.print(&mut out)?;
    Ok(out.flush()?)
}

fn row(entry: &Entry, now: f64) -> Vec<Cell> {
    let at = match entry.at {
        at if at <= now => Cell::painted("due", Some(Color::Yellow)),
        at => format::local_s((at.max(0.0) * 1000.0) as u64).into(),
    };
    let (bucket, key) = match &entry.file {
        Ok(file) => (file.bucket.clone(), file.key.clone()),
        Err(_) => ("?".into(), shown(&entry.member)),
    };
    let why = match (&entry.failure, &entry.file) {
        (Some(failure), _) => {
            let words = format!(
                "failed {}: {}",
                format::counted(failure.failures.into(), "time"),
                failure.reason
            );
            Cell::painted(words, Some(Color::Red))
        }
        (None, Ok(file)) => match (&file.hint, file.expected) {
            (Some(hint), _) => hint.clone().into(),
            (None, true) => "asked for".into(),
            (None, false) => "upload".into(),
        },
        (None, Err(reason)) => reason.clone().into(),
    };
    vec![at, bucket.into(), key.into(), why]
}

fn as_json(entry: &Entry) -> EntryJson<'_> {
    let file = entry.file.as_ref().ok();
    EntryJson {
        member: String::from_utf8_lossy(&entry.member).into_owned(),
        bucket: file.map(|file| &*file.bucket),
        key: file.map(|file| &*file.key),
        expected: file.map(|file| file.expected),
        hint: file.and_then(|file| file.hint.as_deref()),
        at: entry.at,
        failure: entry.failure.as_ref(),
    }
}
