//! The chart of a series: a bar for each bucket, and the line through them with the band that has it at 95 percent.

use keyrack_calculations::{Point, StraightLine, settings::Gaps};

use crate::axes::{Chart, Scale, Unit, named_places};

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

/// The most labels below the chart.
const LABELS_MAX: usize = 10;
/// A band may make the chart so many times as high as its values do. A wider one would fill everything.
const BAND_SHARE_MAX: f64 = 1.5;

/// The chart of these buckets; `None` if there is nothing to draw.
pub(super) fn plot(
    points: &[Point],
    fit: Option<&Fit>,
    name: &str,
    interval: &str,
) -> Option<Chart> {
    let values: Vec<Option<f64>> = points.iter().map(value).collect();
    let fitted = fit.map(|fit| fit.along(&values)).unwrap_or_default();
    let drawn = values.iter().flatten().copied().chain(fitted.iter().map(|one| one.y));
    let (low, high) = span(drawn)?;
    let band = band(&fitted);
    let with_band = span(band.iter().copied().chain([low, high]))?;
    let is_narrow =
        with_band.1 - with_band.0 <= BAND_SHARE_MAX * (high - low).max(f64::MIN_POSITIVE);
    let (low, high) = if is_narrow { with_band } else { (low, high) };
    let scale = Scale::linear(low, high, Unit::Number);
    let bars: Vec<(f64, f64)> = values.iter().map(|value| (0.0, value.unwrap_or(0.0))).collect();
    let titles = points.iter().map(|point| {
        format!("{}: {}", point.bucket, point.value.as_deref().unwrap_or("no values"))
    });
    let names: Vec<String> = points.iter().map(|point| point.bucket.clone()).collect();
    let mut chart = Chart::new(&format!("{name} by {interval}"), &scale)
        .with_slots(titles)
        .with_bars("c0", name.to_owned(), &scale, &bars)
        .with_places(named_places(&names, LABELS_MAX));
    chart.label = format!("{name} of {} {interval}", points.len());
    // A line needs two ends.
    if fitted.len() > 1 {
        let mut along = vec![None; points.len()];
        fitted.iter().for_each(|one| along[one.at] = Some(one.y));
        chart = chart.with_line("c1", "line through the sums".into(), &scale, &along);
        if is_narrow && !band.is_empty() {
            chart = chart.with_band("where it lies at 95 %".into(), &scale, &corners(&fitted));
        } else if !band.is_empty() {
            chart.note = "How the values scatter allows lines far outside of this chart: the band \
                          that has the line at 95 % is not drawn."
                .into();
        }
    }
    Some(chart)
}

/// From the lowest of some values to the highest, with zero among them.
fn span(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let mut values = values.filter(|value| value.is_finite()).peekable();
    values.peek()?;
    Some(
        values.fold((0.0, 0.0), |(low, high), value| (f64::min(low, value), f64::max(high, value))),
    )
}

/// The lower and upper values of the band; none if it has no end somewhere.
fn band(fitted: &[Fitted]) -> Vec<f64> {
    let ends: Option<Vec<[f64; 2]>> =
        fitted.iter().map(|one| one.half_width.map(|half| [one.y - half, one.y + half])).collect();
    ends.unwrap_or_default().into_iter().flatten().collect()
}

/// The band at each place that it has: the place, and the lower and the upper value.
fn corners(fitted: &[Fitted]) -> Vec<(usize, f64, f64)> {
    let half = |one: &Fitted| one.half_width.unwrap_or(0.0);
    fitted.iter().map(|one| (one.at, one.y - half(one), one.y + half(one))).collect()
}

fn value(point: &Point) -> Option<f64> {
    point.value.as_deref()?.parse().ok().filter(|value: &f64| value.is_finite())
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
    fn bars_stand_on_zero_and_have_their_labels_below_them() {
        let chart = plot(&points(&["2", "", "-1"]), None, "sum", "days").expect("a chart");
        let zero = chart.zero.expect("zero is inside");
        let [up, down] = &chart.bars[..] else { panic!("two bars") };
        assert!((up.y + up.height - zero).abs() < 1e-9 && (down.y - zero).abs() < 1e-9);
        assert_eq!(chart.slots[1].title, "b1: no values");
        let middle = |bar: &crate::axes::Bar| 100.0 * (bar.x + bar.width / 2.0) / Chart::WIDTH;
        assert!((chart.places[0].x - middle(up)).abs() < 1e-9);
        assert!((chart.places[2].x - middle(down)).abs() < 1e-9);
        assert!(plot(&points(&["", ""]), None, "sum", "days").is_none());
        assert_eq!(plot(&points(&["0"]), None, "sum", "days").expect("a chart").places.len(), 1);
    }

    #[test]
    fn a_band_that_would_fill_everything_is_told_and_not_drawn() {
        let values = points(&["1", "2", "3"]);
        let narrow = Fit {
            line: StraightLine { ci: Some([0.01, 0.02, 0.03]), ..fit(3, Gaps::Skip).line },
            ..fit(3, Gaps::Skip)
        };
        let drawn = plot(&values, Some(&narrow), "sum", "days").expect("a chart");
        assert!(!drawn.band.is_empty() && drawn.note.is_empty());
        let wide =
            Fit { line: StraightLine { ci: Some([50.0, 100.0, 200.0]), ..narrow.line }, ..narrow };
        let drawn = plot(&values, Some(&wide), "sum", "days").expect("a chart");
        assert!(drawn.band.is_empty() && drawn.note.contains("is not drawn"), "{}", drawn.note);
        assert_eq!(drawn.values.last().expect("ticks").label, "3", "the bars fill the chart");
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
}
