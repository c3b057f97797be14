use super::*;

#[track_caller]
fn check(text: &str, python: &str) {
    let value: Json = serde_json::from_str(text).expect("good JSON");
    assert_eq!(value.to_python(), python);
}

#[test]
fn text_is_what_python_writes() {
    // Each right-hand side is the output of json.dumps(json.loads(left)) of CPython 3.11.
    check("null", "null");
    check("[1,true , false]", "[1, true, false]");
    check(r#"{"b":1,"a":{"z":[],"y":{}}}"#, r#"{"b": 1, "a": {"z": [], "y": {}}}"#);
    check(r#""q\" s/ \\ \n\r\t\b\f \u0001 \u007f""#, r#""q\" s/ \\ \n\r\t\b\f \u0001 \u007f""#);
    check(r#""é 🐝""#, r#""\u00e9 \ud83d\udc1d""#);
    check("[1.0, 0.1, 1e5, 123456789.125]", "[1.0, 0.1, 100000.0, 123456789.125]");
    check(
        "[1e15, 1e16, 1.5e16, 1e22, 1e-4, 1e-5, 1.25e-7]",
        "[1000000000000000.0, 1e+16, 1.5e+16, 1e+22, 0.0001, 1e-05, 1.25e-07]",
    );
    check("[-0.0, -2.5, 1e300, 5e-324]", "[-0.0, -2.5, 1e+300, 5e-324]");
    check(
        "[9223372036854775807, 18446744073709551615, -1]",
        "[9223372036854775807, 18446744073709551615, -1]",
    );
}

#[test]
fn members_keep_their_order_through_reading_and_writing() {
    let text = r#"{"z":1,"a":[{"y":2,"b":null}],"m":"x"}"#;
    let value: Json = serde_json::from_str(text).expect("good JSON");
    assert_eq!(serde_json::to_string(&value).expect("writable"), text);
}

#[test]
fn members_come_as_pairs_too() {
    let pairs: Members = serde_json::from_str(r#"[["z", 1], ["a", {"k": 2}]]"#).expect("pairs");
    assert_eq!(serde_json::to_string(&pairs).expect("writable"), r#"{"z":1,"a":{"k":2}}"#);
}

#[test]
fn a_name_given_twice_is_refused() {
    let error = serde_json::from_str::<Members>(r#"{"a": 1, "a": 2}"#).expect_err("twice");
    assert!(error.to_string().starts_with("\"a\" is given twice; keep one of them"), "{error}");
}

#[test]
fn setting_a_member_again_keeps_its_place() {
    let mut members = Members::default();
    members.set("a", "1");
    members.set("b", "2");
    members.set("a", "3");
    let all: Vec<_> = members.iter().collect();
    assert_eq!(all, [("a", &Json::from("3")), ("b", &Json::from("2"))]);
}
