//! Overlaps that exist are found, and those that do not are not invented.

use super::*;
use crate::family::Slot;

/// `<text>`, `<number>`, `<month>`, `<word>` and so on stand for parts of that shape.
fn pieces(template: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((literal, (name, after))) =
        rest.split_once('<').map(|(l, r)| (l, r.split_once('>').unwrap()))
    {
        pieces.push(Piece::Literal(literal.into()));
        pieces.push(Piece::Part(slot(name)));
        rest = after;
    }
    pieces.push(Piece::Literal(rest.into()));
    pieces
}

fn slot(name: &str) -> &'static Slot {
    let shape = match name {
        "text" => Shape::Text { except: &[] },
        "child" => Shape::Text { except: &["tags", "tag", "other"] },
        "number" => Shape::Number { min: 0, max: u64::MAX },
        "month" => Shape::Number { min: 1, max: 12 },
        "port" => Shape::Number { min: 1_024, max: 65_535 },
        "date" => Shape::Date,
        "ulid" => Shape::Ulid,
        "word" => Shape::Words(&["days", "weeks"]),
        "worker" => Shape::Colons { fields_min: 3 },
        other => panic!("no shape \"{other}\""),
    };
    Box::leak(Box::new(Slot { name: "part", kind: Kind::new("Part", "", shape) }))
}

#[track_caller]
fn check(a: &str, b: &str, expected: Option<&str>) {
    let expected = expected.map(|key| Overlap::Key(key.to_owned()));
    assert_eq!(overlap(&pieces(a), &pieces(b)), expected, "{a} and {b}");
    assert_eq!(overlap(&pieces(b), &pieces(a)).is_some(), expected.is_some(), "{b} and {a}");
}

#[test]
fn equal_and_wider_templates_overlap() {
    check("jobs:hot", "jobs:hot", Some("jobs:hot"));
    check("jobs:hot", "jobs:<text>", Some("jobs:hot"));
    check("a:<text>", "a:<text>", Some("a:a"));
    check("<text>_posts", "user_<text>", Some("user_posts"));
}

#[test]
fn colons_keep_templates_of_different_length_apart() {
    check("tcount:<text>:<text>:<number>", "tcount:<number>:<month>", None);
    check("entitlements:<text>", "entitlements:read:limit:<text>", None);
    check("set:<text>:keys", "set:<text>:<text>:keys", None);
}

#[test]
fn affixes_keep_templates_apart() {
    check("<text>_liked_posts", "<text>_preference", None);
    check("<text>_liked_posts", "posts_for_category<month>", None);
    check("<text>_liked_posts", "x_liked_posts", Some("x_liked_posts"));
}

#[test]
fn numbers_and_words_narrow_a_part() {
    check("a:<number>", "a:<word>", None);
    check("a:<number>", "a:07", None);
    check("a:<number>", "a:0", Some("a:0"));
    check("a:<month>", "a:12", Some("a:12"));
    check("a:<month>", "a:13", None);
    check("a:<text>", "a:<word>", Some("a:days"));
}

#[test]
fn parts_with_colons_reach_over_segments() {
    check("locks:<worker>", "locks:<text>", None);
    check("locks:<worker>", "locks:<text>:<text>", None);
    check("locks:<worker>", "locks:<text>:<text>:<text>", Some("locks:a:a:a"));
    check("locks:<worker>", "locks:a:b:c:d:e", Some("locks:a:b:c:d:e"));
}

#[test]
fn excepted_words_separate_templates() {
    check("s:<text>:children", "s:tags:<text>", Some("s:tags:children"));
    check("s:<child>:children", "s:tags:<text>", None);
    check("s:<child>:children", "s:tag:<text>", None);
    check("s:<child>:children", "s:ta:<text>", Some("s:ta:children"));
    check("s:<child>:children", "s:tagsx:<text>", Some("s:tagsx:children"));
}

#[test]
fn wide_ranges_of_numbers_are_exact() {
    for (key, expected) in [
        ("a:1023", false),
        ("a:1024", true),
        ("a:1999", true),
        ("a:9999", true),
        ("a:10000", true),
        ("a:59999", true),
        ("a:65535", true),
        ("a:65536", false),
        ("a:70000", false),
        ("a:100000", false),
        ("a:01024", false),
    ] {
        check("a:<port>", key, expected.then_some(key));
    }
    check("a:<port>", "a:<text>", Some("a:1024"));
    check("a:<port>", "a:<month>", None);
    check("a:<number>", "a:18446744073709551615", Some("a:18446744073709551615"));
    check("a:<number>", "a:18446744073709551616", None);
}

#[test]
fn every_small_range_accepts_its_numbers_only() {
    for min in 0..130 {
        for max in min..130 {
            let mut automaton = Automaton::empty();
            automaton.end = automaton.number(0, min, max);
            for n in 0..140 {
                let accepted = automaton.accepts(n.to_string().as_bytes());
                assert_eq!(accepted, (min..=max).contains(&n), "{n} in {min} to {max}");
            }
            assert!(!automaton.accepts(b"007") && !automaton.accepts(b""));
        }
    }
}

#[test]
fn days_are_those_of_the_calendar_and_ulids_end_in_their_time() {
    check("a:<date>", "a:<text>", Some("a:0000-01-01"));
    for (day, expected) in [
        ("2026-11-18", true),
        ("2026-02-29", false),
        ("2024-02-29", true),
        ("1900-02-29", false),
        ("2000-02-29", true),
        ("2026-04-31", false),
        ("2026-13-01", false),
        ("2026-00-10", false),
    ] {
        assert_eq!(crate::time::is_date(day), expected, "{day}");
        let key = format!("a:{day}");
        check("a:<date>", &key, expected.then_some(key.as_str()));
    }
    check("<ulid>", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", Some("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"));
    check("<ulid>", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", None);
}

#[test]
fn keys_of_other_alphabets_are_shown_as_they_are() {
    let raw = Kind {
        escape: crate::part::Escape::Raw { without: ":" },
        ..Kind::new("Part", "", Shape::Text { except: &[] })
    };
    let slot = Box::leak(Box::new(Slot { name: "part", kind: raw }));
    let shared = overlap(&[Piece::Part(slot)], &pieces("größe"));
    assert_eq!(shared, Some(Overlap::Key("größe".into())));
}

#[test]
fn only_a_key_that_both_have_is_told() {
    // Each part of text has 256 bytes at most, which the search does not count.
    let long = "a".repeat(300);
    assert_eq!(overlap(&pieces("<text>"), &pieces(&long)), Some(Overlap::Unclear));
}
