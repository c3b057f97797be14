//! The page of a trace, under way or past: its steps on a line of time.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use keyrack_format as format;
use keyrack_keys::UserSub;
use keyrack_progress::{Outcome, Samples, Trace};
use keyrack_web::Problem;

use super::{
    bar_history::past,
    bar_link,
    running_row::{told, track},
    user_sub,
};
use crate::{
    Frame, Site, Visit, assets,
    live::{View, live_page, show},
    plot::{Track, ms, seconds},
};

#[derive(Template)]
#[template(path = "trace.html", blocks = ["live"])]
pub(super) struct TracePage {
    frame: Frame,
    uid: String,
    bar: String,
    bar_link: String,
    /// `running`, `completed`, `failed`, `lost` or `past`.
    state: &'static str,
    facts: Vec<(&'static str, String)>,
    track: Track,
    steps: Vec<StepRow>,
}
live_page!(TracePage);

/// A step, and where it lies on the trace's line of time, in hundredths.
struct StepRow {
    name: String,
    done: String,
    begun: String,
    took: String,
    is_current: bool,
    x: f64,
    width: f64,
}

/// A step of any trace, in seconds from the trace's begin.
struct StepSpan {
    name: String,
    done: String,
    from: f64,
    until: f64,
    is_current: bool,
}

struct TraceView {
    user: UserSub,
    bar: String,
    trace: String,
}

impl View for TraceView {
    type Page = TracePage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<TracePage, Problem> {
        let past = past(site, &self.user, &self.bar).await?;
        if let Some(trace) =
            site.services.progress.trace(&self.user, &self.bar, &self.trace).await?
        {
            let now = site.services.progress.now();
            let estimate = past.and_then(|past| past.model.estimate_trace(&trace, now));
            let is_running = trace.is_running(now);
            let estimate = estimate.filter(|_| is_running);
            let mut page = self.page(frame, legs(&trace, now));
            page.under_way(&trace, now);
            if is_running {
                let (remaining, range) = told(estimate.as_ref());
                let range = if range.is_empty() { range } else { format!(" ({range})") };
                page.facts.push(("Remaining", remaining + &range));
                page.track = track(&trace, estimate.as_ref(), now);
            }
            return Ok(page);
        }
        let found = past.as_ref().and_then(|past| past_legs(&past.samples, &self.trace));
        let (created_at, legs) = found.ok_or_else(|| {
            Problem::new(StatusCode::NOT_FOUND, "trace_not_found")
                .title("there is no such trace")
                .detail("it is over, and not among the latest that its bar has retained")
        })?;
        let mut page = self.page(frame, legs);
        page.state = "past";
        page.facts.push(("Began", format::utc(ms(created_at))));
        Ok(page)
    }
}

/// `GET /progress/{user}/{bar}/{trace}`
pub(crate) async fn trace(
    State(site): State<Arc<Site>>,
    Path((user, bar, trace)): Path<(String, String, String)>,
    visit: Visit,
) -> Response {
    match user_sub(&user) {
        Ok(user) => show(site, visit, TraceView { user, bar, trace }).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

impl TraceView {
    /// The page of a trace with these steps, as if it were through.
    fn page(&self, frame: Frame, legs: Vec<StepSpan>) -> TracePage {
        let whole = legs.iter().map(|leg| leg.until).fold(0.001, f64::max);
        let steps = legs.into_iter().map(|leg| StepRow {
            x: 100.0 * leg.from.max(0.0) / whole,
            // A step that took no time is still to be seen.
            width: (100.0 * (leg.until - leg.from).max(0.0) / whole).max(0.4),
            begun: format!("+{}", seconds(leg.from)),
            took: seconds(leg.until - leg.from),
            name: leg.name,
            done: leg.done,
            is_current: leg.is_current,
        });
        TracePage {
            frame,
            uid: self.trace.clone(),
            bar: self.bar.clone(),
            bar_link: bar_link(self.user.as_str(), &self.bar),
            state: "past",
            facts: vec![("User", self.user.to_string()), ("Took", seconds(whole))],
            track: Track::done(whole),
            steps: steps.collect(),
        }
    }
}

impl TracePage {
    /// What is told of a trace under way, or just completed.
    fn under_way(&mut self, trace: &Trace, now: f64) {
        let outcome = trace.outcome(now);
        self.state = match outcome {
            Outcome::Running => "running",
            Outcome::Done => "completed",
            Outcome::Failed(_) => "failed",
            Outcome::Lost { .. } => "lost",
        };
        match outcome {
            Outcome::Running => {
                self.facts.pop();
                self.facts.push(("Under way for", seconds(now - trace.created_at)));
            }
            Outcome::Done => {}
            Outcome::Failed(_) | Outcome::Lost { .. } => {
                self.facts.push(("Outcome", outcome.to_string()));
            }
        }
        self.facts.push(("Began", format::utc(ms(trace.created_at))));
        self.facts.push(("Last seen", format::relative(ms(trace.last_updated_at), ms(now))));
    }
}

fn legs(trace: &Trace, now: f64) -> Vec<StepSpan> {
    let begun = trace.created_at;
    let last = trace.steps.len().saturating_sub(1);
    let (is_running, end) = (trace.is_running(now), trace.until(now));
    let legs = trace.steps.iter().enumerate().map(|(at, step)| {
        let next = trace.steps.get(at + 1).map(|next| next.started_at);
        let until = step.finished_at.or(next).unwrap_or(end);
        StepSpan {
            name: step.step_name.clone(),
            done: match step.iterations {
                0 => String::new(),
                n => format!("{} of {}", format::count(step.iteration), format::count(n)),
            },
            from: step.started_at - begun,
            until: until - begun,
            is_current: at == last && is_running,
        }
    });
    legs.collect()
}

/// When a past trace began, and its steps.
fn past_legs(samples: &Samples, uid: &str) -> Option<(f64, Vec<StepSpan>)> {
    let trace = samples.traces.iter().find(|trace| trace.uid == uid)?;
    let begun = trace.created_at;
    let steps = trace.steps.iter().zip(samples.steps.iter().skip(1));
    let legs = steps.map(|(taken, step)| StepSpan {
        name: step.name.clone(),
        done: taken.iterations.map(format::count).unwrap_or_default(),
        from: taken.started_at - begun,
        until: taken.finished_at - begun,
        is_current: false,
    });
    Some((begun, legs.collect()))
}
