//! Times in buckets that grow by the root of two: any two histograms can be added, and a percentile is
//! right to within a factor of 1.4.

use serde::{Serialize, Serializer, ser::SerializeStruct as _};

/// How many buckets there are. The last takes what is longer than 2^29 ms, which is six days.
pub const BUCKETS: usize = 60;

/// The bucket of a time. `include/times.lua` has the same rule.
pub fn bucket_of(ms: u64) -> usize {
    if ms <= 1 {
        return 0;
    }
    // The time is more than 2^(exponent - 1), or just that, and less than 2^exponent.
    let exponent = (u64::BITS - ms.leading_zeros()) as usize;
    let bucket = if ms.is_power_of_two() {
        2 * exponent - 2
    } else if ms as f64 <= 2f64.powi(exponent as i32) * std::f64::consts::FRAC_1_SQRT_2 {
        2 * exponent - 1
    } else {
        2 * exponent
    };
    bucket.min(BUCKETS - 1)
}

/// The longest time of a bucket in milliseconds; nothing for the last, which takes any.
pub fn upper_ms(bucket: usize) -> Option<f64> {
    (bucket < BUCKETS - 1).then(|| 2f64.powf(bucket as f64 / 2.0))
}

/// How many times fell into each bucket, and their sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: [u64; BUCKETS],
    sum_ms: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: [0; BUCKETS], sum_ms: 0 }
    }
}

impl Histogram {
    /// Adds one time.
    pub fn record(&mut self, ms: u64) {
        self.add(bucket_of(ms), 1);
        self.add_sum(ms);
    }

    /// Adds so many times of a bucket, without their sum.
    pub(super) fn add(&mut self, bucket: usize, n: u64) {
        let bucket = bucket.min(BUCKETS - 1);
        self.counts[bucket] = self.counts[bucket].saturating_add(n);
    }

    pub(super) fn add_sum(&mut self, ms: u64) {
        self.sum_ms = self.sum_ms.saturating_add(ms);
    }

    /// Adds all times of another.
    pub fn merge(&mut self, other: &Histogram) {
        for (bucket, n) in other.counts.iter().enumerate() {
            self.add(bucket, *n);
        }
        self.add_sum(other.sum_ms);
    }

    /// Whether this can have grown from another.
    pub(super) fn includes(&self, earlier: &Histogram) -> bool {
        let mut buckets = self.counts.iter().zip(&earlier.counts);
        self.sum_ms >= earlier.sum_ms && buckets.all(|(now, then)| now >= then)
    }

    /// The times that were added since this was `earlier`.
    pub(super) fn since(&self, earlier: &Histogram) -> Histogram {
        let counts = std::array::from_fn(|at| self.counts[at].saturating_sub(earlier.counts[at]));
        Histogram { counts, sum_ms: self.sum_ms.saturating_sub(earlier.sum_ms) }
    }

    /// How many times there are in each bucket.
    pub fn counts(&self) -> &[u64; BUCKETS] {
        &self.counts
    }

    /// How many times there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// All times together, in milliseconds.
    pub fn sum_ms(&self) -> u64 {
        self.sum_ms
    }

    /// The mean, in milliseconds; nothing if there are no times.
    pub fn mean_ms(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum_ms as f64 / count as f64)
    }

    /// The time, in milliseconds, that this share of all times does not exceed: 0.95 for the 95th percentile. Times are taken to be
    /// spread evenly in their bucket. Nothing if there are no times.
    pub fn percentile_ms(&self, share: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let wanted = (share.clamp(0.0, 1.0) * count as f64).max(1.0);
        let mut before = 0.0;
        for (bucket, n) in self.counts.iter().enumerate() {
            let n = *n as f64;
            if n > 0.0 && before + n >= wanted {
                let lower = bucket.checked_sub(1).and_then(upper_ms).unwrap_or(0.0);
                // Nothing is known about how long the longest are.
                let upper = upper_ms(bucket).unwrap_or(lower);
                return Some(lower + (upper - lower) * (wanted - before) / n);
            }
            before += n;
        }
        None
    }

    /// The buckets that have times, each with the longest time it takes in milliseconds, if there is one.
    pub fn buckets(&self) -> impl Iterator<Item = (Option<f64>, u64)> {
        let counts = self.counts.iter().enumerate();
        counts.filter(|(_, n)| **n > 0).map(|(bucket, n)| (upper_ms(bucket), *n))
    }
}

/// As people ask for it; `buckets` is a list of the longest time of each and how many are in it.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Histogram", 7)?;
        let tenths = |ms: f64| (ms * 10.0).round() / 10.0;
        let percentile = |share| self.percentile_ms(share).map(tenths);
        fields.serialize_field("count", &self.count())?;
        fields.serialize_field("sum_ms", &self.sum_ms)?;
        fields.serialize_field("mean_ms", &self.mean_ms().map(tenths))?;
        fields.serialize_field("p50_ms", &percentile(0.5))?;
        fields.serialize_field("p95_ms", &percentile(0.95))?;
        fields.serialize_field("p99_ms", &percentile(0.99))?;
        let buckets: Vec<(Option<f64>, u64)> =
            self.buckets().map(|(upper, n)| (upper.map(tenths), n)).collect();
        fields.serialize_field("buckets", &buckets)?;
        fields.end()
    }
}

/// How a [`Histogram`] looks as JSON.
#[cfg(feature = "openapi")]
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Histogram)]
pub(super) struct HistogramSchema {
    /// How many times there are.
    count: u64,
    /// All of them together, in milliseconds.
    sum_ms: u64,
    /// Their mean, in milliseconds.
    mean_ms: Option<f64>,
    /// The time that half of them do not exceed, in milliseconds.
    p50_ms: Option<f64>,
    /// The 95th percentile.
    p95_ms: Option<f64>,
    /// The 99th percentile.
    p99_ms: Option<f64>,
    /// The longest time of each bucket that is not empty, in milliseconds, and how many are in it; null for the last, which takes any.
    #[schema(value_type = Vec<Vec<Option<f64>>>)]
    buckets: Vec<(Option<f64>, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_exceeds_the_one_before_and_not_its_own_end() {
        let times = (0..5_000).chain((0..64).flat_map(|power| {
            let at = 1u64 << power;
            [at - 1, at, at.saturating_add(1), (at as f64 * 1.414) as u64]
        }));
        for ms in times {
            let bucket = bucket_of(ms);
            assert!(upper_ms(bucket).is_none_or(|upper| ms as f64 <= upper), "{ms} in {bucket}");
            let lower = bucket.checked_sub(1).and_then(upper_ms).unwrap_or(-1.0);
            assert!(ms as f64 > lower, "{ms} in {bucket}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_near_those_of_the_times_themselves() {
        let mut times: Vec<u64> = (1..=1_000).map(|n| n * n / 7 + 3).collect();
        let mut histogram = Histogram::default();
        times.iter().for_each(|ms| histogram.record(*ms));
        times.sort_unstable();
        for share in [0.01, 0.5, 0.95, 0.99, 1.0] {
            let exact = times[((share * 1_000.0) as usize).max(1) - 1] as f64;
            let told = histogram.percentile_ms(share).expect("there are times");
            assert!((told / exact).max(exact / told) <= 1.415, "{share}: {told} for {exact}");
        }
        assert_eq!(histogram.mean_ms(), Some(times.iter().sum::<u64>() as f64 / 1_000.0));
        assert_eq!(Histogram::default().percentile_ms(0.5), None);
    }

    #[test]
    fn merged_histograms_are_that_of_all_times() {
        let (mut left, mut right, mut all) = <(Histogram, Histogram, Histogram)>::default();
        for ms in [0, 1, 2, 3, 70, 4_000, u64::MAX] {
            left.record(ms);
            right.record(ms / 3);
            all.record(ms);
            all.record(ms / 3);
        }
        left.merge(&right);
        assert_eq!(left, all);
    }
}
