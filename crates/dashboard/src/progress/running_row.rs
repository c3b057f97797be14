//! A trace under way as one line: where it is, and when it will likely be through.

use keyrack_format as format;
use keyrack_progress::{RunningTrace, Trace, TraceStep, estimate::Estimate};

use super::{bar_history::past, trace_link};
use crate::{
    Site,
    plot::{Track, ms, seconds},
};
use keyrack_web::Problem;

/// One line.
pub(super) struct Row {
    pub(super) bar: String,
    pub(super) user: String,
    pub(super) trace: String,
    pub(super) link: String,
    pub(super) step: String,
    pub(super) track: Track,
    pub(super) remaining: String,
    pub(super) range: String,
    pub(super) heard: String,
}

impl Row {
    /// The line of a trace; none for one that has just ended.
    pub(super) async fn look(site: &Site, underway: &RunningTrace) -> Result<Option<Row>, Problem> {
        let RunningTrace { user, bar, trace: uid, .. } = underway;
        let (trace, past) = tokio::try_join!(
            async { Ok::<_, Problem>(site.services.progress.trace(user, bar, uid).await?) },
            past(site, user, bar)
        )?;
        let now = site.services.progress.now();
        let Some(trace) = trace.filter(|trace| trace.is_running(now)) else { return Ok(None) };
        let estimate = past.and_then(|past| past.model.estimate_trace(&trace, now));
        let (remaining, range) = told(estimate.as_ref());
        Ok(Some(Row {
            bar: bar.clone(),
            user: user.to_string(),
            trace: uid.clone(),
            link: trace_link(user.as_str(), bar, uid),
            step: step(trace.current()),
            track: track(&trace, estimate.as_ref(), now),
            remaining,
            range,
            heard: format::relative(ms(trace.last_updated_at), site.services.store.now_ms()),
        }))
    }
}

/// A trace under way on the line of time.
pub(super) fn track(trace: &Trace, estimate: Option<&Estimate>, now: f64) -> Track {
    let current = trace.current();
    // Of a step without iterations nobody knows how much is done.
    let share = (current.iterations > 0)
        .then(|| current.iteration as f64 / current.iterations.max(1) as f64);
    Track::of(now - trace.created_at, estimate, share)
}

/// What remains, and the range of eight in ten.
pub(super) fn told(estimate: Option<&Estimate>) -> (String, String) {
    estimate.map_or_else(
        || ("not known yet".into(), String::new()),
        |estimate| {
            let range = format!("{} to {}", seconds(estimate.p10), seconds(estimate.p90));
            (seconds(estimate.p50), range)
        },
    )
}

/// A step and how far it is.
pub(super) fn step(step: &TraceStep) -> String {
    match step.iterations {
        0 => step.step_name.clone(),
        n => {
            format!("{} {} of {}", step.step_name, format::count(step.iteration), format::count(n))
        }
    }
}
