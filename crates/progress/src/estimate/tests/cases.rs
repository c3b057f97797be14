//! Runs whose estimate can be told by hand.

use super::*;
use crate::SHARES;

#[test]
fn runs_that_are_all_alike_are_expected_to_be_so_again() {
    let lines = ["load 10, copy/100 50, tidy 5"; 10];
    let estimate = estimate(&lines, &in_iterated("load 10", "copy", 50, 100, 25.0));
    assert_near(estimate.p50, 30.0, 0.5);
    assert!(estimate.p90 - estimate.p10 < 5.0 && estimate.sureness > 0.9, "{estimate:?}");
}

#[test]
fn runs_that_hardly_differ_have_a_narrow_range_around_the_truth() {
    // A tenth of a percent up or down: no guess from before may keep the range wider than that, and nothing may shift it.
    let lines = ["copy/100 100", "copy/100 100.1", "copy/100 99.9"].repeat(5);
    let mut runs = past(&lines);
    for step in runs.iter_mut().flat_map(|run| &mut run.steps) {
        step.pace = SHARES.map(|share| (1_000.0 * share).round() as u16).to_vec();
    }
    for done in [10, 50, 90] {
        let running = in_iterated("", "copy", done, 100, done as f64);
        let estimate = Model::learn(&runs).estimate(&running).expect("an estimate");
        assert_near(estimate.p50, (100 - done) as f64, 0.06);
        let width = estimate.p90 - estimate.p10;
        assert!((0.02..0.35).contains(&width), "{estimate:?}");
    }
    let lines = ["load 50, tidy 50", "load 50.1, tidy 50", "load 49.9, tidy 50"].repeat(5);
    let estimate = estimate(&lines, &in_one_off("", "load", 25.0));
    assert_near(estimate.p50, 75.0, 0.04);
    assert!(estimate.p90 - estimate.p10 < 0.4, "{estimate:?}");
}

#[test]
fn without_past_runs_the_pace_decides() {
    let estimate = estimate(&[], &in_iterated("", "copy", 25, 100, 10.0));
    assert_near(estimate.p50, 30.0, 1.0);
    assert!(estimate.p10 < 20.0 && estimate.p90 > 45.0, "{estimate:?}");
}

#[test]
fn without_past_runs_and_iterations_there_is_no_estimate() {
    let model = Model::learn(&[]);
    assert_eq!(model.runs(), 0);
    assert_eq!(model.estimate(&in_one_off("", "load", 3.0)), None);
    assert_eq!(model.estimate(&in_iterated("", "copy", 0, 100, 3.0)), None);
}

#[test]
fn one_past_run_is_a_hint_and_two_alike_are_a_better_one() {
    let running = in_one_off("", "load", 0.0);
    let one = estimate(&["load 60"], &running);
    assert_near(one.p50, 60.0, 3.0);
    assert!(one.p10 < 45.0 && one.p90 > 85.0, "{one:?}");
    let two = estimate(&["load 60", "load 60"], &running);
    assert!(two.sureness > one.sureness && two.p90 - two.p10 < one.p90 - one.p10, "{two:?}");
}

#[test]
fn set_up_is_told_apart_from_iterations() {
    // 20 seconds, and a tenth of one for each iteration.
    let lines =
        ["copy/100 30", "copy/400 60", "copy/200 40", "copy/300 50", "copy/150 35", "copy/250 45"];
    let at_start = estimate(&lines, &in_iterated("", "copy", 0, 1_000, 0.0));
    assert_near(at_start.p50, 120.0, 10.0);
    // A bar that only sees the pace would say 1,089 seconds.
    let early = estimate(&lines, &in_iterated("", "copy", 20, 1_000, 22.0));
    assert_near(early.p50, 98.0, 10.0);
}

#[test]
fn slow_beginning_makes_the_rest_longer_if_it_did_before() {
    let alike =
        ["a 10, b 10", "a 20, b 20", "a 12, b 12", "a 18, b 18", "a 11, b 11", "a 15, b 15"];
    let alike = [alike, alike].concat();
    let unlike =
        ["a 10, b 15", "a 20, b 14", "a 12, b 14", "a 18, b 15", "a 11, b 15", "a 15, b 14"];
    let unlike = [unlike, unlike].concat();
    for (finished, rest) in [("a 10", 11.0), ("a 20", 19.0)] {
        let running = in_one_off(finished, "b", 0.0);
        assert_near(estimate(&alike, &running).p50, rest, 1.5);
        assert_near(estimate(&unlike, &running).p50, 14.5, 0.7);
    }
}

#[test]
fn drift_is_followed() {
    let mut lines = vec!["a 10"; 20];
    lines.extend(["a 20"; 6]);
    assert_near(estimate(&lines, &in_one_off("", "a", 0.0)).p50, 20.0, 1.5);
}

#[test]
fn one_stuck_run_changes_little() {
    let mut lines = vec!["a 10, b 10"; 12];
    lines.insert(6, "a 300, b 10");
    let estimate = estimate(&lines, &in_one_off("", "a", 0.0));
    assert_near(estimate.p50, 20.0, 4.0);
}

#[test]
fn two_kinds_of_runs_stay_two() {
    let lines = ["a 10", "a 100", "a 11", "a 95", "a 9", "a 105", "a 10", "a 98", "a 10", "a 102"]
        .repeat(4);
    let lines: Vec<&str> = lines;
    // Once the short kind would be over, only the long one is left.
    let late = estimate(&lines, &in_one_off("", "a", 40.0));
    assert_near(late.p50, 60.0, 12.0);
}

#[test]
fn step_that_is_late_beyond_anything_known_is_given_time() {
    let lines = ["a 10"; 20];
    let estimate = estimate(&lines, &in_one_off("", "a", 40.0));
    assert!(estimate.p50 > 4.0 && estimate.p90 > 20.0, "{estimate:?}");
    assert!(estimate.sureness < 0.7, "{estimate:?}");
}

#[test]
fn number_of_iterations_to_come_follows_from_those_that_are_known() {
    let lines = ["list/10 1, copy/20 20", "list/40 4, copy/80 80", "list/20 2, copy/40 40"];
    let running = in_iterated("", "list", 100, 100, 10.0);
    let estimate = estimate(&lines, &running);
    assert_near(estimate.p50, 200.0, 25.0);
}

#[test]
fn run_with_other_steps_is_judged_by_its_pace() {
    let lines = ["load 10, copy/100 50"; 5];
    let pace = estimate(&lines, &in_iterated("fetch 3", "copy", 50, 100, 5.0));
    assert_near(pace.p50, 5.0, 0.5);
    let more = in_one_off("load 10, copy/100 50", "tidy", 1.0);
    assert_eq!(Model::learn(&past(&lines)).estimate(&more), None);
    let one_off = in_one_off("load 10", "copy", 1.0);
    assert_eq!(Model::learn(&past(&lines)).estimate(&one_off), None);
}

#[test]
fn past_runs_with_other_steps_are_left_out() {
    let lines = ["a 500", "a 10, b 10", "a 10, b 10", "a 700, c 3", "a 10, b 10"];
    let model = Model::learn(&past(&lines));
    assert_eq!(model.runs(), 3);
    let left = model.estimate(&in_one_off("", "a", 0.0)).expect("an estimate");
    assert_near(left.p50, 20.0, 1.0);
}

#[test]
fn only_the_newest_runs_are_looked_at() {
    let lines = vec!["a 10"; super::super::RUNS_MAX + 100];
    assert_eq!(Model::learn(&past(&lines)).runs(), super::super::RUNS_MAX);
}

#[test]
fn finished_iterations_of_a_step_that_has_not_ended_leave_little() {
    let lines = ["copy/100 50"; 5];
    let estimate = estimate(&lines, &in_iterated("", "copy", 100, 100, 50.0));
    assert!(estimate.p50 < 1.0, "{estimate:?}");
}

/// A past run of one step with 100 iterations, which took so long until each quarter of them was done.
fn with_quarters(quarters: [f64; 4]) -> PastRun {
    let marks = marks(&quarters[..3]);
    let (iterations, seconds) = (Some(100), quarters[3]);
    let pace = marks.pace(100, seconds);
    PastRun { steps: vec![FinishedStep { name: "copy".to_owned(), iterations, seconds, pace }] }
}

fn marks(quarters: &[f64]) -> Marks {
    let mut marks = Marks::default();
    for (at, seconds) in (1..).zip(quarters) {
        marks.add(25 * at, 100, *seconds);
    }
    marks
}

#[test]
fn slow_end_of_every_past_run_is_expected() {
    let past: Vec<PastRun> = (0..8)
        .map(|run| f64::from(run) * 0.2)
        .map(|off| with_quarters([10.0, 20.0, 30.0, 70.0 + off]))
        .collect();
    let model = Model::learn(&past);
    let mut running = in_iterated("", "copy", 50, 100, 20.0);
    running.current.marks = marks(&[10.0]);
    let left = model.estimate(&running).expect("an estimate");
    assert_near(left.p50, 50.7, 2.0);
    // Twice as slow as ever: all past runs went on as they began.
    running.current.reported_s = 40.0;
    running.current.elapsed_s = 40.0;
    let left = model.estimate(&running).expect("an estimate");
    assert!(left.p50 > 65.0, "{left:?}");
}

#[test]
fn pace_is_not_believed_where_it_never_told_anything() {
    // The first quarter takes anything from 2 to 30 seconds, and the rest always about 60.
    let first = [2.0, 30.0, 8.0, 20.0, 4.0, 26.0, 12.0, 16.0, 3.0, 24.0];
    let past: Vec<PastRun> = first
        .iter()
        .map(|first| with_quarters([*first, first + 20.0, first + 40.0, first + 60.0]))
        .collect();
    let running = in_iterated("", "copy", 25, 100, 28.0);
    let left = Model::learn(&past).estimate(&running).expect("an estimate");
    assert_near(left.p50, 60.0, 6.0);
}

#[test]
fn range_is_as_wide_as_past_runs_were_off() {
    let alike: Vec<PastRun> = vec![with_quarters([10.0, 20.0, 30.0, 40.0]); 10];
    let unlike = [30.0, 80.0, 45.0, 60.0, 35.0, 90.0, 50.0, 40.0, 70.0, 55.0];
    let unlike: Vec<PastRun> =
        unlike.iter().map(|end| with_quarters([10.0, 20.0, 25.0, *end])).collect();
    let running = in_iterated("", "copy", 50, 100, 20.0);
    let width = |past: &[PastRun]| {
        let left = Model::learn(past).estimate(&running).expect("an estimate");
        left.p90 - left.p10
    };
    assert!(width(&alike) < 4.0, "{}", width(&alike));
    assert!((25.0..90.0).contains(&width(&unlike)), "{}", width(&unlike));
}
