//! `keyrack files sweep`, and the same done by the calendar by `keyrack serve`.

use keyrack_files::{Buckets, Files, SWEEP_JOB, Sweep, Swept};
use keyrack_format as format;
use keyrack_jobs::recurring::{CronSchedule, Definition};
use keyrack_store::Store;
use serde_json::json;

use super::{buckets, list, shown};
use crate::{
    Exit, Failure, Globals,
    settings::{FILES, FILES_SWEEP, Origin, Settings},
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where the files are: file:DIR, s3: or s3:https://HOST [default: the setting "files"]
    #[arg(long, value_name = "URL")]
    at: Option<String>,
    /// Only list the files that would be deleted
    #[arg(long)]
    dry_run: bool,
    /// Delete N files at a time
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    batch: u16,
}

/// What a dry run lists at most.
const LISTED_MAX: usize = 10_000;

/// Deletes what is due.
pub(super) async fn run(args: &Args, files: &Files, globals: &Globals) -> anyhow::Result<Exit> {
    if args.dry_run {
        let due = files.due(LISTED_MAX).await?;
        list::print(&due, files.now(), globals)?;
        return Ok(Exit::Ok);
    }
    let buckets = match &args.at {
        Some(url) => Buckets::open(url)?,
        None => buckets(&globals.settings)?,
    };
    let swept = Sweep::new(files, &buckets).batch(args.batch.into()).run().await?;
    if globals.json {
        globals.print_json(&as_json(&swept))?;
    }
    for (member, reason) in &swept.failures {
        globals.say(format_args!("could not delete {}: {reason}", shown(member)));
    }
    if !globals.json {
        globals.say(tell(&swept));
    }
    Ok(if swept.failed > 0 { Exit::Failed } else { Exit::Ok })
}

fn as_json(swept: &Swept) -> serde_json::Value {
    let failure = |(member, reason): &(Vec<u8>, String)| json!({ "member": String::from_utf8_lossy(member), "reason": reason });
    json!({
        "deleted": swept.deleted,
        "unexpected": swept.unexpected,
        "missing": swept.missing,
        "kept": swept.kept,
        "failed": swept.failed,
        "failures": swept.failures.iter().map(failure).collect::<Vec<_>>(),
    })
}

/// What a sweep has done, in a line.
fn tell(swept: &Swept) -> String {
    let mut words = format!("{} deleted", format::counted(swept.deleted, "file"));
    for (count, what) in [
        (swept.unexpected, "of them left by failed uploads"),
        (swept.missing, "already gone"),
        (swept.kept, "recorded and kept"),
        (swept.failed, "failed"),
    ] {
        if count > 0 {
            words.push_str(&format!(", {count} {what}"));
        }
    }
    words
}

/// The sweep that `keyrack serve` does by the calendar. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Sweeper {
    buckets: Buckets,
    schedule: String,
}

impl Sweeper {
    /// The one that the settings ask for, if they do.
    pub(crate) fn from_settings(settings: &Settings) -> anyhow::Result<Option<Sweeper>> {
        let Some(definition) = sweep_definition(settings)? else { return Ok(None) };
        let schedule = definition.schedule().to_string();
        Ok(Some(Sweeper { buckets: buckets(settings)?, schedule }))
    }

    /// When, in words.
    pub(crate) fn schedule(&self) -> &str {
        &self.schedule
    }

    /// Sweeps once. Other servers may do so at the same time.
    pub(crate) async fn run(&self, store: Store) -> Result<(), keyrack_files::Error> {
        let swept = Sweep::new(&Files::new(store), &self.buckets).run().await?;
        match swept {
            swept if swept == Swept::default() => {}
            swept if swept.failed > 0 => tracing::warn!("{}", tell(&swept)),
            swept => tracing::info!("{}", tell(&swept)),
        }
        Ok(())
    }
}

/// The sweep as a recurring job, if the settings say where files are and do not switch it off.
pub(crate) fn sweep_definition(settings: &Settings) -> anyhow::Result<Option<Definition>> {
    let (times, is_asked_for) =
        (settings.value(&FILES_SWEEP), settings.get(&FILES_SWEEP).origin != Origin::Default);
    if times == "off" || (settings.get(&FILES).value.is_none() && !is_asked_for) {
        return Ok(None);
    }
    // Whoever asks for sweeps has to say of what.
    buckets(settings)?;
    let schedule = CronSchedule::new("UTC", times).map_err(|error| {
        Failure::new(Exit::Usage, format!("\"files-sweep\": {error}"))
            .hint(format!("set them by {}", FILES_SWEEP.ways()))
    })?;
    Ok(Some(Definition::new(SWEEP_JOB, schedule)))
}
