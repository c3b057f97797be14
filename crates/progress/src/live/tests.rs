//! What watchers see, in literal numbers.

use super::*;
use crate::{eta::StepEta, technique::Technique, trace::TraceStep};

fn step(name: &str, iterated: bool, a: f64, b: Option<f64>) -> StepEta {
    let technique = if b.is_some() { Technique::BestFitLinear } else { Technique::ArithmeticMean };
    StepEta { step_name: name.into(), iterated, technique, percentile: None, eta_a: a, eta_b: b }
}

/// A bar that takes 100 s: one-off step 10 s, then 3 s for each iteration and 5 s of set-up, then 2 s for each.
fn eta() -> Eta {
    Eta {
        technique: Technique::ArithmeticMean,
        percentile: None,
        eta: 100.0,
        version: 0,
        steps: vec![
            step("open", false, 10.0, None),
            step("read", true, 3.0, Some(5.0)),
            step("sort", true, 2.0, None),
        ],
    }
}

fn trace(steps: &[(&str, u64, f64)]) -> Trace {
    let step = |&(name, iterations, started_at): &(&str, u64, f64)| TraceStep {
        step_name: name.into(),
        iteration: 0,
        iterations,
        started_at,
        finished_at: None,
        marks: Default::default(),
    };
    Trace {
        created_at: 1000.0,
        last_updated_at: 1000.0,
        done: false,
        steps: steps.iter().map(step).collect(),
        failure: None,
        reports_every: None,
    }
}

#[track_caller]
fn check(now: f64, steps: &[(&str, u64, f64)], expected: (f64, f64, &str, f64, f64)) {
    let live = Live::at(now, &eta(), Some(&trace(steps)));
    let Live { overall_eta_seconds, remaining_eta_seconds, step_name, .. } = &live;
    let in_step = (live.step_overall_eta_seconds, live.step_remaining_eta_seconds);
    let seen = (*overall_eta_seconds, *remaining_eta_seconds, &**step_name, in_step.0, in_step.1);
    assert_eq!(seen, expected);
}

#[test]
fn a_known_bar_counts_down_from_its_totals() {
    check(1004.0, &[("open", 0, 1000.0)], (100.0, 96.0, "open", 10.0, 6.0));
    let read = [("open", 0, 1000.0), ("read", 10, 1012.0)];
    check(1020.0, &read, (100.0, 80.0, "read", 35.0, 27.0));
    let sort = [("open", 0, 1000.0), ("read", 10, 1012.0), ("sort", 7, 1050.0)];
    check(1051.0, &sort, (100.0, 49.0, "sort", 14.0, 13.0));
}

#[test]
fn what_remains_goes_below_zero_when_a_trace_takes_longer() {
    check(1130.0, &[("open", 0, 1000.0)], (100.0, -30.0, "open", 10.0, -120.0));
}

#[test]
fn a_trace_with_other_steps_has_no_estimate() {
    let unknown = |name| (0.0, -4.0, name, 0.0, -3.0);
    check(1004.0, &[("close", 0, 1001.0)], unknown("close"));
    check(1004.0, &[("open", 5, 1001.0)], unknown("open"));
    let more = [("open", 0, 1.0), ("read", 1, 1.0), ("sort", 1, 1.0), ("more", 0, 1001.0)];
    check(1004.0, &more, unknown("more"));
}

#[test]
fn before_the_trace_begins_the_first_step_is_announced() {
    let live = Live::at(5.0, &eta(), None);
    let expected = Live {
        overall_eta_seconds: 100.0,
        remaining_eta_seconds: 100.0,
        step_name: "open".into(),
        step_overall_eta_seconds: 10.0,
        step_remaining_eta_seconds: 10.0,
    };
    assert_eq!(live, expected);
}

#[test]
fn nothing_is_known_of_an_unknown_bar() {
    let unknown = Eta { steps: Vec::new(), eta: 7.0, version: -1, ..eta() };
    let live = Live::at(5.0, &unknown, None);
    assert_eq!((live.overall_eta_seconds, &*live.step_name), (0.0, "preparing"));
    let live = Live::at(1003.0, &unknown, Some(&trace(&[("open", 0, 1001.0)])));
    assert_eq!((live.remaining_eta_seconds, live.step_remaining_eta_seconds), (-3.0, -2.0));
}
