use serde_json::json;

use super::*;

#[test]
fn an_entry_has_the_documented_fields_and_float_seconds() {
    let entry = |ms| encode("runners.example", &json!({"message": "hi"}), ms).expect("an entry");
    let text = r#"{"name":"runners.example","kwargs":{"message":"hi"},"queued_at":1667950000.125}"#;
    assert_eq!(entry(1_667_950_000_125), text);
    assert!(entry(1_667_950_000_000).ends_with(r#""queued_at":1667950000.0}"#));
    keyrack_keys::Registry::new(&[crate::hot::keys::FAMILIES])
        .get("jobs.hot.hot")
        .map(|family| match family.content {
            keyrack_keys::Content::List(item) => item.encoding.check(text.as_bytes()),
            _ => Err("no list".into()),
        })
        .expect("the family")
        .expect("the entry fits its declaration");
}

#[test]
fn entries_of_other_producers_are_understood_in_any_spacing() {
    let text = br#" { "queued_at": 1.5, "name": "x", "kwargs": { "a": [1, null] }, "more": 1 } "#;
    let entry = Entry::decode(text).expect("an entry");
    assert_eq!((entry.name.as_str(), entry.queued_at), ("x", Some(1.5)));
    assert_eq!(entry.kwargs["a"], json!([1, null]));
}

#[test]
fn an_odd_or_missing_time_is_no_reason_to_refuse_a_job() {
    for text in [r#"{"name":"x","kwargs":{}}"#, r#"{"name":"x","kwargs":{},"queued_at":"now"}"#] {
        assert_eq!(Entry::decode(text.as_bytes()).expect("an entry").queued_at, None);
    }
}

#[test]
fn what_is_no_job_is_refused_with_the_reason() {
    for (text, reason) in [
        (&b"hello"[..], "expected value"),
        (br#"{"kwargs":{}}"#, "missing field `name`"),
        (br#"{"name":"x"}"#, "missing field `kwargs`"),
        (br#"{"name":"x","kwargs":[1]}"#, "expected a map"),
        (br#"{"name":7,"kwargs":{}}"#, "expected a string"),
        (b"\xff", "expected value"),
    ] {
        let error = Entry::decode(text).expect_err("no job").to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn bad_input_is_refused_by_name() {
    assert!(matches!(encode("", &json!({}), 0), Err(Error::NoName)));
    let error = encode("x", &json!([1]), 0).expect_err("no object");
    assert_eq!(
        error.to_string(),
        "the arguments of the job \"x\" are no object of names and values"
    );
    let large = encode("x", &json!({"data": "y".repeat(2 << 20)}), 0).expect_err("too large");
    assert!(matches!(large, Error::TooLarge { bytes, .. } if bytes > 2 << 20), "{large:?}");
}
