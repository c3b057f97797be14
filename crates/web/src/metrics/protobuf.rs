//! Metrics as messages of `io.prometheus.client`, as far as keyrack fills them in. Text cannot tell native histograms; these can.
//!
//! The numbers of the fields are those of `metrics.proto`, which Prometheus publishes. Tests read what is sent with that file.

use keyrack_jobs::bee::times;
use keyrack_trace::openmetrics::{self, Buckets, Labels, Sample, by_labels, families};
use prost::Message as _;

use super::native::{self, NativeHistograms};

#[derive(Clone, PartialEq, prost::Message)]
struct MetricFamily {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    help: String,
    #[prost(enumeration = "MetricType", tag = "3")]
    kind: i32,
    #[prost(message, repeated, tag = "4")]
    metrics: Vec<Metric>,
    #[prost(string, tag = "5")]
    unit: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
enum MetricType {
    Counter = 0,
    Gauge = 1,
    Untyped = 3,
    Histogram = 4,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<LabelPair>,
    #[prost(oneof = "Data", tags = "2, 3, 5, 7")]
    data: Option<Data>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Data {
    #[prost(message, tag = "2")]
    Gauge(Number),
    #[prost(message, tag = "3")]
    Counter(Number),
    #[prost(message, tag = "5")]
    Untyped(Number),
    #[prost(message, tag = "7")]
    Histogram(Histogram),
}

#[derive(Clone, PartialEq, prost::Message)]
struct LabelPair {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

/// A counter, a gauge, or what is neither.
#[derive(Clone, PartialEq, prost::Message)]
struct Number {
    #[prost(double, tag = "1")]
    value: f64,
}

/// Its buckets with bounds of their own, and from `schema` on those of a native histogram.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Histogram {
    #[prost(uint64, tag = "1")]
    count: u64,
    #[prost(double, tag = "2")]
    sum: f64,
    #[prost(message, repeated, tag = "3")]
    buckets: Vec<Bucket>,
    #[prost(sint32, tag = "5")]
    pub(super) schema: i32,
    #[prost(double, tag = "6")]
    pub(super) zero_threshold: f64,
    #[prost(uint64, tag = "7")]
    pub(super) zero_count: u64,
    #[prost(message, repeated, tag = "12")]
    pub(super) positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "13")]
    pub(super) positive_delta: Vec<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Bucket {
    #[prost(uint64, tag = "1")]
    up_to: u64,
    #[prost(double, tag = "2")]
    bound: f64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct BucketSpan {
    #[prost(sint32, tag = "1")]
    pub(super) offset: i32,
    #[prost(uint32, tag = "2")]
    pub(super) length: u32,
}

/// The families of a text as messages, each with its length before it.
pub(super) fn encode(text: &str, native: &NativeHistograms<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for family in families(text) {
        let native = native.get(family.name);
        let native = |labels: &Labels| {
            let (_, queue) = labels.iter().find(|(name, _)| name == "queue")?;
            native?.get(queue.as_str()).copied()
        };
        let message = message(family, native);
        message.encode_length_delimited(&mut bytes).expect("a list grows");
    }
    bytes
}

fn message<'a>(
    family: openmetrics::MetricFamily<'_>,
    native: impl Fn(&Labels) -> Option<&'a times::Histogram>,
) -> MetricFamily {
    let openmetrics::MetricFamily { name, kind, help, unit, samples } = family;
    let (kind, end) = match kind {
        "counter" => (MetricType::Counter, "_total"),
        "info" => (MetricType::Gauge, "_info"),
        "gauge" => (MetricType::Gauge, ""),
        "histogram" => (MetricType::Histogram, ""),
        _ => (MetricType::Untyped, ""),
    };
    let metrics = match kind {
        MetricType::Histogram => by_labels(samples)
            .into_iter()
            .map(|(labels, buckets)| {
                let mut histogram = histogram(buckets);
                if let Some(times) = native(&labels) {
                    native::fill_in(&mut histogram, times);
                }
                metric(labels, Data::Histogram(histogram))
            })
            .collect(),
        _ => samples.into_iter().map(|sample| number(kind, sample)).collect(),
    };
    // A family is called as its samples are.
    let name = format!("{name}{end}");
    let (kind, help, unit) = (kind.into(), help.to_owned(), unit.to_owned());
    MetricFamily { name, help, kind, metrics, unit }
}

fn number(kind: MetricType, Sample { labels, value, .. }: Sample<'_>) -> Metric {
    let number = Number { value };
    let data = match kind {
        MetricType::Counter => Data::Counter(number),
        MetricType::Gauge => Data::Gauge(number),
        MetricType::Untyped | MetricType::Histogram => Data::Untyped(number),
    };
    metric(labels, data)
}

fn histogram(Buckets { up_to, sum, count }: Buckets) -> Histogram {
    let buckets = up_to.into_iter().map(|(bound, up_to)| Bucket { up_to, bound }).collect();
    Histogram { count, sum, buckets, ..Histogram::default() }
}

fn metric(labels: Labels, data: Data) -> Metric {
    let labels = labels.into_iter().map(|(name, value)| LabelPair { name, value }).collect();
    Metric { labels, data: Some(data) }
}
