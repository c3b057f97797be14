//! `keyrack progress run`: runs a command with a bar that learns how long it takes.
//!
//! In reading order: `line` is what the command may say about its progress, `filter` finds it in its output, `course` is how far
//! it is, `record` tells the store, `child` starts the command, passes signals on, and tells how it ended.

mod child;
mod course;
mod filter;
mod line;
mod record;

use std::{ffi::OsString, sync::Arc, time::Duration};

use keyrack_format as format;
use keyrack_jobs::hot;
use keyrack_progress::{
    Progress,
    estimate::{Estimate, Model},
    keys::{BarName, TraceUid},
};
use tokio::{
    sync::oneshot,
    time::{MissedTickBehavior, interval, timeout},
};

use self::{
    child::{Child, CommandEnd, Forward},
    course::{Course, Shared},
    record::Recorder,
};
use super::{
    OwnerArgs, bar, estimate_text,
    meter::{Meter, TICK},
};
use crate::{Exit, Globals, quotas::quotas};

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "keyrack progress run [OPTIONS] <BAR> -- <PROGRAM> [ARG]...",
    after_long_help = PROTOCOL,
    after_help = "\"keyrack progress run --help\" explains how a command reports its progress.",
)]
pub(super) struct Args {
    /// Name of the bar; the first successful run creates it
    #[arg(value_name = "BAR", value_parser = bar)]
    bar: BarName,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    argv: Vec<OsString>,
    /// Id of this run, for "keyrack progress watch" [default: a random one]
    #[arg(long, value_name = "UID", value_parser = uid)]
    uid: Option<TraceUid>,
    #[command(flatten)]
    owner: OwnerArgs,
}

const PROTOCOL: &str = "\
The command reports its progress with lines on stdout or stderr. These lines are not printed:

  step NAME       starts a step
  step NAME N     starts a step of N iterations
  tick            one iteration is done
  tick K          K iterations are done

A command that prints no such line is a single step, and each line it prints is an iteration: the
bar compares their number with past runs. All other output is printed unchanged. While a line is
unfinished, such as a question, no bar is drawn.

The exit code is that of the command, or 128 + N if signal N ended it, 127 if the command does not
exist, 126 if it cannot be run. Signals are passed on to it. Only successful runs are kept for the
estimate; watchers see how the others ended. If the store is unreachable, the command runs without
being recorded. KEYRACK_PROGRESS_BAR and KEYRACK_PROGRESS_UID are in its environment.

A command with steps:

  keyrack progress run import -- sh -c 'echo step rows 3; for i in 1 2 3; do echo tick; done'";

fn uid(text: &str) -> Result<TraceUid, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if text.len() > UID_BYTES_MAX || !text.bytes().all(is_plain) {
        return Err(format!(
            "use 1 to {UID_BYTES_MAX} letters from A to Z, digits, \"-\" and \"_\""
        ));
    }
    TraceUid::new(text).map_err(|error| error.to_string())
}

/// The longest id of a trace.
const UID_BYTES_MAX: usize = 155;
/// How long a command waits for the store before it starts without.
const OPEN_PATIENCE: Duration = Duration::from_secs(5);
/// How long the output of a command that has ended may stay open: something it has left behind may hold it.
const PIPES_GRACE: Duration = Duration::from_secs(3);
/// How long the store may take to record the end.
const RECORD_GRACE: Duration = Duration::from_secs(10);

/// Runs a command, shows how far it is, and records it.
pub(super) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let forward = Forward::listen()?;
    let uid = args.uid.clone().unwrap_or_else(new_uid);
    let recorder = match timeout(OPEN_PATIENCE, begin(&args, &uid, globals)).await {
        Ok(Ok(recorder)) => Some(recorder),
        // The command counts for more than its bar.
        Ok(Err(error)) => {
            warn(format_args!("this run is not recorded: {error:#}"));
            None
        }
        Err(_) => {
            warn(format_args!("this run is not recorded: the store does not answer"));
            None
        }
    };
    let model = recorder.as_ref().map(|recorder| recorder.model.clone()).unwrap_or_default();
    let meter = Meter::new(globals);
    let course = Shared::new(Course::begin(&model));
    let expected = model.whole_run();

    let child = Child::start(&args.argv, [args.bar.as_str(), uid.as_str()], &course, &meter)?;
    let (tell_end, end) = oneshot::channel();
    let recording = recorder.map(|recorder| tokio::spawn(recorder.follow(course.clone(), end)));
    let ended = attend(child, forward, &course, &model, &meter).await?;
    let code = ended.code;
    // Nobody hears it when nothing is recorded.
    let _ = tell_end.send(ended);
    if let Some(recording) = recording
        && timeout(RECORD_GRACE, recording).await.is_err()
    {
        warn(format_args!("this run is not recorded: the store does not answer"));
    }
    if meter.is_drawn() {
        globals.say(summary(&args.bar, &course, expected.as_ref(), code));
    }
    Ok(Exit::Command(code))
}

/// Opens the store and learns from past runs.
async fn begin(args: &Args, uid: &TraceUid, globals: &Globals) -> anyhow::Result<Recorder> {
    let quotas = quotas(&globals.settings)?.progress;
    let progress = Progress::open(globals.open_named_store().await?, hot::keys::hot());
    let progress = progress.with_quotas(quotas);
    Recorder::begin(progress, args.owner.user.clone(), args.bar.clone(), uid.clone()).await
}

/// Draws the bar and passes signals on until the command has ended and all it wrote was passed on.
async fn attend(
    child: Child,
    mut forward: Forward,
    course: &Arc<Shared>,
    model: &Model,
    meter: &Meter,
) -> anyhow::Result<CommandEnd> {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let pid = child.pid;
    let mut ended = std::pin::pin!(child.ended);
    let end = loop {
        tokio::select! {
            end = &mut ended => break end?,
            signal = forward.next() => forward.pass(signal, pid),
            _ = ticks.tick() => if meter.is_drawn() {
                let running = course.lock().running();
                meter.show(&running, model.estimate(&running).as_ref());
            },
        }
    };
    let _ = timeout(PIPES_GRACE, child.drained).await;
    meter.clear();
    Ok(end)
}

fn summary(bar: &BarName, course: &Shared, expected: Option<&Estimate>, code: u8) -> String {
    let took = format::duration_seconds(course.lock().elapsed());
    let range = expected.map(|expected| format!(", expected {}", estimate_text::range(expected)));
    let kept = if code == 0 { "" } else { ", not kept as it failed" };
    format!("\"{bar}\" took {took}{}{kept}", range.unwrap_or_default())
}

fn new_uid() -> TraceUid {
    TraceUid::new(uuid::Uuid::now_v7().simple().to_string()).expect("digits can be an id")
}

/// Tells what the user should know even with `--quiet`.
fn warn(words: std::fmt::Arguments<'_>) {
    use std::io::Write as _;
    // Nobody is left to tell when stderr is gone.
    let _ = writeln!(std::io::stderr(), "keyrack: {}", format::visible(&words.to_string()));
}
