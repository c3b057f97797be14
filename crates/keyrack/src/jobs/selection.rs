//! Which jobs a command is about: some by their ids, or all of a queue that meet a filter.

use indicatif::ProgressBar;
use keyrack_format as format;
use keyrack_jobs::{
    Error,
    bee::{
        Bulk, Filter, Hive, JobState,
        keys::{Jid, QueueName},
    },
};
use serde_json::json;

use super::{names, open, open_queue};
use crate::{Exit, Failure, Globals, input, terminal::confirmed};

#[derive(Debug, clap::Args)]
pub(super) struct JobSelection {
    /// The ids of the jobs
    #[arg(value_name = "JOB", value_parser = names::jid, required_unless_present = "queue",
        conflicts_with_all = ["queue", "text", "tag"])]
    pub(super) jids: Vec<Jid>,
    /// All matching jobs of this queue, instead of ids
    #[arg(long, value_parser = names::queue)]
    pub(super) queue: Option<QueueName>,
    /// With --queue: only jobs with this text in their data, id or tags
    #[arg(long, requires = "queue")]
    pub(super) text: Option<String>,
    /// With --queue: only jobs with this tag
    #[arg(long, requires = "queue")]
    pub(super) tag: Option<String>,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub(super) yes: bool,
}

/// What is done to the jobs, and the words for it.
pub(super) struct BulkAction {
    pub(super) bulk: Bulk,
    /// As in "cancel 3 jobs?".
    pub(super) verb: &'static str,
    /// As in "3 jobs canceled".
    pub(super) done: &'static str,
    /// Only count the jobs.
    pub(super) is_dry_run: bool,
}

/// Does it to all jobs chosen, once the user agrees if there are several. `places` are where a queue is looked through.
pub(super) async fn run(
    selection: &JobSelection,
    action: &BulkAction,
    places: &[JobState],
    globals: &Globals,
) -> anyhow::Result<Exit> {
    match &selection.queue {
        Some(queue) => {
            let filters = places.iter().map(|place| Filter {
                text: selection.text.clone(),
                tag: selection.tag.clone(),
                ..Filter::at(*place)
            });
            by_filter(queue, filters.collect(), selection.yes, action, globals).await
        }
        None => by_id(&selection.jids, selection.yes, action, globals).await,
    }
}

async fn by_id(
    jids: &[Jid],
    yes: bool,
    action: &BulkAction,
    globals: &Globals,
) -> anyhow::Result<Exit> {
    let hive = open(globals).await?;
    if action.is_dry_run {
        return count_by_id(&hive, jids, action, globals).await;
    }
    if jids.len() > 1 && !yes && !is_confirmed(jids.len() as u64, action)? {
        return Ok(unchanged(globals));
    }
    let mut changed = Vec::new();
    let mut failures = Vec::new();
    for jid in jids {
        let done = match &action.bulk {
            Bulk::Cancel => hive.cancel(jid).await,
            Bulk::Retry => hive.retry(jid).await.map(|()| vec![jid.to_string()]),
            Bulk::Change(change) => hive
                .change_job(jid, change)
                .await
                .map(|is_changed| is_changed.then(|| jid.to_string()).into_iter().collect()),
        };
        match done {
            Ok(done) => changed.extend(done),
            // One that is gone does not keep the others from it.
            Err(error @ (Error::NoSuchJob { .. } | Error::Conflict { .. })) => failures.push(error),
            Err(error) => return Err(error.into()),
        }
    }
    tell(changed.len() as u64, Some(&changed), action, globals)?;
    let last = failures.pop();
    failures.iter().for_each(|error| globals.say(format_args!("error: {error}")));
    last.map_or(Ok(Exit::Ok), |error| Err(error.into()))
}

/// How many of the jobs are there.
async fn count_by_id(
    hive: &Hive,
    jids: &[Jid],
    action: &BulkAction,
    globals: &Globals,
) -> anyhow::Result<Exit> {
    for jid in jids {
        hive.job(jid).await?;
    }
    tell_dry_run(jids.len() as u64, action, globals)
}

fn tell_dry_run(matched: u64, action: &BulkAction, globals: &Globals) -> anyhow::Result<Exit> {
    if globals.json {
        globals.print_json(&json!({ "matched": matched, "changed": 0 }))?;
    } else {
        let jobs = format::counted(matched, "job");
        globals.say(format_args!("would {} {jobs}; nothing was changed", action.verb));
    }
    Ok(Exit::Ok)
}

async fn by_filter(
    queue: &QueueName,
    filters: Vec<Filter>,
    yes: bool,
    action: &BulkAction,
    globals: &Globals,
) -> anyhow::Result<Exit> {
    let hive = open_queue(globals, queue).await?;
    let mut all = FilteredJobs { hive, queue, filters, action, bar: bar(globals) };
    if action.is_dry_run {
        let matched = all.go_through(true).await;
        all.bar.finish_and_clear();
        return tell_dry_run(matched?, action, globals);
    }
    if !yes {
        let matched = all.count().await?;
        if matched == 0 {
            let message = format!("queue \"{queue}\" has no matching jobs");
            return Err(Failure::new(Exit::NotFound, message).into());
        }
        if matched > 1 && !is_confirmed(matched, action)? {
            return Ok(unchanged(globals));
        }
    }
    let changed = all.go_through(false).await;
    all.bar.finish_and_clear();
    tell(changed?, None, action, globals)?;
    Ok(Exit::Ok)
}

/// All jobs of a queue that meet one of the filters.
struct FilteredJobs<'a> {
    hive: Hive,
    queue: &'a QueueName,
    filters: Vec<Filter>,
    action: &'a BulkAction,
    bar: ProgressBar,
}

impl FilteredJobs<'_> {
    /// How many there are.
    async fn count(&mut self) -> anyhow::Result<u64> {
        let is_whole = |filter: &Filter| filter.text.is_none() && filter.tag.is_none();
        if !self.filters.iter().all(is_whole) {
            let count = self.go_through(true).await;
            self.bar.reset();
            return count;
        }
        let stats = self.hive.stats(self.queue).await?;
        Ok(self.filters.iter().map(|filter| stats.jobs_in(filter.place)).sum())
    }

    /// Goes through them: how many there are, or how many were changed.
    async fn go_through(&mut self, is_dry_run: bool) -> anyhow::Result<u64> {
        let mut count = 0;
        for filter in &self.filters {
            let mut cursor = None;
            loop {
                let bulk = &self.action.bulk;
                let done =
                    self.hive.bulk(self.queue, filter, bulk, is_dry_run, cursor.as_deref()).await?;
                count += if is_dry_run { done.matched } else { done.changed };
                self.bar.set_message(format::counted(count, "job"));
                cursor = done.next;
                if cursor.is_none() {
                    break;
                }
            }
        }
        Ok(count)
    }
}

/// Shows how many jobs there were so far; nothing when stderr is no terminal.
fn bar(globals: &Globals) -> ProgressBar {
    let bar = input::bar(globals, None);
    input::set_style(&bar, "{spinner} {msg}");
    bar
}

fn is_confirmed(count: u64, action: &BulkAction) -> anyhow::Result<bool> {
    let what = format!("{} {}", action.verb, format::counted(count, "job"));
    confirmed(&format!("{what}?"), &format!("to {what}"))
}

fn unchanged(globals: &Globals) -> Exit {
    globals.say("nothing was changed");
    Exit::Failed
}

fn tell(
    count: u64,
    jids: Option<&[String]>,
    action: &BulkAction,
    globals: &Globals,
) -> anyhow::Result<()> {
    if globals.json {
        return globals.print_json(&json!({ "changed": count, "jobs": jids }));
    }
    globals.say(format_args!("{} {}", format::counted(count, "job"), action.done));
    Ok(())
}
