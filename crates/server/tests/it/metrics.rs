//! `/metrics` as messages: read with the definitions that Prometheus publishes (`metrics.proto`, which comes with its client library
//! for Rust) by a library that shares no code with the one that writes them.

use std::{collections::BTreeMap, path::PathBuf};

use keyrack_jobs::bee::{
    End, Hive, Outcome, Submission,
    keys::{QueueName, WorkerId},
    times::{
        Histogram,
        histogram::{BUCKETS, upper_ms},
    },
};
use keyrack_testkit::simulated_store;
use protobuf::{
    CodedInputStream, MessageDyn,
    reflect::{FileDescriptor, MessageDescriptor, ReflectFieldRef, ReflectValueRef},
    well_known_types,
};
use serde_json::Value as Json;
use tokio::io::AsyncReadExt as _;

use crate::site::Site;

const NOW: u64 = 1_794_709_387_000;
const LOCK: std::time::Duration = std::time::Duration::from_secs(30);
const ACCEPT: &str = "application/vnd.google.protobuf;\
    proto=io.prometheus.client.MetricFamily;encoding=delimited";
/// What may change from look to look.
const VOLATILE: [&str; 6] = [
    "process_",
    "keyrack_uptime_",
    "keyrack_http_",
    "keyrack_store_ping_",
    "keyrack_store_memory_",
    "keyrack_store_commands_",
];

/// Values by their names and labels, as the text writes them.
type Samples = BTreeMap<String, f64>;

/// The folder with `metrics.proto` where cargo has unpacked the library that brings it.
fn definitions() -> PathBuf {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).expect("a home");
    let sources = home.join("registry/src");
    let packages = sources.read_dir().expect("unpacked packages").flat_map(|registry| {
        registry.expect("a registry").path().read_dir().expect("its packages")
    });
    let folders = packages.map(|package| package.expect("a package").path());
    let folders = folders.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("prometheus-client-") && !name.contains("derive")
    });
    let mut folders = folders.map(|path| path.join("src/encoding/proto"));
    folders
        .find(|path| path.join("metrics.proto").exists())
        .unwrap_or_else(|| panic!("no package prometheus-client in \"{}\"", sources.display()))
}

fn metric_family() -> MessageDescriptor {
    let folder = definitions();
    let file = folder.join("metrics.proto");
    let mut parser = protobuf_parse::Parser::new();
    let parsed = parser.pure().include(&folder).input(&file).file_descriptor_set();
    let known = [well_known_types::timestamp::file_descriptor().clone()];
    let files = FileDescriptor::new_dynamic_fds(parsed.expect("definitions").file, &known);
    let files = files.expect("definitions that agree");
    let of_file =
        |file: &FileDescriptor| file.message_by_full_name(".io.prometheus.client.MetricFamily");
    files.iter().find_map(of_file).expect("the message")
}

/// The families as JSON, with what is zero.
async fn scrape_messages(site: &Site) -> Vec<Json> {
    let mut stream = site.open("GET", "/metrics", &[("Accept", ACCEPT)], "").await;
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await.expect("an answer");
    let end = response.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&response[..end]).to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 200 "), "{head}");
    let kind = "content-type: application/vnd.google.protobuf; \
        proto=io.prometheus.client.metricfamily; encoding=delimited";
    assert!(head.contains(kind) && head.contains("vary: accept"), "{head}");
    let descriptor = metric_family();
    let mut input = CodedInputStream::from_bytes(&response[end + 4..]);
    let mut families = Vec::new();
    while !input.eof().expect("more or nothing") {
        let length = input.read_raw_varint32().expect("a length");
        let bytes = input.read_raw_bytes(length).expect("a message");
        let message = descriptor.parse_from_bytes(&bytes).expect("the message");
        assert_known(&*message);
        let options = protobuf_json_mapping::PrintOptions {
            always_output_default_values: true,
            ..protobuf_json_mapping::PrintOptions::default()
        };
        let json = protobuf_json_mapping::print_to_string_with_options(&*message, &options);
        families.push(serde_json::from_str(&json.expect("JSON")).expect("JSON"));
    }
    families
}

/// No field is unknown to the definitions, or of another type.
fn assert_known(message: &dyn MessageDyn) {
    assert!(message.unknown_fields_dyn().iter().next().is_none(), "{message:?}");
    for field in message.descriptor_dyn().fields() {
        let assert_value = |value: ReflectValueRef<'_>| {
            if let ReflectValueRef::Message(message) = value {
                assert_known(&*message);
            }
        };
        match field.get_reflect(message) {
            ReflectFieldRef::Optional(value) => value.value().map_or((), assert_value),
            ReflectFieldRef::Repeated(values) => values.into_iter().for_each(assert_value),
            ReflectFieldRef::Map(_) => panic!("there is no map"),
        }
    }
}

/// A number, which JSON has as text where it may be large.
fn number(value: &Json) -> f64 {
    match value {
        Json::String(text) => text.replace("Infinity", "inf").parse().expect("a number"),
        _ => value.as_f64().unwrap_or_else(|| panic!("{value} is no number")),
    }
}

fn list(value: &Json) -> &[Json] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn labels(metric: &Json) -> BTreeMap<String, String> {
    let text = |value: &Json| value.as_str().expect("text").to_owned();
    list(&metric["label"]).iter().map(|pair| (text(&pair["name"]), text(&pair["value"]))).collect()
}

fn name(family: &str, labels: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{family}{{{}}}", pairs.join(","))
}

/// What Prometheus makes of messages if it knows no native histograms.
fn samples_of_messages(families: &[Json]) -> Samples {
    let mut samples = Samples::new();
    for family in families {
        let called = family["name"].as_str().expect("a name");
        let kind = family["type"].as_str().expect("a type");
        for metric in list(&family["metric"]) {
            let mut labels = labels(metric);
            if kind != "HISTOGRAM" {
                let value = &metric[kind.to_ascii_lowercase()]["value"];
                samples.insert(name(called, &labels), number(value));
                continue;
            }
            let histogram = &metric["histogram"];
            let mut add = |end: &str, labels: &_, value: &Json| {
                samples.insert(name(&format!("{called}{end}"), labels), number(value));
            };
            add("_sum", &labels, &histogram["sampleSum"]);
            add("_count", &labels, &histogram["sampleCount"]);
            for bucket in list(&histogram["bucket"]) {
                labels.insert("le".to_owned(), number(&bucket["upperBound"]).to_string());
                add("_bucket", &labels, &bucket["cumulativeCount"]);
            }
        }
    }
    samples
}

/// The lines of a text. Labels have neither commas nor quotes in them here.
fn samples_of_text(text: &str) -> Samples {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| {
        let (called, value) = line.rsplit_once(' ').expect("a value");
        let (family, labels) = called.split_once('{').unwrap_or((called, ""));
        let pairs = labels.trim_end_matches('}').split(',').filter(|pair| !pair.is_empty());
        let labels = pairs.map(|pair| {
            let (name, value) = pair.split_once("=\"").expect("a label");
            let value = value.trim_end_matches('"');
            let bound = (name == "le").then(|| value.parse::<f64>().expect("a bound").to_string());
            (name.to_owned(), bound.unwrap_or_else(|| value.to_owned()))
        });
        (name(family, &labels.collect()), value.parse().expect("a number"))
    };
    lines.map(sample).collect()
}

/// How many times there are in each bucket of a native histogram, by the number of the bucket.
fn native_counts(histogram: &Json) -> BTreeMap<i64, f64> {
    let (mut at, mut n, mut counts) = (0, 0.0, BTreeMap::new());
    let mut deltas = list(&histogram["positiveDelta"]).iter();
    for span in list(&histogram["positiveSpan"]) {
        at += number(&span["offset"]) as i64;
        for _ in 0..number(&span["length"]) as i64 {
            n += number(deltas.next().expect("a difference for each bucket"));
            counts.insert(at, n);
            at += 1;
        }
    }
    assert!(deltas.next().is_none(), "{histogram}");
    counts
}

#[track_caller]
fn assert_native(histogram: &Json, times: &Histogram) {
    assert_eq!(number(&histogram["sampleCount"]), times.count() as f64);
    assert_eq!(number(&histogram["sampleSum"]), times.sum_ms() as f64 / 1000.0);
    assert_eq!(number(&histogram["schema"]), 1.0);
    assert_eq!(number(&histogram["zeroThreshold"]), 2f64.powi(-10));
    assert_eq!(number(&histogram["zeroCount"]), times.counts()[0] as f64);
    let told = native_counts(histogram);
    let counts = times.counts().iter().enumerate().skip(1).filter(|(_, n)| **n > 0);
    let stored = counts.map(|(bucket, n)| (bucket as i64 - 20, *n as f64)).collect();
    assert_eq!(told, stored);
    // The bounds of the others are bounds here, too.
    for bucket in list(&histogram["bucket"]) {
        let bound_s = number(&bucket["upperBound"]);
        let is_below = |at: i64| {
            let upper = usize::try_from(at + 20).ok().filter(|at| *at < BUCKETS).and_then(upper_ms);
            bound_s.is_infinite() || upper.is_some_and(|upper| upper <= bound_s * 1000.0 + 1e-6)
        };
        let below: f64 = told.iter().filter(|(at, _)| is_below(**at)).map(|(_, n)| n).sum();
        let up_to = number(&bucket["cumulativeCount"]);
        assert_eq!(below + times.counts()[0] as f64, up_to, "up to {bound_s} s");
    }
}

/// Runs jobs that wait and run for these milliseconds, by a clock that is set.
async fn run(hive: &Hive, queue: &QueueName, times: &[(u64, u64)], advance: impl Fn(u64)) {
    let worker = WorkerId::new("host:1:hive:emails:w1").expect("a worker");
    for (wait_ms, run_ms) in times {
        hive.submit(Submission::to(queue.clone())).await.expect("submitted");
        advance(*wait_ms);
        let claimed = hive.claim(queue, &worker, 1, LOCK).await.expect("claimed");
        let end = End::Completed { result: "1".into(), ttl_ms: None };
        let outcomes = [Outcome::of(&claimed.jobs[0], end)];
        advance(*run_ms);
        hive.settle(queue, &worker, &outcomes, 0, LOCK).await.expect("settled");
    }
}

#[tokio::test]
async fn messages_tell_what_the_text_tells_and_all_buckets() {
    let (store, clock) = simulated_store(NOW, 7).await;
    let site = Site::on_store(store, Vec::new()).await;
    let queues = ["emails", "reports", "idle"].map(|name| QueueName::new(name).expect("a queue"));
    let times =
        [(0, 0), (1, 1), (1, 2), (2, 3), (90, 1_000), (1_024, 1_025), (7, 4_000), (7, 4_001)];
    run(&site.hive, &queues[0], &times, |ms| clock.advance_ms(ms)).await;
    run(&site.hive, &queues[1], &[(20, 12), (20, 12), (600_000, 5_000)], |ms| {
        clock.advance_ms(ms);
    })
    .await;
    site.hive.submit(Submission::to(queues[2].clone())).await.expect("submitted");

    let before = samples_of_text(&site.get("/metrics").await.body);
    let families = scrape_messages(&site).await;
    let after = samples_of_text(&site.get("/metrics").await.body);
    let of_messages = samples_of_messages(&families);
    assert!(of_messages.keys().all(|name| before.contains_key(name) || after.contains_key(name)));
    let mut n_equal = 0;
    for (name, value) in before.iter().filter(|(name, value)| after.get(*name) == Some(*value)) {
        if !VOLATILE.iter().any(|prefix| name.starts_with(prefix)) {
            assert_eq!(of_messages.get(name), Some(value), "{name}");
            n_equal += 1;
        }
        assert!(of_messages.contains_key(name), "{name}");
    }
    assert!(n_equal > 100, "{before:?}");

    for (kind, of) in [("wait", 0), ("run", 1)] {
        let called = format!("keyrack_jobs_{kind}_seconds");
        let family = families.iter().find(|family| family["name"] == called.as_str());
        let family = family.expect("the histograms");
        assert_eq!((&family["type"], &family["unit"]), (&"HISTOGRAM".into(), &"seconds".into()));
        assert_eq!(list(&family["metric"]).len(), queues.len());
        for queue in &queues {
            let record = site.hive.times_total(queue).await.expect("the total");
            let times = [&record.wait, &record.run][of];
            let is_of_queue = |metric: &&Json| labels(metric)["queue"] == queue.as_str();
            let metric = list(&family["metric"]).iter().find(is_of_queue).expect("the queue");
            assert_native(&metric["histogram"], times);
        }
    }
    let http = families.iter().find(|family| family["name"] == "keyrack_http_request_seconds");
    let histogram = &http.expect("requests")["metric"][0]["histogram"];
    assert_eq!(number(&histogram["zeroThreshold"]), 0.0, "it has no more buckets than the text");
}
