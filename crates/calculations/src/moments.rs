//! The statistics of bucket sums, from exact sums over the buckets.
//!
//! With x = 1..n and y the bucket sums, everything follows from n, Σy, Σy² and Σxy. All of it stays a fraction of whole
//! numbers until the one division at the end, so nothing is lost where large numbers nearly cancel.

use num_bigint::{BigInt, Sign};

use crate::{
    decimal::{Decimal, ten_to},
    exact::ratio,
    quantile::student_t,
    settings::Deviation,
};

/// Exact sums over the buckets of an interval.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Moments {
    n: u64,
    /// Σy, Σxy and Σy², as whole numbers; the last at twice the scale.
    y: BigInt,
    xy: BigInt,
    yy: BigInt,
    scale: usize,
}

/// A straight line through the bucket sums.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StraightLine {
    /// Where it stands at x = 0, the bucket before the first.
    pub intercept: f64,
    /// How much it rises from bucket to bucket.
    pub slope: f64,
    /// The half-widths of the slope's intervals at 90, 95 and 99 percent; needs three buckets.
    pub ci: Option<[f64; 3]>,
    /// How well the line describes the sums, from -1 to 1; needs sums that differ.
    pub r: Option<f64>,
}

/// What the next bucket's sum will be, if it goes on like this.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// The most likely sum.
    pub value: f64,
    /// Half the width of the interval that has it at 95 percent.
    pub half_width: f64,
}

impl Moments {
    pub(crate) fn new(n: u64, y: &Decimal, xy: &Decimal, yy: &Decimal) -> Moments {
        let scale = y.scale().max(xy.scale()).max(yy.scale().div_ceil(2));
        Moments {
            n,
            y: y.scaled_to(scale),
            xy: xy.scaled_to(scale),
            yy: yy.scaled_to(2 * scale),
            scale,
        }
    }

    /// How many buckets they are of.
    pub(crate) fn n(&self) -> u64 {
        self.n
    }

    /// The mean of the bucket sums.
    pub(crate) fn average(&self) -> Option<f64> {
        (self.n > 0).then(|| ratio(&self.y, &(ten_to(self.scale) * self.n)))
    }

    /// The deviation of the bucket sums; of a single one it is 0.
    pub(crate) fn deviation(&self, deviation: Deviation) -> Option<f64> {
        let divisor = match (deviation, self.n) {
            (_, 0) => return None,
            (_, 1) => return Some(0.0),
            (Deviation::Sample, n) => n - 1,
            (Deviation::Population, n) => n,
        };
        let divisor = BigInt::from(self.n) * divisor * ten_to(2 * self.scale);
        Some(ratio(&self.spread(), &divisor).sqrt())
    }

    /// The least-squares line; needs two buckets.
    pub(crate) fn line(&self) -> Option<StraightLine> {
        let n = BigInt::from(self.n);
        if self.n < 2 {
            return None;
        }
        let ten = ten_to(self.scale);
        let slope = ratio(&(self.lean() * 6), &(&n * (&n * &n - 1) * &ten));
        let intercept = ratio(&(&self.y * (&n * 4 + 2) - &self.xy * 6), &(&n * (&n - 1) * &ten));
        let ci = self.slope_error().map(|error| student_t(self.n - 2).map(|t| t * error));
        Some(StraightLine { intercept, slope, ci, r: self.correlation() })
    }

    /// The correlation of the sums with their places, exact up to the root.
    fn correlation(&self) -> Option<f64> {
        let n = BigInt::from(self.n);
        let spread = self.spread();
        if self.n < 2 || spread.sign() != Sign::Plus {
            return None;
        }
        let lean = self.lean();
        let squared = ratio(&(&lean * &lean * 3), &((&n * &n - 1) * spread));
        let r = squared.min(1.0).sqrt();
        Some(if lean.sign() == Sign::Minus { -r } else { r })
    }

    /// What comes next, by the line.
    pub(crate) fn prediction(&self) -> Option<Prediction> {
        let (line, error) = (self.line()?, self.slope_error()?);
        let n = self.n as f64;
        let xs = n * (n * n - 1.0) / 12.0;
        let far = n.midpoint(1.0) - n - 1.0;
        let residual = error * xs.sqrt();
        let spread = (1.0 + 1.0 / n + far * far / xs).sqrt();
        let half_width = student_t(self.n - 2)[1] * residual * spread;
        Some(Prediction { value: line.intercept + line.slope * (n + 1.0), half_width })
    }

    /// The standard error of the slope; needs three buckets.
    fn slope_error(&self) -> Option<f64> {
        if self.n < 3 {
            return None;
        }
        let n = BigInt::from(self.n);
        let widths: BigInt = &n * &n - 1;
        let lean = self.lean();
        let left: BigInt = (self.spread() * &widths - &lean * &lean * 3) * 12;
        let divisor = &n * &n * &widths * &widths * (self.n - 2) * ten_to(2 * self.scale);
        Some(ratio(&left, &divisor).sqrt())
    }

    /// n² times the variance of the sums: nΣy² − (Σy)².
    fn spread(&self) -> BigInt {
        &self.yy * self.n - &self.y * &self.y
    }

    /// Twice the sum of products about the mean of x: 2Σxy − (n+1)Σy.
    fn lean(&self) -> BigInt {
        &self.xy * 2 - &self.y * (self.n + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(sums: &[&str]) -> Moments {
        let (mut y, mut xy, mut yy) = (Decimal::default(), Decimal::default(), Decimal::default());
        for (x, sum) in (1..).zip(sums) {
            let sum: Decimal = sum.parse().unwrap();
            y += &sum;
            xy += &sum.times(x);
            yy += &(&sum * &sum);
        }
        Moments::new(sums.len() as u64, &y, &xy, &yy)
    }

    #[track_caller]
    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-10, "{found} is not {expected}");
    }

    #[test]
    fn the_documented_series_gives_the_documented_line() {
        for sums in [["61", "61", "102", "95", "61", "102"], ["38", "91", "93", "94", "85", "81"]] {
            let moments = moments(&sums);
            let line = moments.line().unwrap();
            assert_eq!((line.slope, line.intercept), (5.6571428571428575, 60.53333333333333));
            let [ci_90, ci_95, ci_99] = line.ci.unwrap();
            close(ci_90, 10.552952875736558);
            close(ci_95, 13.743808675719878);
            close(ci_99, 22.790941884006568);
            close(line.r.unwrap(), 0.496_127_905_886_801_8);
            assert_eq!(moments.average(), Some(80.33333333333333));
            assert_eq!(moments.deviation(Deviation::Sample), Some(21.33229164123411));
            assert_eq!(moments.deviation(Deviation::Population), Some(19.473628891971373));
        }
    }

    #[test]
    fn few_buckets_define_little() {
        let none = moments(&[]);
        assert_eq!((none.average(), none.line(), none.prediction()), (None, None, None));
        assert_eq!(none.deviation(Deviation::Sample), None);
        let one = moments(&["5"]);
        assert_eq!((one.average(), one.line()), (Some(5.0), None));
        assert_eq!(one.deviation(Deviation::Sample), Some(0.0));
        let two = moments(&["5", "7"]);
        assert_eq!(
            two.line(),
            Some(StraightLine { intercept: 3.0, slope: 2.0, ci: None, r: Some(1.0) })
        );
        let three = moments(&["5", "5", "5"]);
        assert_eq!(
            three.line(),
            Some(StraightLine { intercept: 5.0, slope: 0.0, ci: Some([0.0; 3]), r: None })
        );
    }

    #[test]
    fn small_differences_of_huge_numbers_are_not_lost() {
        let huge = moments(&[
            "1e30",
            "1000000000000000000000000000001",
            "1000000000000000000000000000002",
        ]);
        assert_eq!(huge.deviation(Deviation::Sample), Some(1.0));
        assert_eq!(huge.line().unwrap().slope, 1.0);
    }
}
