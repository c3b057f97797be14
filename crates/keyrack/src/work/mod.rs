//! `keyrack work`: runs a command for each job of a queue.
//!
//! In reading order: `command` is what is run, `attempt` runs it once for one job, `verdict` is what its end means,
//! `words` what it says on the way; `group` is how a command is ended with everything it has started; `tally` counts;
//! `drain` waits for the end of all jobs.

mod attempt;
mod command;
mod drain;
mod group;
mod tally;
mod verdict;
mod words;

use std::{sync::Arc, time::Duration};

use clap::ArgGroup;
use keyrack_format as format;
use keyrack_jobs::bee::{
    Care, Hive, Outcome,
    keys::QueueName,
    worker::{Duplicates, Settings, Worker},
};

use self::{attempt::Attempts, command::Command, group::Groups, tally::Tally};
use crate::{Exit, Failure, Globals, globals::WaitArgs, jobs::names, signals::Signals};

/// The arguments of `keyrack work`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = USAGE,
    after_long_help = PROTOCOL,
    after_help = "\"keyrack work --help\" tells what the command is given and what its end means.",
    group = ArgGroup::new("what").required(true).args(["exec", "argv"]),
)]
pub(crate) struct Args {
    /// The queue
    #[arg(value_parser = names::queue)]
    queue: QueueName,
    /// The command, as a line for "sh -c"
    #[arg(long, value_name = "LINE")]
    exec: Option<String>,
    /// The command as a program and its arguments, without a shell
    #[arg(last = true, value_name = "PROGRAM")]
    argv: Vec<std::ffi::OsString>,
    /// Run so many jobs at once
    #[arg(long, short, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    concurrency: u16,
    /// How long an attempt may take
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = format::duration::parse_positive, allow_hyphen_values = true)]
    timeout: Duration,
    /// How long a command that was told to stop (SIGTERM) may go on before it is killed
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = format::duration::parse, allow_hyphen_values = true)]
    grace: Duration,
    /// How long running jobs may go on once the worker is told to stop; then they are given back
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = format::duration::parse, allow_hyphen_values = true)]
    finish: Duration,
    /// Stop when no job of the queue is left to run or running; delayed ones are not waited for
    #[arg(long, visible_alias = "once")]
    drain: bool,
    /// Leave out jobs with the same data as an earlier one whose result is still kept
    #[arg(long)]
    unique: bool,
    /// Keep to the slower timings of Node's Bee workers, for a queue that they share
    #[arg(long)]
    bee_timings: bool,
    #[command(flatten)]
    wait: WaitArgs,
}

const USAGE: &str = "keyrack work [OPTIONS] <QUEUE> --exec <LINE>
       keyrack work [OPTIONS] <QUEUE> -- <PROGRAM> [ARG]...";

const PROTOCOL: &str = "\
The command gets the job as a line of JSON on stdin; \"data\" in it is the list of arguments.
KEYRACK_JOB_ID, KEYRACK_QUEUE and KEYRACK_ATTEMPT are in its environment.

  stdout   the result as JSON; nothing is null
  stderr   a line \"progress: 40\" (any JSON) is told to whoever listens; others are passed on

Its exit code decides:

  0        completed, with the result; if stdout is not JSON, the attempt has failed
  65       failed for good, trying again is pointless (EX_DATAERR)
  75       failed for now (EX_TEMPFAIL)
  others   failed; like 75, tried again as often and as late as the job's options say

A command whose job is cancelled, or that takes longer than --timeout, gets SIGTERM and after
--grace SIGKILL, with everything it has started. The first SIGTERM or Ctrl-C to the worker lets
running jobs finish; the second ends everything.

Examples:

  keyrack work thumbnails --concurrency 4 -- ./thumbnail.py
  keyrack work emails --exec 'jq -r .data[0] | xargs send-email' --timeout 1m";

/// Runs jobs until told to stop.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let groups = Groups::default();
    let to_kill = groups.clone();
    let mut signalled = std::pin::pin!(Signals::listen(move || to_kill.kill_all())?.first());
    let command = Command::new(args.exec, args.argv)?;
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
    let attempts = Arc::new(Attempts {
        command,
        groups,
        time_limit: args.timeout,
        grace: args.grace,
        tally: Arc::clone(&tally),
    });
    let settings = Settings {
        concurrency: args.concurrency.into(),
        // Both are kept by the attempt itself, which can end the command; these only catch what it cannot.
        time_limit: args.timeout + args.grace + MARGIN,
        stop_grace: args.grace + MARGIN,
        duplicates: if args.unique { Duplicates::ByData } else { Duplicates::Run },
    };
    let care = if args.bee_timings { Care::BEE } else { Care::KEYRACK };
    let settled = Arc::clone(&tally);
    let settled = Arc::new(move |outcome: &Outcome, verdict| settled.settled(outcome, verdict));
    let worker = Worker::new(&hive).care(care).drain(args.finish).on_settled(settled).on(
        args.queue.clone(),
        settings,
        move |context| {
            let attempts = Arc::clone(&attempts);
            async move { attempts.run(context).await }
        },
    );
    globals.say(format_args!(
        "working on \"{}\" in {}, {} at once; stop with Ctrl-C",
        args.queue,
        hive.store(),
        args.concurrency
    ));
    let mut paused = false;
    let shutdown = async {
        tokio::select! {
            signal = signalled => globals.say(format_args!("{signal}: stopping")),
            end = drain::wait(&hive, &args.queue), if args.drain => paused = end == drain::End::Paused,
        }
    };
    worker.run(shutdown).await?;
    tally.close();
    globals.say(format_args!("stopped: {tally}"));
    if paused {
        let message =
            format!("the queue \"{}\" is paused, so the rest of its jobs cannot run", args.queue);
        let hint = format!("let them with: keyrack jobs resume \"{}\"", args.queue);
        return Err(Failure::new(Exit::Conflict, message).hint(hint).into());
    }
    Ok(Exit::Ok)
}

/// What a command takes to be gone once it was killed.
const MARGIN: Duration = Duration::from_secs(5);
