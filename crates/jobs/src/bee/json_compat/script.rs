//! The order and the spelling of `JSON.stringify`.

use std::collections::HashMap;

use super::{number, scan::Member, string};

/// The positions of an object's members in ECMAScript's order: array indexes by size, then the others as they came.
///
/// A key that comes again gives its value to the first, whose place it takes.
pub(super) fn order(members: &[Member<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::with_capacity(members.len());
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(members.len());
    for (at, member) in members.iter().enumerate() {
        let place = *places.entry(&member.key).or_insert(order.len());
        if place == order.len() {
            order.push(at);
        } else {
            order[place] = at;
        }
    }
    // Stable, and `None` would come first.
    order.sort_by_key(|&at| index(&members[at].key).map_or(u64::MAX, u64::from));
    order
}

/// The array index that a key is, if it is the canonical text of one.
fn index(key: &str) -> Option<u32> {
    let canonical = match key.as_bytes() {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.len() < 10 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !canonical {
        return None;
    }
    key.parse().ok().filter(|&index| index < u32::MAX)
}

/// A compact text as `JSON.stringify` would write it, with the members of its objects where they are.
pub(super) fn spell(compact: &str) -> String {
    let mut out = String::with_capacity(compact.len());
    let mut rest = compact;
    while let Some(&first) = rest.as_bytes().first() {
        let length = match first {
            b'"' => string::length(rest),
            b'-' | b'0'..=b'9' => number::length(rest),
            b'[' if rest.starts_with("[]") => 2,
            _ => 1,
        };
        let (token, after) = rest.split_at(length);
        match first {
            b'"' => string::spell(&mut out, &token[1..length - 1]),
            b'-' | b'0'..=b'9' => number::spell(&mut out, token),
            _ if token == "[]" => out.push_str("{}"),
            _ => out.push_str(token),
        }
        rest = after;
    }
    out
}
