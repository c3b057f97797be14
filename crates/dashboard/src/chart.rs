//! Lines without axes, worked out here and drawn by the templates as SVG.

use std::fmt::Write as _;

use keyrack_jobs::bee::Minute;

/// A line without axes, to be read at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spark {
    /// Corners of the line.
    pub(super) points: String,
    /// What it shows, for those who cannot see it.
    pub(super) label: String,
}

impl Spark {
    /// The width and height in which the points lie.
    pub(super) const WIDTH: u32 = 120;
    pub(super) const HEIGHT: u32 = 28;

    /// A line through these values, the last at the right. It begins at zero when `from_zero`, else at the least of them.
    pub(super) fn of(values: &[f64], from_zero: bool, label: impl Into<String>) -> Spark {
        // A single value is a line too.
        if let [value] = values {
            return Spark::of(&[*value, *value], from_zero, label);
        }
        let max = values.iter().copied().fold(0.0, f64::max);
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let low = if from_zero || !min.is_finite() { 0.0 } else { min };
        let range = if max > low { max - low } else { 1.0 };
        let step = f64::from(Self::WIDTH) / values.len().saturating_sub(1).max(1) as f64;
        // The line is two wide and must not be cut off.
        let height = f64::from(Self::HEIGHT) - 3.0;
        let mut points = String::new();
        for (i, value) in values.iter().enumerate() {
            let y = height + 1.5 - height * (value - low) / range;
            let gap = if i == 0 { "" } else { " " };
            let _ = write!(points, "{gap}{:.1},{y:.1}", i as f64 * step);
        }
        Spark { points, label: label.into() }
    }

    /// The same with the ground below it, to be filled.
    pub(super) fn area(&self) -> String {
        if self.points.is_empty() {
            return String::new();
        }
        format!("0,{h} {} {},{h}", self.points, Self::WIDTH, h = Self::HEIGHT)
    }
}

const MINUTE_MS: u64 = 60_000;
const MINUTES: u64 = 60;

/// Jobs completed in each minute of the last hour, for a spark.
pub(super) fn completed_by_minute(minutes: &[Minute], now: u64) -> Vec<f64> {
    let first = (now / MINUTE_MS + 1).saturating_sub(MINUTES);
    let mut counts = vec![0.0; MINUTES as usize];
    for minute in minutes {
        let place = (minute.at / MINUTE_MS).checked_sub(first).map(|place| place as usize);
        if let Some(count) = place.and_then(|place| counts.get_mut(place)) {
            *count += minute.completed as f64;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(at: u64, completed: u64, failed: u64) -> Minute {
        Minute { at: at * MINUTE_MS, completed, failed, ..Minute::default() }
    }

    #[test]
    fn spark_spans_its_width_and_height() {
        let spark = Spark::of(&[0.0, 10.0, 5.0], true, "");
        assert_eq!(spark.points, "0.0,26.5 60.0,1.5 120.0,14.0");
        assert!(spark.area().starts_with("0,28 0.0,26.5"));
    }

    #[test]
    fn spark_of_nothing_or_of_all_the_same_is_flat() {
        assert_eq!(Spark::of(&[], true, "").area(), "");
        assert_eq!(Spark::of(&[7.0, 7.0], false, "").points, "0.0,26.5 120.0,26.5");
        assert_eq!(Spark::of(&[0.0, 0.0], true, "").points, "0.0,26.5 120.0,26.5");
        assert_eq!(Spark::of(&[3.0], true, "").points, "0.0,1.5 120.0,1.5");
    }

    #[test]
    fn minutes_are_counted_where_they_belong() {
        let counts = completed_by_minute(&[minute(100, 4, 0), minute(30, 9, 0)], 100 * MINUTE_MS);
        assert_eq!((counts.len(), counts[59], counts.iter().sum::<f64>()), (60, 4.0, 4.0));
    }
}
