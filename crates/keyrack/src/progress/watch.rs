//! `keyrack progress watch`.

use std::{io::Write as _, time::Duration};

use keyrack_format as format;
use keyrack_progress::{
    Outcome, Progress, Trace, draw,
    estimate::{Model, Running},
    keys::{self, BarName, TraceUid},
};
use keyrack_store::Subscription;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::{
    OwnerArgs, bar,
    meter::{Meter, TICK},
    open,
    show::ShownTrace,
};
use crate::{Exit, Failure, Globals};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The bar
    #[arg(value_name = "BAR", value_parser = bar)]
    bar: BarName,
    /// Id of the trace
    #[arg(value_name = "UID", value_parser = uid)]
    uid: TraceUid,
    /// Wait at most TIME for a trace that has not started
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = format::duration::parse)]
    wait: Duration,
    #[command(flatten)]
    owner: OwnerArgs,
}

const AFTER_HELP: &str = "\
Draws a bar on a terminal. Otherwise, and with --json, prints a line for every change.
Exits with 1 if the run fails or its process stops reporting.";

fn uid(text: &str) -> Result<TraceUid, String> {
    TraceUid::new(text).map_err(|error| error.to_string())
}

/// Shows a trace until it is through.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let progress = open(globals).await?;
    let meter = Meter::new(globals);
    let mut watch = Watch::begin(args, progress, globals, &meter).await?;
    let watched = watch.follow().await;
    meter.clear();
    let trace = watched?;
    let now = watch.progress.now();
    let took = format::duration_seconds(trace.until(now) - trace.created_at);
    match trace.outcome(now) {
        Outcome::Running | Outcome::Done => {
            if !globals.json {
                globals.say(format_args!("\"{}\" completed after {took}", args.bar));
            }
            Ok(Exit::Ok)
        }
        failed => {
            let message = format!("\"{}\" {failed}, after {took}", args.bar);
            Err(Failure::new(Exit::Failed, message).into())
        }
    }
}

struct Watch<'a> {
    args: &'a Args,
    progress: Progress,
    model: Model,
    /// Heard before the trace is read, so that no change is missed in between.
    changes: Subscription,
    globals: &'a Globals,
    meter: &'a Meter,
}

impl<'a> Watch<'a> {
    async fn begin(
        args: &'a Args,
        progress: Progress,
        globals: &'a Globals,
        meter: &'a Meter,
    ) -> anyhow::Result<Watch<'a>> {
        let channel = keys::trace_events(&args.owner.user, &args.bar, &args.uid);
        let changes = progress.store().subscribe(std::slice::from_ref(&channel)).await?;
        let model = progress.model(&args.owner.user, args.bar.as_str()).await?;
        Ok(Watch { args, progress, model, changes, globals, meter })
    }

    /// Follows the trace; returns how it stood at its end.
    async fn follow(&mut self) -> anyhow::Result<Trace> {
        let mut latest = self.first().await?;
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.tell(&latest)?;
        while latest.is_running(self.progress.now()) {
            tokio::select! {
                // Also notices that a run is lost, of which nothing is heard.
                _ = ticks.tick() => self.draw(&latest),
                _ = self.changes.next() => {
                    match self.read().await? {
                        Some(trace) => latest = trace,
                        // It was seen, and is gone: whoever removed it had counted it.
                        None => latest.done = true,
                    }
                    self.tell(&latest)?;
                }
            }
        }
        if matches!(latest.outcome(self.progress.now()), Outcome::Lost { .. }) {
            self.tell(&latest)?;
        }
        Ok(latest)
    }

    /// The trace once it is there.
    async fn first(&mut self) -> anyhow::Result<Trace> {
        let patience = Instant::now() + self.args.wait;
        loop {
            if let Some(trace) = self.read().await? {
                return Ok(trace);
            }
            self.meter.say(format!("waiting for \"{}\" to start", self.args.uid));
            tokio::select! {
                _ = self.changes.next() => {}
                () = sleep_until(patience) => {
                    let (bar, uid) = (&self.args.bar, &self.args.uid);
                    let message = format!("\"{bar}\" has no trace \"{uid}\"");
                    let hint = "it may be long through; --wait TIME waits longer for one to begin";
                    return Err(Failure::new(Exit::NotFound, message).hint(hint).into());
                }
            }
        }
    }

    async fn read(&self) -> anyhow::Result<Option<Trace>> {
        let (user, bar) = (&self.args.owner.user, self.args.bar.as_str());
        Ok(self.progress.trace(user, bar, self.args.uid.as_str()).await?)
    }

    fn draw(&self, trace: &Trace) {
        if self.meter.is_drawn() {
            let now = self.progress.now();
            self.meter
                .show(&Running::of(trace, now), self.model.estimate_trace(trace, now).as_ref());
        }
    }

    /// Prints a change where no bar shows it.
    fn tell(&self, trace: &Trace) -> anyhow::Result<()> {
        if self.meter.is_drawn() && !self.globals.json {
            self.draw(trace);
            return Ok(());
        }
        let now = self.progress.now();
        let (bar, uid) = (self.args.bar.as_str(), self.args.uid.as_str());
        let shown = ShownTrace::at(now, bar, uid, trace, &self.model);
        let mut out = self.globals.out();
        if self.globals.json {
            writeln!(out, "{}", serde_json::to_string(&shown)?)?;
        } else if trace.is_running(now) {
            writeln!(out, "{}", shown.in_words(&draw::place(&Running::of(trace, now))))?;
        }
        // Whoever reads this reads it now.
        Ok(out.flush()?)
    }
}
