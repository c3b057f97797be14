//! Metrics in the form of OpenMetrics, as messages of OTLP.
//!
//! Counters and histograms become cumulative sums and histograms of the same names, everything else a gauge.

use super::message::{KeyValue, Resource, Scope};
use crate::{
    openmetrics::{Buckets, Labels, MetricFamily, Sample, by_labels, families},
    span::Value,
};

/// Values count from the start of the process.
const CUMULATIVE: i32 = 2;

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct MetricsRequest {
    #[prost(message, repeated, tag = "1")]
    resource_metrics: Vec<ResourceMetrics>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ResourceMetrics {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_metrics: Vec<ScopeMetrics>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ScopeMetrics {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    metrics: Vec<Metric>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Metric {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    description: String,
    #[prost(string, tag = "3")]
    unit: String,
    #[prost(oneof = "Data", tags = "5, 7, 9")]
    data: Option<Data>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Data {
    #[prost(message, tag = "5")]
    Gauge(Gauge),
    #[prost(message, tag = "7")]
    Sum(Sum),
    #[prost(message, tag = "9")]
    Histogram(Histogram),
}

#[derive(Clone, PartialEq, prost::Message)]
struct Gauge {
    #[prost(message, repeated, tag = "1")]
    points: Vec<NumberPoint>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Sum {
    #[prost(message, repeated, tag = "1")]
    points: Vec<NumberPoint>,
    #[prost(int32, tag = "2")]
    temporality: i32,
    #[prost(bool, tag = "3")]
    is_monotonic: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
struct NumberPoint {
    #[prost(fixed64, tag = "2")]
    start_ns: u64,
    #[prost(fixed64, tag = "3")]
    at_ns: u64,
    #[prost(double, optional, tag = "4")]
    value: Option<f64>,
    #[prost(message, repeated, tag = "7")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Histogram {
    #[prost(message, repeated, tag = "1")]
    points: Vec<HistogramPoint>,
    #[prost(int32, tag = "2")]
    temporality: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct HistogramPoint {
    #[prost(fixed64, tag = "2")]
    start_ns: u64,
    #[prost(fixed64, tag = "3")]
    at_ns: u64,
    #[prost(fixed64, tag = "4")]
    count: u64,
    #[prost(double, optional, tag = "5")]
    sum: Option<f64>,
    #[prost(fixed64, repeated, tag = "6")]
    buckets: Vec<u64>,
    #[prost(double, repeated, tag = "7")]
    bounds: Vec<f64>,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
}

/// Since when values count, and when they were read, in unix nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Period {
    pub(super) start_ns: u64,
    pub(super) at_ns: u64,
}

/// The message that brings the metrics of a text.
pub(super) fn metrics_request(resource: &Resource, text: &str, period: Period) -> MetricsRequest {
    let metrics = families(text).into_iter().map(|family| family.metric(period)).collect();
    let scope_metrics = vec![ScopeMetrics { scope: Some(Scope::keyrack()), metrics }];
    let of_resource = ResourceMetrics { resource: Some(resource.clone()), scope_metrics };
    MetricsRequest { resource_metrics: vec![of_resource] }
}

fn attributes(labels: Labels) -> Vec<KeyValue> {
    let attribute = |(name, text): (String, String)| KeyValue::new(&name, Value::from(text));
    labels.into_iter().map(attribute).collect()
}

impl MetricFamily<'_> {
    fn metric(self, period: Period) -> Metric {
        let unit = if self.unit == "seconds" { "s" } else { self.unit };
        let (name, description, unit) =
            (self.name.to_owned(), self.help.to_owned(), unit.to_owned());
        let data = match self.kind {
            "histogram" => Data::Histogram(self.histogram(period)),
            "counter" => {
                let points = self.numbers(period);
                Data::Sum(Sum { points, temporality: CUMULATIVE, is_monotonic: true })
            }
            _ => Data::Gauge(Gauge { points: self.numbers(period) }),
        };
        Metric { name, description, unit, data: Some(data) }
    }

    fn numbers(self, Period { start_ns, at_ns }: Period) -> Vec<NumberPoint> {
        let point = |Sample { labels, value, .. }| NumberPoint {
            start_ns,
            at_ns,
            value: Some(value),
            attributes: attributes(labels),
        };
        self.samples.into_iter().map(point).collect()
    }

    fn histogram(self, period: Period) -> Histogram {
        let points = by_labels(self.samples).into_iter();
        let points = points.map(|(labels, buckets)| histogram_point(labels, buckets, period));
        Histogram { points: points.collect(), temporality: CUMULATIVE }
    }
}

fn histogram_point(labels: Labels, buckets: Buckets, period: Period) -> HistogramPoint {
    let Buckets { mut up_to, sum, count } = buckets;
    let Period { start_ns, at_ns } = period;
    up_to.retain(|(bound, _)| bound.is_finite());
    let mut before = 0;
    let ends = up_to.iter().map(|(_, n)| *n).chain([count]);
    let in_bucket = |n: u64| n.saturating_sub(std::mem::replace(&mut before, n));
    HistogramPoint {
        start_ns,
        at_ns,
        count,
        sum: Some(sum),
        buckets: ends.map(in_bucket).collect(),
        bounds: up_to.iter().map(|(bound, _)| *bound).collect(),
        attributes: attributes(labels),
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::{
        collector::metrics::v1::ExportMetricsServiceRequest,
        metrics::v1::{
            AggregationTemporality, Metric as Known, metric::Data as KnownData,
            number_data_point::Value as Number,
        },
    };
    use prost::Message as _;

    use super::*;

    const TEXT: &str = r#"# HELP http_requests Requests answered.
# TYPE http_requests counter
http_requests_total{method="GET",route="/a\"b\\c"} 3
http_requests_total{method="PUT",route="x"} 4.5
# HELP wait_seconds How long.
# TYPE wait_seconds histogram
# UNIT wait_seconds seconds
wait_seconds_sum{queue="q"} 7.5
wait_seconds_count{queue="q"} 6
wait_seconds_bucket{le="0.5",queue="q"} 1
wait_seconds_bucket{le="2.0",queue="q"} 4
wait_seconds_bucket{le="+Inf",queue="q"} 6
# HELP up Whether.
# TYPE up gauge
up 1
# HELP nothing None.
# TYPE nothing gauge
# EOF
"#;

    fn read() -> Vec<Known> {
        let resource = Resource::new(vec![("service.name", "keyrack".into())]);
        let period = Period { start_ns: 3, at_ns: 9 };
        let bytes = metrics_request(&resource, TEXT, period).encode_to_vec();
        let request = ExportMetricsServiceRequest::decode(&*bytes).expect("a request");
        let mut of_resource = request.resource_metrics.into_iter().next().expect("a resource");
        assert_eq!(of_resource.resource.expect("a resource").attributes.len(), 1);
        of_resource.scope_metrics.remove(0).metrics
    }

    #[test]
    fn counters_and_gauges_are_what_the_published_definitions_say() {
        let metrics = read();
        let names: Vec<&str> = metrics.iter().map(|metric| metric.name.as_str()).collect();
        assert_eq!(names, ["http_requests", "wait_seconds", "up"]);
        let Some(KnownData::Sum(sum)) = &metrics[0].data else { panic!("{metrics:?}") };
        assert!(sum.is_monotonic);
        assert_eq!(sum.aggregation_temporality(), AggregationTemporality::Cumulative);
        let point = &sum.data_points[0];
        assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (3, 9));
        assert_eq!(point.value, Some(Number::AsDouble(3.0)));
        assert_eq!(sum.data_points[1].value, Some(Number::AsDouble(4.5)));
        assert!(format!("{:?}", point.attributes[1]).contains(r#"/a\"b\\c"#), "{point:?}");
        let Some(KnownData::Gauge(gauge)) = &metrics[2].data else { panic!("{metrics:?}") };
        assert_eq!(gauge.data_points[0].value, Some(Number::AsDouble(1.0)));
        assert_eq!(metrics[2].description, "Whether.");
    }

    #[test]
    fn histograms_are_what_the_published_definitions_say() {
        let metrics = read();
        assert_eq!(metrics[1].unit, "s");
        let Some(KnownData::Histogram(histogram)) = &metrics[1].data else { panic!("{metrics:?}") };
        assert_eq!(histogram.aggregation_temporality(), AggregationTemporality::Cumulative);
        let point = &histogram.data_points[0];
        assert_eq!((point.count, point.sum), (6, Some(7.5)));
        assert_eq!(point.explicit_bounds, [0.5, 2.0]);
        assert_eq!(point.bucket_counts, [1, 3, 2]);
        assert_eq!(point.attributes.len(), 1);
    }
}
