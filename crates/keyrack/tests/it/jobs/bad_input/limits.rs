//! Limits of a queue that make no sense.

use super::{Case, Door::Limits, case};

const AT_LEAST_1: &str = "give at least 1";
const WHOLE: &str = "a whole number";

pub(super) fn cases() -> Vec<Case> {
    [numbers(), tenants(), named(), rest()].into_iter().flatten().collect()
}

fn numbers() -> Vec<Case> {
    vec![
        case("nothing at once")
            .http(Limits, r#"{"concurrency": 0}"#, "concurrency", &["concurrency: 0", AT_LEAST_1])
            .cli("jobs limits q --concurrency 0", &["concurrency: 0", AT_LEAST_1]),
        case("less than nothing at once")
            .http(Limits, r#"{"concurrency": -1}"#, "concurrency", &["-1", WHOLE])
            .cli("jobs limits q --concurrency -1", &["--concurrency", "'-1'", WHOLE]),
        case("half a job at once")
            .http(Limits, r#"{"concurrency": 1.5}"#, "concurrency", &["1.5", WHOLE])
            .cli("jobs limits q --concurrency 1.5", &["--concurrency", "'1.5'", WHOLE]),
        case("more at once than can be counted")
            .http(
                Limits,
                r#"{"concurrency": 18446744073709551616}"#,
                "concurrency",
                &["1.8446744073709552e+19", WHOLE],
            )
            .cli(
                "jobs limits q --concurrency 18446744073709551616",
                &["'18446744073709551616'", WHOLE],
            ),
        case("a rate of zero")
            .http(
                Limits,
                r#"{"rate": {"max": 0, "per_ms": 1000}}"#,
                "rate.max",
                &["rate.max: 0", AT_LEAST_1],
            )
            .cli("jobs limits q --rate 0/1s", &["rate.max: 0", AT_LEAST_1]),
        case("a rate in no time")
            .http(
                Limits,
                r#"{"rate": {"max": 1, "per_ms": 0}}"#,
                "rate.per_ms",
                &["0 ms", "1 to 86400000"],
            )
            .cli("jobs limits q --rate 1/0s", &["--rate", "'1/0s'", "more than 0"]),
        case("a rate in more than a day")
            .http(
                Limits,
                r#"{"rate": {"max": 1, "per_ms": 86400001}}"#,
                "rate.per_ms",
                &["86400001 ms", "1 to 86400000"],
            )
            .cli("jobs limits q --rate 1/25h", &["rate.per_ms: 90000000 ms", "1 to 86400000"]),
        case("a rate without a time")
            .http(Limits, r#"{"rate": {"max": 1}}"#, "rate", &["missing field `per_ms`"])
            .cli("jobs limits q --rate 10", &["--rate", "'10'", "such as 10/1s"]),
        case("a negative rate")
            .http(Limits, r#"{"rate": {"max": -1, "per_ms": 1}}"#, "rate.max", &["-1", WHOLE])
            .cli("jobs limits q --rate -1/1s", &["--rate", "'-1/1s'", "such as 10/1s"]),
        case("nothing completed is kept")
            .http(
                Limits,
                r#"{"completed_max": 0}"#,
                "completed_max",
                &["completed_max: 0", AT_LEAST_1],
            )
            .cli("jobs limits q --keep-completed 0", &["completed_max: 0", AT_LEAST_1]),
        case("nothing failed is kept")
            .http(Limits, r#"{"failed_max": 0}"#, "failed_max", &["failed_max: 0", AT_LEAST_1])
            .cli("jobs limits q --keep-failed 0", &["failed_max: 0", AT_LEAST_1]),
    ]
}

fn tenants() -> Vec<Case> {
    let long = "x".repeat(300);
    let many = (0..1_001).map(|n| format!("\"t{n}\": 1")).collect::<Vec<_>>().join(",");
    vec![
        case("nothing at once for a tenant")
            .http(Limits, r#"{"tenants": {"acme": 0}}"#, "tenants", &["0 for \"acme\"", AT_LEAST_1])
            .cli("jobs limits q --tenant acme=0", &["tenants: 0 for \"acme\"", AT_LEAST_1]),
        case("nothing at once for each tenant")
            .http(
                Limits,
                r#"{"tenant_concurrency": 0}"#,
                "tenant_concurrency",
                &["0; ", AT_LEAST_1],
            )
            .cli("jobs limits q --tenant-concurrency 0", &["tenant_concurrency: 0", AT_LEAST_1]),
        case("a weight of zero")
            .http(
                Limits,
                r#"{"tenant_weights": {"acme": 0}}"#,
                "tenant_weights",
                &["0 for \"acme\"", "1 to 100"],
            )
            .cli(
                "jobs limits q --tenant-weight acme=0",
                &["tenant_weights: 0 for \"acme\"", "1 to 100"],
            ),
        case("a weight of 101")
            .http(
                Limits,
                r#"{"tenant_weights": {"acme": 101}}"#,
                "tenant_weights",
                &["101 for \"acme\"", "1 to 100"],
            )
            .cli(
                "jobs limits q --tenant-weight acme=101",
                &["tenant_weights: 101 for \"acme\"", "1 to 100"],
            ),
        case("a negative weight")
            .http(
                Limits,
                r#"{"tenant_weights": {"acme": -3}}"#,
                "tenant_weights.acme",
                &["-3", WHOLE],
            )
            .cli("jobs limits q --tenant-weight acme=-3", &["--tenant-weight", "'acme=-3'", WHOLE]),
        case("a weight and a half")
            .http(
                Limits,
                r#"{"tenant_weights": {"acme": 1.5}}"#,
                "tenant_weights.acme",
                &["1.5", WHOLE],
            )
            .cli(
                "jobs limits q --tenant-weight acme=1.5",
                &["--tenant-weight", "'acme=1.5'", WHOLE],
            ),
        case("a weight of nobody")
            .http(
                Limits,
                r#"{"tenant_weights": {"": 2}}"#,
                "tenant_weights",
                &["empty", "1 to 256 bytes"],
            )
            .cli(
                "jobs limits q --tenant-weight =2",
                &["--tenant-weight", "'=2'", "1 to 256 bytes"],
            ),
        case("a tenant's rate of zero")
            .http(
                Limits,
                r#"{"tenant_rates": {"acme": {"max": 0, "per_ms": 9}}}"#,
                "tenant_rates.max",
                &["0 for \"acme\"", AT_LEAST_1],
            )
            .cli(
                "jobs limits q --tenant-rate acme=0/1s",
                &["tenant_rates.max: 0 for \"acme\"", AT_LEAST_1],
            ),
        case("each tenant's rate of zero")
            .http(
                Limits,
                r#"{"tenant_rate": {"max": 0, "per_ms": 9}}"#,
                "tenant_rate.max",
                &["0; ", AT_LEAST_1],
            )
            .cli("jobs limits q --tenant-rate 0/1s", &["tenant_rate.max: 0", AT_LEAST_1]),
        case("a pause of nobody")
            .http(
                Limits,
                r#"{"paused_tenants": [""]}"#,
                "paused_tenants",
                &["empty", "1 to 256 bytes"],
            )
            .cli("jobs limits q --pause-tenant=", &["--pause-tenant", "empty", "1 to 256 bytes"]),
        case("a pause of a long name")
            .http(
                Limits,
                format!(r#"{{"paused_tenants": ["{long}"]}}"#),
                "paused_tenants",
                &["300 bytes", "at most 256"],
            )
            .cli(
                format!("jobs limits q --pause-tenant {long}"),
                &["--pause-tenant", "300 bytes", "at most 256"],
            ),
        case("too many tenants").http(
            Limits,
            format!(r#"{{"tenants": {{{many}}}}}"#),
            "tenants",
            &["tenants: 1001", "at most 1000"],
        ),
    ]
}

fn named() -> Vec<Case> {
    let long = "x".repeat(300);
    let limit = r#"{"concurrency": 1}"#;
    let many = (0..1_001).map(|n| format!("\"n{n}\": {limit}")).collect::<Vec<_>>().join(",");
    let typed = (0..1_001).map(|n| format!(" --limit n{n}=1")).collect::<String>();
    vec![
        case("nothing at once under a name")
            .http(
                Limits,
                r#"{"named": {"gpu": {"concurrency": 0}}}"#,
                "named.concurrency",
                &["0 for \"gpu\"", AT_LEAST_1],
            )
            .cli("jobs limits q --limit gpu=0", &["named.concurrency: 0 for \"gpu\"", AT_LEAST_1]),
        case("a rate of zero under a name")
            .http(
                Limits,
                r#"{"named": {"gpu": {"rate": {"max": 0, "per_ms": 9}}}}"#,
                "named.rate.max",
                &["0 for \"gpu\"", AT_LEAST_1],
            )
            .cli("jobs limits q --limit gpu=0/1s", &["named.rate.max: 0 for \"gpu\"", AT_LEAST_1]),
        case("a rate in a week under a name")
            .http(
                Limits,
                r#"{"named": {"gpu": {"rate": {"max": 1, "per_ms": 604800000}}}}"#,
                "named.rate.per_ms",
                &["604800000 ms for \"gpu\"", "1 to 86400000"],
            )
            .cli(
                "jobs limits q --limit gpu=1/7d",
                &["named.rate.per_ms: 604800000 ms for \"gpu\"", "1 to 86400000"],
            ),
        case("a limit without a name")
            .http(
                Limits,
                format!(r#"{{"named": {{"": {limit}}}}}"#),
                "named",
                &["named: ", "empty", "1 to 256 bytes"],
            )
            .cli("jobs limits q --limit =1", &["--limit", "'=1'", "1 to 256 bytes"]),
        case("a limit with a long name")
            .http(
                Limits,
                format!(r#"{{"named": {{"{long}": {limit}}}}}"#),
                "named",
                &["300 bytes", "at most 256"],
            )
            .cli(
                format!("jobs limits q --limit {long}=1"),
                &["--limit", "300 bytes", "at most 256"],
            ),
        case("a limit of no number")
            .http(
                Limits,
                r#"{"named": {"gpu": {"concurrency": "two"}}}"#,
                "named.gpu.concurrency",
                &["\"two\"", WHOLE],
            )
            .cli("jobs limits q --limit gpu=two", &["--limit", "'gpu=two'", "such as gpu=2"]),
        case("too many limits")
            .http(
                Limits,
                format!(r#"{{"named": {{{many}}}}}"#),
                "named",
                &["named: 1001", "at most 1000"],
            )
            .cli(format!("jobs limits q{typed}"), &["named: 1001", "at most 1000"]),
    ]
}

fn rest() -> Vec<Case> {
    vec![
        case("a cap below the first wait")
            .http(
                Limits,
                r#"{"backoff": {"kind": "linear", "delay_ms": 9, "max_ms": 8}}"#,
                "backoff.max_ms",
                &["backoff.max_ms: 8 ms", "at least the first wait, 9 ms"],
            )
            .cli(
                "jobs limits q --retry-delay 9s --retry-delay-max 8s",
                &["backoff.max_ms: 8000 ms", "at least the first wait, 9000 ms"],
            ),
        case("a negative wait")
            .http(
                Limits,
                r#"{"backoff": {"delay_ms": -1}}"#,
                "backoff.delay_ms",
                &["-1 ms", "0 to 315360000000"],
            )
            .cli("jobs limits q --retry-delay -1s", &["--retry-delay", "'-1s'", "such as 5s"]),
        case("more chance than there is")
            .http(
                Limits,
                r#"{"backoff": {"jitter": 2}}"#,
                "backoff.jitter",
                &["2; ", "from 0 to 1"],
            )
            .cli("jobs limits q --retry-jitter 2", &["--retry-jitter", "'2'", "from 0 to 1"]),
        case("more retries than can be counted")
            .http(
                Limits,
                r#"{"retries": 4294967296}"#,
                "retries",
                &["4294967296", "0 to 4294967295"],
            )
            .cli(
                "jobs limits q --retries 4294967296",
                &["--retries", "'4294967296'", "0 to 4294967295"],
            ),
        case("a timeout of nothing")
            .http(
                Limits,
                r#"{"timeout_ms": 0}"#,
                "timeout_ms",
                &["timeout_ms: 0 ms", "1 to 315360000000"],
            )
            .cli("jobs limits q --timeout 0", &["timeout_ms: 0 ms", "1 to 315360000000"]),
        case("a negative timeout")
            .http(Limits, r#"{"timeout_ms": -1}"#, "timeout_ms", &["-1", WHOLE])
            .cli("jobs limits q --timeout -1s", &["--timeout", "'-1s'", "such as 5s"]),
        case("a huge timeout")
            .http(
                Limits,
                r#"{"timeout_ms": 315360000001}"#,
                "timeout_ms",
                &["315360000001 ms", "1 to 315360000000"],
            )
            .cli("jobs limits q --timeout 3651d", &["--timeout", "'3651d'", "at most 3650d"]),
        case("a target of nothing")
            .http(
                Limits,
                r#"{"wait_target_ms": 0}"#,
                "wait_target_ms",
                &["0 ms", "1 to 315360000000"],
            )
            .cli("jobs limits q --wait-target 0", &["wait_target_ms: 0 ms", "1 to 315360000000"]),
        case("a huge ttl of failed jobs")
            .http(
                Limits,
                r#"{"failed_ttl_ms": 315360000001}"#,
                "failed_ttl_ms",
                &["315360000001 ms", "0 to 315360000000"],
            )
            .cli("jobs limits q --failed-ttl 3651d", &["--failed-ttl", "'3651d'", "at most 3650d"]),
        case("an unknown limit")
            .http(
                Limits,
                r#"{"concurency": 5}"#,
                "concurency",
                &["unknown field `concurency`", "`concurrency`"],
            )
            .cli("jobs limits q --concurency 5", &["--concurency", "--concurrency"]),
        case("no limits at all").http(Limits, "", "body", &["there is none", "send {}"]),
    ]
}
