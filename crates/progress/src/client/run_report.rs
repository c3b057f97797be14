//! What has happened in a run, for those who tell it to others.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use uuid::Uuid;

use super::report::REPORT_EVERY;
use crate::{
    bar::STEPS_MAX,
    estimate::{Current, FinishedStep, Running},
    pace::Marks,
    trace::{ITERATIONS_MAX, NewTrace, Update},
};

/// A run as its program tells it.
#[derive(Debug)]
pub(super) struct RunReport {
    bar: String,
    uid: String,
    state: Mutex<State>,
    /// Called when something happened that should not wait.
    news: Notify,
}

#[derive(Debug)]
struct State {
    steps: Vec<Step>,
    end: Option<End>,
}

/// A step that has begun. Times are unix seconds.
#[derive(Debug, Clone, PartialEq)]
struct Step {
    name: String,
    iterations: Option<u64>,
    iteration: u64,
    began: f64,
    moved: f64,
    marks: Marks,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Finished(f64),
    GivenUp,
}

/// How much of a trail has been told.
#[derive(Debug, Default)]
pub(super) struct Reported {
    steps: usize,
    iteration: u64,
    is_done: bool,
}

impl Reported {
    /// Whether the begin of the run was told.
    pub(super) fn has_begun(&self) -> bool {
        self.steps > 0
    }

    /// Whether only iterations were told since another.
    pub(super) fn is_iteration_after(&self, earlier: &Reported) -> bool {
        self.steps == earlier.steps && !self.is_done
    }
}

/// What to tell next.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    Create(NewTrace),
    Update(Update),
}

impl RunReport {
    pub(super) fn new(bar: &str, step: &str, iterations: Option<u64>, now: f64) -> RunReport {
        RunReport {
            bar: bar.to_owned(),
            uid: Uuid::now_v7().simple().to_string(),
            state: Mutex::new(State { steps: vec![Step::new(step, iterations, now)], end: None }),
            news: Notify::new(),
        }
    }

    pub(super) fn uid(&self) -> &str {
        &self.uid
    }

    pub(super) fn bar(&self) -> &str {
        &self.bar
    }

    /// Where it is at a time in unix seconds, as the estimate sees it.
    pub(super) fn running(&self, now: f64) -> Running {
        let state = self.lock();
        let finished = state.steps.windows(2).map(|steps| FinishedStep {
            name: steps[0].name.clone(),
            iterations: steps[0].iterations,
            seconds: steps[1].began - steps[0].began,
            pace: Vec::new(),
        });
        let last = &state.steps[state.steps.len() - 1];
        let current = Current {
            name: last.name.clone(),
            iterations: last.iterations,
            iteration: last.iteration,
            reported_s: last.moved - last.began,
            elapsed_s: now - last.began,
            marks: last.marks.clone(),
        };
        Running { finished: finished.collect(), current }
    }

    /// Whether it was left before its end.
    pub(super) fn is_given_up(&self) -> bool {
        self.lock().end == Some(End::GivenUp)
    }

    /// What was told last, for a run that goes on without anything new; none before it has begun and after its end.
    pub(super) fn again(&self, told: &Reported, now: f64) -> Option<Message> {
        let state = self.lock();
        let step = told.steps.checked_sub(1).and_then(|at| state.steps.get(at));
        let step = step.filter(|_| state.end.is_none())?;
        Some(Message::Update(self.update(step, told.iteration, false, now)))
    }

    /// A step begins. What comes after too many steps belongs to the last.
    pub(super) fn step(&self, name: &str, iterations: Option<u64>, now: f64) {
        let mut state = self.lock();
        if (state.steps.len() as u64) < STEPS_MAX {
            state.steps.push(Step::new(name, iterations, now));
        }
        drop(state);
        self.news.notify_one();
    }

    /// Iterations are done. This is called in the caller's innermost loop, so it only counts.
    pub(super) fn tick(&self, iterations: u64, now: f64) {
        if let Some(step) = self.lock().steps.last_mut() {
            let n = step.iterations.unwrap_or(0);
            step.iteration = step.iteration.saturating_add(iterations).min(n);
            step.moved = now;
            if let Some(iterations) = step.iterations {
                step.marks.add(step.iteration, iterations, now - step.began);
            }
        }
    }

    pub(super) fn finish(&self, now: f64) {
        self.lock().end = Some(End::Finished(now));
        self.news.notify_one();
    }

    /// Nothing more will come; what was finished stays so.
    pub(super) fn give_up(&self) {
        self.lock().end.get_or_insert(End::GivenUp);
        self.news.notify_one();
    }

    /// Waits for something that should be told at once.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }

    /// Whether there is nothing left to tell, and never will be.
    pub(super) fn is_over(&self, told: &Reported) -> bool {
        let end = self.lock().end;
        told.is_done || end == Some(End::GivenUp)
    }

    /// Whether the run has ended, told or not.
    pub(super) fn has_ended(&self) -> bool {
        self.lock().end.is_some()
    }

    /// What to tell next, and how much is told then.
    pub(super) fn next(&self, told: &Reported) -> Option<(Message, Reported)> {
        let state = self.lock();
        let last = state.steps.len() - 1;
        if let Some(step) = state.steps.get(told.steps) {
            let message = if told.steps == 0 {
                Message::Create(self.creation(step))
            } else {
                Message::Update(self.update(step, 0, false, step.began))
            };
            return Some((
                message,
                Reported { steps: told.steps + 1, iteration: 0, is_done: false },
            ));
        }
        let step = &state.steps[last];
        match state.end {
            Some(End::Finished(now)) if !told.is_done => {
                let all = step.iterations.unwrap_or(0);
                let update = self.update(step, all, true, now);
                let told = Reported { steps: told.steps, iteration: all, is_done: true };
                Some((Message::Update(update), told))
            }
            None if step.iteration > told.iteration => {
                let update = self.update(step, step.iteration, false, step.moved);
                let told =
                    Reported { steps: told.steps, iteration: step.iteration, is_done: false };
                Some((Message::Update(update), told))
            }
            _ => None,
        }
    }

    fn creation(&self, step: &Step) -> NewTrace {
        NewTrace {
            pbar_name: self.bar.clone(),
            uid: self.uid.clone(),
            step_name: step.name.clone(),
            iterations: step.iterations,
            now: step.began,
            reports_every: Some(REPORT_EVERY.as_secs()),
        }
    }

    fn update(&self, step: &Step, iteration: u64, done: bool, now: f64) -> Update {
        Update {
            pbar_name: self.bar.clone(),
            trace_uid: self.uid.clone(),
            step_name: step.name.clone(),
            iteration: step.iterations.map(|_| iteration),
            iterations: step.iterations,
            done,
            now,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Step {
    fn new(name: &str, iterations: Option<u64>, now: f64) -> Step {
        let iterations = iterations.map(|n| n.clamp(1, ITERATIONS_MAX));
        Step {
            name: name.to_owned(),
            iterations,
            iteration: 0,
            began: now,
            moved: now,
            marks: Marks::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything there is to tell now, in words.
    fn told(trail: &RunReport, told: &mut Reported) -> Vec<String> {
        let mut all = Vec::new();
        while let Some((message, then)) = trail.next(told) {
            *told = then;
            all.push(match message {
                Message::Create(new) => {
                    format!("{} {:?} at {}", new.step_name, new.iterations, new.now)
                }
                Message::Update(Update { step_name, iteration, iterations, done, now, .. }) => {
                    let done = if done { "done " } else { "" };
                    format!("{done}{step_name} {iteration:?} of {iterations:?} at {now}")
                }
            });
        }
        all
    }

    #[test]
    fn everything_that_happened_meanwhile_is_told_in_order() {
        let trail = RunReport::new("import", "load", None, 1.0);
        let mut so_far = Reported::default();
        trail.step("copy", Some(5), 2.0);
        trail.tick(2, 3.0);
        trail.tick(1, 4.0);
        let expected =
            ["load None at 1", "copy Some(0) of Some(5) at 2", "copy Some(3) of Some(5) at 4"];
        assert_eq!(told(&trail, &mut so_far), expected);
        assert_eq!(told(&trail, &mut so_far), [""; 0], "nothing is told twice");
        trail.finish(6.0);
        assert_eq!(told(&trail, &mut so_far), ["done copy Some(5) of Some(5) at 6"]);
        assert!(trail.is_over(&so_far));
    }

    #[test]
    fn more_iterations_than_there_are_count_as_all() {
        let trail = RunReport::new("import", "copy", Some(3), 1.0);
        trail.tick(u64::MAX, 2.0);
        trail.tick(5, 3.0);
        let all = told(&trail, &mut Reported::default());
        assert_eq!(all, ["copy Some(3) at 1", "copy Some(3) of Some(3) at 3"]);
    }

    #[test]
    fn run_that_is_given_up_is_not_told_to_have_ended() {
        let trail = RunReport::new("import", "copy", Some(3), 1.0);
        let mut so_far = Reported::default();
        told(&trail, &mut so_far);
        trail.tick(1, 2.0);
        trail.give_up();
        assert!(trail.is_over(&so_far));
        assert_eq!(told(&trail, &mut so_far), [""; 0]);
        trail.finish(3.0);
        trail.give_up();
        assert!(!trail.is_over(&so_far), "what is finished stays so");
    }

    #[test]
    fn steps_beyond_the_most_belong_to_the_last() {
        let trail = RunReport::new("import", "0", None, 0.0);
        (1..400).for_each(|at| trail.step(&at.to_string(), None, 0.0));
        assert_eq!(told(&trail, &mut Reported::default()).len() as u64, STEPS_MAX);
    }
}
