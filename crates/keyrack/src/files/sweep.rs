//! `keyrack files sweep`, and the same done regularly by `keyrack serve`.

use std::time::Duration;

use keyrack_files::{Buckets, Files, Sweep, Swept};
use keyrack_http::human;
use keyrack_store::Store;
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};

use super::{buckets, list, shown};
use crate::{
    Exit, Globals, duration,
    settings::{FILES_SWEEP, Settings},
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where the files are, instead of what the setting "files" says: file:DIR, s3: or s3:https://HOST
    #[arg(long, value_name = "URL")]
    at: Option<String>,
    /// Only list what would be deleted
    #[arg(long)]
    dry_run: bool,
    /// Delete so many at once
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
    let mut words = format!("{} deleted", human::counted(swept.deleted, "file"));
    for (count, what) in [
        (swept.unexpected, "of them uploaded for nothing"),
        (swept.missing, "gone already"),
        (swept.kept, "on record and kept"),
        (swept.failed, "failed"),
    ] {
        if count > 0 {
            words.push_str(&format!(", {count} {what}"));
        }
    }
    words
}

/// The sweep that `keyrack serve` does by itself.
#[derive(Debug)]
pub(crate) struct Sweeper {
    buckets: Buckets,
    every: Duration,
}

impl Sweeper {
    /// The one that the settings ask for, if they do.
    pub(crate) fn from_settings(settings: &Settings) -> anyhow::Result<Option<Sweeper>> {
        let every = match settings.value(&FILES_SWEEP) {
            "off" => return Ok(None),
            time => duration::parse_positive(time).map_err(|reason| {
                let failure =
                    crate::Failure::new(Exit::Usage, format!("the time between sweeps: {reason}"));
                failure.hint(format!("set it by {}", FILES_SWEEP.ways()))
            })?,
        };
        Ok(Some(Sweeper { buckets: buckets(settings)?, every }))
    }

    /// How often.
    pub(crate) fn every(&self) -> Duration {
        self.every
    }

    /// Sweeps until dropped, at once and then regularly. Other servers may do the same.
    pub(crate) async fn run(self, store: Store) {
        let files = Files::new(store);
        let mut times = interval(self.every);
        times.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            times.tick().await;
            match Sweep::new(&files, &self.buckets).run().await {
                Ok(swept) if swept == Swept::default() => {}
                Ok(swept) if swept.failed > 0 => tracing::warn!("{}", tell(&swept)),
                Ok(swept) => tracing::info!("{}", tell(&swept)),
                Err(error) => tracing::warn!(%error, "could not sweep files"),
            }
        }
    }
}
