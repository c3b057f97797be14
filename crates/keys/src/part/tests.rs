//! What becomes a part, what is refused, and with which words.
#![allow(unreachable_pub, missing_docs, dead_code, reason = "the macros make whole public types")]

use proptest::prelude::*;

use super::*;

crate::parts! {
    /// Any id.
    text AnyId;
    /// An id that may not be a word of the name around it.
    text ChildId except ["tags"];
    /// A worker.
    colons WorkerName 4;
    /// A month.
    number Month 1..=12;
    /// A unit.
    words Unit { Days = "days", Weeks = "weeks" }
}

fn coded(part: &impl Part) -> String {
    let mut out = String::new();
    part.write(&mut out);
    out
}

#[test]
fn empty_text_is_refused() {
    assert_eq!(AnyId::new("").unwrap_err().to_string(), "the any id is empty; give 1 to 256 bytes");
}

#[test]
fn length_limit_counts_bytes_before_coding() {
    assert_eq!(coded(&AnyId::new(":".repeat(256)).unwrap()), "%3A".repeat(256));
    assert_eq!(
        AnyId::new("x".repeat(257)).unwrap_err().to_string(),
        "the any id is 257 bytes long; at most 256 fit into a key"
    );
    assert!(AnyId::new("é".repeat(129)).is_err());
}

#[test]
fn reserved_words_are_refused() {
    assert!(ChildId::new("tag").is_ok());
    assert_eq!(
        ChildId::new("tags").unwrap_err().to_string(),
        "\"tags\" cannot be a child id; another key family uses that word in its place"
    );
}

#[test]
fn worker_names_need_all_their_fields() {
    assert_eq!(coded(&WorkerName::new("host:1:hive:a b").unwrap()), "host:1:hive:a%20b");
    for text in ["host", "host:1:hive", "host::hive:q", "host:1:hive:"] {
        assert!(matches!(WorkerName::new(text), Err(PartError::TooFewFields { .. })), "{text}");
    }
}

#[test]
fn numbers_have_one_form_and_a_range() {
    assert_eq!(coded(&Month::new(7).unwrap()), "7");
    assert_eq!("12".parse::<Month>().unwrap().get(), 12);
    for text in ["0", "13", "07", "+7", "-1", "7.0", " 7", "99999999999999999999999"] {
        assert!(matches!(text.parse::<Month>(), Err(PartError::NotInRange { .. })), "{text}");
    }
    assert_eq!(
        Month::new(13).unwrap_err().to_string(),
        "\"13\" is no month; give a whole number from 1 to 12"
    );
}

#[test]
fn words_are_matched_whole() {
    assert_eq!("weeks".parse::<Unit>(), Ok(Unit::Weeks));
    assert_eq!(
        "week".parse::<Unit>().unwrap_err().to_string(),
        "\"week\" is no unit; use one of \"days\", \"weeks\""
    );
}

/// Ids made of what could break a key, mixed with ordinary text.
fn adversarial() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just(":".to_owned()),
        Just("%".to_owned()),
        Just("%3A".to_owned()),
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just(" ".to_owned()),
        Just("*".to_owned()),
        Just("🐝".to_owned()),
        Just("\0".to_owned()),
        "[a-z0-9]{1,3}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(pieces, 1..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn decoding_gives_the_id_back(id in adversarial()) {
        let coded = coded(&AnyId::new(id.as_str()).unwrap());
        prop_assert_eq!(AnyId::KIND.decode(coded.as_bytes()).unwrap(), id);
    }

    #[test]
    fn coded_ids_hold_nothing_reserved(id in adversarial()) {
        let coded = coded(&AnyId::new(id).unwrap());
        let safe = |byte: u8| byte.is_ascii_graphic() && !b":{}*?[]\\^".contains(&byte);
        prop_assert!(coded.bytes().all(safe), "{}", coded);
    }

    #[test]
    fn different_ids_have_different_codes(a in adversarial(), b in adversarial()) {
        let same = coded(&AnyId::new(a.as_str()).unwrap()) == coded(&AnyId::new(b.as_str()).unwrap());
        prop_assert_eq!(same, a == b);
    }

    #[test]
    fn every_text_that_decodes_is_the_code_of_its_value(bytes in "[%0-9A-Fa-f:~ ]{1,9}") {
        if let Ok(text) = AnyId::KIND.decode(bytes.as_bytes()) {
            prop_assert_eq!(coded(&AnyId::new(text.as_ref()).unwrap()), bytes);
        }
    }
}

#[test]
fn parts_go_through_serde_as_text_and_numbers() {
    let id: AnyId = serde_json::from_str(r#""a b""#).unwrap();
    assert_eq!((id.as_ref(), serde_json::to_string(&id).unwrap().as_str()), ("a b", r#""a b""#));
    assert_eq!(serde_json::from_str::<Unit>(r#""weeks""#).unwrap(), Unit::Weeks);
    assert_eq!(serde_json::to_string(&Unit::Days).unwrap(), r#""days""#);
    assert_eq!(serde_json::from_str::<Month>("12").unwrap(), Month::new(12).unwrap());
    assert_eq!(serde_json::to_string(&Month::new(7).unwrap()).unwrap(), "7");
}

#[test]
fn what_serde_or_try_from_brings_is_checked() {
    let refused = |error: serde_json::Error| error.to_string();
    let error = refused(serde_json::from_str::<AnyId>(r#""""#).unwrap_err());
    assert!(error.starts_with("the any id is empty"), "{error}");
    let error = refused(serde_json::from_str::<Unit>(r#""years""#).unwrap_err());
    assert!(error.contains("use one of"), "{error}");
    let error = refused(serde_json::from_str::<Month>("13").unwrap_err());
    assert!(error.contains("from 1 to 12"), "{error}");
    assert!(ChildId::try_from("tags").is_err());
    assert!(ChildId::try_from("x".repeat(257)).is_err());
    assert!(Month::try_from(0).is_err());
    assert_eq!(Unit::try_from("days"), Ok(Unit::Days));
}
