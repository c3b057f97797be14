//! The chart of a series: a bar for each bucket, and the line through them with the band that has it at 95 percent.

use std::fmt::Write as _;

use keyrack_calculations::{Point, StraightLine, settings::Gaps};
use keyrack_format as format;

/// A chart, worked out for a template to draw.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plot {
    pub(crate) bars: Vec<Bar>,
    /// Corners of the line; empty where there is none.
    pub(crate) line: String,
    /// Corners of the band round it; empty where there is none.
    pub(crate) band: String,
    /// Where zero is.
    pub(crate) zero: f64,
    /// The numbers at the top and at the bottom.
    pub(crate) high: String,
    pub(crate) low: String,
    /// The first, the middle and the last bucket.
    pub(crate) labels: Vec<String>,
}

/// One bucket: where it lies, and its bar if it has a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bar {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) title: String,
}

/// The line through the buckets of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fit {
    pub(super) line: StraightLine,
    /// How many buckets it goes through.
    pub(super) buckets: u64,
    /// Whether the last bucket is one of them.
    pub(super) with_last: bool,
    /// Whether buckets without values are counted.
    pub(super) gaps: Gaps,
}

/// The share of its place that a bar takes.
const BAR_SHARE: f64 = 0.78;
/// What is left free above the highest bar.
const AIR: f64 = 0.06;

impl Plot {
    pub(crate) const WIDTH: u32 = 720;
    pub(crate) const HEIGHT: u32 = 220;

    /// The chart of these buckets; `None` if there is nothing to draw.
    pub(super) fn of(points: &[Point], fit: Option<&Fit>) -> Option<Plot> {
        let values: Vec<Option<f64>> = points.iter().map(value).collect();
        let fitted = fit.map(|fit| fit.along(&values)).unwrap_or_default();
        let scale = Scale::of(&values, &fitted)?;
        let step = f64::from(Plot::WIDTH) / points.len() as f64;
        let middle = |at: usize| (at as f64 + 0.5) * step;
        let bars = points.iter().zip(&values).enumerate().map(|(at, (point, value))| {
            let (y, height) = scale.bar(value.unwrap_or(0.0));
            let told = point.value.as_deref().unwrap_or("no values");
            let width = step * BAR_SHARE;
            Bar {
                x: middle(at) - width / 2.0,
                y,
                width,
                height,
                title: format!("{}: {told}", point.bucket),
            }
        });
        let corners = |of: &dyn Fn(&Fitted) -> f64| -> Vec<(f64, f64)> {
            fitted.iter().map(|fitted| (middle(fitted.at), scale.y(of(fitted)))).collect()
        };
        let mut band = Vec::new();
        if fitted.iter().all(|fitted| fitted.half_width.is_some()) {
            let half = |fitted: &Fitted| fitted.half_width.unwrap_or(0.0);
            band = corners(&|fitted| fitted.y + half(fitted));
            band.extend(corners(&|fitted| fitted.y - half(fitted)).into_iter().rev());
        }
        Some(Plot {
            bars: bars.collect(),
            line: path(&corners(&|fitted| fitted.y)),
            band: path(&band),
            zero: scale.y(0.0),
            high: short(scale.high),
            low: short(scale.low),
            labels: labels(points),
        })
    }
}

impl Bar {
    /// Where the whole place of the bucket begins, for the pointer.
    pub(crate) fn slot_x(&self) -> f64 {
        self.x - (self.slot_width() - self.width) / 2.0
    }

    pub(crate) fn slot_width(&self) -> f64 {
        self.width / BAR_SHARE
    }
}

fn value(point: &Point) -> Option<f64> {
    point.value.as_deref()?.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The first, the middle and the last label; fewer where there are fewer buckets.
fn labels(points: &[Point]) -> Vec<String> {
    let mut places = vec![0, points.len() / 2, points.len() - 1];
    places.dedup();
    places.into_iter().map(|at| points[at].bucket.clone()).collect()
}

fn path(corners: &[(f64, f64)]) -> String {
    let mut text = String::new();
    // A line needs two ends.
    for (at, (x, y)) in corners.iter().enumerate().filter(|_| corners.len() > 1) {
        let gap = if at == 0 { "" } else { " " };
        let _ = write!(text, "{gap}{x:.1},{y:.1}");
    }
    text
}

/// The line at one bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Fitted {
    at: usize,
    y: f64,
    half_width: Option<f64>,
}

impl Fit {
    /// The line at those of the buckets that it counts; the last ones of all are at hand.
    fn along(&self, values: &[Option<f64>]) -> Vec<Fitted> {
        let counts = |value: &Option<f64>| value.is_some() || self.gaps == Gaps::Calendar;
        let mut rank = self.buckets + u64::from(!self.with_last);
        let mut fitted = Vec::new();
        for (at, _) in values.iter().enumerate().rev().filter(|(_, value)| counts(value)) {
            if rank == 0 {
                break;
            }
            fitted.push(self.at(at, rank));
            rank -= 1;
        }
        fitted.reverse();
        fitted
    }

    /// The line at a rank, and half the width of the band there. That follows from the slope's: both are the same quantile
    /// times the same deviation.
    fn at(&self, at: usize, rank: u64) -> Fitted {
        let (n, x) = (self.buckets as f64, rank as f64);
        let from_middle = x - (n + 1.0) / 2.0;
        let half = |ci: [f64; 3]| ci[1] * ((n * n - 1.0) / 12.0 + from_middle * from_middle).sqrt();
        Fitted {
            at,
            y: self.line.intercept + self.line.slope * x,
            half_width: self.line.ci.map(half).filter(|half| half.is_finite()),
        }
    }
}

/// What is at the top and at the bottom.
#[derive(Debug, Clone, Copy)]
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// From zero to the furthest value on either side, the line's among them.
    fn of(values: &[Option<f64>], fitted: &[Fitted]) -> Option<Scale> {
        let all = values.iter().flatten().copied();
        let all: Vec<f64> = all.chain(fitted.iter().map(|fitted| fitted.y)).collect();
        if all.is_empty() {
            return None;
        }
        let low = all.iter().copied().fold(0.0, f64::min);
        let high = all.iter().copied().fold(0.0, f64::max);
        let air = (high - low) * AIR;
        let (low, high) =
            (if low < 0.0 { low - air } else { low }, if high > 0.0 { high + air } else { high });
        Some(if high > low { Scale { low, high } } else { Scale { low, high: low + 1.0 } })
    }

    fn y(&self, value: f64) -> f64 {
        let height = f64::from(Plot::HEIGHT);
        // Far outside is as good as a little outside, and stays a number.
        (height * (self.high - value) / (self.high - self.low)).clamp(-height, 2.0 * height)
    }

    /// Top and height of a value's bar.
    fn bar(&self, value: f64) -> (f64, f64) {
        let (zero, end) = (self.y(0.0), self.y(value));
        (zero.min(end), (zero - end).abs())
    }
}

/// A number in a few digits: `12,346`, `0.0123`, `1.20e9`.
pub(crate) fn short(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 {
        return "0".into();
    }
    if !(1e-3..1e7).contains(&size) {
        return format!("{number:.2e}");
    }
    if size >= 1000.0 {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}{}", format::count(size.round() as u64));
    }
    let digits = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{number:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[&str]) -> Vec<Point> {
        let point = |(at, value): (usize, &&str)| Point {
            bucket: format!("b{at}"),
            value: (!value.is_empty()).then(|| (*value).to_owned()),
        };
        values.iter().enumerate().map(point).collect()
    }

    fn fit(buckets: u64, gaps: Gaps) -> Fit {
        let line = StraightLine { intercept: 0.0, slope: 1.0, ci: Some([0.5, 1.0, 2.0]), r: None };
        Fit { line, buckets, with_last: true, gaps }
    }

    #[test]
    fn bars_stand_on_zero_and_stay_inside() {
        let plot = Plot::of(&points(&["2", "", "-1"]), None).expect("a plot");
        let height = f64::from(Plot::HEIGHT);
        assert!(plot.bars.iter().all(|bar| bar.y >= 0.0 && bar.y + bar.height <= height));
        let [up, none, down] = &plot.bars[..] else { panic!("three bars") };
        assert!((up.y + up.height - plot.zero).abs() < 1e-9 && (down.y - plot.zero).abs() < 1e-9);
        assert_eq!((none.height, none.title.as_str()), (0.0, "b1: no values"));
        assert_eq!(plot.labels, ["b0", "b1", "b2"]);
        assert!(Plot::of(&points(&["", ""]), None).is_none());
        assert_eq!(Plot::of(&points(&["0"]), None).expect("a plot").labels, ["b0"]);
    }

    #[test]
    fn the_line_counts_buckets_as_the_regression_did() {
        let values = [Some(1.0), None, Some(3.0)];
        let ranks = |fit: &Fit| fit.along(&values).iter().map(|one| one.y).collect::<Vec<_>>();
        assert_eq!(ranks(&fit(2, Gaps::Skip)), [1.0, 2.0]);
        assert_eq!(ranks(&fit(3, Gaps::Calendar)), [1.0, 2.0, 3.0]);
        // Only the last of many are shown, and one that does not count is extrapolated to.
        assert_eq!(ranks(&fit(9, Gaps::Skip)), [8.0, 9.0]);
        assert_eq!(ranks(&Fit { with_last: false, ..fit(9, Gaps::Skip) }), [9.0, 10.0]);
    }

    #[test]
    fn the_band_is_narrowest_in_the_middle() {
        let fit = fit(5, Gaps::Skip);
        let half = |rank| fit.at(0, rank).half_width.expect("a width");
        // At the mean of x, the standard error is that of the slope times the root of Sxx / n: here of 10 / 5.
        assert!((half(3) - 2.0_f64.sqrt()).abs() < 1e-12, "{}", half(3));
        assert!(half(1) > half(2) && (half(1) - half(5)).abs() < 1e-12);
    }

    #[test]
    fn numbers_are_told_in_a_few_digits() {
        let told = [0.0, 7.0, -2.5, 0.012_345, 999.96, 12_345.6, 1.2e9, -1e-9].map(short);
        assert_eq!(told, ["0", "7", "-2.5", "0.01235", "1000", "12,346", "1.20e9", "-1.00e-9"]);
    }
}
