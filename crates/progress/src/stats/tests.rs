//! The techniques, in literal numbers.

use super::*;

const FOUR: [f64; 4] = [8.0, 2.0, 1.0, 4.0];

fn by(technique: Technique) -> Method {
    Method { technique, percentile: 75.0 }
}

fn percentile_of(samples: &[f64], percentile: f64) -> Option<f64> {
    let method = Method { technique: Technique::Percentile, percentile };
    summary(method, samples.iter().copied())
}

#[track_caller]
fn check(technique: Technique, samples: &[f64], expected: Option<f64>) {
    let seen = summary(by(technique), samples.iter().copied());
    let is_near = match (seen, expected) {
        (Some(seen), Some(expected)) => (seen - expected).abs() <= 1e-12 * expected.abs(),
        (seen, expected) => seen == expected,
    };
    assert!(is_near, "{technique:?} of {samples:?} is {seen:?}, not {expected:?}");
}

#[test]
fn percentiles_are_samples_at_their_place() {
    for (percentile, expected) in [(0.0, 1.0), (25.0, 2.0), (50.0, 4.0), (75.0, 8.0), (100.0, 8.0)]
    {
        assert_eq!(percentile_of(&FOUR, percentile), Some(expected), "{percentile}");
    }
    assert_eq!(percentile_of(&FOUR, 24.999), Some(1.0));
    assert_eq!(percentile_of(&FOUR, 97.5), Some(8.0));
}

#[test]
fn percentiles_of_few_and_of_equal_samples() {
    for percentile in [0.0, 50.0, 75.0, 100.0] {
        assert_eq!(percentile_of(&[], percentile), None);
        assert_eq!(percentile_of(&[3.0], percentile), Some(3.0));
        assert_eq!(percentile_of(&[3.0; 7], percentile), Some(3.0));
    }
    assert_eq!(percentile_of(&[5.0, 3.0], 0.0), Some(3.0));
    assert_eq!(percentile_of(&[5.0, 3.0], 49.0), Some(3.0));
    assert_eq!(percentile_of(&[5.0, 3.0], 50.0), Some(5.0));
}

#[test]
fn places_are_worked_out_as_the_original_does() {
    // 0.29 * 100 is a little less than 29 in doubles, and that is the place below.
    let hundred: Vec<f64> = (0..100).map(f64::from).collect();
    assert_eq!(percentile_of(&hundred, 29.0), Some(28.0));
    assert_eq!(percentile_of(&hundred, 75.0), Some(75.0));
}

#[test]
fn means_of_four() {
    check(Technique::ArithmeticMean, &FOUR, Some(3.75));
    check(Technique::GeometricMean, &FOUR, Some(64_f64.powf(0.25)));
    check(Technique::HarmonicMean, &FOUR, Some(4.0 / 1.875));
}

#[test]
fn means_of_none_one_two_and_equal_samples() {
    let means = [Technique::ArithmeticMean, Technique::GeometricMean, Technique::HarmonicMean];
    for (mean, of_two) in means.into_iter().zip([5.0, 4.0, 3.2]) {
        check(mean, &[], None);
        check(mean, &[7.0], Some(7.0));
        check(mean, &[2.0, 8.0], Some(of_two));
        check(mean, &[3.0; 5], Some(3.0));
    }
}

#[test]
fn a_zero_makes_the_geometric_and_the_harmonic_mean_zero() {
    check(Technique::ArithmeticMean, &[0.0, 4.0], Some(2.0));
    check(Technique::GeometricMean, &[0.0, 4.0], Some(0.0));
    check(Technique::HarmonicMean, &[0.0, 4.0], Some(0.0));
}

#[test]
fn samples_that_are_no_durations_are_ignored() {
    let odd = [f64::NAN, -1.0, 6.0, f64::INFINITY];
    for technique in [
        Technique::Percentile,
        Technique::ArithmeticMean,
        Technique::GeometricMean,
        Technique::HarmonicMean,
    ] {
        check(technique, &odd, Some(6.0));
        check(technique, &[-1.0, f64::NAN], None);
    }
    assert_eq!(line([(1, -1.0), (0, 3.0), (2, 4.0)]), None);
}

#[test]
fn a_line_has_its_slope_first() {
    assert_eq!(line([(1, 5.0), (2, 7.0), (3, 9.0)]), Some(Fit { a: 2.0, b: Some(3.0) }));
    assert_eq!(line([(1, 1.0), (2, 3.0), (3, 2.0)]), Some(Fit { a: 0.5, b: Some(1.0) }));
    assert_eq!(line([(10, 20.0), (20, 30.0)]), Some(Fit { a: 1.0, b: Some(10.0) }));
}

#[test]
fn a_line_needs_two_samples() {
    assert_eq!(line([]), None);
    assert_eq!(line([(4, 8.0)]), None);
}

#[test]
fn equal_iterations_give_a_line_through_the_origin() {
    assert_eq!(line([(4, 8.0), (4, 12.0)]), Some(Fit { a: 2.5, b: Some(0.0) }));
    assert_eq!(line([(4, 8.0), (4, 8.0), (4, 8.0)]), Some(Fit { a: 2.0, b: Some(0.0) }));
}

#[test]
fn a_line_stays_exact_far_from_zero() {
    let far = 9_000_000_000_000;
    let fit = line([(far, 1e12), (far + 1, 1e12 + 2.0), (far + 2, 1e12 + 4.0)]).expect("a line");
    assert_eq!(fit.a, 2.0);
}
