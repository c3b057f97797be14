//! How long jobs wait and run, as Prometheus histograms.

use std::fmt;

use keyrack_jobs::bee::times::{
    Histogram, Record,
    histogram::{BUCKETS, upper_ms},
};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, NoLabelSet},
    metrics::MetricType,
    registry::{Registry, Unit},
};

use super::{jobs::QueueLabels, native::NativeHistograms, queue::QueueMetrics};

/// Every fourth bucket ends one: each is four times as long as the one before, from a millisecond to three days. More would cost
/// every queue more series.
const BUCKETS_IN_ONE: usize = 4;

type HistogramOf = fn(&Record) -> &Histogram;

const HISTOGRAMS: [(&str, &str, HistogramOf); 2] = [
    ("wait", "How long attempts that ended had waited", |record| &record.wait),
    ("run", "How long attempts that ended ran", |record| &record.run),
];

#[derive(Debug)]
struct TimesCollector {
    queues: Vec<(QueueLabels, Record)>,
}

/// Adds what is known of the queues.
pub(super) fn add_to(registry: &mut Registry, queues: &[QueueMetrics]) {
    let queues = queues
        .iter()
        .map(|queue| (QueueLabels { queue: queue.queue.clone() }, queue.totals.record.clone()))
        .collect();
    registry.register_collector(Box::new(TimesCollector { queues }));
}

/// The same with all of their buckets, by the names of the families and by queue.
pub(super) fn native(queues: &[QueueMetrics]) -> NativeHistograms<'_> {
    let mut histograms = NativeHistograms::default();
    for (name, _, of) in HISTOGRAMS {
        let of_family = histograms.entry(format!("keyrack_jobs_{name}_seconds")).or_default();
        for queue in queues {
            of_family.insert(&queue.queue, of(&queue.totals.record));
        }
    }
    histograms
}

impl Collector for TimesCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, of) in HISTOGRAMS {
            let kind = MetricType::Histogram;
            let mut family = encoder.encode_descriptor(name, help, Some(&Unit::Seconds), kind)?;
            for (labels, record) in &self.queues {
                let (times, mut metric) = (of(record), family.encode_family(labels)?);
                let sum_s = times.sum_ms() as f64 / 1000.0;
                metric.encode_histogram::<NoLabelSet>(
                    sum_s,
                    times.count(),
                    &coarse(times),
                    None,
                )?;
            }
        }
        Ok(())
    }
}

/// The buckets as they are exported: the longest time of each in seconds, and how many are in it alone.
fn coarse(times: &Histogram) -> Vec<(f64, u64)> {
    let mut buckets: Vec<(f64, u64)> = (0..BUCKETS - 1)
        .step_by(BUCKETS_IN_ONE)
        .filter_map(|bucket| Some((upper_ms(bucket)? / 1000.0, 0)))
        .chain(std::iter::once((f64::INFINITY, 0)))
        .collect();
    for (bucket, n) in times.counts().iter().enumerate() {
        let place = bucket.div_ceil(BUCKETS_IN_ONE).min(buckets.len() - 1);
        buckets[place].1 += n;
    }
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_the_first_bucket_that_is_long_enough() {
        for ms in [0, 1, 2, 4, 5, 16, 17, 1_000, 65_536, 65_537, 1 << 28, (1 << 28) + 1, u64::MAX] {
            let mut times = Histogram::default();
            times.record(ms);
            let buckets = coarse(&times);
            let (upper_s, n) = *buckets.iter().find(|(_, n)| *n > 0).expect("it is counted");
            assert_eq!(n, 1);
            let fits = buckets.iter().find(|(upper_s, _)| ms as f64 <= upper_s * 1000.0);
            assert_eq!(fits.map(|(upper_s, _)| *upper_s), Some(upper_s), "{ms} ms");
        }
    }
}
