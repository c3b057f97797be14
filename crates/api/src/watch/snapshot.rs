//! What a watcher sees: the numbers of a trace at a moment.

use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use keyrack_keys::UserSub;
use keyrack_progress::{
    Error, Eta, Live, Outcome, Progress, Trace,
    estimate::{Estimate, Model},
    keys::BarName,
};
use serde::Serialize;
use utoipa::ToSchema;

/// What past traces say about the next.
#[derive(Debug)]
pub(super) struct BarHistory {
    eta: Eta,
    model: Model,
}

impl BarHistory {
    pub(super) async fn read(
        progress: &Progress,
        sub: &UserSub,
        bar: &BarName,
    ) -> Result<BarHistory, Error> {
        let eta = progress.eta(sub, bar.as_str()).await?;
        let model = progress.model(sub, bar.as_str()).await?;
        Ok(BarHistory { eta, model })
    }
}

/// A trace at a moment.
#[derive(Debug)]
pub(super) struct TraceSnapshot {
    known: Arc<BarHistory>,
    trace: Option<Trace>,
    is_done: bool,
    /// How the trace ended, if it has without being completed.
    failed: Option<Outcome>,
    text: Utf8Bytes,
}

/// How a trace stands, as it is sent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TraceUpdate {
    /// Whether the trace is completed; nothing follows then.
    done: bool,
    /// How the run ended, if it is not completed and goes on no more; nothing follows then either.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<TraceOutcome>,
    /// Always `update`.
    #[serde(rename = "type")]
    kind: &'static str,
    data: TraceNumbers,
}

/// How a run ended that was not completed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TraceOutcome {
    /// `failed`, or `lost` when its process no longer reports.
    state: &'static str,
    /// The exit code of its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<u64>,
    /// The number of the signal that ended its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<u64>,
    /// The same in words.
    reason: String,
}

impl TraceOutcome {
    fn of(outcome: Outcome) -> Option<TraceOutcome> {
        let reason = outcome.to_string();
        match outcome {
            Outcome::Running | Outcome::Done => None,
            Outcome::Failed(failure) => Some(TraceOutcome {
                state: "failed",
                exit_code: failure.exit_code,
                signal: failure.signal,
                reason,
            }),
            Outcome::Lost { .. } => {
                Some(TraceOutcome { state: "lost", exit_code: None, signal: None, reason })
            }
        }
    }
}

/// The numbers of a trace.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TraceNumbers {
    /// How long the whole trace takes; 0 if nothing is known.
    overall_eta_seconds: f64,
    /// What remains of that. Negative when a trace takes longer than expected.
    remaining_eta_seconds: f64,
    /// The current step.
    step_name: String,
    /// How long the current step takes; 0 if nothing is known.
    step_overall_eta_seconds: f64,
    /// What remains of that.
    step_remaining_eta_seconds: f64,
    /// How long the trace will go on, by all that is known of it; not there if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<TraceEstimate>,
}

/// How long a trace will go on, in seconds.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TraceEstimate {
    /// It is done sooner in one of ten cases.
    p10: f64,
    /// It is done sooner in half of all cases.
    p50: f64,
    /// It is done sooner in nine of ten cases.
    p90: f64,
    /// The share of the whole trace that is not in doubt, from 0 to 1.
    sureness: f64,
}

impl From<Estimate> for TraceEstimate {
    fn from(estimate: Estimate) -> TraceEstimate {
        let Estimate { p10, p50, p90, sureness } = estimate;
        TraceEstimate { p10, p50, p90, sureness }
    }
}

impl TraceNumbers {
    fn new(live: Live, estimate: Option<Estimate>) -> TraceNumbers {
        TraceNumbers {
            overall_eta_seconds: live.overall_eta_seconds,
            remaining_eta_seconds: live.remaining_eta_seconds,
            step_name: live.step_name,
            step_overall_eta_seconds: live.step_overall_eta_seconds,
            step_remaining_eta_seconds: live.step_remaining_eta_seconds,
            estimate: estimate.map(TraceEstimate::from),
        }
    }
}

impl TraceSnapshot {
    /// A trace at a time in unix seconds; none before it begins. One that is gone was completed.
    pub(super) fn new(
        now: f64,
        known: Arc<BarHistory>,
        trace: Option<Trace>,
        is_gone: bool,
    ) -> TraceSnapshot {
        let is_done = is_gone || trace.as_ref().is_some_and(|trace| trace.done);
        let outcome = trace.as_ref().map(|trace| trace.outcome(now)).filter(|_| !is_done);
        let failed = outcome.filter(|outcome| *outcome != Outcome::Running);
        let mut snapshot =
            TraceSnapshot { known, trace, is_done, failed, text: Utf8Bytes::default() };
        snapshot.text = snapshot.text_at(now);
        snapshot
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// How the trace ended, if it has without being completed.
    pub(super) fn failed(&self) -> Option<Outcome> {
        self.failed
    }

    /// Whether nothing more will come.
    pub(super) fn is_over(&self) -> bool {
        self.is_done || self.failed.is_some()
    }

    /// When the trace is lost unless it is heard of before, in unix seconds.
    pub(super) fn lost_at(&self) -> Option<f64> {
        self.trace.as_ref().filter(|_| !self.is_over()).and_then(Trace::lost_at)
    }

    pub(super) fn has_begun(&self) -> bool {
        self.trace.is_some()
    }

    /// Whether there is a bar about which nothing can be said.
    pub(super) fn bar_has_no_steps(&self) -> bool {
        self.known.eta.version >= 0 && self.known.eta.steps.is_empty()
    }

    /// The snapshot as it was seen, ready to be sent.
    pub(super) fn text(&self) -> Utf8Bytes {
        self.text.clone()
    }

    /// The snapshot at another time.
    pub(super) fn text_at(&self, now: f64) -> Utf8Bytes {
        let at = self.trace.as_ref().filter(|_| self.failed.is_some());
        let live = Live::at(
            at.map_or(now, |trace| trace.until(now)),
            &self.known.eta,
            self.trace.as_ref(),
        );
        let running = self.trace.as_ref().filter(|_| !self.is_over());
        let estimate = running.and_then(|trace| self.known.model.estimate_trace(trace, now));
        let data = TraceNumbers::new(live, estimate);
        let outcome = self.failed.and_then(TraceOutcome::of);
        let update = TraceUpdate { done: self.is_done, outcome, kind: "update", data };
        serde_json::to_string(&update).expect("numbers and names are JSON").into()
    }
}
