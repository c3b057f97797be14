//! Pictures of times and counts, worked out here and drawn by the templates as SVG.

use keyrack_format as format;
use keyrack_progress::estimate::Estimate;

/// Seconds for people.
pub(super) fn seconds(s: f64) -> String {
    format::duration_ms(ms(s))
}

/// Seconds as milliseconds; what is no time is none.
pub(super) fn ms(s: f64) -> u64 {
    // A cast takes what is too large for the largest, and what is no number for zero.
    (s * 1000.0).round() as u64
}

/// The value below which a share of sorted values lies.
pub(super) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = share.clamp(0.0, 1.0) * last as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    Some(low + (high - low) * at.fract())
}

/// A run on a line of time, in hundredths of its likely length: what has passed, and when it will be through.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Track {
    pub(super) passed: f64,
    /// From when to when it will be through in eight of ten cases, and the middle of that.
    pub(super) band: Option<(f64, f64, f64)>,
    pub(super) label: String,
}

impl Track {
    /// A run that goes on for `elapsed` seconds. Without an estimate it shows the share that is done, if that is known.
    pub(super) fn of(elapsed: f64, estimate: Option<&Estimate>, share: Option<f64>) -> Track {
        let elapsed = elapsed.max(0.0);
        let Some(estimate) = estimate else {
            let label = format!("under way for {}", seconds(elapsed));
            return Track {
                passed: 100.0 * share.unwrap_or(0.0).clamp(0.0, 1.0),
                band: None,
                label,
            };
        };
        let scale = 100.0 / (elapsed + estimate.p90).max(0.001);
        let at = |s: f64| (elapsed + s) * scale;
        let label = format!(
            "under way for {}, through in {} to {}",
            seconds(elapsed),
            seconds(estimate.p10),
            seconds(estimate.p90)
        );
        let band = (at(estimate.p10), at(estimate.p50), at(estimate.p90));
        Track { passed: elapsed * scale, band: Some(band), label }
    }

    /// A run that is through.
    pub(super) fn done(took: f64) -> Track {
        Track { passed: 100.0, band: None, label: format!("took {}", seconds(took)) }
    }
}

/// Times that something took, one dot each, oldest at the left.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dots {
    pub(super) dots: Vec<(f64, f64, String)>,
    /// Where half of them lie below, and the band of eight in ten.
    pub(super) mid: f64,
    pub(super) band: (f64, f64),
    pub(super) label: String,
}

impl Dots {
    pub(super) const WIDTH: f64 = 300.0;
    pub(super) const HEIGHT: f64 = 36.0;
    /// So that no dot is cut off.
    const EDGE: f64 = 4.0;
    /// Times that differ by less than this share of them are as good as the same.
    const RANGE_MIN: f64 = 0.2;

    /// `times` are seconds with the moment they belong to, oldest first.
    pub(super) fn of(times: &[(f64, String)]) -> Dots {
        let mut sorted: Vec<f64> = times.iter().map(|(s, _)| *s).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let q = |share| quantile(&sorted, share).unwrap_or(0.0);
        let (min, max) = (q(0.0), q(1.0));
        let range = (max - min).max(max * Self::RANGE_MIN).max(0.001);
        let lowest = (min + max - range) / 2.0;
        let y = |s: f64| {
            let room = Self::HEIGHT - 2.0 * Self::EDGE;
            Self::HEIGHT - Self::EDGE - room * ((s - lowest) / range).clamp(0.0, 1.0)
        };
        let step = (Self::WIDTH - 2.0 * Self::EDGE) / times.len().saturating_sub(1).max(1) as f64;
        let dots = times.iter().enumerate().map(|(i, (s, when))| {
            (Self::EDGE + i as f64 * step, y(*s), format!("{when}: {}", seconds(*s)))
        });
        let label = format!("{} times from {} to {}", times.len(), seconds(min), seconds(max));
        Dots { dots: dots.collect(), mid: y(q(0.5)), band: (y(q(0.9)), y(q(0.1))), label }
    }
}

/// How much there was of something in each stretch of a line, as columns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Columns {
    pub(super) columns: Vec<Column>,
    /// The width of one.
    pub(super) width: f64,
    pub(super) max: u64,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) height: f64,
    pub(super) title: String,
}

impl Columns {
    pub(super) const WIDTH: f64 = 720.0;
    pub(super) const HEIGHT: f64 = 96.0;
    /// More would be thinner than a line.
    const COLUMNS_MAX: usize = 180;

    /// Counts of each second of `seconds`; neighbours are put together if there are too many.
    pub(super) fn of(counts: &[u64], seconds: usize) -> Columns {
        let seconds = seconds.max(counts.len()).max(1);
        let each = seconds.div_ceil(Self::COLUMNS_MAX);
        let n = seconds.div_ceil(each);
        let at = |i: usize| counts.iter().skip(i * each).take(each).sum::<u64>();
        let sums: Vec<u64> = (0..n).map(at).collect();
        let max = sums.iter().copied().max().unwrap_or(0);
        let slot = Self::WIDTH / n as f64;
        let columns = sums.iter().enumerate().map(|(i, sum)| {
            let height = Self::HEIGHT * *sum as f64 / max.max(1) as f64;
            let from = i * each;
            let title = match each {
                1 => format!("second {from}: {sum}"),
                _ => format!("seconds {from} to {}: {sum}", from + each - 1),
            };
            Column { x: i as f64 * slot, y: Self::HEIGHT - height, height, title }
        });
        Columns { columns: columns.collect(), width: (slot * 0.8).max(1.0), max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(p10: f64, p50: f64, p90: f64) -> Estimate {
        Estimate { p10, p50, p90, sureness: 0.5 }
    }

    #[test]
    fn track_ends_where_nine_of_ten_runs_are_through() {
        let track = Track::of(30.0, Some(&estimate(10.0, 20.0, 70.0)), None);
        assert_eq!((track.passed, track.band), (30.0, Some((40.0, 50.0, 100.0))));
        assert_eq!(track.label, "under way for 30 s, through in 10 s to 1 min 10 s");
    }

    #[test]
    fn track_without_an_estimate_shows_the_share_that_is_done() {
        assert_eq!(Track::of(3.0, None, Some(0.25)).passed, 25.0);
        assert_eq!(Track::of(3.0, None, None).passed, 0.0);
        let nothing = Track::of(-1.0, Some(&estimate(0.0, 0.0, 0.0)), None);
        assert!(nothing.passed.is_finite() && nothing.band.is_some_and(|band| band.2.is_finite()));
    }

    #[test]
    fn dots_stay_in_the_picture() {
        let times: Vec<_> = [1.0, 3.0, 2.0, 0.0].map(|s| (s, "then".to_owned())).into();
        let dots = Dots::of(&times);
        assert!(dots.dots.iter().all(|(x, y, _)| {
            (0.0..=Dots::WIDTH).contains(x) && (0.0..=Dots::HEIGHT).contains(y)
        }));
        assert!(dots.band.0 <= dots.mid && dots.mid <= dots.band.1);
        assert_eq!(dots.label, "4 times from 0 s to 3 s");
        assert!(Dots::of(&[]).dots.is_empty());
        let same = Dots::of(&[(5.0, String::new()), (5.0, String::new())]);
        assert_eq!(same.dots[0].1, Dots::HEIGHT / 2.0, "all the same lie in the middle");
    }

    #[test]
    fn columns_put_seconds_together_and_lose_none() {
        let counts: Vec<u64> = (0..1_000).collect();
        let columns = Columns::of(&counts, 1_000);
        assert!(columns.columns.len() <= 180);
        assert_eq!(columns.columns[0].title, "seconds 0 to 5: 15");
        assert!(columns.columns.iter().all(|column| column.y >= 0.0));
        assert_eq!(Columns::of(&[], 0).max, 0);
        assert_eq!(Columns::of(&[4, 2], 2).columns[1].height, 48.0);
    }

    #[test]
    fn quantiles_lie_between_values() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0], 0.5), Some(1.5));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!((ms(-1.0), ms(f64::NAN), ms(1.5)), (0, 0, 1_500));
    }
}
