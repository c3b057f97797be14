//! `keyrack jobs submit`.

use std::{io::Write as _, path::PathBuf, time::Duration};

use keyrack_format as format;
use keyrack_jobs::bee::{
    self, BackoffWish, Job, Status, StoredJob, Submission, SubmitOutcome, UniqueRequest,
    keys::{Hostname, Jid, LimitName, QueueName, Tag, Tenant},
};

use super::{backoff::BackoffArgs, many, names, open, unique::UniqueArgs};
use crate::{Exit, Failure, Globals};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The queue
    #[arg(value_parser = names::queue)]
    queue: QueueName,
    /// Arguments for the worker, each as JSON
    #[arg(value_name = "JSON", value_parser = names::json, allow_negative_numbers = true)]
    args: Vec<String>,
    /// Priority: 10 runs next, 0 in order of submission, negative later [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = names::priority)]
    priority: Option<f64>,
    /// Do not start the job before TIME has passed, such as 5m
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse, allow_hyphen_values = true)]
    delay: Option<Duration>,
    /// Tag for "keyrack jobs search"; can be repeated
    #[arg(long = "tag", value_name = "TAG", value_parser = names::tag)]
    tags: Vec<Tag>,
    /// Start after this job has ended, whether it completed or failed; can be repeated
    #[arg(long, value_name = "JOB", value_parser = names::jid)]
    after: Vec<Jid>,
    /// Start after all jobs that have all tags of this job have ended
    #[arg(long)]
    after_tags: bool,
    /// Parent job; canceling the parent cancels this job
    #[arg(long, value_name = "JOB", value_parser = names::jid)]
    parent: Option<Jid>,
    /// Tenant; the tenants of a queue take turns
    #[arg(long, value_parser = names::tenant)]
    tenant: Option<Tenant>,
    /// Limit of the queue that counts the job (see "keyrack jobs limits --limit"); can be repeated
    #[arg(long = "limit", value_name = "NAME", value_parser = names::limit)]
    limits: Vec<LimitName>,
    /// Text that is kept with the job, such as request=r-7; can be repeated
    #[arg(long, value_name = "NAME=TEXT", value_parser = names::metadata)]
    metadata: Vec<(String, String)>,
    /// Span that submits the job, in the form of the W3C header [default: the variable TRACEPARENT]
    #[arg(long, value_name = "CONTEXT")]
    traceparent: Option<String>,
    /// What tracing systems have added to --traceparent [default: the variable TRACESTATE]
    #[arg(long, value_name = "LIST", requires = "traceparent")]
    tracestate: Option<String>,
    /// Host whose workers are offered the job first
    #[arg(long, value_parser = names::host)]
    host: Option<Hostname>,
    /// Retry N times after failures [default: --retries of the queue's limits, 5]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = names::retries)]
    retries: Option<u32>,
    #[command(flatten)]
    backoff: BackoffArgs,
    /// Wait longer before each retry: the same as --backoff linear
    #[arg(long)]
    progressive: bool,
    /// Stop an attempt that takes longer than TIME; it failed [default: --timeout of the queue's limits or of the worker]
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse_positive, allow_hyphen_values = true)]
    timeout: Option<Duration>,
    /// Do not run the job if it has not started within TIME; it ends as expired
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse_positive, allow_hyphen_values = true)]
    start_within: Option<Duration>,
    /// Keep the job and its result for TIME after it ends [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse, allow_hyphen_values = true)]
    ttl: Option<Duration>,
    /// Keep the job for TIME if it fails [default: --failed-ttl of the queue's limits, 7d]
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse, allow_hyphen_values = true)]
    failed_ttl: Option<Duration>,
    /// Your own id for the job; a second job with the same id is refused
    #[arg(long, value_name = "JOB", value_parser = names::jid)]
    id: Option<Jid>,
    #[command(flatten)]
    unique: UniqueArgs,
    /// Wait until the job ends, at most TIME, and print its result [default TIME: no limit]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true,
        default_missing_value = "3650d", value_parser = format::duration::parse)]
    wait: Option<Duration>,
    /// Read jobs from a file or from stdin (-), one per line
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "args", "priority", "delay", "tags", "after", "after_tags", "parent", "tenant", "limits", "metadata", "traceparent", "tracestate", "host", "retries",
        "retry_delay", "backoff", "retry_delay_max", "retry_jitter", "progressive", "timeout", "start_within", "ttl",
        "failed_ttl", "id", "wait", "unique", "unique_by", "unique_until", "unique_for", "debounce", "throttle",
    ])]
    many: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
A line of the file for --many is a list of arguments, or an object such as
  {\"data\": [\"alice@example.com\"], \"priority\": 3, \"delay\": 5000, \"tags\": [\"welcome\"]}
with the fields that \"keyrack jobs show --json\" prints. Times are in milliseconds.";

/// Submits a job, or many.
pub(super) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    if let Some(file) = &args.many {
        return many::run(file, &args.queue, globals).await;
    }
    let wait = args.wait;
    let job = args.submission()?;
    let hive = open(globals).await?;
    let is_unique = job.is_unique();
    let StoredJob { jid, outcome } = hive.submit_unique(job).await?;
    match outcome {
        // The answer has it.
        _ if globals.json => {}
        SubmitOutcome::Created => {}
        SubmitOutcome::Existing => globals.say(format_args!("{jid} was submitted before")),
        SubmitOutcome::Replaced => {
            globals.say(format_args!("{jid} was submitted before and has these arguments now"));
        }
    }
    match wait {
        None if globals.json && is_unique => globals
            .print_json(&serde_json::json!({ "jid": jid.as_str(), "outcome": outcome.as_str() }))?,
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
                Failure::new(Exit::Failed, format!("job \"{jid}\" did not end within {waited}"))
                    .hint(format!("\"keyrack jobs why {jid}\" shows what it is waiting for"))
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
        job = self.limits.iter().fold(job, Submission::limit);
        for (name, text) in self.metadata {
            job = job.metadata(name, text);
        }
        let trace = bee::trace_context(self.traceparent.as_deref(), self.tracestate.as_deref())?;
        if let Some(trace) = trace {
            job = job.trace(trace);
        }
        if let Some(host) = &self.host {
            job = job.preferred_host(host);
        }
        if let Some(retries) = self.retries {
            job = job.retries(retries);
        }
        let asked = BackoffWish { progressive: self.progressive, ..self.backoff.wish() };
        if let Some(backoff) = asked.backoff()? {
            job = job.backoff(backoff);
        }
        if let Some(timeout) = self.timeout {
            job = job.timeout(timeout);
        }
        if let Some(time) = self.start_within {
            job = job.start_within(time);
        }
        if let Some(ttl) = self.ttl {
            job = job.ttl_ms(ttl.as_millis() as u64);
        }
        if let Some(ttl) = self.failed_ttl {
            job = job.failed_ttl_ms(ttl.as_millis() as u64);
        }
        if let Some(unique) = self.unique.request().map(UniqueRequest::unique).transpose()? {
            job = job.unique(unique);
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
    let message = format!("job \"{}\" ended as {}{reason}", job.jid(), job.status());
    Err(Failure::new(Exit::Failed, message).into())
}

#[cfg(test)]
mod tests {
    use clap::Args as _;
    use keyrack_jobs::bee::{DEFAULT_RETRIES, DEFAULT_RETRY_DELAY_MS, DEFAULT_TTL_MS};

    use super::*;

    #[test]
    fn help_names_the_defaults_of_jobs() {
        let command = Args::augment_args(clap::Command::new("submit"));
        for (name, default) in [
            ("retries", format!("{DEFAULT_RETRIES}]")),
            ("retry_delay", format!("{}s]", DEFAULT_RETRY_DELAY_MS / 1_000.0)),
            ("ttl", format!("[default: {}m]", DEFAULT_TTL_MS / 60_000)),
        ] {
            let arg =
                command.get_arguments().find(|arg| arg.get_id() == name).expect("an argument");
            let help = arg.get_help().expect("help").to_string();
            assert!(help.ends_with(&default), "{name}: {help}");
        }
    }
}
