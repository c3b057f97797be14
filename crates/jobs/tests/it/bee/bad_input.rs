//! What makes no sense: the library refuses it with the field, its value and what is allowed, and nothing in the store is
//! different afterwards.

use std::time::Duration;

use keyrack_jobs::{
    Error,
    bee::{
        Backoff, Change, Hive, Limits, NamedLimit, Rate, Submission, SubmissionBody, Unique,
        keys::{LimitName, QueueName},
    },
};
use keyrack_store::{ServiceError as _, Store};
use keyrack_testkit::keyspace;

use super::fixture::{jid, queue, tag};

const SECOND: Duration = Duration::from_secs(1);
const HUGE: Duration = Duration::MAX;
const MAX: &str = "give 0 to 315360000000 milliseconds";
const MAX_FROM_1: &str = "give 1 to 315360000000 milliseconds";

/// A name, the field, and what the message says of its value and of what is allowed.
type Case<T> = (&'static str, T, &'static str, &'static [&'static str]);

fn job() -> Submission {
    Submission::to(queue("emails")).arg(1)
}

fn submissions() -> Vec<Case<Submission>> {
    let nan = f64::NAN;
    let backoff = |backoff: Backoff| job().backoff(backoff);
    let key = || Unique::by_key("k");
    vec![
        ("a negative delay", job().delay_ms(-5.0), "delay", &["-5 ms", MAX]),
        ("a huge delay", job().delay_ms(1e300), "delay", &["000 ms", MAX]),
        ("a delay without end", job().delay_ms(f64::INFINITY), "delay", &["inf ms", MAX]),
        ("a delay that is no number", job().delay_ms(nan), "delay", &["NaN ms", MAX]),
        ("a priority that is no number", job().priority(nan), "priority", &["NaN", "up to 10"]),
        (
            "a priority below all",
            job().priority(f64::NEG_INFINITY),
            "priority",
            &["-inf", "up to 10"],
        ),
        ("a timeout of nothing", job().timeout(Duration::ZERO), "timeout", &["0 ms", MAX_FROM_1]),
        (
            "a timeout below a millisecond",
            job().timeout(SECOND / 2_000),
            "timeout",
            &["0 ms", MAX_FROM_1],
        ),
        (
            "a huge timeout",
            job().timeout(HUGE),
            "timeout",
            &["18446744073709551615 ms", MAX_FROM_1],
        ),
        (
            "a deadline of nothing",
            job().start_within(Duration::ZERO),
            "startWithin",
            &["0 ms", MAX_FROM_1],
        ),
        (
            "a huge deadline",
            job().start_within(HUGE),
            "startWithin",
            &["18446744073709551615 ms", MAX_FROM_1],
        ),
        ("a huge ttl", job().ttl_ms(u64::MAX), "ttl", &["18446744073709551615 ms", MAX]),
        (
            "a huge ttl of failed jobs",
            job().failed_ttl_ms(u64::MAX),
            "failedTtl",
            &["18446744073709551615 ms", MAX],
        ),
        (
            "a cap below the first wait",
            backoff(Backoff::exponential(SECOND).longest(SECOND / 2)),
            "retryDelayMax",
            &["500 ms", "at least the first wait, 1000 ms"],
        ),
        ("a negative wait", job().retry_delay_ms(-1.0, false), "retryDelay", &["-1 ms", MAX]),
        (
            "a wait that is no number",
            job().retry_delay_ms(nan, true),
            "retryDelay",
            &["NaN ms", MAX],
        ),
        ("a huge wait", backoff(Backoff::linear(HUGE)), "retryDelay", &["000 ms", MAX]),
        (
            "too much chance",
            backoff(Backoff::fixed(SECOND).jitter(1.5)),
            "retryJitter",
            &["1.5", "from 0 to 1"],
        ),
        (
            "chance that is no number",
            backoff(Backoff::fixed(SECOND).jitter(nan)),
            "retryJitter",
            &["NaN", "from 0 to 1"],
        ),
        (
            "a key of 10 kB",
            job().unique(Unique::by_key("x".repeat(10_240))),
            "unique.key",
            &["10240 bytes", "1 to 255"],
        ),
        (
            "a debounce key of 10 kB",
            job().unique(Unique::by_key("x".repeat(10_240)).debounce(SECOND, SECOND)),
            "unique.key",
            &["10240 bytes", "1 to 255"],
        ),
        ("an empty key", job().unique(Unique::by_key("")), "unique.key", &["0 bytes", "1 to 255"]),
        (
            "unique for no time",
            job().unique(key().for_time(Duration::ZERO)),
            "unique.for",
            &["0 ms", MAX_FROM_1],
        ),
        (
            "a throttle of nothing",
            job().unique(key().throttle(Duration::ZERO)),
            "unique.throttle",
            &["0 ms", MAX_FROM_1],
        ),
        (
            "a huge throttle",
            job().unique(key().throttle_folded(HUGE)),
            "unique.throttle",
            &["18446744073709551615 ms", MAX_FROM_1],
        ),
        (
            "a debounce of nothing",
            job().unique(key().debounce(Duration::ZERO, SECOND)),
            "unique.debounce",
            &["0 ms", MAX_FROM_1],
        ),
        (
            "a longest wait below the debounce",
            job().unique(key().debounce(SECOND, SECOND / 2)),
            "unique.debounceMax",
            &["500 ms", "at least the 1000 ms of debounce"],
        ),
        (
            "a delay besides a debounce",
            job().delay_ms(5.0).unique(key().debounce(SECOND, SECOND)),
            "delay",
            &["not with unique.debounce"],
        ),
        ("unique by no id", job().unique(Unique::by_id()), "unique.by", &["id", "give it an id"]),
        (
            "eleven limits",
            (0..11).fold(job(), |job, n| job.limit(&limit(n))),
            "limits",
            &["11", "at most 10"],
        ),
        (
            "too many tags",
            (0..65).fold(job(), |job, n| job.tag(tag(&format!("t{n}")))),
            "tags",
            &["65", "at most 64"],
        ),
        (
            "too many dependencies",
            (0..1_001).fold(job(), |job, n| job.after(jid(&format!("j{n}")))),
            "dependencies",
            &["1001", "at most 1000"],
        ),
        (
            "too much metadata",
            (0..17).fold(job(), |job, n| job.metadata(n.to_string(), "")),
            "metadata",
            &["17", "at most 16"],
        ),
        (
            "long metadata",
            job().metadata("a", "x".repeat(4_096)),
            "metadata",
            &["4097 bytes", "at most 4096"],
        ),
        (
            "metadata without a name",
            job().metadata("", "x"),
            "metadata",
            &["\"\"", "1 to 64 bytes"],
        ),
        (
            "too much data",
            job().arg("x".repeat(1 << 20)),
            "data",
            &["1048582 bytes", "at most 1048576"],
        ),
        (
            "tags that it has not",
            job().after_tags(),
            "dependenciesOnTags",
            &["no tags", "give it the tags"],
        ),
        ("an id with a space", job().id(jid("a b")), "jid", &["\"a b\"", "letters, digits and"]),
        (
            "a job of another group",
            job().after(jid("mail~1")),
            "dependencies",
            &["\"mail~1\"", "one group"],
        ),
    ]
}

fn limit(n: usize) -> LimitName {
    LimitName::new(format!("l{n}")).expect("a limit")
}

fn limits() -> Vec<Case<Limits>> {
    let none = Limits::default;
    let rate = |max, per_ms| Some(Rate { max, per_ms });
    let named = |name: &str, concurrency, rate| Limits {
        named: [(name.to_owned(), NamedLimit { concurrency, rate })].into(),
        ..none()
    };
    let weight = |weight| Limits { tenant_weights: [("acme".to_owned(), weight)].into(), ..none() };
    let many = (0..1_001).map(|n| (format!("l{n}"), NamedLimit::default()));
    let short = Backoff::fixed(SECOND).longest(SECOND / 2);
    vec![
        (
            "nothing at once",
            Limits { concurrency: Some(0), ..none() },
            "concurrency",
            &["0", "at least 1"],
        ),
        ("a rate of zero", Limits { rate: rate(0, 1), ..none() }, "rate.max", &["0", "at least 1"]),
        (
            "a rate in no time",
            Limits { rate: rate(1, 0), ..none() },
            "rate.per_ms",
            &["0 ms", "1 to 86400000"],
        ),
        (
            "a rate in a huge time",
            Limits { rate: rate(1, u64::MAX), ..none() },
            "rate.per_ms",
            &["18446744073709551615 ms", "1 to 86400000"],
        ),
        (
            "a rate of zero per tenant",
            Limits { tenant_rate: rate(0, 1), ..none() },
            "tenant_rate.max",
            &["0", "at least 1"],
        ),
        ("a weight of zero", weight(0), "tenant_weights", &["0 for \"acme\"", "1 to 100"]),
        ("a weight of 101", weight(101), "tenant_weights", &["101 for \"acme\"", "1 to 100"]),
        (
            "nothing for a tenant",
            Limits { tenants: [("acme".into(), 0)].into(), ..none() },
            "tenants",
            &["0 for \"acme\"", "at least 1"],
        ),
        (
            "a pause of nobody",
            Limits { paused_tenants: [String::new()].into(), ..none() },
            "paused_tenants",
            &["empty", "1 to 256 bytes"],
        ),
        ("a limit without a name", named("", Some(1), None), "named", &["empty", "1 to 256 bytes"]),
        (
            "a limit of zero",
            named("gpu", Some(0), None),
            "named.concurrency",
            &["0 for \"gpu\"", "at least 1"],
        ),
        (
            "a named rate of zero",
            named("gpu", None, rate(0, 1)),
            "named.rate.max",
            &["0 for \"gpu\"", "at least 1"],
        ),
        (
            "too many limits",
            Limits { named: many.collect(), ..none() },
            "named",
            &["1001", "at most 1000"],
        ),
        (
            "a cap below the first wait",
            Limits { backoff: Some(short), ..none() },
            "backoff.max_ms",
            &["500 ms", "1000 ms"],
        ),
        (
            "a timeout of nothing",
            Limits { timeout_ms: Some(0), ..none() },
            "timeout_ms",
            &["0 ms", MAX_FROM_1],
        ),
        (
            "a huge ttl",
            Limits { failed_ttl_ms: Some(u64::MAX), ..none() },
            "failed_ttl_ms",
            &["18446744073709551615 ms", MAX],
        ),
    ]
}

fn changes() -> Vec<Case<Change>> {
    let none = Change::default;
    vec![
        ("a negative delay", Change { delay: Some(-1.0), ..none() }, "delay", &["-1 ms", MAX]),
        (
            "a delay that is no number",
            Change { delay: Some(f64::NAN), ..none() },
            "delay",
            &["NaN ms", MAX],
        ),
        (
            "a time without end",
            Change { at: Some(u64::MAX), ..none() },
            "at",
            &["18446744073709551615", "ms from now"],
        ),
        (
            "a priority of 11",
            Change { priority: Some(11.0), ..none() },
            "priority",
            &["11", "at most 10"],
        ),
        (
            "a timeout of nothing",
            Change { timeout: Some(Some(0)), ..none() },
            "timeout",
            &["0 ms", MAX_FROM_1],
        ),
        (
            "a huge deadline",
            Change { start_within: Some(Some(u64::MAX)), ..none() },
            "startWithin",
            &["18446744073709551615 ms", MAX_FROM_1],
        ),
        (
            "a cap below the first wait",
            Change { retry_delay_max: Some(1.0), ..none() },
            "retryDelayMax",
            &["1 ms", "30000 ms"],
        ),
        (
            "too much chance",
            Change { retry_jitter: Some(2.0), ..none() },
            "retryJitter",
            &["2", "from 0 to 1"],
        ),
        (
            "a queue without a name",
            Change { queue: Some(String::new()), ..none() },
            "queue",
            &["empty", "1 to 256 bytes"],
        ),
        (
            "a host without a name",
            Change { preferred_hostname: Some(Some(String::new())), ..none() },
            "preferredHostname",
            &["empty", "1 to 256 bytes"],
        ),
        (
            "data that is no list",
            none().with_args_json("{}").expect("JSON"),
            "data",
            &["not a JSON list"],
        ),
    ]
}

/// A store with a job that waits.
async fn hive() -> Hive {
    let hive = Hive::open(Store::open("embedded:memory").await.expect("a store")).await;
    let hive = hive.expect("a hive");
    hive.submit(job().id(jid("waits")).delay_ms(1e9)).await.expect("submitted");
    hive
}

async fn held(hive: &Hive) -> Vec<String> {
    let held = keyspace().query_async(&mut hive.store().connection()).await;
    held.expect("what the store holds")
}

#[track_caller]
fn check<T: std::fmt::Debug>(name: &str, refused: Result<T, Error>, field: &str, says: &[&str]) {
    let Err(error) = refused else { panic!("{name} was taken: {refused:?}") };
    let message = error.to_string();
    assert_eq!(error.info().field, Some(field), "{name}: {message}");
    assert!(message.starts_with(&format!("{field}: ")), "{name}: {message}");
    for words in says {
        assert!(message.contains(words), "{name}: {message} lacks {words}");
    }
}

#[tokio::test]
async fn it_is_refused_by_field_and_nothing_is_stored() {
    let hive = hive().await;
    let before = held(&hive).await;
    for (name, job, field, says) in submissions() {
        check(name, job.validate(), field, says);
        check(name, hive.submit(job.clone()).await, field, says);
        let refused = hive.submit_whole(vec![self::job(), job]).await;
        check(name, refused.map_err(|refused| refused.error), field, says);
        assert_eq!(held(&hive).await, before, "{name}");
    }
    for (name, limits, field, says) in limits() {
        check(name, hive.set_limits(&queue("emails"), &limits).await, field, says);
        assert_eq!(held(&hive).await, before, "{name}");
    }
    for (name, change, field, says) in changes() {
        check(name, hive.change_job(&jid("waits"), &change).await, field, says);
        assert_eq!(held(&hive).await, before, "{name}");
    }
}

#[test]
fn names_of_a_body_are_refused_by_field() {
    let long = "x".repeat(257);
    let lists = ["dependencies", "tags", "limits"];
    for field in ["jid", "parent", "tenant", "preferredHostname"].into_iter().chain(lists) {
        for (name, allowed) in [("", "1 to 256 bytes"), (long.as_str(), "at most 256")] {
            let value = match lists.contains(&field) {
                true => serde_json::json!({ field: [name] }),
                false => serde_json::json!({ field: name }),
            };
            let body: SubmissionBody = serde_json::from_value(value).expect("a body");
            let queue: QueueName = queue("emails");
            check(field, body.to_queue(queue), field, &[allowed]);
        }
    }
}
