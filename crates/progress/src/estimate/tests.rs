//! What the estimate promises, with runs made up for the purpose.

mod cases;
mod properties;

use super::{Current, Estimate, FinishedStep, Marks, Model, PastRun, Running};

/// Steps from a line such as `load 5, copy/100 20`: a name, how many iterations, how many seconds.
fn steps(line: &str) -> Vec<FinishedStep> {
    let words = line.split(", ").filter(|words| !words.is_empty());
    let step = |words: &str| {
        let (what, seconds) = words.split_once(' ').expect("a step and its seconds");
        let (name, iterations) = match what.split_once('/') {
            Some((name, n)) => (name, Some(n.parse().expect("a number of iterations"))),
            None => (what, None),
        };
        let seconds = seconds.parse().expect("seconds");
        FinishedStep { name: name.to_owned(), iterations, seconds, pace: Vec::new() }
    };
    words.map(step).collect()
}

fn past(lines: &[&str]) -> Vec<PastRun> {
    lines.iter().map(|line| PastRun { steps: steps(line) }).collect()
}

/// A run that is through with the steps of a line, and for some seconds in a one-off step.
pub(super) fn in_one_off(finished: &str, name: &str, elapsed_s: f64) -> Running {
    let current = Current {
        name: name.to_owned(),
        iterations: None,
        iteration: 0,
        reported_s: 0.0,
        elapsed_s,
        marks: Marks::default(),
    };
    Running { finished: steps(finished), current }
}

/// A run in an iterated step, which has just reported so many iterations of so many.
fn in_iterated(finished: &str, name: &str, done: u64, of: u64, elapsed_s: f64) -> Running {
    let current = Current {
        name: name.to_owned(),
        iterations: Some(of),
        iteration: done,
        reported_s: elapsed_s,
        elapsed_s,
        marks: Marks::default(),
    };
    Running { finished: steps(finished), current }
}

#[track_caller]
fn estimate(lines: &[&str], running: &Running) -> Estimate {
    Model::learn(&past(lines)).estimate(running).expect("an estimate")
}

#[track_caller]
fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected} ± {tolerance}");
}
