//! Telling a run, at most a few times a second.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::{
    sink::{Sink, Unsent},
    trail::{Told, Trail},
};

/// How often iterations are told at most. Steps and the end are told at once.
pub(super) const EVERY: Duration = Duration::from_millis(250);
/// How long one message may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause after a failure, which doubles up to the longest.
const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(15);
/// How long after its end a run is still told to somebody who does not answer: then it is too old to learn from.
const AFTER_END: Duration = Duration::from_secs(60);

/// Tells a run until it is over, or nobody wants to hear of it.
pub(super) async fn report(trail: &Trail, sink: &Sink) {
    let mut told = Told::default();
    let mut pause = PAUSE_MIN;
    let mut ended: Option<Instant> = None;
    loop {
        match tell_all(trail, sink, &mut told).await {
            Ok(()) => pause = PAUSE_MIN,
            Err(Unsent::ForGood(reason)) => {
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

async fn tell_all(trail: &Trail, sink: &Sink, told: &mut Told) -> Result<(), Unsent> {
    while let Some((message, then)) = trail.next(told) {
        match timeout(PATIENCE, sink.send(&message)).await {
            Ok(sent) => sent?,
            Err(_) => return Err(Unsent::ForNow("no answer".to_owned())),
        }
        let was_iteration = then.is_iteration_after(told);
        *told = then;
        if was_iteration {
            // The next iterations wait for their turn.
            return Ok(());
        }
    }
    Ok(())
}
