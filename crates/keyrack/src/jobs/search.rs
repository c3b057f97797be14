//! `keyrack jobs search`.

use std::io::Write as _;

use keyrack_format as format;
use keyrack_jobs::bee::{
    Hive, Job,
    keys::{Group, Jid, QueueName, Tag},
};

use super::{names, open, rows};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The tags; a job must have all of them
    #[arg(required = true, value_name = "TAG", value_parser = names::tag)]
    tags: Vec<Tag>,
    /// Only jobs of this queue
    #[arg(long, value_parser = names::queue)]
    queue: Option<QueueName>,
    /// Read at most N jobs
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: usize,
}

/// Jobs read at once.
const BATCH: usize = 100;

/// Finds jobs by their tags.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let hive = open(globals).await?;
    let mut jids = Vec::new();
    for group in groups(args, &hive).await? {
        jids.extend(hive.search(&group, &args.tags).await?);
    }
    jids.sort_unstable();
    let left_out = jids.len().saturating_sub(args.limit);
    jids.truncate(args.limit);
    let jobs = load(&hive, &jids, args.queue.as_ref()).await?;
    if globals.json {
        globals.print_json(&jobs)?;
    } else if jobs.is_empty() {
        globals.say("no matching jobs");
    } else {
        let mut out = globals.out();
        rows::table(&jobs, hive.now_ms(), true).print(&mut out)?;
        out.flush()?;
    }
    if left_out > 0 {
        let left_out = format::counted(left_out as u64, "job");
        globals.say(format_args!("{left_out} not read; use a higher --limit"));
    }
    Ok(Exit::Ok)
}

/// The groups of queues to search: tags are kept by group.
async fn groups(args: &Args, hive: &Hive) -> anyhow::Result<Vec<Group>> {
    if let Some(queue) = &args.queue {
        return Ok(vec![queue.group()]);
    }
    // Jobs of Node hives have none but the default group, whatever queues are known.
    let default = QueueName::new("any")?.group();
    let mut groups: Vec<Group> = hive.queues().await?.iter().map(QueueName::group).collect();
    groups.push(default);
    groups.sort_unstable();
    groups.dedup();
    // Elsewhere than on a cluster all groups share the same keys.
    if hive.store().layout() == keyrack_keys::Layout::Documented {
        groups.truncate(1);
    }
    Ok(groups)
}

async fn load(hive: &Hive, jids: &[String], queue: Option<&QueueName>) -> anyhow::Result<Vec<Job>> {
    let jids: Vec<Jid> = jids.iter().filter_map(|jid| Jid::new(jid.as_str()).ok()).collect();
    let mut jobs = Vec::new();
    for batch in jids.chunks(BATCH) {
        jobs.extend(hive.jobs(batch).await?.into_iter().flatten());
    }
    jobs.retain(|job| queue.is_none_or(|queue| job.queue() == queue.as_str()));
    Ok(jobs)
}
