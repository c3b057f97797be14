//! What should be true: the rules again, in plain data.

use std::collections::BTreeMap;

use keyrack_progress::{CountOutcome, Marks, NewTrace, Trace, TraceStep, Update};

use crate::rig::{BAR, ProgressTest};

/// A week over a hundred samples: what a bar begins with.
const INTERVAL: f64 = 6048.0;
/// How long a counted trace can be read.
const LINGER: f64 = 900.0;

#[derive(Default)]
pub(super) struct Facts {
    /// The traces, and when each was counted.
    traces: BTreeMap<String, (Trace, Option<f64>)>,
    bar: Option<Seen>,
    queued: usize,
    created: u64,
}

/// What can be seen of a bar and its user.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Seen {
    version: Option<u64>,
    steps: Vec<(String, bool)>,
    /// When the retained traces began.
    retained: Vec<f64>,
}

impl Seen {
    pub(super) async fn read(rig: &ProgressTest) -> (Seen, usize, u64) {
        let samples = rig.progress.samples(&rig.user, BAR).await.expect("an answer");
        let seen = samples.map_or_else(Seen::default, |samples| Seen {
            version: Some(samples.bar.version),
            steps: samples.steps[1..]
                .iter()
                .map(|step| (step.name.clone(), step.iterated))
                .collect(),
            retained: samples.traces.iter().map(|trace| trace.created_at).collect(),
        });
        let mine = format!("\"user_sub\":\"{}\"", rig.user);
        let queued = rig.queued().await.iter().filter(|entry| entry.contains(&mine)).count();
        let usage = rig.progress.usage(&rig.user).await.expect("usage");
        (seen, queued, usage.traces)
    }
}

pub(super) fn word_for(handled: &CountOutcome) -> &'static str {
    match handled {
        CountOutcome::Nothing => "dropped",
        CountOutcome::Counted { retained: true, .. } => "retained",
        CountOutcome::Counted { retained: false, .. } => "counted",
        CountOutcome::OtherVersion | CountOutcome::Unusable => panic!("{handled:?}"),
    }
}

fn time_of(client: f64, server: f64) -> f64 {
    if (client - server).abs() < 300.0 { client } else { server }
}

fn new_step(name: &str, iterations: Option<u64>, now: f64) -> TraceStep {
    let iterations = iterations.unwrap_or(0);
    TraceStep {
        step_name: name.into(),
        iteration: 0,
        iterations,
        started_at: now,
        finished_at: None,
        marks: Marks::default(),
    }
}

/// As it is stored.
fn rounded(seconds: f64) -> f64 {
    format!("{seconds:.4}").parse().expect("a number")
}

fn finish(step: &mut TraceStep, now: f64) {
    step.iteration = step.iterations;
    step.finished_at = Some(now);
}

impl Facts {
    pub(super) fn trace(&self, uid: &str) -> Option<Trace> {
        self.traces.get(uid).map(|(trace, _)| trace.clone())
    }

    pub(super) fn seen(&self) -> (Seen, usize, u64) {
        (self.bar.clone().unwrap_or_default(), self.queued, self.created)
    }

    /// Makes an update one for the current step, as a client that knows its trace would.
    pub(super) fn make_plausible(&self, update: &mut Update) {
        let Some((trace, _)) = self.traces.get(&update.trace_uid) else { return };
        let step = trace.current();
        update.step_name = step.step_name.clone();
        update.iterations = (step.iterations > 0).then_some(step.iterations);
    }

    pub(super) fn create(&mut self, new: &NewTrace, server: f64) -> &'static str {
        if new.step_name == "default" {
            return "step_name_reserved";
        }
        // What is replaced is counted first.
        self.count(&new.uid, server);
        let now = time_of(new.now, server);
        let steps = vec![new_step(&new.step_name, new.iterations, now)];
        let trace = Trace {
            created_at: now,
            last_updated_at: now,
            done: false,
            steps,
            failure: None,
            reports_every: None,
        };
        self.traces.insert(new.uid.clone(), (trace, None));
        self.created += 1;
        "accepted"
    }

    pub(super) fn update(&mut self, update: &Update, server: f64) -> &'static str {
        let sensible = match (update.iteration, update.iterations) {
            (None, None) => true,
            (Some(at), Some(of)) => at <= of && (!update.done || at == of),
            _ => false,
        };
        if !sensible {
            return "invalid";
        }
        let Some((trace, _)) = self.traces.get_mut(&update.trace_uid) else {
            return "trace_not_found";
        };
        if trace.done {
            return "trace_completed";
        }
        let now = time_of(update.now, server);
        let earlier = trace.steps.iter().any(|step| step.step_name == update.step_name);
        let step = trace.steps.last_mut().expect("a step");
        if step.step_name != update.step_name {
            if update.done || update.iteration.is_some_and(|at| at > 0) {
                return "missing_start_time";
            }
            if update.step_name == "default" {
                return "step_name_reserved";
            }
            if earlier {
                return "step_repeated";
            }
            finish(step, now);
            trace.steps.push(new_step(&update.step_name, update.iterations, now));
        } else if update.iterations.unwrap_or(0) != step.iterations {
            return "step_changed";
        } else if update.iteration.is_some_and(|at| at < step.iteration) {
            return "backwards_progress";
        } else if update.done {
            finish(step, now);
            trace.done = true;
            self.queued += 1;
        } else if let Some(at) = update.iteration {
            if at > step.iteration {
                step.marks.add(at, step.iterations, rounded(now - step.started_at));
            }
            step.iteration = at;
        }
        trace.last_updated_at = now;
        "accepted"
    }

    /// Forgets what is not to be seen any more.
    pub(super) fn expire(&mut self, now: f64) {
        self.traces.retain(|_, (_, counted)| counted.is_none_or(|at| now < at + LINGER));
    }

    pub(super) fn count(&mut self, uid: &str, now: f64) -> &'static str {
        let Some((trace, counted)) = self.traces.get_mut(uid).filter(|(trace, _)| trace.done)
        else {
            return "dropped";
        };
        if counted.is_some() {
            return "dropped";
        }
        *counted = Some(now);
        let steps: Vec<(String, bool)> =
            trace.steps.iter().map(|step| (step.step_name.clone(), step.iterations > 0)).collect();
        let bar = self.bar.get_or_insert_with(Seen::default);
        if bar.version.is_none() || bar.steps != steps {
            let version = bar.version.map_or(0, |version| version + 1);
            *bar = Seen { version: Some(version), steps, retained: Vec::new() };
        }
        if bar.retained.iter().any(|at| *at > trace.created_at - INTERVAL) {
            return "counted";
        }
        bar.retained.push(trace.created_at);
        "retained"
    }
}
