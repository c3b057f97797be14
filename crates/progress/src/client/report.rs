//! Telling a run, at most a few times a second.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::{
    run_report::{Message, Reported, RunReport},
    sink::{Sink, Unsent},
};

/// How often iterations are told at most. Steps and the end are told at once.
pub(super) const EVERY: Duration = Duration::from_millis(250);
/// How often a run is told in which nothing happens, so that one whose process dies is known to be lost.
pub(super) const REPORT_EVERY: Duration = Duration::from_secs(5);
/// How often a run is told from the start because nobody knows it any more.
const STARTS_MAX: u32 = 100;
/// How long one message may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause after a failure, which doubles up to the longest.
const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(15);
/// How long after its end a run is still told to somebody who does not answer: then it is too old to learn from.
const AFTER_END: Duration = Duration::from_secs(60);

/// Tells a run until it is over, or nobody wants to hear of it.
pub(super) async fn report(trail: &RunReport, sink: &Sink) {
    let mut told = Reported::default();
    let mut pause = PAUSE_MIN;
    let mut ended: Option<Instant> = None;
    let (mut told_at, mut starts) = (Instant::now(), 0);
    loop {
        match tell_all(trail, sink, &mut told, &mut told_at).await {
            Ok(()) => pause = PAUSE_MIN,
            Err(Unsent::Gone(reason)) if starts < STARTS_MAX => {
                tracing::debug!(uid = trail.uid(), reason, "this run is reported from its start");
                (told, starts) = (Reported::default(), starts + 1);
                sleep(PAUSE_MIN).await;
            }
            Err(Unsent::ForGood(reason) | Unsent::Gone(reason)) => {
                tracing::warn!(uid = trail.uid(), reason, "this run is not reported any more");
                return;
            }
            Err(Unsent::ForNow(reason)) => {
                tracing::debug!(uid = trail.uid(), reason, "this run is reported later");
                sleep(pause).await;
                pause = (pause * 2).min(PAUSE_MAX);
            }
        }
        if trail.is_over(&told) {
            if trail.is_given_up() && told.has_begun() {
                give_up(trail, sink).await;
            }
            return;
        }
        if trail.has_ended() && ended.get_or_insert_with(Instant::now).elapsed() > AFTER_END {
            tracing::warn!(uid = trail.uid(), "the end of this run could not be reported");
            return;
        }
        tokio::select! {
            () = trail.news() => {}
            () = sleep(EVERY) => {}
        }
    }
}

/// Tells once that a run was given up: one for which that fails is silent from now on, and so soon known to be lost.
async fn give_up(trail: &RunReport, sink: &Sink) {
    let given_up = sink.give_up(trail.bar(), trail.uid());
    match timeout(PATIENCE, given_up).await {
        Ok(Ok(())) => {}
        Ok(Err(Unsent::ForNow(reason) | Unsent::ForGood(reason) | Unsent::Gone(reason))) => {
            tracing::debug!(uid = trail.uid(), reason, "the end of this run could not be reported");
        }
        Err(_) => tracing::debug!(uid = trail.uid(), "nobody answered the end of this run"),
    }
}

async fn tell_all(
    trail: &RunReport,
    sink: &Sink,
    told: &mut Reported,
    told_at: &mut Instant,
) -> Result<(), Unsent> {
    if told_at.elapsed() >= REPORT_EVERY
        && let Some(message) = trail.again(told, sink.now())
    {
        send(sink, &message).await?;
        *told_at = Instant::now();
    }
    while let Some((message, then)) = trail.next(told) {
        send(sink, &message).await?;
        *told_at = Instant::now();
        let was_iteration = then.is_iteration_after(told);
        *told = then;
        if was_iteration {
            // The next iterations wait for their turn.
            return Ok(());
        }
    }
    Ok(())
}

async fn send(sink: &Sink, message: &Message) -> Result<(), Unsent> {
    match timeout(PATIENCE, sink.send(message)).await {
        Ok(sent) => sent,
        Err(_) => Err(Unsent::ForNow("no answer".to_owned())),
    }
}
