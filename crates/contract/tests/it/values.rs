//! Values as the key documents show them fit their declarations, and damaged ones do not.

use keyrack_contract::registry;
use keyrack_keys::{Content, Encoding};

/// The encoding behind a row of a family: a hash's field, or the row's own name.
fn encoding(id: &str, row: &str) -> Encoding {
    let content = registry().get(id).unwrap_or_else(|| panic!("no family \"{id}\"")).content;
    match (content, row) {
        (Content::String(value), "value")
        | (Content::List(value), "item")
        | (Content::Set(value), "member")
        | (Content::SortedSet { member: value, .. }, "member")
        | (Content::SortedSet { score: value, .. }, "score")
        | (Content::Map { field: value, .. }, "each field")
        | (Content::Map { value, .. }, "its value")
        | (Content::Channel(value), "message") => value.encoding,
        (Content::Hash(fields), name) => {
            fields.iter().find(|field| field.name == name).unwrap().encoding
        }
        _ => panic!("\"{id}\" has no \"{row}\""),
    }
}

#[track_caller]
fn fits(id: &str, row: &str, value: &str) {
    assert_eq!(encoding(id, row).check(value.as_bytes()), Ok(()), "{id} {row}");
}

#[track_caller]
fn refused(id: &str, row: &str, value: &str, reason: &str) {
    assert_eq!(encoding(id, row).check(value.as_bytes()), Err(reason.to_owned()), "{id} {row}");
}

#[test]
fn progress_values() {
    fits("progress.trace", "created_at", "1667950000.123456");
    fits("progress.trace", "done", "1");
    refused("progress.trace", "done", "true", "expected one of `0`, `1`, found \"true\"");
    fits("progress.step", "finished_at", "1667950000.0");
    refused(
        "progress.step",
        "started_at",
        "1667950000123",
        "expected unix time in seconds, found \"1667950000123\"",
    );
    fits("progress.step_stats", "a", "5e-05");
    fits("progress.month_count", "its value", "12");
}

#[test]
fn job_values() {
    fits("jobs.bee.job", "data", r#"["x\/y",0.3]"#);
    fits("jobs.bee.job", "data", "{}");
    refused(
        "jobs.bee.job",
        "data",
        r#"{"a":1}"#,
        "the JSON value at \"\" is an object, expected [anything, …], empty as {}",
    );
    fits("jobs.bee.job", "worker", "");
    fits("jobs.bee.job", "worker", "host:1:hive:emails");
    refused(
        "jobs.bee.job",
        "status",
        "done",
        "expected one of `new`, `queued`, `running`, `completed`, `duplicate`, `canceled`, `failed`, `expired`, \
         `retried`, found \"done\"",
    );
    fits("jobs.bee.queue", "score", "1794709389104.8999");
    fits("jobs.bee.delayed", "score", "1794709389104");
    fits(
        "jobs.hot.hot",
        "item",
        r#"{"name": "runners.example", "kwargs": {"message": "hi"}, "queued_at": 1.5}"#,
    );
    refused(
        "jobs.hot.hot",
        "item",
        r#"{"name":"x","kwargs":{}}"#,
        "the JSON value at \"\" lacks \"queued_at\"",
    );
    fits("jobs.recurring.rjobs", "member", "18080596565217940053");
    refused(
        "jobs.recurring.rjobs",
        "member",
        "-1",
        "expected unsigned 64-bit integer, found \"-1\"",
    );
}

#[test]
fn calculation_values() {
    fits("calculations.values", "each field", "2014-10-17 21:34:07 -0400");
    fits("calculations.values", "its value", "7.07");
    refused("calculations.values", "its value", "7,07", "expected decimal number, found \"7,07\"");
    for field in ["2014-10", "2014-W42", "2014-10-17 21:34", "average", "ci_99"] {
        fits("calculations.result", "each field", field);
    }
    fits("calculations.result", "its value", "5.6571428571428575");
    assert!(encoding("calculations.result", "each field").check(b"standard_devation").is_err());
}

#[test]
fn entitlement_and_file_values() {
    fits(
        "entitlements.entitlements",
        "its value",
        r#"{"is_active": true, "expires_at": null, "checked_at": 1.5}"#,
    );
    refused(
        "entitlements.entitlements",
        "its value",
        r#"{"is_active": 1, "expires_at": null, "checked_at": 1.5}"#,
        "the JSON value at \".is_active\" is a number, expected boolean",
    );
    fits(
        "files.purgatory",
        "member",
        r#"{"bucket": "x", "expected": true, "hint": "h", "key": "a/b"}"#,
    );
    refused("files.purgatory", "member", "a/b", "expected JSON, found \"a/b\"");
    fits("identity.jwks", "value", r#"[{"kid": "1", "use": "sig"}]"#);
}

#[test]
fn recommender_values() {
    fits("recommender.challenges", "its value", "3,1,21,2024-02-01");
    fits("recommender.challenges", "its value", "3,True,21,2024-02-01");
    assert!(encoding("recommender.challenges", "its value").check(b"3,1,21").is_err());
    fits("recommender.contributions", "its value", "1,0,0,0,0");
    assert!(encoding("recommender.contributions", "its value").check(b"1,0,0,0,-1").is_err());
    fits("recommender.preferences", "score", "0.40000000000000002");
}
