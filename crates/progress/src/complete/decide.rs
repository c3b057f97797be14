//! What a completed trace means for its bar.

use keyrack_keys::UserSub;

use crate::{
    bar::{BarSettings, DEFAULT_STEP, STEPS_MAX, Step},
    bars::{BarDefinition, Stored},
    keys::BarName,
    retained::{Sample, SampleStep},
    service::Progress,
    technique::StepConfig,
    trace::{Trace, TraceStep},
};

/// Whether a bar has the steps that a trace went through.
pub(super) fn fits(steps: &[Step], trace: &Trace) -> bool {
    let known = steps.iter().map(|step| (&*step.name, step.iterated));
    known.eq(trace.steps.iter().map(|step| (&*step.step_name, step.iterated())))
}

/// What becomes of a bar that has other steps than the trace, or of none.
pub(super) fn rebuilt(
    progress: &Progress,
    user: &UserSub,
    name: &BarName,
    stored: Option<&Stored>,
    trace: &Trace,
) -> BarDefinition {
    let config = StepConfig::default();
    let mut draft = match stored {
        Some(stored) => BarDefinition::of(stored.clone()),
        None => BarDefinition::new_bar(progress, user, name, BarSettings::default(), config),
    };
    draft.steps.truncate(1);
    let template = draft.bar.default_step_config;
    for step in &trace.steps {
        draft.push_step(progress, &step.step_name, step.iterated(), template);
    }
    if stored.is_some() {
        draft.next_version();
    }
    draft
}

/// The trace as a sample; `None` when it is none.
///
/// Our own updates let no such trace be. The original does: with a step that was there before, or that is called as the default step
/// is, and it never samples them either.
pub(super) fn sample(progress: &Progress, trace: &Trace) -> Option<Sample> {
    let mut names: Vec<&str> = trace.steps.iter().map(|step| &*step.step_name).collect();
    names.sort_unstable();
    let repeats = names.windows(2).any(|pair| pair[0] == pair[1]);
    if repeats || names.contains(&DEFAULT_STEP) || names.len() as u64 > STEPS_MAX {
        return None;
    }
    let taken = |step: &TraceStep| {
        Some(SampleStep {
            uid: progress.chance.uid("ep_pbts_"),
            iterations: step.iterated().then_some(step.iterations),
            started_at: step.started_at,
            finished_at: step.finished_at?,
            pace: step.marks.pace(step.iterations, step.finished_at? - step.started_at),
        })
    };
    let steps: Option<Vec<SampleStep>> = trace.steps.iter().map(taken).collect();
    let uid = progress.chance.uid("ep_pbt_");
    Some(Sample { uid, created_at: trace.created_at, steps: steps? })
}
