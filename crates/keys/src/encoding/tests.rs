//! Which texts fit which encoding.

use super::Encoding::*;
use super::*;
use crate::declare::fields;
use crate::{Shape, json};

const WEEKDAY: Kind = Kind::new("Weekday", "", Shape::Words(&["monday", "friday"]));

#[track_caller]
fn check(encoding: Encoding, fits: &[&str], refused: &[&str]) {
    for text in fits {
        assert_eq!(encoding.check(text.as_bytes()), Ok(()), "{text:?}");
    }
    for text in refused {
        assert!(encoding.check(text.as_bytes()).is_err(), "{text:?} fits {encoding}");
    }
}

#[test]
fn integers_have_one_form_and_stay_in_range() {
    check(
        COUNT,
        &["0", "7", "9223372036854775807"],
        &["", "-1", "07", "+7", "7.0", "1e3", " 7", "9223372036854775808"],
    );
    check(Integer { min: -2, max: 2 }, &["-2", "0", "2"], &["-3", "3", "-0", "--1"]);
}

#[test]
fn floats_are_finite() {
    check(
        Float,
        &["0", "-1.5", "5e-05", "1.23E8", "1794709389104.8999"],
        &["", "nan", "inf", "-inf", "infinity", "1,5", "x"],
    );
}

#[test]
fn decimals_have_no_exponent() {
    check(
        Decimal,
        &["7", "7.07", "-0.5", "007"],
        &["", "7.", ".7", "1e3", "-", "--7", "+7", "7,07"],
    );
}

#[test]
fn seconds_that_must_be_milliseconds_are_refused() {
    check(UnixSeconds, &["0", "1667950000", "1667950000.123456"], &["-1", "1667950000123", "now"]);
    check(UnixMs, &["0", "1667950000123"], &["-1", "1667950000123.5", "1.6e12"]);
}

#[test]
fn forms_match_digit_by_digit() {
    let date = Like(&["0000-00-00", "0000-W00 ±00"]);
    check(
        date,
        &["2024-02-29", "2014-W42 -04", "2014-W42 +04"],
        &["2024-2-29", "2024-02-29 ", "2014-W42 04", "x"],
    );
}

#[test]
fn lists_and_tuples_count_their_values() {
    check(List(&COUNT, 3), &["1,0,2"], &["1,0", "1,0,2,3", "1,,2", "1, 0,2", ""]);
    let pair = Tuple(fields! {
        /// How many.
        n: COUNT,
        /// Of what.
        unit: Words(&["days", "weeks"]),
    });
    check(pair, &["3,days"], &["3", "3,months", "days,3", "3,days,x"]);
    assert_eq!(
        pair.to_string(),
        "values separated by commas: n (integer from 0); unit (one of `days`, `weeks`)"
    );
}

#[test]
fn ids_are_checked_as_parts() {
    check(Id(&WEEKDAY), &["monday"], &["", "sunday"]);
    check(OrEmpty(&Id(&WEEKDAY)), &["", "friday"], &["sunday"]);
    check(Optional(&Id(&WEEKDAY)), &["friday"], &["", "sunday"]);
    check(AnyOf(&[Id(&WEEKDAY), COUNT]), &["monday", "3"], &["sunday", "-3"]);
    assert_eq!(Id(&WEEKDAY).check(b"\xff").unwrap_err(), "expected a weekday, found \"\u{fffd}\"");
}

#[test]
fn json_errors_name_the_place() {
    const SCHEMA: json::Schema = json::Object(&[
        (
            "steps",
            json::Array(&json::Object(&[
                ("name", json::String),
                ("note", json::Maybe(&json::String)),
            ])),
        ),
        ("until", json::Nullable(&json::Number)),
    ]);
    let check = |text: &str| Json(&SCHEMA).check(text.as_bytes());
    assert_eq!(check(r#"{"steps":[{"name":"a"}],"until":null,"more":1}"#), Ok(()));
    assert_eq!(
        check(r#"{"steps":[{"name":"a"},{"name":2}],"until":1}"#).unwrap_err(),
        "the JSON value at \".steps[1].name\" is a number, expected string"
    );
    assert_eq!(
        check(r#"{"steps":[{}],"until":1}"#).unwrap_err(),
        "the JSON value at \".steps[0]\" lacks \"name\""
    );
    assert_eq!(
        check(r#"{"steps":{},"until":1}"#).unwrap_err().split(',').next(),
        Some("the JSON value at \".steps\" is an object")
    );
    assert_eq!(check("[1").unwrap_err(), "expected JSON, found \"[1\"");
}

#[test]
fn only_lua_lists_may_be_empty_objects() {
    check(Json(&json::LuaArray(&json::Number)), &["[]", "{}", "[1]"], &[r#"{"a":1}"#, r#"["a"]"#]);
    check(Json(&json::Array(&json::Number)), &["[]"], &["{}"]);
}

#[test]
fn error_messages_are_short_and_printable() {
    let message = COUNT.check(format!("\n{}", "x".repeat(500)).as_bytes()).unwrap_err();
    assert_eq!(message, format!("expected integer from 0, found \"\\n{}…\"", "x".repeat(59)));
}
