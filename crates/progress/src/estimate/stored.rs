//! What is stored of past and running traces, as the estimate sees it.

use keyrack_keys::UserSub;

use super::{Current, Estimate, FinishedStep, Model, PastRun, Running};
use crate::{
    error::Error,
    retained::{Sample, Samples},
    service::Progress,
    trace::Trace,
};

impl Progress {
    /// What the past runs of a bar say about the next; of a bar that is not known, nothing.
    ///
    /// # Errors
    /// When the bar's name cannot be one, or the store fails.
    pub async fn model(&self, user: &UserSub, bar: &str) -> Result<Model, Error> {
        let samples = self.samples(user, bar).await?;
        Ok(samples.map_or_else(Model::default, |samples| Model::of(&samples)))
    }
}

impl Model {
    /// Learns from the retained traces of a bar.
    pub fn of(samples: &Samples) -> Model {
        let names: Vec<&str> =
            samples.steps.iter().skip(1).map(|step| step.name.as_str()).collect();
        let past: Vec<PastRun> =
            samples.traces.iter().map(|trace| past_run(trace, &names)).collect();
        Model::learn(&past)
    }

    /// How long a trace will go on, at a time in unix seconds; nothing if nothing is known about it.
    pub fn estimate_trace(&self, trace: &Trace, now: f64) -> Option<Estimate> {
        self.estimate(&Running::of(trace, now))
    }
}

fn past_run(trace: &Sample, names: &[&str]) -> PastRun {
    let steps = trace.steps.iter().zip(names).map(|(step, name)| FinishedStep {
        name: (*name).to_owned(),
        iterations: step.iterations,
        seconds: step.duration(),
        pace: step.pace.clone(),
    });
    PastRun { steps: steps.collect() }
}

impl Running {
    /// A trace at a time in unix seconds.
    pub fn of(trace: &Trace, now: f64) -> Running {
        let current = trace.current();
        let finished = &trace.steps[..trace.steps.len() - 1];
        let finished = finished.iter().zip(&trace.steps[1..]).map(|(step, next)| {
            let until = step.finished_at.unwrap_or(next.started_at);
            FinishedStep {
                name: step.step_name.clone(),
                iterations: Some(step.iterations).filter(|n| *n > 0),
                seconds: until - step.started_at,
                pace: Vec::new(),
            }
        });
        Running {
            finished: finished.collect(),
            current: Current {
                name: current.step_name.clone(),
                iterations: Some(current.iterations).filter(|n| *n > 0),
                iteration: current.iteration,
                reported_s: trace.last_updated_at - current.started_at,
                elapsed_s: now - current.started_at,
                marks: current.marks.clone(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{pace::Marks, trace::TraceStep};

    #[test]
    fn trace_is_seen_step_by_step() {
        let step = |name: &str, iteration, iterations, started_at, finished_at| TraceStep {
            step_name: name.to_owned(),
            iteration,
            iterations,
            started_at,
            finished_at,
            marks: Marks::default(),
        };
        let steps = vec![
            step("load", 0, 0, 100.0, Some(105.0)),
            step("lost", 0, 0, 105.0, None),
            step("copy", 3, 10, 107.0, None),
        ];
        let trace = Trace {
            created_at: 100.0,
            last_updated_at: 110.0,
            done: false,
            steps,
            failure: None,
            reports_every: None,
        };
        let running = Running::of(&trace, 112.5);
        let finished = |name: &str, seconds| FinishedStep {
            name: name.into(),
            iterations: None,
            seconds,
            pace: Vec::new(),
        };
        assert_eq!(running.finished, [finished("load", 5.0), finished("lost", 2.0)]);
        let current = Current {
            name: "copy".into(),
            iterations: Some(10),
            iteration: 3,
            reported_s: 3.0,
            elapsed_s: 5.5,
            marks: Marks::default(),
        };
        assert_eq!(running.current, current);
    }
}
