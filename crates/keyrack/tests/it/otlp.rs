//! Traces, as a collector gets them: it decodes what is sent with the published definitions of the protocol.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    process::Command,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Bytes, extract::State, http::HeaderMap, routing::post};
use keyrack_testkit::{Process, wait_for, wait_until};
use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::{KeyValue, any_value::Value},
    metrics::v1::{Metric, metric::Data, number_data_point::Value as Number},
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use prost::Message as _;
use serde_json::{Value as Json, json};

use crate::{
    program::{Run, Serve, program},
    world::World,
};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

/// A collector that keeps what it is sent.
struct Collector {
    address: SocketAddr,
    spans: Arc<Mutex<Vec<Span>>>,
    metrics: Arc<Mutex<Vec<Metric>>>,
}

impl Collector {
    fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a listener for tokio");
        let address = listener.local_addr().expect("an address");
        let (spans, metrics) = (Arc::default(), Arc::default());
        let router = Router::new()
            .route("/v1/traces", post(receive).with_state(Arc::clone(&spans)))
            .route("/v1/metrics", post(receive_metrics).with_state(Arc::clone(&metrics)));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                axum::serve(listener, router).await
            })
        });
        Collector { address, spans, metrics }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The spans of the trace that the tests begin.
    fn trace(&self) -> Vec<Span> {
        let all = self.spans.lock().expect("the spans").clone();
        all.into_iter().filter(|span| hex(&span.trace_id) == TRACE).collect()
    }

    /// The spans of that name, once there are so many.
    fn named(&self, name: &str, n: usize) -> Vec<Span> {
        let what = format!("{n} spans \"{name}\"");
        let mut found = wait_for(&what, || {
            let found: Vec<Span> =
                self.trace().into_iter().filter(|span| span.name == name).collect();
            (found.len() >= n).then_some(found)
        });
        assert_eq!(found.len(), n, "{what}: {found:?}");
        found.sort_by_key(|span| span.start_time_unix_nano);
        found
    }

    fn one(&self, name: &str) -> Span {
        self.named(name, 1).remove(0)
    }
}

async fn receive(State(spans): State<Arc<Mutex<Vec<Span>>>>, headers: HeaderMap, body: Bytes) {
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let request = ExportTraceServiceRequest::decode(body).expect("a request of OTLP");
    for of_resource in request.resource_spans {
        let resource = of_resource.resource.expect("a resource");
        assert_eq!(text(&resource.attributes, "service.name").as_deref(), Some("keyrack"));
        let scopes = of_resource.scope_spans.into_iter();
        spans.lock().expect("the spans").extend(scopes.flat_map(|scope| scope.spans));
    }
}

async fn receive_metrics(State(metrics): State<Arc<Mutex<Vec<Metric>>>>, body: Bytes) {
    let request = ExportMetricsServiceRequest::decode(body).expect("a request of OTLP");
    let scopes = request.resource_metrics.into_iter().flat_map(|of| of.scope_metrics);
    metrics.lock().expect("the metrics").extend(scopes.flat_map(|scope| scope.metrics));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(attributes: &[KeyValue], name: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == name)?;
    match found.value.clone()?.value? {
        Value::StringValue(text) => Some(text),
        Value::IntValue(number) => Some(number.to_string()),
        _ => None,
    }
}

#[track_caller]
fn assert_attribute(span: &Span, name: &str, value: &str) {
    assert_eq!(text(&span.attributes, name).as_deref(), Some(value), "{name} of {span:?}");
}

#[track_caller]
fn assert_child(child: &Span, parent: &Span) {
    assert_eq!(hex(&child.parent_span_id), hex(&parent.span_id), "{child:?} of {parent:?}");
}

/// A POST of JSON with the trace of the test.
fn post_json(address: SocketAddr, path: &str, body: &Json) -> Json {
    let header = format!("traceparent: 00-{TRACE}-{CALLER}-01");
    let output = Command::new("curl")
        .args(["-sS", "-f", "-H", &header, "-H", "tracestate: rojo=1", "-d", "@-"])
        .arg(format!("http://{address}{path}"))
        .stdin(input(&body.to_string()))
        .output()
        .expect("curl runs");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn input(text: &str) -> fs::File {
    use std::io::{Seek as _, Write as _};
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    file.rewind().expect("rewound");
    file
}

fn work(world: &World, queue: &str, endpoint: &str, exec: &str) -> Process {
    let line = format!("work {queue} --otlp-endpoint {endpoint}");
    let mut command = world.keyrack(&line);
    command.args(["--exec", exec]).env("PATH", path_with_program());
    Process::spawn("keyrack work", command)
}

/// Where commands of workers find the program.
fn path_with_program() -> String {
    let program = program();
    let folder = program.parent().expect("a folder").display();
    format!("{folder}:{}", std::env::var("PATH").unwrap_or_default())
}

#[test]
fn one_trace_shows_the_submitter_the_wait_the_worker_its_retry_and_a_child_job() {
    let (world, collector) = (World::new(), Collector::start());
    let (store, endpoint) = (world.server.url(), collector.url());
    let options = format!("--store {store} --otlp-endpoint {endpoint}");
    let dir = tempfile::tempdir().expect("a folder");
    let serve = Serve::start_with(dir.path(), &options, &[]);
    let body = json!({"jid": "parent", "metadata": {"request": "r-7"}});
    post_json(serve.http(), "/api/1/queues/orders/jobs", &body);
    // The first attempt fails, and the second submits a job.
    let exec = format!(
        "[ $KEYRACK_ATTEMPT = 2 ] || {{ echo 'retry-in: 0s' >&2; exit 75; }}; \
         keyrack jobs submit emails --id child --parent parent --store {store} --otlp-endpoint {endpoint} >&2"
    );
    let _orders = work(&world, "orders", &endpoint, &exec);
    let _emails = work(&world, "emails", &endpoint, "echo \"$TRACESTATE\" >&2");

    let request = collector.one("POST /api/1/queues/{queue}/jobs");
    assert_eq!((request.kind(), hex(&request.parent_span_id).as_str()), (SpanKind::Server, CALLER));
    assert_attribute(&request, "http.response.status_code", "201");
    let submit = collector.one("submit orders");
    assert_child(&submit, &request);
    assert_eq!(submit.kind(), SpanKind::Producer);
    for (name, value) in [
        ("messaging.system", "keyrack"),
        ("messaging.operation.name", "submit"),
        ("messaging.operation.type", "send"),
        ("messaging.destination.name", "orders"),
        ("messaging.message.id", "parent"),
    ] {
        assert_attribute(&submit, name, value);
    }
    let spans = collector.trace();
    let script = spans
        .iter()
        .find(|span| span.name == "script submit.lua" && span.parent_span_id == submit.span_id);
    let script = script.expect("a call of the store");
    assert_eq!(script.kind(), SpanKind::Client);
    assert_attribute(script, "db.system.name", "redis");
    assert_attribute(script, "db.stored_procedure.name", "submit.lua");

    let runs = collector.named("run orders", 2);
    let waits = collector.named("wait orders", 2);
    for (at, (run, wait)) in runs.iter().zip(&waits).enumerate() {
        assert_child(run, &submit);
        assert_child(wait, &submit);
        assert_eq!((run.kind(), wait.kind()), (SpanKind::Consumer, SpanKind::Internal));
        assert_attribute(run, "messaging.operation.type", "process");
        assert_attribute(run, "keyrack.job.attempt", &(at + 1).to_string());
        assert!(wait.end_time_unix_nano <= run.start_time_unix_nano, "{wait:?} {run:?}");
        assert_eq!(run.trace_state, "rojo=1");
    }
    assert_attribute(&runs[0], "keyrack.job.outcome", "failed");
    assert_eq!(runs[0].status.as_ref().map(|status| status.code()), Some(StatusCode::Error));
    assert!(runs[0].links.is_empty());
    assert_attribute(&runs[1], "keyrack.job.outcome", "completed");
    assert_eq!(runs[1].links.len(), 1);
    assert_eq!(runs[1].links[0].span_id, runs[0].span_id, "the retry refers to the first attempt");
    assert_eq!(runs[1].links[0].trace_id, runs[0].trace_id);

    let submit_child = collector.one("submit emails");
    assert_child(&submit_child, &runs[1]);
    assert_child(&collector.one("wait emails"), &submit_child);
    let run_child = collector.one("run emails");
    assert_child(&run_child, &submit_child);
    assert_attribute(&run_child, "messaging.message.id", "child");

    let parent = world.job("parent");
    assert_eq!(parent["options"]["metadata"], json!({"request": "r-7"}));
    let span = hex(&submit.span_id);
    assert_eq!(parent["options"]["traceparent"], format!("00-{TRACE}-{span}-01"));
    let logged = world.json("jobs logs child");
    assert!(logged.to_string().contains("rojo=1"), "{logged}");
}

#[test]
fn a_worker_over_http_gets_the_context_and_without_an_exporter_it_is_passed_on_as_it_is() {
    let (dir, traceparent) =
        (tempfile::tempdir().expect("a folder"), format!("00-{TRACE}-{CALLER}-00"));
    let serve = Serve::start(dir.path());
    let body = json!({"traceparent": traceparent, "tracestate": "a=1", "metadata": {"n": "1"}});
    post_json(serve.http(), "/api/1/queues/q/jobs", &body);
    post_json(serve.http(), "/api/1/queues/q/jobs", &json!({}));
    let claimed = post_json(serve.http(), "/api/1/queues/q/claim", &json!({"max": 2}));
    let (named, of_header) = (&claimed["jobs"][0], &claimed["jobs"][1]);
    assert_eq!(named["traceparent"], traceparent);
    assert_eq!((&named["tracestate"], &named["metadata"]), (&json!("a=1"), &json!({"n": "1"})));
    assert_eq!(of_header["traceparent"], format!("00-{TRACE}-{CALLER}-01"));
    assert_eq!((&of_header["tracestate"], &of_header["metadata"]), (&json!("rojo=1"), &json!({})));
}

#[test]
fn what_is_no_context_or_too_much_metadata_is_refused_by_its_field() {
    let world = World::new();
    let many: String = (0..17).map(|n| format!("--metadata k{n}=1 ")).collect();
    for (options, field, allowed) in [
        ("--traceparent x", "traceparent: ", "write 00-TRACE-SPAN-FLAGS"),
        (many.as_str(), "metadata: 17 entries", "at most 16"),
        (&format!("--metadata n={}", "x".repeat(4_096)), "metadata: 4097 bytes", "at most 4096"),
        (&format!("--metadata {}=1", "x".repeat(65)), "metadata: the name", "give 1 to 64 bytes"),
    ] {
        let run = world.run(&format!("jobs submit q {options}"));
        let (error, _) = run.failure();
        assert!(error.contains(field) && error.contains(allowed), "{error}");
    }
    let run = world.run("jobs submit q --metadata n");
    assert!(run.stderr.contains("write NAME=TEXT"), "{run:?}");
    let valid = world.submit("1 --metadata request=r-7");
    let jobs = world.json("jobs list q");
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(1), "nothing else is stored");
    assert_eq!(jobs["jobs"][0]["jid"], valid);
}

#[test]
fn an_address_that_is_none_is_refused() {
    for (address, reason) in [
        ("ftp://example.com", "neither http nor https"),
        ("http://me:secret@example.com", "a user or a password"),
        ("collector", "relative URL without a base"),
    ] {
        let run = Run::line(&format!("jobs list q --otlp-endpoint {address}"));
        let (error, hint) = run.failure();
        assert!(error.contains(reason) && !error.contains("secret"), "{error}");
        assert!(hint.expect("a hint").contains("KEYRACK_OTLP_ENDPOINT"), "{hint:?}");
        assert_eq!(run.code, Some(2));
    }
}

#[test]
fn work_goes_on_while_no_collector_answers_and_spans_beyond_the_queue_are_dropped_and_counted() {
    // It takes connections and never says anything.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let options = format!("--otlp-endpoint http://{}", silent.local_addr().expect("an address"));
    let dir = tempfile::tempdir().expect("a folder");
    let serve = Serve::start_with(dir.path(), &options, &[]);
    // Each has a span of its own.
    let job = json!({"traceparent": format!("00-{TRACE}-{CALLER}-01")});
    let jobs: Vec<&Json> = std::iter::repeat_n(&job, 10_000).collect();
    let submitted = post_json(serve.http(), "/api/1/queues/q/jobs", &json!(jobs));
    assert_eq!(submitted["jobs"].as_array().map(Vec::len), Some(10_000));
    let claimed = post_json(serve.http(), "/api/1/queues/q/claim", &json!({"max": 1_000}));
    assert_eq!(claimed["jobs"].as_array().map(Vec::len), Some(1_000));
    let metrics = || {
        let url = format!("http://{}/metrics", serve.http());
        let output = Command::new("curl").args(["-sS", "-f", &url]).output().expect("curl runs");
        String::from_utf8(output.stdout).expect("text")
    };
    let metric = |name: &str| -> u64 {
        let text = metrics();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().expect("a number")
    };
    wait_until("spans to be dropped", || metric("keyrack_trace_spans_dropped_total") > 0);
    assert!(metric("keyrack_trace_spans_waiting") <= 8_192);
    assert_eq!(metric("keyrack_trace_spans_sent_total"), 0);
}

#[test]
fn a_server_sends_its_metrics_too() {
    let (world, collector) = (World::new(), Collector::start());
    world.submit("1");
    world.drain("", "echo 1");
    let dir = tempfile::tempdir().expect("a folder");
    let options = format!("--store {} --otlp-endpoint {}", world.server.url(), collector.url());
    let _serve = Serve::start_with(dir.path(), &options, &[]);
    let metric = |name: &str| {
        wait_for(name, || {
            let metrics = collector.metrics.lock().expect("the metrics");
            metrics.iter().find(|metric| metric.name == name)?.data.clone()
        })
    };
    let Data::Sum(completed) = metric("keyrack_jobs_completed") else { panic!("no sum") };
    assert!(completed.is_monotonic);
    assert_eq!(completed.data_points[0].value, Some(Number::AsDouble(1.0)));
    assert_eq!(text(&completed.data_points[0].attributes, "queue").as_deref(), Some("q"));
    let Data::Histogram(run) = metric("keyrack_jobs_run_seconds") else { panic!("no histogram") };
    let point = &run.data_points[0];
    assert_eq!(point.count, 1);
    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    assert_eq!(point.bucket_counts.iter().sum::<u64>(), 1);
    let Data::Gauge(up) = metric("keyrack_store_up") else { panic!("no gauge") };
    assert_eq!(up.data_points[0].value, Some(Number::AsDouble(1.0)));
}
