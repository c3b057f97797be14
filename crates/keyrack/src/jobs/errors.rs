//! `keyrack jobs errors`.

use std::{
    io::{self, Write},
    time::Duration,
};

use keyrack_format as format;
use keyrack_jobs::bee::{
    BULK_MAX, Hive,
    errors::{ErrorGroup, ErrorQuery, Errors, GroupRetry, Mute, MuteRequest},
    keys::QueueName,
};
use serde_json::json;

use super::{names, open, open_queue};
use crate::{
    Exit, Failure, Globals,
    table::{Cell, Table},
    terminal::{Color, Paint, confirmed},
};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: ListArgs,
}

const AFTER_HELP: &str = "\
Failures of one cause are in one group: the same type of error, and the same message once numbers,
ids, quoted values and paths are taken out. COUNT is attempts, FAILED jobs that failed for good.
A queue has at most 100 groups, kept for 30 days after the last failure.";

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the groups of failures of a queue, or of all queues
    List(ListArgs),
    /// Show a group: its trend, jobs, tenants, hosts, versions and queues
    Show(GroupArgs),
    /// Run failed jobs of a group again
    Retry(RetryArgs),
    /// Let a group raise no alert until a time, or until a version of the workers fails with it
    Mute(MuteArgs),
    /// Let a muted group raise alerts again
    Unmute(GroupArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// The queue [default: all queues]
    #[arg(value_name = "QUEUE", value_parser = names::queue)]
    queue: Option<QueueName>,
    /// Only groups with this text in their type or message
    #[arg(long)]
    text: Option<String>,
    /// Leave muted groups out
    #[arg(long)]
    unmuted: bool,
}

#[derive(Debug, clap::Args)]
struct GroupArgs {
    /// The queue
    #[arg(value_parser = names::queue)]
    queue: QueueName,
    /// The group
    group: String,
}

#[derive(Debug, clap::Args)]
struct RetryArgs {
    #[command(flatten)]
    of: GroupArgs,
    /// Run at most N jobs again, those first that failed last
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=BULK_MAX))]
    max: Option<u64>,
    /// Only count the jobs
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("end").required(true).multiple(true).args(["time", "until_version"]))]
struct MuteArgs {
    #[command(flatten)]
    of: GroupArgs,
    /// For how long, up to 365d
    #[arg(long = "for", value_name = "TIME", value_parser = format::duration::parse_positive)]
    time: Option<Duration>,
    /// Until a worker of this version or a later one fails with it
    #[arg(long, value_name = "VERSION")]
    until_version: Option<String>,
}

/// Shows why jobs failed, or does something about it.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    match &args.command {
        None => list(&args.list, globals).await,
        Some(Command::List(args)) => list(args, globals).await,
        Some(Command::Show(args)) => show(args, globals).await,
        Some(Command::Retry(args)) => retry(args, globals).await,
        Some(Command::Mute(args)) => mute(args, globals).await,
        Some(Command::Unmute(args)) => unmute(args, globals).await,
    }
}

async fn list(args: &ListArgs, globals: &Globals) -> anyhow::Result<Exit> {
    let (hive, queues) = match &args.queue {
        Some(queue) => (open_queue(globals, queue).await?, vec![queue.clone()]),
        None => {
            let hive = open(globals).await?;
            let queues = hive.queues().await?;
            (hive, queues)
        }
    };
    let query = ErrorQuery { text: args.text.clone(), without_muted: args.unmuted };
    let mut all = Vec::new();
    for queue in &queues {
        all.push(hive.errors(queue, &query).await?);
    }
    if globals.json {
        match (&args.queue, all.as_slice()) {
            (Some(_), [errors]) => globals.print_json(errors)?,
            _ => globals.print_json(&json!({ "queues": all }))?,
        }
        return Ok(Exit::Ok);
    }
    if all.iter().all(|errors| errors.groups.is_empty()) {
        globals.say("no failures");
    } else {
        let mut out = globals.out();
        rows(&all).print(&mut out)?;
        out.flush()?;
    }
    let folded: u64 = all.iter().filter_map(|errors| Some(errors.other.as_ref()?.count)).sum();
    if folded > 0 {
        let failures = format::counted(folded, "failure");
        globals.say(format_args!("{failures} more in groups that made room for others"));
    }
    Ok(Exit::Ok)
}

fn rows(all: &[Errors]) -> Table {
    let mut table =
        Table::new(&["QUEUE", "GROUP", "COUNT", "FAILED", "FIRST", "LAST", "MUTED", "ERROR"]);
    let groups = all
        .iter()
        .flat_map(|errors| errors.groups.iter().map(move |group| (errors.queue.as_str(), group)));
    for (queue, group) in groups {
        table.row(vec![
            Cell::from(queue.to_owned()),
            Cell::from(group.id.clone()),
            Cell::number(format::count(group.count)),
            Cell::number(format::count(group.failed)),
            Cell::from(format::local_s(group.first_at)),
            Cell::from(format::local_s(group.last_at)),
            Cell::from(group.mute.as_ref().map_or_else(|| "-".to_owned(), until)),
            Cell::from(title(group)),
        ]);
    }
    table
}

/// The type of an error and its message, as far as there are such.
fn title(group: &ErrorGroup) -> String {
    match group.kind.as_str() {
        "" => group.text.clone(),
        kind => format!("{kind}: {}", group.text),
    }
}

fn until(mute: &Mute) -> String {
    match &mute.version {
        Some(version) => format!("until {version}"),
        None => format!("until {}", format::local_s(mute.until)),
    }
}

async fn show(args: &GroupArgs, globals: &Globals) -> anyhow::Result<Exit> {
    let hive = open_queue(globals, &args.queue).await?;
    let group = hive.error_group(&args.queue, &args.group).await?;
    let queues = hive.queues_with_error(&args.group).await?;
    if globals.json {
        let mut told = serde_json::to_value(&group)?;
        told["queues"] = json!(queues);
        globals.print_json(&told)?;
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    print(&mut out, &group, &queues)?;
    out.flush()?;
    Ok(Exit::Ok)
}

fn print(out: &mut impl Write, group: &ErrorGroup, queues: &[String]) -> io::Result<()> {
    let times = |count: u64, at: u64| format!("{}: {}", format::local_s(at), format::count(count));
    let hours: Vec<String> = group.hours.iter().map(|hour| times(hour.count, hour.at)).collect();
    let jobs: Vec<String> = group
        .jobs
        .iter()
        .map(|job| format!("{}, failed {}", job.jid, format::local_s(job.at)))
        .collect();
    let facts = [
        ("last said", group.message.clone()),
        ("attempts", format::count(group.count)),
        ("jobs", format::count(group.failed)),
        ("first", format::local_s(group.first_at)),
        ("last", format::local_s(group.last_at)),
        ("muted", group.mute.as_ref().map(until).unwrap_or_default()),
        ("queues", queues.join(", ")),
        ("tenants", group.tenants.join(", ")),
        ("hosts", group.hosts.join(", ")),
        ("versions", group.versions.join(", ")),
        ("last jobs", jobs.join("\n")),
        ("by hour", hours.join("\n")),
    ];
    let plain = |line: &str| format::one_line(line, None);
    let paint = Paint::for_stdout();
    writeln!(out, "{}  {}", plain(&group.id), plain(&title(group)))?;
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        let mut lines = value.lines();
        let name = paint.apply(Some(Color::Dim), &format!("{name:<10}"));
        writeln!(out, "  {name}  {}", plain(lines.next().unwrap_or_default()))?;
        for line in lines {
            writeln!(out, "              {}", plain(line))?;
        }
    }
    Ok(())
}

async fn retry(args: &RetryArgs, globals: &Globals) -> anyhow::Result<Exit> {
    let GroupArgs { queue, group } = &args.of;
    let hive = open_queue(globals, queue).await?;
    if !args.dry_run && !args.yes {
        let matched = go_through(&hive, args, true).await?.0;
        if matched == 0 {
            let message = format!("the group \"{group}\" has no failed jobs any more");
            return Err(Failure::new(Exit::NotFound, message).into());
        }
        let what = format!("retry {}", format::counted(matched, "job"));
        if matched > 1 && !confirmed(&format!("{what}?"), &format!("to {what}"))? {
            globals.say("nothing was changed");
            return Ok(Exit::Failed);
        }
    }
    let (matched, changed) = go_through(&hive, args, args.dry_run).await?;
    if globals.json {
        globals.print_json(&json!({ "matched": matched, "changed": changed }))?;
    } else if args.dry_run {
        let jobs = format::counted(matched, "job");
        globals.say(format_args!("would retry {jobs}; nothing was changed"));
    } else {
        globals.say(format_args!("{} queued again", format::counted(changed, "job")));
    }
    Ok(Exit::Ok)
}

/// Goes through the failed jobs of the group: how many there are, and how many were changed.
async fn go_through(hive: &Hive, args: &RetryArgs, is_dry_run: bool) -> anyhow::Result<(u64, u64)> {
    let GroupArgs { queue, group } = &args.of;
    let (mut matched, mut changed, mut cursor) = (0, 0, None);
    loop {
        let request = GroupRetry { max: args.max, is_dry_run, cursor };
        let done = hive.retry_errors(queue, group, &request).await?;
        matched += done.matched;
        changed += done.changed;
        cursor = done.next;
        if cursor.is_none() || args.max.is_some() {
            return Ok((matched, changed));
        }
    }
}

async fn mute(args: &MuteArgs, globals: &Globals) -> anyhow::Result<Exit> {
    let GroupArgs { queue, group } = &args.of;
    let hive = open_queue(globals, queue).await?;
    let until = args.time.map(|time| {
        hive.now_ms().saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    });
    let request = MuteRequest { until, version: args.until_version.clone() };
    let mute = hive.mute_error(queue, group, &request).await?;
    if globals.json {
        globals.print_json(&mute)?;
    } else {
        let time = format::local_s(mute.until);
        let version = mute.version.map(|version| format!(", or until {version} fails with it"));
        globals.say(format_args!("muted until {time}{}", version.unwrap_or_default()));
    }
    Ok(Exit::Ok)
}

async fn unmute(args: &GroupArgs, globals: &Globals) -> anyhow::Result<Exit> {
    let hive = open_queue(globals, &args.queue).await?;
    hive.unmute_error(&args.queue, &args.group).await?;
    if globals.json {
        globals.print_json(&json!({ "unmuted": args.group }))?;
    } else {
        globals.say(format_args!("\"{}\" raises alerts again", args.group));
    }
    Ok(Exit::Ok)
}
