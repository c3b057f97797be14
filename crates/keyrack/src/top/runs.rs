//! The progress bars that are under way, of all users.

use keyrack_progress::{Progress, Trace};

/// How many runs are looked at: more than a screen has lines.
const RUNS_MAX: usize = 50;

/// A run under way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TraceRow {
    pub(super) user: String,
    pub(super) bar: String,
    pub(super) step: String,
    /// Iterations done and in all, where there are any.
    pub(super) iterations: Option<(u64, u64)>,
    /// For how long it has been running, in seconds.
    pub(super) spent_s: f64,
    /// How long it will still take, in seconds: in one, five and nine of ten cases.
    pub(super) left_s: Option<[f64; 3]>,
}

/// The runs that were heard of last, the longest running first.
pub(super) async fn read(progress: &Progress) -> anyhow::Result<Vec<TraceRow>> {
    let (mut runs, now) = (Vec::new(), progress.now());
    for underway in progress.running(0, RUNS_MAX).await? {
        let (user, bar) = (underway.user, underway.bar);
        let trace = progress.trace(&user, &bar, &underway.trace).await?;
        let Some(trace) = trace.filter(|trace| trace.is_running(now)) else { continue };
        let model = progress.model(&user, &bar).await?;
        let left = model.estimate_trace(&trace, now).map(|left| [left.p10, left.p50, left.p90]);
        runs.push(TraceRow::of(user.to_string(), bar, &trace, left, now));
    }
    runs.sort_by(|a, b| b.spent_s.total_cmp(&a.spent_s));
    Ok(runs)
}

impl TraceRow {
    fn of(
        user: String,
        bar: String,
        trace: &Trace,
        left_s: Option<[f64; 3]>,
        now: f64,
    ) -> TraceRow {
        let step = trace.current();
        TraceRow {
            user,
            bar,
            step: step.step_name.clone(),
            iterations: step.iterated().then_some((step.iteration, step.iterations)),
            spent_s: (now - trace.created_at).max(0.0),
            left_s,
        }
    }

    /// How far it is, from 0 to 1, if that can be told.
    pub(super) fn share(&self) -> Option<f64> {
        let [_, left, _] = self.left_s?;
        let whole = self.spent_s + left;
        (whole > 0.0).then(|| (self.spent_s / whole).clamp(0.0, 1.0))
    }
}
