use serde::Deserialize;
use serde_json::value::RawValue;

use super::*;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Outer {
    inner: Vec<Inner>,
    raw: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
struct Inner {
    #[expect(dead_code, reason = "only its parsing is tested")]
    number: u32,
}

#[track_caller]
fn check(text: &str, kind: &str, field: Option<&str>) {
    let problem = parse::<Outer>(text.as_bytes()).expect_err(text);
    let body = serde_json::to_value(problem.body()).expect("JSON");
    assert_eq!((body["type"].as_str(), body["field"].as_str()), (Some(kind), field), "{body}");
}

#[test]
fn what_is_wrong_with_a_body_is_told_by_its_field() {
    check(r#"{"inner": [{"number": 1}, {"number": -1}]}"#, "invalid", Some("inner[1].number"));
    check(r#"{"inner": [{}]}"#, "invalid", Some("inner[0]"));
    check(r#"{"inner": [], "outer": 1}"#, "invalid", Some("outer"));
    check("{}", "invalid", None);
    check("7", "invalid", None);
}

#[test]
fn a_value_out_of_range_is_told_with_what_is_allowed() {
    for (number, expected) in [
        ("-1", "-1; give a whole number from 0 to 4294967295"),
        ("1e20", "1e+20; give a whole number from 0 to 4294967295"),
        (
            "\"5, expected u64\"",
            "string \"5, expected u64\"; give a whole number from 0 to 4294967295",
        ),
        ("null", "null; give a whole number from 0 to 4294967295"),
    ] {
        let text = format!(r#"{{"inner": [{{"number": {number}}}]}}"#);
        let body = parse::<Outer>(text.as_bytes()).expect_err("no such number").body();
        let body = serde_json::to_value(body).expect("JSON");
        assert_eq!(body["detail"], format!("inner[0].number: {expected}"));
    }
    let body = parse::<Outer>(br#"{"inner": [], "outer": 1}"#).expect_err("a stray field").body();
    let body = serde_json::to_value(body).expect("JSON");
    assert_eq!(body["detail"], "outer: unknown field `outer`, expected `inner` or `raw`");
}

#[test]
fn what_is_no_json_is_told_with_its_place() {
    for text in ["", "{", "{\"inner\": [", "{\"inner\": []} more", "\u{0}", "{'inner': []}"] {
        check(text, "bad_json", None);
    }
    let problem = parse::<Outer>(b"{\"inner\": [}").expect_err("no JSON");
    let body = serde_json::to_value(problem.body()).expect("JSON");
    assert_eq!(body["detail"], "expected value at line 1 column 12");
}

#[test]
fn raw_parts_are_kept_as_they_are() {
    let outer: Outer = parse(br#"{"inner": [], "raw": {"n": 1.00}}"#).expect("JSON");
    assert_eq!(outer.raw.expect("a part").get(), r#"{"n": 1.00}"#);
    assert!(outer.inner.is_empty());
}
