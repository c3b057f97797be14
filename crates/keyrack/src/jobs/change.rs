//! `keyrack jobs change`.

use std::time::Duration;

use keyrack_format as format;
use keyrack_jobs::bee::{
    Bulk, Change, JobState,
    keys::{Hostname, QueueName},
};

use super::{
    backoff::BackoffArgs,
    limits::{Setting, Typed},
    names,
    selection::{self, BulkAction, JobSelection},
};
use crate::{Exit, Failure, Globals};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    #[command(flatten)]
    selection: JobSelection,
    /// With --queue: only jobs in this state: queued, parked, delayed or waiting
    /// [default: all of these]
    #[arg(long = "in", value_name = "STATE", requires = "queue")]
    place: Option<JobState>,
    /// Only count the jobs
    #[arg(long)]
    dry_run: bool,
    /// Run next, before all that wait in the queue, and without a delay
    #[arg(long, conflicts_with = "delay")]
    run_now: bool,
    /// Do not start before TIME has passed
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse, allow_hyphen_values = true)]
    delay: Option<Duration>,
    /// Priority: 10 runs next, 0 in order of submission, negative later
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = names::priority)]
    priority: Option<f64>,
    /// Arguments for the worker, as a JSON list
    #[arg(long, value_name = "JSON", value_parser = names::json)]
    args: Option<String>,
    /// Move to this queue, which has to exist, of the same group
    #[arg(long, value_name = "QUEUE", value_parser = names::queue)]
    move_to: Option<QueueName>,
    /// Retry N times after failures
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = names::retries)]
    retries: Option<u32>,
    #[command(flatten)]
    backoff: BackoffArgs,
    /// Stop an attempt that takes longer than TIME
    #[arg(long, value_name = "TIME|none", allow_hyphen_values = true)]
    timeout: Option<Setting<Ms>>,
    /// End as expired unless started within TIME from now
    #[arg(long, value_name = "TIME|none", allow_hyphen_values = true)]
    start_within: Option<Setting<Ms>>,
    /// Keep the job and its result for TIME after it ends
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse, allow_hyphen_values = true)]
    ttl: Option<Duration>,
    /// Keep the job for TIME if it fails
    #[arg(long, value_name = "TIME|none", allow_hyphen_values = true)]
    failed_ttl: Option<Setting<Ms>>,
    /// Host whose workers are offered the job first
    #[arg(long, value_name = "HOST|none")]
    host: Option<Setting<HostArg>>,
}

const AFTER_HELP: &str = "\
Only jobs that wait are changed. A job that runs, was just taken by a worker or has ended is an error for
ids, and left alone with --queue. \"none\" removes an option. What is not given stays as it is.";

/// A time in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ms(u64);

impl Typed for Ms {
    fn typed(text: &str) -> Result<Ms, String> {
        Ok(Ms(format::duration::parse(text)?.as_millis() as u64))
    }
}

#[derive(Debug, Clone, PartialEq)]
struct HostArg(String);

impl Typed for HostArg {
    fn typed(text: &str) -> Result<HostArg, String> {
        Hostname::new(text)
            .map(|host| HostArg(host.as_str().to_owned()))
            .map_err(|error| error.to_string())
    }
}

/// Places of jobs that wait. A job that changes its place is not to be met again.
const WAITING: [JobState; 4] =
    [JobState::Delayed, JobState::Waiting, JobState::Queued, JobState::Parked];
const WAITING_RUN_NOW: [JobState; 3] = [JobState::Queued, JobState::Parked, JobState::Delayed];

/// Changes jobs that wait.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let change = args.change()?;
    if change.is_empty() {
        let message = "nothing is to be changed; give --priority, --run-now, --delay, --args, --move-to or an option";
        return Err(Failure::new(Exit::Usage, message).into());
    }
    change.check()?;
    let place = args.place.map(|place| [place]);
    let all = if args.run_now { &WAITING_RUN_NOW[..] } else { &WAITING[..] };
    let places = place.as_ref().map_or(all, |place| &place[..]);
    // Many jobs take some time, and are to be due together.
    let change = match &args.selection.queue {
        Some(_) => change.pinned(super::open(globals).await?.now_ms()),
        None => change,
    };
    let action = BulkAction {
        bulk: Bulk::Change(Box::new(change)),
        verb: "change",
        done: "changed",
        is_dry_run: args.dry_run,
    };
    selection::run(&args.selection, &action, places, globals).await
}

impl Args {
    fn change(&self) -> anyhow::Result<Change> {
        let wish = self.backoff.wish();
        let ms = |setting: &Option<Setting<Ms>>| {
            setting.as_ref().map(|Setting(time)| time.map(|Ms(ms)| ms))
        };
        let change = Change {
            run_now: self.run_now,
            delay: self.delay.map(|delay| delay.as_millis() as f64),
            priority: self.priority,
            queue: self.move_to.as_ref().map(ToString::to_string),
            retries: self.retries,
            retry_delay: wish.delay,
            backoff: wish.kind,
            retry_delay_max: wish.longest,
            retry_jitter: wish.jitter,
            timeout: ms(&self.timeout),
            start_within: ms(&self.start_within),
            ttl: self.ttl.map(|ttl| ttl.as_millis() as u64),
            failed_ttl: ms(&self.failed_ttl),
            preferred_hostname: self
                .host
                .clone()
                .map(|Setting(host)| host.map(|HostArg(name)| name)),
            ..Change::default()
        };
        match &self.args {
            Some(list) => Ok(change.with_args_json(list)?),
            None => Ok(change),
        }
    }
}
