//! The mark on everything that the demo makes: names that begin with one word.

use std::collections::HashSet;

use keyrack_keys::Parsed;
use serde_json::Value;

/// What the names of the demo begin with.
pub(crate) const MARK: &str = "demo";

/// What may follow the mark, so that `demography` is not taken for it.
const AFTER: &[u8] = b"-/.:~_";

/// Tells what is the demo's by name.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// Names without the mark that are known to be the demo's.
    pub(crate) known: HashSet<String>,
    /// The databases that hold nothing else.
    pub(crate) databases: HashSet<i64>,
}

impl Marks {
    /// Whether a name carries the mark.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        let rest = name.strip_prefix(MARK);
        rest.is_some_and(|rest| rest.bytes().next().is_none_or(|next| AFTER.contains(&next)))
            || self.known.contains(name)
    }

    /// Whether a key is the demo's by the names in it.
    pub(crate) fn is_on_key(&self, parsed: &Parsed) -> bool {
        parsed.parts.iter().chain(&parsed.shard).any(|part| self.is_on(part))
    }

    /// Whether a member of a key that everybody shares is the demo's: a marked name, or JSON that holds one near its top.
    pub(crate) fn is_on_member(&self, member: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(member) else { return false };
        if self.is_on(text) {
            return true;
        }
        text.starts_with(['{', '['])
            && serde_json::from_str(text).is_ok_and(|json| self.is_in(&json, 2))
    }

    fn is_in(&self, json: &Value, depth: usize) -> bool {
        match json {
            Value::String(text) => self.is_on(text),
            Value::Object(members) if depth > 0 => {
                members.values().any(|value| self.is_in(value, depth - 1))
            }
            Value::Array(items) if depth > 0 => {
                items.iter().any(|item| self.is_in(item, depth - 1))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words_are_the_mark() {
        let marks = Marks::default();
        for name in ["demo", "demo/mail", "demo-ada-0001", "demo~0190", "demo.touch", "demo:1:x"] {
            assert!(marks.is_on(name), "{name}");
        }
        for name in ["", "demos", "demography", "my-demo", "Demo", "de"] {
            assert!(!marks.is_on(name), "{name}");
        }
    }

    #[test]
    fn members_are_known_by_what_their_json_says() {
        let marks = Marks::default();
        for member in [
            r#"{"bucket": "demo-pictures", "key": "a.png"}"#,
            r#"{"name": "demo.touch", "kwargs": {}}"#,
            r#"{"name": "runners.handle", "kwargs": {"user_sub": "demo-ada-0001"}}"#,
            r#"["demo-ada-0001", "import", "run-1"]"#,
        ] {
            assert!(marks.is_on_member(member.as_bytes()), "{member}");
        }
        for member in [
            &br#"{"bucket": "pictures", "key": "demo"}x"#[..],
            br#"{"bucket": "pictures", "key": "demon.png"}"#,
            b"\xff\xfe",
            b"alice",
        ] {
            assert!(!marks.is_on_member(member), "{member:?}");
        }
    }

    #[test]
    fn names_that_are_known_are_marked_too() {
        let known = HashSet::from(["oseh_j_1".to_owned()]);
        let marks = Marks { known, ..Marks::default() };
        assert!(marks.is_on("oseh_j_1") && !marks.is_on("oseh_j_2"));
    }
}
