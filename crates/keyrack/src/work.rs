//! `keyrack work`: runs a command for each job of a queue, or of many queues.
//!
//! In reading order: `queue_work` is what is done at each queue, `file` reads it; `command` is what is run, `attempt` runs it
//! once for one job, `exit_status` is what its end means, `stderr` reads what it prints there; `group` is how a command is ended
//! with everything it has started; `tally` counts;
//! `drain` waits for the end of all jobs.

mod attempt;
mod command;
mod drain;
mod exit_status;
mod file;
mod group;
mod queue_work;
mod stderr;
mod tally;

use std::{ops::RangeInclusive, path::PathBuf, sync::Arc, time::Duration};

use clap::ArgGroup;
use keyrack_format as format;
use keyrack_jobs::bee::{
    Hive, Outcome, WorkerTimeouts,
    keys::QueueName,
    worker::{Duplicates, Settings, Worker},
};

use self::{
    attempt::Attempts,
    command::Command,
    group::Groups,
    queue_work::{QueueWork, Work},
    tally::Tally,
};
use crate::{Exit, Failure, Globals, globals::WaitArgs, jobs::names, signals::Signals};

/// The arguments of `keyrack work`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = USAGE,
    after_long_help = PROTOCOL,
    after_help = "\"keyrack work --help\" describes the command's input, output and exit codes.",
    group = ArgGroup::new("what").required(true).args(["exec", "argv", "file"]),
)]
pub(crate) struct Args {
    /// The queue
    #[arg(value_parser = names::queue, required_unless_present = "file")]
    queue: Option<QueueName>,
    /// The command, run with "sh -c"
    #[arg(long, value_name = "LINE")]
    exec: Option<String>,
    /// The command as a program and its arguments, without a shell
    #[arg(last = true, value_name = "PROGRAM")]
    argv: Vec<std::ffi::OsString>,
    /// Run the commands of a TOML file for many queues, in one process
    #[arg(long, value_name = "FILE", conflicts_with_all = ["queue", "concurrency", "timeout", "unique"])]
    file: Option<PathBuf>,
    /// Run at most N jobs at once
    #[arg(long, short, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    concurrency: u16,
    /// Time limit of an attempt, unless the job or its queue sets one
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = format::duration::parse_positive, allow_hyphen_values = true)]
    timeout: Duration,
    /// Time between SIGTERM and SIGKILL for a command that must stop
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = format::duration::parse, allow_hyphen_values = true)]
    grace: Duration,
    /// Time for running jobs to finish after the worker is told to stop; then they return to the queue
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = format::duration::parse, allow_hyphen_values = true)]
    finish: Duration,
    /// Stop when no job is queued or running; delayed jobs do not count
    #[arg(long, visible_alias = "once")]
    drain: bool,
    /// Skip jobs with the same data as an earlier job whose result is still stored
    #[arg(long)]
    unique: bool,
    /// Use the longer timeouts of Node's Bee workers, for a queue shared with them
    #[arg(long)]
    bee_timings: bool,
    /// The version of your program, which groups of failures tell (see "keyrack jobs errors")
    #[arg(long, value_name = "VERSION", env = "KEYRACK_APP_VERSION")]
    app_version: Option<String>,
    #[command(flatten)]
    wait: WaitArgs,
}

const USAGE: &str = "keyrack work [OPTIONS] <QUEUE> --exec <LINE>
       keyrack work [OPTIONS] <QUEUE> -- <PROGRAM> [ARG]...
       keyrack work [OPTIONS] --file <FILE>";

const PROTOCOL: &str = "\
The command reads the job as one line of JSON on stdin; its field \"data\" is the list of arguments.
KEYRACK_JOB_ID, KEYRACK_QUEUE and KEYRACK_ATTEMPT are in its environment, and TRACEPARENT and
TRACESTATE if the job belongs to a trace: \"keyrack jobs submit\" makes jobs of the same trace.

  stdout   the result as JSON; no output means null
  stderr   a line \"progress: 40\" (any JSON) sets the job's progress; \"retry-in: 5m\" or
           \"snooze: 5m\" says when to run it again; other lines go to stderr and to the job's
           log, which \"keyrack jobs logs\" prints

The exit code decides how the attempt ends:

  0        completed with the result; failed if stdout is not JSON
  65       failed, without a retry (EX_DATAERR)
  75       failed, with a retry (EX_TEMPFAIL); after a line \"snooze: TIME\", not failed but run
           again in TIME, without using up a retry
  others   failed, with a retry: in TIME after a line \"retry-in: TIME\", otherwise as the job's
           options say

If the job is canceled or takes longer than its time limit, the command and all processes it started
get SIGTERM, and SIGKILL after --grace. The first SIGTERM or Ctrl-C to the worker lets running
jobs finish; the second stops at once.

A file for --file:

  concurrency = 8                       # of all queues together; without it, only of each queue

  [queues.emails]
  exec = 'python3 email.py'             # a line for the shell
  concurrency = 4                       # of this queue; 1 by default
  weight = 3                            # starts 3 jobs for 1 of a queue of weight 1; 1 to 100
  timeout = '5m'                        # 30m by default

  [queues.'mail/send']
  command = ['python3', 'send.py']      # a program and its arguments
  unique = true";

/// How many jobs may run at once.
const CONCURRENCY: RangeInclusive<i64> = 1..=1000;
/// How long an attempt may take unless something else is said.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Runs jobs until told to stop.
pub(crate) async fn run(mut args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let groups = Groups::default();
    let to_kill = groups.clone();
    let mut signalled = std::pin::pin!(Signals::listen(move || to_kill.kill_all())?.first());
    let work = work(&mut args)?;
    let open = async || globals.open_existing_store().await;
    let store = match globals.wait_for_store(args.wait, open, signalled.as_mut()).await? {
        Ok(store) => store,
        Err(signal) => {
            globals.say(format_args!("{signal}: stopped"));
            return Ok(Exit::Ok);
        }
    };
    let hive = Hive::open(store).await?;

    let tally = Arc::new(Tally::new(globals.quiet));
    let attempt = AttemptSettings {
        grace: args.grace,
        version: args.app_version,
        groups,
        tally: Arc::clone(&tally),
    };
    let (names, at_once) = (work.names(), work.concurrency());
    let queues: Vec<QueueName> = work.queues.iter().map(|work| work.queue.clone()).collect();
    let timeouts = if args.bee_timings { WorkerTimeouts::BEE } else { WorkerTimeouts::KEYRACK };
    let settled = Arc::clone(&tally);
    let settled = Arc::new(move |outcome: &Outcome, verdict| settled.settled(outcome, verdict));
    let mut worker = Worker::new(&hive).timeouts(timeouts).drain(args.finish).on_settled(settled);
    if let Some(shared) = work.shared_concurrency {
        worker = worker.shared_concurrency(shared);
    }
    for work in work.queues {
        worker = serve(worker, work, &attempt);
    }
    globals.say(format_args!(
        "working on {names} in {}, {at_once} at once; stop with Ctrl-C",
        hive.store()
    ));
    let mut paused = Vec::new();
    let shutdown = async {
        tokio::select! {
            signal = signalled => globals.say(format_args!("{signal}: stopping")),
            found = drain::wait(&hive, &queues), if args.drain => paused = found,
        }
    };
    worker.run(shutdown).await?;
    tally.close();
    globals.say(format_args!("stopped: {tally}"));
    if let Some(queue) = paused.first() {
        let message =
            format!("the queue \"{queue}\" is paused, so the rest of its jobs cannot run");
        let hint = format!("let them with: keyrack jobs resume \"{queue}\"");
        return Err(Failure::new(Exit::Conflict, message).hint(hint).into());
    }
    Ok(Exit::Ok)
}

/// What the arguments ask for.
fn work(args: &mut Args) -> Result<Work, Failure> {
    if let Some(file) = &args.file {
        return file::read(file);
    }
    let command = Command::new(args.exec.take(), std::mem::take(&mut args.argv))?;
    let queue = QueueWork {
        queue: args.queue.clone().expect("required unless there is a file"),
        command,
        concurrency: args.concurrency.into(),
        weight: 1,
        time_limit: args.timeout,
        unique: args.unique,
    };
    Ok(Work { queues: vec![queue], shared_concurrency: None })
}

/// What the attempts at all queues have in common.
struct AttemptSettings {
    grace: Duration,
    version: Option<String>,
    groups: Groups,
    tally: Arc<Tally>,
}

/// Has the worker run the command of a queue.
fn serve(worker: Worker, work: QueueWork, common: &AttemptSettings) -> Worker {
    let QueueWork { queue, command, concurrency, weight, time_limit, unique } = work;
    let AttemptSettings { grace, version, groups, tally } = common;
    let attempts = Arc::new(Attempts {
        command,
        groups: groups.clone(),
        time_limit,
        grace: *grace,
        tally: Arc::clone(tally),
    });
    let settings = Settings {
        concurrency,
        weight,
        // Both are kept by the attempt itself, which can end the command; these only catch what it cannot.
        time_limit,
        overrun: *grace + MARGIN,
        stop_grace: *grace + MARGIN,
        duplicates: if unique { Duplicates::ByData } else { Duplicates::Run },
        version: version.clone(),
    };
    worker.on(queue, settings, move |context| {
        let attempts = Arc::clone(&attempts);
        async move { attempts.run(context).await }
    })
}

/// What a command takes to be gone once it was killed.
const MARGIN: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn the_defaults_stop_a_worker_within_30_seconds() {
        let args = Program::parse_from(["work", "emails", "--", "true"]).args;
        let longest = args.finish + args.grace + MARGIN;
        assert!(longest < Duration::from_secs(30), "{longest:?}");
    }
}
