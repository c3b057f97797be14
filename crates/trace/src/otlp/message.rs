//! The messages of OTLP, as far as keyrack fills them in. Numbers and names are those of the protocol's definitions.

use crate::{
    TraceParent,
    span::{Record, Value},
};

/// The status of a span that has failed.
const STATUS_ERROR: i32 = 2;

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SpansRequest {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Scope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    trace_state: String,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "13")]
    links: Vec<Link>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
    #[prost(fixed32, tag = "16")]
    flags: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Link {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(fixed32, tag = "6")]
    flags: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Status {
    #[prost(string, tag = "2")]
    message: String,
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AnyValue {
    #[prost(oneof = "AnyValueKind", tags = "1, 3")]
    kind: Option<AnyValueKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum AnyValueKind {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "3")]
    Number(i64),
}

impl KeyValue {
    pub(super) fn new(key: &str, value: Value) -> KeyValue {
        let kind = match value {
            Value::Text(text) => AnyValueKind::Text(text.into_owned()),
            Value::Number(number) => AnyValueKind::Number(number),
        };
        KeyValue { key: key.to_owned(), value: Some(AnyValue { kind: Some(kind) }) }
    }
}

impl Resource {
    pub(super) fn new(attributes: Vec<(&'static str, String)>) -> Resource {
        let attributes = attributes.into_iter().map(|(key, text)| KeyValue::new(key, text.into()));
        Resource { attributes: attributes.collect() }
    }
}

impl Scope {
    pub(super) fn keyrack() -> Scope {
        Scope { name: "keyrack".into(), version: env!("CARGO_PKG_VERSION").into() }
    }
}

/// The message that brings these spans.
pub(super) fn spans_request(resource: &Resource, spans: &[Record]) -> SpansRequest {
    let spans = spans.iter().map(span_message).collect();
    let scope_spans = vec![ScopeSpans { scope: Some(Scope::keyrack()), spans }];
    let resource_spans = ResourceSpans { resource: Some(resource.clone()), scope_spans };
    SpansRequest { resource_spans: vec![resource_spans] }
}

fn span_message(span: &Record) -> Span {
    let attribute = |(key, value): &(&str, Value)| KeyValue::new(key, value.clone());
    Span {
        trace_id: trace_id(span.id),
        span_id: span_id(span.id.span_id),
        trace_state: span.state.as_deref().unwrap_or_default().to_owned(),
        parent_span_id: span.parent.filter(|id| *id != 0).map(span_id).unwrap_or_default(),
        name: span.name.clone().into_owned(),
        kind: span.kind as i32,
        start_time_unix_nano: span.start_ns,
        end_time_unix_nano: span.end_ns,
        attributes: span.attributes.iter().map(attribute).collect(),
        links: span.links.iter().map(|to| link(*to)).collect(),
        status: span.error.clone().map(|message| Status { message, code: STATUS_ERROR }),
        flags: u32::from(span.id.flags),
    }
}

fn link(to: TraceParent) -> Link {
    Link { trace_id: trace_id(to), span_id: span_id(to.span_id), flags: u32::from(to.flags) }
}

fn trace_id(of: TraceParent) -> Vec<u8> {
    of.trace_id.to_be_bytes().to_vec()
}

fn span_id(id: u64) -> Vec<u8> {
    id.to_be_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::{
        collector::trace::v1::ExportTraceServiceRequest,
        common::v1::any_value::Value as Known,
        trace::v1::{span::SpanKind, status::StatusCode},
    };
    use prost::Message as _;

    use super::*;

    #[test]
    fn a_span_is_what_the_published_definitions_say() {
        let span = Record::example();
        let resource = Resource::new(vec![("service.name", "keyrack".into())]);
        let bytes = spans_request(&resource, std::slice::from_ref(&span)).encode_to_vec();
        let read = ExportTraceServiceRequest::decode(&*bytes).expect("a request");
        let of_resource = &read.resource_spans[0];
        let attributes = &of_resource.resource.as_ref().expect("a resource").attributes;
        assert_eq!(attributes[0].key, "service.name");
        let scope = of_resource.scope_spans[0].scope.as_ref().expect("a scope");
        assert_eq!(
            (scope.name.as_str(), scope.version.as_str()),
            ("keyrack", env!("CARGO_PKG_VERSION"))
        );
        let read = &of_resource.scope_spans[0].spans[0];
        assert_eq!(read.trace_id, span.id.trace_id.to_be_bytes());
        assert_eq!(read.span_id, span.id.span_id.to_be_bytes());
        assert_eq!(read.parent_span_id, 7u64.to_be_bytes());
        assert_eq!((read.trace_state.as_str(), read.name.as_str()), ("a=1", "run emails"));
        assert_eq!(read.kind(), SpanKind::Consumer);
        assert_eq!((read.start_time_unix_nano, read.end_time_unix_nano), (1, 2));
        let values: Vec<(&str, Option<Known>)> = read
            .attributes
            .iter()
            .map(|pair| (pair.key.as_str(), pair.value.clone().and_then(|value| value.value)))
            .collect();
        let system = Known::StringValue("keyrack".into());
        assert_eq!(values, [("messaging.system", Some(system)), ("n", Some(Known::IntValue(3)))]);
        assert_eq!(read.links[0].span_id, span.links[0].span_id.to_be_bytes());
        assert_eq!(read.links[0].trace_id, span.links[0].trace_id.to_be_bytes());
        let status = read.status.as_ref().expect("a status");
        assert_eq!((status.code(), status.message.as_str()), (StatusCode::Error, "it failed"));
        assert_eq!(read.flags, 1);
    }
}
