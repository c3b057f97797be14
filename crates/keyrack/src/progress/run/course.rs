//! How far a command is: its steps, and when each began.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use keyrack_progress::{
    DEFAULT_STEP, ITERATIONS_MAX, Marks, NAME_CHARS_MAX, STEPS_MAX,
    estimate::{Current, FinishedStep, Model, Running},
};

use super::line::ProgressReport;

/// The step of a command that names none.
pub(super) const RUN: &str = "run";

/// A course that those who read the output move on, and others look at.
#[derive(Debug)]
pub(super) struct Shared(Mutex<Course>);

impl Shared {
    pub(super) fn new(course: Course) -> Arc<Shared> {
        Arc::new(Shared(Mutex::new(course)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Course> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far a command is. Times are seconds since its start.
#[derive(Debug, Clone)]
pub(super) struct Course {
    start: Instant,
    steps: Vec<Stage>,
    /// Whether the command names its steps.
    names_steps: bool,
    /// Whether the lines of a command without steps are its iterations.
    counts_lines: bool,
    lines: u64,
}

/// A step that has begun.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stage {
    pub(super) name: String,
    pub(super) iterations: Option<u64>,
    pub(super) iteration: u64,
    pub(super) began: f64,
    /// When the last iteration was done.
    moved: f64,
    /// When some of them were done, since the step began.
    marks: Marks,
}

impl Stage {
    fn new(name: String, iterations: Option<u64>, began: f64) -> Stage {
        Stage { name, iterations, iteration: 0, began, moved: began, marks: Marks::default() }
    }

    fn advance(&mut self, count: u64, now: f64) {
        let Some(n) = &mut self.iterations else { return };
        self.iteration = self.iteration.saturating_add(count).min(ITERATIONS_MAX);
        // More than was said at first: it is no secret any more.
        *n = self.iteration.max(*n);
        self.marks.add(self.iteration, *n, now - self.began);
        self.moved = now;
    }
}

impl Course {
    /// A command that has just started. Without words about its steps it is thought to print as many lines as in past runs.
    pub(super) fn begin(model: &Model) -> Course {
        let is_known = model.runs() > 0;
        let is_plain = model.steps().eq([RUN]);
        let usual = if is_plain { model.usual_iterations(0) } else { None };
        Course {
            start: Instant::now(),
            steps: vec![Stage::new(RUN.to_owned(), usual, 0.0)],
            names_steps: false,
            // A bar keeps to what it was: to count lines now and not then would make another of it.
            counts_lines: !is_known || !is_plain || usual.is_some(),
            lines: 0,
        }
    }

    /// Seconds since the start.
    pub(super) fn elapsed(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// The steps that have begun, never none; whoever sees the first with another name than before starts again.
    pub(super) fn steps(&self) -> &[Stage] {
        &self.steps
    }

    /// Takes in what the command said.
    pub(super) fn hear(&mut self, word: ProgressReport) {
        let now = self.elapsed();
        match word {
            ProgressReport::Tick(count) => self.current().advance(count, now),
            ProgressReport::Step { name, iterations } if !self.names_steps => {
                // The time before its first step belongs to that.
                self.names_steps = true;
                let name = self.free_name(name);
                self.steps = vec![Stage::new(name, iterations, 0.0)];
            }
            ProgressReport::Step { name, iterations } => {
                if (self.steps.len() as u64) < STEPS_MAX {
                    let name = self.free_name(name);
                    self.steps.push(Stage::new(name, iterations, now));
                }
            }
        }
    }

    /// Takes in that the command printed lines about other things.
    pub(super) fn count_lines(&mut self, lines: u64) {
        self.lines += lines;
        if self.names_steps || lines == 0 {
            return;
        }
        let (now, stage) = (self.elapsed(), self.current());
        let usual = stage.iterations;
        stage.advance(lines, now);
        if usual.is_some_and(|usual| stage.iteration > usual) {
            // More than usual, and how many more nobody knows: not none, or the bar would say it is through.
            let more = stage.iteration / 10 + 1;
            stage.iterations = Some((stage.iteration + more).min(ITERATIONS_MAX));
        }
    }

    /// Takes in that the command has ended: now it is known how many lines it prints.
    pub(super) fn end(&mut self) {
        if self.names_steps || !self.counts_lines {
            return;
        }
        let lines = self.lines.min(ITERATIONS_MAX);
        let stage = self.current();
        if lines > 0 || stage.iterations.is_some() {
            stage.iterations = Some(lines.max(1));
            stage.iteration = lines.max(1);
        }
    }

    /// The course as the estimate sees it.
    pub(super) fn running(&self) -> Running {
        let now = self.elapsed();
        let finished = self.steps.windows(2).map(|pair| FinishedStep {
            name: pair[0].name.clone(),
            iterations: pair[0].iterations,
            seconds: pair[1].began - pair[0].began,
            pace: Vec::new(),
        });
        let current = &self.steps[self.steps.len() - 1];
        Running {
            finished: finished.collect(),
            current: Current {
                name: current.name.clone(),
                iterations: current.iterations,
                iteration: current.iteration,
                reported_s: current.moved - current.began,
                elapsed_s: now - current.began,
                marks: current.marks.clone(),
            },
        }
    }

    fn current(&mut self) -> &mut Stage {
        self.steps.last_mut().expect("there is one from the start")
    }

    /// The name, or if it is taken, the same with a number: a trace has no two steps of one name.
    fn free_name(&self, name: String) -> String {
        let steps =
            if self.steps.len() == 1 && self.steps[0].name == RUN { &[] } else { &self.steps[..] };
        let is_free =
            |name: &str| name != DEFAULT_STEP && steps.iter().all(|step| step.name != name);
        if is_free(&name) {
            return name;
        }
        let short: String = name.chars().take(NAME_CHARS_MAX - 4).collect();
        let numbered = (2..).map(|number| format!("{short} {number}"));
        numbered.into_iter().find(|name| is_free(name)).expect("numbers do not end")
    }
}

#[cfg(test)]
mod tests {
    use keyrack_progress::estimate::PastRun;

    use super::*;

    fn model(name: &str, iterations: Option<u64>) -> Model {
        let pace = Vec::new();
        let step = FinishedStep { name: name.to_owned(), iterations, seconds: 10.0, pace };
        Model::learn(&[PastRun { steps: vec![step] }])
    }

    fn told(course: &Course) -> Vec<(&str, Option<u64>, u64)> {
        let steps = course.steps().iter();
        steps.map(|step| (step.name.as_str(), step.iterations, step.iteration)).collect()
    }

    fn step(name: &str, iterations: Option<u64>) -> ProgressReport {
        ProgressReport::Step { name: name.to_owned(), iterations }
    }

    #[test]
    fn lines_count_against_those_of_past_runs() {
        let mut course = Course::begin(&model(RUN, Some(20)));
        course.count_lines(7);
        assert_eq!(told(&course), [(RUN, Some(20), 7)]);
        course.count_lines(23);
        assert_eq!(told(&course), [(RUN, Some(34), 30)], "there may be more to come");
        course.end();
        assert_eq!(told(&course), [(RUN, Some(30), 30)], "there were none");
    }

    #[test]
    fn lines_count_for_nothing_once_steps_are_named() {
        let mut course = Course::begin(&Model::default());
        course.count_lines(3);
        course.hear(step("copy", Some(5)));
        course.count_lines(3);
        course.hear(ProgressReport::Tick(2));
        course.hear(step("tidy", None));
        course.hear(ProgressReport::Tick(9));
        course.end();
        assert_eq!(told(&course), [("copy", Some(5), 2), ("tidy", None, 0)]);
    }

    #[test]
    fn first_step_has_the_time_before_it() {
        let mut course = Course::begin(&Model::default());
        course.hear(step("copy", None));
        course.hear(step("tidy", None));
        let running = course.running();
        assert_eq!(course.steps()[0].began, 0.0);
        assert_eq!(running.finished[0].seconds, course.steps()[1].began);
    }

    #[test]
    fn too_many_steps_and_ticks_do_no_harm() {
        let mut course = Course::begin(&Model::default());
        (0..1_000).for_each(|_| course.hear(step("again", Some(1))));
        assert_eq!(course.steps().len() as u64, STEPS_MAX);
        course.hear(ProgressReport::Tick(u64::MAX));
        course.hear(ProgressReport::Tick(u64::MAX));
        assert_eq!(course.steps()[STEPS_MAX as usize - 1].iterations, Some(ITERATIONS_MAX));
    }
}
