//! Overlaps that exist are found, and those that do not are not invented.

use super::*;
use crate::family::Slot;

/// `<text>`, `<number>`, `<month>`, `<word>`, `<worker>`, `<child>` stand for parts of that shape.
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
        "word" => Shape::Words(&["days", "weeks"]),
        "worker" => Shape::Colons { fields_min: 3 },
        other => panic!("no shape \"{other}\""),
    };
    Box::leak(Box::new(Slot { name: "part", kind: Kind::new("Part", "", shape) }))
}

#[track_caller]
fn check(a: &str, b: &str, expected: Option<&str>) {
    assert_eq!(witness(&pieces(a), &pieces(b)).as_deref(), expected, "{a} and {b}");
    assert_eq!(witness(&pieces(b), &pieces(a)).is_some(), expected.is_some(), "{b} and {a}");
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
