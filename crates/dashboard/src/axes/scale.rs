//! Which values a chart spans, and which of them have a label.

use keyrack_format as format;

use super::Chart;

/// What the values of a chart are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Unit {
    /// How many.
    Count,
    /// Any numbers.
    Number,
    /// Milliseconds.
    Duration,
}

/// From the lowest to the highest value of a chart.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Scale {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
    unit: Unit,
    is_log: bool,
}

/// About how many steps a scale has.
const STEPS: f64 = 4.0;
/// More labels than these lie on top of each other.
const TICKS_MAX: usize = 7;
/// Durations that people think in, in milliseconds: up to a quarter of a year.
const DURATIONS: [f64; 27] = [
    1.0,
    2.0,
    5.0,
    10.0,
    20.0,
    50.0,
    100.0,
    200.0,
    500.0,
    1_000.0,
    2_000.0,
    5_000.0,
    10_000.0,
    30_000.0,
    60_000.0,
    120_000.0,
    300_000.0,
    600_000.0,
    1_800_000.0,
    3_600_000.0,
    7_200_000.0,
    21_600_000.0,
    43_200_000.0,
    86_400_000.0,
    172_800_000.0,
    604_800_000.0,
    7_776_000_000.0,
];

impl Scale {
    /// A scale in equal steps of a round number that spans these values.
    pub(in super::super) fn linear(low: f64, high: f64, unit: Unit) -> Scale {
        let (low, high) = if high > low { (low, high) } else { (low, low + 1.0) };
        let mut step = round_step((high - low) / STEPS);
        if unit == Unit::Count {
            step = step.max(1.0);
        }
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let ticks = (0..=(last - first) as u64).map(|n| (first + n as f64) * step);
        Scale { low: first * step, high: last * step, ticks: ticks.collect(), unit, is_log: false }
    }

    /// A scale of durations on which ten times as long is the same distance everywhere. What is shorter than a millisecond is
    /// shown as one.
    pub(in super::super) fn durations(values: impl Iterator<Item = f64>) -> Scale {
        let (mut min, mut max) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| value.is_finite()) {
            (min, max) = (min.min(value), max.max(value));
        }
        let max = max.max(10.0);
        let min = min.clamp(1.0, max);
        let last = DURATIONS.partition_point(|one| *one < max).min(DURATIONS.len() - 1);
        let first = DURATIONS.partition_point(|one| *one <= min).saturating_sub(1);
        // So that values that hardly differ do not look as if they did.
        let first = first.min(last.saturating_sub(3));
        let step = (last - first + 1).div_ceil(TICKS_MAX);
        let ticks = DURATIONS[first..=last].iter().copied().step_by(step).collect();
        Scale {
            low: DURATIONS[first],
            high: DURATIONS[last],
            ticks,
            unit: Unit::Duration,
            is_log: true,
        }
    }

    pub(super) fn is_log(&self) -> bool {
        self.is_log
    }

    /// How far below the upper edge a value lies, in units of the drawing.
    pub(in super::super) fn y(&self, value: f64) -> f64 {
        let part = match self.is_log {
            true => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        Chart::HEIGHT * (1.0 - part.clamp(0.0, 1.0))
    }

    /// The values with a label.
    pub(super) fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        self.ticks.iter().map(|value| (*value, self.label(*value)))
    }

    fn label(&self, value: f64) -> String {
        match self.unit {
            Unit::Duration if value < 1_000.0 => format!("{value} ms"),
            Unit::Duration => format::age(value as u64),
            Unit::Count | Unit::Number => format::short(value),
        }
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least this.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|step| *step >= least);
    step.filter(|step| step.is_finite() && *step > 0.0).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<String> {
        scale.ticks().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_and_span_all_values() {
        assert_eq!(labels(&Scale::linear(0.0, 7.0, Unit::Count)), ["0", "2", "4", "6", "8"]);
        assert_eq!(labels(&Scale::linear(0.0, 1.0, Unit::Count)), ["0", "1"]);
        assert_eq!(labels(&Scale::linear(0.0, 0.0, Unit::Count)), ["0", "1"]);
        let thousands = Scale::linear(0.0, 71_234.0, Unit::Count);
        assert_eq!(labels(&thousands), ["0", "20,000", "40,000", "60,000", "80,000"]);
        let both = Scale::linear(-3.0, 12.0, Unit::Number);
        assert_eq!(labels(&both), ["-5", "0", "5", "10", "15"]);
        assert_eq!(labels(&Scale::linear(0.0, 0.3, Unit::Number)), ["0", "0.1", "0.2", "0.3"]);
    }

    #[test]
    fn durations_have_labels_that_people_think_in() {
        let scale = Scale::durations([3.0, 800.0].into_iter());
        assert_eq!(labels(&scale), ["2 ms", "10 ms", "50 ms", "200 ms", "1 s"]);
        let scale = Scale::durations([40_000.0, 200_000.0].into_iter());
        assert_eq!(labels(&scale), ["30 s", "1 min", "2 min", "5 min"]);
        let wide = Scale::durations([0.0, 5e8].into_iter());
        assert!(labels(&wide).len() <= TICKS_MAX, "{:?}", labels(&wide));
        assert_eq!(labels(&Scale::durations([].into_iter())).last().expect("one"), "10 ms");
    }

    #[test]
    fn ten_times_as_long_is_the_same_distance() {
        let scale = Scale::durations([1.0, 100.0].into_iter());
        let distance = |a, b| scale.y(a) - scale.y(b);
        assert!((distance(1.0, 10.0) - distance(10.0, 100.0)).abs() < 1e-9);
        assert_eq!((scale.y(0.0), scale.y(1e12)), (Chart::HEIGHT, 0.0), "inside in any case");
    }

    #[test]
    fn steps_are_round() {
        assert_eq!([0.9, 1.0, 1.1, 30.0, 51.0].map(round_step), [1.0, 1.0, 2.0, 50.0, 100.0]);
        assert_eq!([0.0, f64::NAN, f64::INFINITY].map(round_step), [1.0, 1.0, 1.0]);
    }
}
