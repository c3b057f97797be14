//! Jobs that make no sense.

use super::{Case, Door::Submit, case};

const MAX: &str = "0 to 315360000000 milliseconds";
const MAX_FROM_1: &str = "1 to 315360000000 milliseconds";
const U32: &str = "give a whole number from 0 to 4294967295";

pub(super) fn cases() -> Vec<Case> {
    [times(), retries(), unique(), names(), amounts(), shapes()].into_iter().flatten().collect()
}

fn times() -> Vec<Case> {
    vec![
        case("a negative delay")
            .http(Submit, r#"{"delay": -5}"#, "delay", &["delay: -5 ms", MAX])
            .cli("jobs submit q 1 --delay -5s", &["--delay", "'-5s'", "such as 5s"]),
        case("a huge delay")
            .http(Submit, r#"{"delay": 1e300}"#, "delay", &["000 ms", MAX])
            .cli("jobs submit q 1 --delay 99999d", &["--delay", "'99999d'", "at most 3650d"]),
        case("a delay beyond all numbers").http(
            Submit,
            r#"{"delay": 1e999}"#,
            "",
            &["out of range"],
        ),
        case("a delay that is no number")
            .http(Submit, r#"{"delay": "NaN"}"#, "delay", &["\"NaN\"", "give a number"])
            .cli("jobs submit q 1 --delay NaN", &["--delay", "'NaN'", "such as 250ms"]),
        case("a delay without a unit")
            .cli("jobs submit q 1 --delay 1.5s", &["--delay", "'1.5s'", "such as"]),
        case("a negative timeout")
            .http(Submit, r#"{"timeout": -1}"#, "timeout", &["-1", "whole number of at least 0"])
            .cli("jobs submit q 1 --timeout -1s", &["--timeout", "'-1s'", "such as 5s"]),
        case("a timeout of nothing")
            .http(Submit, r#"{"timeout": 0}"#, "timeout", &["timeout: 0 ms", MAX_FROM_1])
            .cli("jobs submit q 1 --timeout 0s", &["--timeout", "'0s'", "more than 0"]),
        case("a huge timeout")
            .http(
                Submit,
                r#"{"timeout": 315360000001}"#,
                "timeout",
                &["315360000001 ms", MAX_FROM_1],
            )
            .cli("jobs submit q 1 --timeout 3651d", &["--timeout", "'3651d'", "at most 3650d"]),
        case("a part of a millisecond").http(
            Submit,
            r#"{"timeout": 1.5}"#,
            "timeout",
            &["1.5", "whole number of at least 0"],
        ),
        case("a start deadline of nothing")
            .http(
                Submit,
                r#"{"startWithin": 0}"#,
                "startWithin",
                &["startWithin: 0 ms", MAX_FROM_1],
            )
            .cli("jobs submit q 1 --start-within 0", &["--start-within", "'0'", "more than 0"]),
        case("a start deadline before now")
            .http(Submit, r#"{"startWithin": -1}"#, "startWithin", &["-1", "at least 0"])
            .cli("jobs submit q 1 --start-within -1m", &["--start-within", "'-1m'", "such as 5s"]),
        case("a huge start deadline")
            .http(
                Submit,
                r#"{"startWithin": 18446744073709551615}"#,
                "startWithin",
                &["18446744073709551615 ms", MAX_FROM_1],
            )
            .cli(
                "jobs submit q 1 --start-within 9999d",
                &["--start-within", "'9999d'", "at most 3650d"],
            ),
        case("a huge ttl")
            .http(Submit, r#"{"ttl": 315360000001}"#, "ttl", &["ttl: 315360000001 ms", MAX])
            .cli("jobs submit q 1 --ttl 9999d", &["--ttl", "'9999d'", "at most 3650d"]),
        case("a negative ttl")
            .http(Submit, r#"{"ttl": -1}"#, "ttl", &["-1", "whole number of at least 0"])
            .cli("jobs submit q 1 --ttl -1s", &["--ttl", "'-1s'", "such as 5s"]),
        case("a huge ttl of failed jobs")
            .http(Submit, r#"{"failedTtl": 315360000001}"#, "failedTtl", &["315360000001 ms", MAX])
            .cli(
                "jobs submit q 1 --failed-ttl 9999d",
                &["--failed-ttl", "'9999d'", "at most 3650d"],
            ),
    ]
}

fn retries() -> Vec<Case> {
    vec![
        case("a cap below the first wait")
            .http(
                Submit,
                r#"{"retryDelay": 1000, "retryDelayMax": 999}"#,
                "retryDelayMax",
                &[
                    "retryDelayMax: 999 ms",
                    "at least the first wait, 1000 ms",
                    "at most 315360000000 ms",
                ],
            )
            .cli(
                "jobs submit q 1 --retry-delay 1s --retry-delay-max 999ms",
                &["retryDelayMax: 999 ms", "at least the first wait, 1000 ms"],
            ),
        case("a cap below the first wait of most jobs")
            .http(Submit, r#"{"retryDelayMax": 1}"#, "retryDelayMax", &["1 ms", "30000 ms"])
            .cli("jobs submit q 1 --retry-delay-max 1s", &["retryDelayMax: 1000 ms", "30000 ms"]),
        case("a negative wait")
            .http(Submit, r#"{"retryDelay": -1}"#, "retryDelay", &["retryDelay: -1 ms", MAX])
            .cli("jobs submit q 1 --retry-delay -1s", &["--retry-delay", "'-1s'", "such as 5s"]),
        case("a huge wait")
            .http(Submit, r#"{"retryDelay": 1e13}"#, "retryDelay", &["10000000000000 ms", MAX])
            .cli(
                "jobs submit q 1 --retry-delay 9999d",
                &["--retry-delay", "'9999d'", "at most 3650d"],
            ),
        case("more chance than there is")
            .http(
                Submit,
                r#"{"retryJitter": 1.5}"#,
                "retryJitter",
                &["retryJitter: 1.5", "from 0 to 1"],
            )
            .cli("jobs submit q 1 --retry-jitter 1.5", &["--retry-jitter", "'1.5'", "from 0 to 1"]),
        case("less chance than none")
            .http(Submit, r#"{"retryJitter": -0.5}"#, "retryJitter", &["-0.5", "from 0 to 1"])
            .cli(
                "jobs submit q 1 --retry-jitter -0.5",
                &["--retry-jitter", "'-0.5'", "from 0 to 1"],
            ),
        case("chance that is no number")
            .cli("jobs submit q 1 --retry-jitter NaN", &["--retry-jitter", "'NaN'", "from 0 to 1"]),
        case("a backoff that there is not")
            .http(
                Submit,
                r#"{"backoff": "steep"}"#,
                "backoff",
                &["steep", "`fixed`", "`exponential`"],
            )
            .cli(
                "jobs submit q 1 --backoff steep",
                &["--backoff", "'steep'", "\"fixed\"", "\"exponential\""],
            ),
        case("two kinds of backoff")
            .http(
                Submit,
                r#"{"backoff": "fixed", "progressiveDelay": true}"#,
                "backoff",
                &["fixed and progressive", "one of them"],
            )
            .cli(
                "jobs submit q 1 --backoff fixed --progressive",
                &["backoff: fixed and progressive", "one of them"],
            ),
        case("fewer retries than none")
            .http(Submit, r#"{"retries": -1}"#, "retries", &["-1", U32])
            .cli("jobs submit q 1 --retries -1", &["--retries", "'-1'", U32]),
        case("more retries than can be counted")
            .http(Submit, r#"{"retries": 4294967296}"#, "retries", &["4294967296", U32])
            .cli("jobs submit q 1 --retries 4294967296", &["--retries", "'4294967296'", U32]),
        case("half a retry")
            .http(Submit, r#"{"retries": 1.5}"#, "retries", &["1.5", U32])
            .cli("jobs submit q 1 --retries 1.5", &["--retries", "'1.5'", U32]),
        case("a priority of 11")
            .http(Submit, r#"{"priority": 11}"#, "priority", &["priority: 11", "at most 10"])
            .cli("jobs submit q 1 --priority 11", &["--priority", "'11'", "at most 10"]),
        case("a priority that is no number")
            .http(Submit, r#"{"priority": "high"}"#, "priority", &["\"high\"", "give a number"])
            .cli("jobs submit q 1 --priority NaN", &["--priority", "'NaN'", "at most 10"]),
    ]
}

fn unique() -> Vec<Case> {
    let long = "x".repeat(10_240);
    let key_of_10_kb = format!(r#"{{"unique": {{"key": "{long}"}}}}"#);
    let debounced = format!(r#"{{"unique": {{"key": "{long}", "debounce": 5}}}}"#);
    const LENGTH: [&str; 3] = ["unique.key", "10240 bytes", "1 to 255"];
    vec![
        case("a key of 10 kB")
            .http(Submit, key_of_10_kb, "unique.key", &LENGTH)
            .cli(format!("jobs submit q 1 --unique {long}"), &LENGTH),
        case("a debounce key of 10 kB")
            .http(Submit, debounced, "unique.key", &LENGTH)
            .cli(format!("jobs submit q 1 --unique {long} --debounce 5s"), &LENGTH),
        case("an empty key")
            .http(Submit, r#"{"unique": {"key": ""}}"#, "unique.key", &["0 bytes", "1 to 255"])
            .cli("jobs submit q 1 --unique=", &["unique.key", "0 bytes", "1 to 255"]),
        case("a key and arguments")
            .http(
                Submit,
                r#"{"unique": {"key": "k", "by": "args"}}"#,
                "unique.by",
                &["besides a key", "one of them"],
            )
            .cli("jobs submit q 1 --unique k --unique-by args", &["--unique", "--unique-by"]),
        case("by an id that there is not")
            .http(Submit, r#"{"unique": {"by": "id"}}"#, "unique.by", &["id", "give it an id"])
            .cli("jobs submit q 1 --unique-by id", &["unique.by: id", "give it an id"]),
        case("by something else")
            .http(Submit, r#"{"unique": {"by": "name"}}"#, "unique.by", &["name", "`id`", "`args`"])
            .cli("jobs submit q 1 --unique-by name", &["--unique-by", "'name'", "give id or args"]),
        case("until something else")
            .http(
                Submit,
                r#"{"unique": {"until": "then"}}"#,
                "unique.until",
                &["then", "`started`", "`ended`"],
            )
            .cli(
                "jobs submit q 1 --unique-until then",
                &["--unique-until", "'then'", "started or ended"],
            ),
        case("unique for no time")
            .http(
                Submit,
                r#"{"unique": {"for": 0}}"#,
                "unique.for",
                &["unique.for: 0 ms", MAX_FROM_1],
            )
            .cli("jobs submit q 1 --unique-for 0s", &["--unique-for", "'0s'", "more than 0"]),
        case("unique for a part of a millisecond").http(
            Submit,
            r#"{"unique": {"for": 0.5}}"#,
            "unique.for",
            &["0.5", "whole number"],
        ),
        case("a debounce of nothing")
            .http(
                Submit,
                r#"{"unique": {"debounce": 0}}"#,
                "unique.debounce",
                &["0 ms", MAX_FROM_1],
            )
            .cli("jobs submit q 1 --debounce 0s", &["--debounce", "'0s'", "more than 0"]),
        case("a huge debounce")
            .http(
                Submit,
                r#"{"unique": {"debounce": 315360000001}}"#,
                "unique.debounce",
                &["315360000001 ms", MAX_FROM_1],
            )
            .cli("jobs submit q 1 --debounce 9999d", &["--debounce", "'9999d'", "at most 3650d"]),
        case("a longest wait below the debounce")
            .http(
                Submit,
                r#"{"unique": {"debounce": 9, "debounceMax": 8}}"#,
                "unique.debounceMax",
                &["unique.debounceMax: 8 ms", "at least the 9 ms of debounce"],
            )
            .cli(
                "jobs submit q 1 --debounce 5s --debounce-max 1s",
                &["unique.debounceMax: 1000 ms", "at least the 5000 ms of debounce"],
            ),
        case("a longest wait without a debounce")
            .http(
                Submit,
                r#"{"unique": {"debounceMax": 8}}"#,
                "unique.debounceMax",
                &["without debounce"],
            )
            .cli("jobs submit q 1 --debounce-max 1s", &["--debounce"]),
        case("a throttle of nothing")
            .http(
                Submit,
                r#"{"unique": {"throttle": 0}}"#,
                "unique.throttle",
                &["0 ms", MAX_FROM_1],
            )
            .cli("jobs submit q 1 --throttle 0s", &["--throttle", "'0s'", "more than 0"]),
        case("a fold of nothing")
            .http(Submit, r#"{"unique": {"fold": true}}"#, "unique.fold", &["without throttle"])
            .cli("jobs submit q 1 --fold", &["--throttle"]),
        case("two scopes")
            .http(
                Submit,
                r#"{"unique": {"debounce": 9, "throttle": 9}}"#,
                "unique.throttle",
                &["besides unique.debounce", "one of them"],
            )
            .cli("jobs submit q 1 --debounce 5s --throttle 5s", &["--debounce", "--throttle"]),
        case("a delay of a debounced job")
            .http(
                Submit,
                r#"{"delay": 5, "unique": {"debounce": 9}}"#,
                "delay",
                &["not with unique.debounce"],
            )
            .cli("jobs submit q 1 --delay 5s --debounce 9s", &["delay: not with unique.debounce"]),
        case("an unknown field of a unique job")
            .http(Submit, r#"{"unique": {"kye": "k"}}"#, "unique.kye", &["`kye`", "`key`"])
            .cli("jobs submit q 1 --uniqe k", &["--uniqe"]),
    ]
}

fn names() -> Vec<Case> {
    let long = "x".repeat(300);
    vec![
        case("a limit without a name")
            .http(Submit, r#"{"limits": [""]}"#, "limits", &["limits: ", "empty", "1 to 256 bytes"])
            .cli("jobs submit q 1 --limit=", &["--limit", "empty", "1 to 256 bytes"]),
        case("a limit with a long name")
            .http(
                Submit,
                format!(r#"{{"limits": ["{long}"]}}"#),
                "limits",
                &["limits: ", "300 bytes", "at most 256"],
            )
            .cli(
                format!("jobs submit q 1 --limit {long}"),
                &["--limit", "300 bytes", "at most 256"],
            ),
        case("a tenant without a name")
            .http(Submit, r#"{"tenant": ""}"#, "tenant", &["tenant: ", "empty", "1 to 256 bytes"])
            .cli("jobs submit q 1 --tenant=", &["--tenant", "empty", "1 to 256 bytes"]),
        case("a long tag")
            .http(
                Submit,
                format!(r#"{{"tags": ["{long}"]}}"#),
                "tags",
                &["tags: ", "300 bytes", "at most 256"],
            )
            .cli(format!("jobs submit q 1 --tag {long}"), &["--tag", "300 bytes", "at most 256"]),
        case("a long host")
            .http(
                Submit,
                format!(r#"{{"preferredHostname": "{long}"}}"#),
                "preferredHostname",
                &["preferredHostname: ", "300 bytes", "at most 256"],
            )
            .cli(format!("jobs submit q 1 --host {long}"), &["--host", "300 bytes", "at most 256"]),
        case("an id with a space")
            .http(Submit, r#"{"jid": "a b"}"#, "jid", &["jid: \"a b\"", "letters, digits and"])
            .cli("jobs submit q 1 --id a~b", &["jid: \"a b\"", "letters, digits and"]),
        case("an id of the keys")
            .http(Submit, r#"{"jid": "tags"}"#, "jid", &["jid: \"tags\"", "another key family"])
            .cli("jobs submit q 1 --id tags", &["--id", "'tags'", "another key family"]),
        case("a dependency of another group")
            .http(
                Submit,
                r#"{"dependencies": ["mail~1"]}"#,
                "dependencies",
                &["\"mail~1\"", "one group"],
            )
            .cli(
                "jobs submit mail/send 1 --after waits",
                &["dependencies: \"waits\"", "one group"],
            ),
        case("a parent of another group")
            .http(Submit, r#"{"parent": "mail~1"}"#, "parent", &["\"mail~1\"", "one group"])
            .cli("jobs submit mail/send 1 --parent waits", &["parent: \"waits\"", "one group"]),
        case("a span that is none")
            .http(Submit, r#"{"traceparent": "00-1"}"#, "traceparent", &["traceparent: "])
            .cli("jobs submit q 1 --traceparent 00-1", &["traceparent: "]),
    ]
}

fn amounts() -> Vec<Case> {
    let names = |n: usize| (0..n).map(|n| format!("\"n{n}\"")).collect::<Vec<_>>().join(",");
    let typed =
        |flag: &str, n: usize| (0..n).map(|n| format!(" --{flag} n{n}")).collect::<String>();
    let entries = (0..17).map(|n| format!("\"n{n}\":\"\"")).collect::<Vec<_>>().join(",");
    let typed_entries = (0..17).map(|n| format!(" --metadata n{n}=x")).collect::<String>();
    let long = "x".repeat(4_200);
    vec![
        case("eleven limits")
            .http(
                Submit,
                format!(r#"{{"limits": [{}]}}"#, names(11)),
                "limits",
                &["limits: 11", "at most 10"],
            )
            .cli(format!("jobs submit q 1{}", typed("limit", 11)), &["limits: 11", "at most 10"]),
        case("too many tags")
            .http(
                Submit,
                format!(r#"{{"tags": [{}]}}"#, names(65)),
                "tags",
                &["tags: 65", "at most 64"],
            )
            .cli(format!("jobs submit q 1{}", typed("tag", 65)), &["tags: 65", "at most 64"]),
        case("too many dependencies")
            .http(
                Submit,
                format!(r#"{{"dependencies": [{}]}}"#, names(1_001)),
                "dependencies",
                &["dependencies: 1001", "at most 1000"],
            )
            .cli(
                format!("jobs submit q 1{}", typed("after", 1_001)),
                &["dependencies: 1001", "at most 1000"],
            ),
        case("too much metadata")
            .http(
                Submit,
                format!(r#"{{"metadata": {{{entries}}}}}"#),
                "metadata",
                &["metadata: 17", "at most 16"],
            )
            .cli(format!("jobs submit q 1{}", typed_entries), &["metadata: 17", "at most 16"]),
        case("long metadata")
            .http(
                Submit,
                format!(r#"{{"metadata": {{"a": "{long}"}}}}"#),
                "metadata",
                &["4201 bytes", "at most 4096"],
            )
            .cli(
                format!("jobs submit q 1 --metadata a={long}"),
                &["metadata: 4201 bytes", "at most 4096"],
            ),
    ]
}

fn shapes() -> Vec<Case> {
    vec![
        case("an unknown field")
            .http(Submit, r#"{"dely": 5}"#, "dely", &["unknown field `dely`", "`delay`"])
            .cli("jobs submit q 1 --dely 5s", &["--dely", "--delay"]),
        case("data that is no list")
            .http(Submit, r#"{"data": {"a": 1}}"#, "data", &["data: ", "a JSON list"])
            .cli("jobs submit q alice", &["'alice'", "not JSON", "needs its quotes"]),
        case("tags that there are not")
            .http(
                Submit,
                r#"{"dependenciesOnTags": true}"#,
                "dependenciesOnTags",
                &["no tags", "give it the tags"],
            )
            .cli("jobs submit q 1 --after-tags", &["dependenciesOnTags: ", "give it the tags"]),
        case("half a job").http(Submit, r#"{"data": [1"#, "", &["EOF"]),
    ]
}
