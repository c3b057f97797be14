//! `keyrack jobs submit`.

use std::{io::Write as _, path::PathBuf, time::Duration};

use keyrack_format as format;
use keyrack_jobs::bee::{
    DEFAULT_RETRY_DELAY_MS, Job, Status, Submission,
    keys::{Hostname, Jid, QueueName, Tag, Tenant},
};

use super::{many, names, open};
use crate::{Exit, Failure, Globals};

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The queue
    #[arg(value_parser = names::queue)]
    queue: QueueName,
    /// The arguments for the worker, each as JSON
    #[arg(value_name = "JSON", value_parser = names::json, allow_negative_numbers = true)]
    args: Vec<String>,
    /// 10 runs next, 0 in order of submission, negative later [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = names::priority)]
    priority: Option<f64>,
    /// Wait so long before it may run
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse, allow_hyphen_values = true)]
    delay: Option<Duration>,
    /// A word by which it is found; may be given several times
    #[arg(long = "tag", value_name = "TAG", value_parser = names::tag)]
    tags: Vec<Tag>,
    /// Run it after this job has ended, in whatever way; may be given several times
    #[arg(long, value_name = "JOB", value_parser = names::jid)]
    after: Vec<Jid>,
    /// Run it after all jobs that have all of its tags have ended
    #[arg(long)]
    after_tags: bool,
    /// The job that submits it; they are cancelled together
    #[arg(long, value_name = "JOB", value_parser = names::jid)]
    parent: Option<Jid>,
    /// On whose behalf it runs: the tenants of a queue take turns
    #[arg(long, value_parser = names::tenant)]
    tenant: Option<Tenant>,
    /// The host whose workers hear of it first
    #[arg(long, value_parser = names::host)]
    host: Option<Hostname>,
    /// Try it again so often after failures [default: 5]
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
    /// Wait so long before trying it again [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse, allow_hyphen_values = true)]
    retry_delay: Option<Duration>,
    /// Wait longer with each try: once, twice, three times --retry-delay
    #[arg(long)]
    progressive: bool,
    /// Keep its result so long [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse, allow_hyphen_values = true)]
    ttl: Option<Duration>,
    /// Keep it so long if it fails [default: as the queue says, 7d]
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse, allow_hyphen_values = true)]
    failed_ttl: Option<Duration>,
    /// An id of your own; a second job with it is refused
    #[arg(long, value_name = "JOB", value_parser = names::jid)]
    id: Option<Jid>,
    /// Wait until it has ended, at most so long, and print its result
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true,
        default_missing_value = "3650d", value_parser = format::duration::parse)]
    wait: Option<Duration>,
    /// Read jobs from a file or from stdin (-), one on each line
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "args", "priority", "delay", "tags", "after", "after_tags", "parent", "tenant", "host", "retries",
        "retry_delay", "progressive", "ttl", "failed_ttl", "id", "wait",
    ])]
    many: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:

  keyrack jobs submit emails '\"alice@example.com\"' --delay 5m --tag welcome
  keyrack jobs submit reports '{\"year\": 2026}' --wait=1m
  keyrack jobs submit emails --many jobs.ndjson

A line for --many is a list of arguments, or an object such as
  {\"data\": [\"alice@example.com\"], \"priority\": 3, \"delay\": 5000, \"tags\": [\"welcome\"]}
with the words of a stored job (\"keyrack jobs show --json\"); times in it are milliseconds.";

/// Submits a job, or many.
pub(super) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    if let Some(file) = &args.many {
        return many::run(file, &args.queue, globals).await;
    }
    let wait = args.wait;
    let job = args.submission()?;
    let hive = open(globals).await?;
    let jid = hive.submit(job).await?;
    match wait {
        None if globals.json => globals.print_json(&serde_json::json!({ "jid": jid.as_str() }))?,
        None => {
            let mut out = globals.out();
            writeln!(out, "{jid}")?;
            out.flush()?;
        }
        Some(patience) => {
            globals.say(format_args!("submitted {jid}"));
            let ended = hive.outcome(&jid, patience).await?.ok_or_else(|| {
                let waited = format::duration(patience);
                Failure::new(
                    Exit::Failed,
                    format!("the job \"{jid}\" has not ended within {waited}"),
                )
                .hint(format!("\"keyrack jobs why {jid}\" tells what it waits for"))
            })?;
            return print_end(&ended, globals);
        }
    }
    Ok(Exit::Ok)
}

impl Args {
    fn submission(self) -> Result<Submission, keyrack_jobs::Error> {
        let ms = |time: Duration| time.as_millis() as f64;
        let list = format!("[{}]", self.args.join(","));
        let mut job = Submission::to(self.queue).args_json(&list)?;
        job = job.priority(self.priority.unwrap_or(0.0)).delay_ms(self.delay.map_or(0.0, ms));
        job = self.tags.into_iter().fold(job, Submission::tag);
        job = self.after.into_iter().fold(job, Submission::after);
        if self.after_tags {
            job = job.after_tags();
        }
        if let Some(parent) = self.parent {
            job = job.parent(parent);
        }
        if let Some(tenant) = self.tenant {
            job = job.tenant(tenant);
        }
        if let Some(host) = &self.host {
            job = job.preferred_host(host);
        }
        if let Some(retries) = self.retries {
            job = job.retries(retries);
        }
        let retry_delay = self.retry_delay.map_or(DEFAULT_RETRY_DELAY_MS, ms);
        job = job.retry_delay_ms(retry_delay, self.progressive);
        if let Some(ttl) = self.ttl {
            job = job.ttl_ms(ttl.as_millis() as u64);
        }
        if let Some(ttl) = self.failed_ttl {
            job = job.failed_ttl_ms(ttl.as_millis() as u64);
        }
        if let Some(id) = self.id {
            job = job.id(id);
        }
        Ok(job)
    }
}

/// The result of a job that was waited for; the exit code tells how it ended.
fn print_end(job: &Job, globals: &Globals) -> anyhow::Result<Exit> {
    if globals.json {
        globals.print_json(job)?;
    }
    if job.status() == Status::Completed {
        if !globals.json {
            let mut out = globals.out();
            writeln!(out, "{}", job.result().unwrap_or("null"))?;
            out.flush()?;
        }
        return Ok(Exit::Ok);
    }
    let reason = job.failed_reason().map(|reason| format!(": {reason}")).unwrap_or_default();
    let message = format!("the job \"{}\" has ended as {}{reason}", job.jid(), job.status());
    Err(Failure::new(Exit::Failed, message).into())
}

#[cfg(test)]
mod tests {
    use clap::Args as _;
    use keyrack_jobs::bee::{DEFAULT_RETRIES, DEFAULT_TTL_MS};

    use super::*;

    #[test]
    fn help_names_the_defaults_of_jobs() {
        let command = Args::augment_args(clap::Command::new("submit"));
        for (name, default) in [
            ("retries", DEFAULT_RETRIES.to_string()),
            ("retry_delay", format!("{}s", DEFAULT_RETRY_DELAY_MS / 1_000.0)),
            ("ttl", format!("{}m", DEFAULT_TTL_MS / 60_000)),
        ] {
            let arg =
                command.get_arguments().find(|arg| arg.get_id() == name).expect("an argument");
            let help = arg.get_help().expect("help").to_string();
            assert!(help.contains(&format!("[default: {default}]")), "{name}: {help}");
        }
    }
}
