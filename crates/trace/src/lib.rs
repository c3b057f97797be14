//! Distributed traces: which trace a task belongs to, what happened in it, and how a collector learns of it.
//!
//! A [`TraceContext`] is what one program tells another: the W3C headers `traceparent` and `tracestate`. [`within`] runs a future
//! in a context, and [`current`] tells it. A [`Span`] is a piece of work in a trace. It is recorded only while the process exports
//! spans; otherwise [`Span::start`] is one load of an atomic. Finished spans go into a bounded [queue](SpanCounts), which never
//! makes anybody wait: when it is full, spans are dropped and counted. With the feature `otlp`, `otlp::start` sends them,
//! and the metrics that [`export_metrics`] names.
//!
//! In reading order: `traceparent`, `current`, `span`, `queue`, `metrics_source`, `openmetrics`, `otlp`.

#![cfg_attr(
    not(feature = "otlp"),
    allow(dead_code, reason = "without an exporter nobody reads spans")
)]

mod current;
mod metrics_source;
pub mod openmetrics;
#[cfg(feature = "otlp")]
pub mod otlp;
mod queue;
mod span;
mod traceparent;

pub use self::{
    current::{current, within},
    metrics_source::{MetricsSource, export_metrics},
    queue::{SpanCounts, is_exporting, span_counts},
    span::{Kind, Span, Value, now_ns},
    traceparent::{InvalidContext, TRACESTATE_BYTES_MAX, TraceContext, TraceParent},
};
