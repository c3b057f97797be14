//! Histograms of the store as native histograms of Prometheus: all of their buckets.
//!
//! A bucket of the store ends at 2^(n/2) ms, one of a native histogram at 2^(n/2) s (schema 1). Both grow by the root of two, and
//! twenty buckets of a native histogram before a second is 2^-10 s, which is nearly a millisecond. So the nearest bound of the
//! n-th bucket is that of the (n - 20)-th: 1000/1024 of what it is, 2.3 % less. Count, sum and the number in each bucket are exact.
//! Bounds of one's own (schema -53) would be exact too, but the messages that are scraped have no field for them.

use std::collections::HashMap;

use keyrack_jobs::bee::times::{Histogram, histogram::BUCKETS};

use super::protobuf::{self, BucketSpan};

/// Histograms by the names of their families, and then by queue.
pub(super) type NativeHistograms<'a> = HashMap<String, HashMap<&'a str, &'a Histogram>>;

/// Each bound is that before, times the root of two.
const SCHEMA: i32 = 1;
/// The buckets from a thousandth of a second, as near as can be, to a second.
const BUCKETS_BELOW_ONE: i32 = 20;
/// Times of a millisecond and less are in the bucket of zero: up to the bound of the bucket before the first.
const ZERO_THRESHOLD: f64 = 1.0 / 1024.0;

/// Fills in what is native of a histogram.
pub(super) fn fill_in(message: &mut protobuf::Histogram, times: &Histogram) {
    let counts = times.counts();
    message.schema = SCHEMA;
    message.zero_threshold = ZERO_THRESHOLD;
    message.zero_count = counts[0];
    let (mut before, mut end) = (0, 0);
    // The last bucket, which takes any time, is told as the one that follows those with bounds.
    for (bucket, n) in (0i32..).zip(counts).take(BUCKETS).skip(1).filter(|(_, n)| **n > 0) {
        let at = bucket - BUCKETS_BELOW_ONE;
        match message.positive_span.last_mut() {
            Some(span) if at == end => span.length += 1,
            _ => message.positive_span.push(BucketSpan { offset: at - end, length: 1 }),
        }
        end = at + 1;
        let n = i64::try_from(*n).unwrap_or(i64::MAX);
        message.positive_delta.push(n - before);
        before = n;
    }
}

#[cfg(test)]
mod tests {
    use keyrack_jobs::bee::times::histogram::upper_ms;

    use super::*;

    #[test]
    fn every_bound_is_the_nearest_of_the_schema() {
        for bucket in 0..BUCKETS - 1 {
            let exact_s = upper_ms(bucket).expect("a bound") / 1000.0;
            let at = bucket as i32 - BUCKETS_BELOW_ONE;
            let [below, told, above] =
                [at - 1, at, at + 1].map(|at| 2f64.powf(f64::from(at) / 2.0));
            assert!((told / exact_s - 1000.0 / 1024.0).abs() < 1e-9, "{told} for {exact_s}");
            let off = |bound: f64| (bound / exact_s).ln().abs();
            assert!(off(told) < off(below) && off(told) < off(above), "{told} for {exact_s}");
        }
        assert!((ZERO_THRESHOLD - 2f64.powf(f64::from(-BUCKETS_BELOW_ONE) / 2.0)).abs() < 1e-12);
    }
}
