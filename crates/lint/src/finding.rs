//! What the lint has to say about one key.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::rule::{Rule, Severity};

/// Something wrong with one key. The same thing wrong at several places of a key is one finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The number of the database.
    pub db: i64,
    /// The key as it is stored, made printable.
    pub key: String,
    /// The rule it breaks.
    pub rule: Rule,
    /// The family it belongs to, if any.
    pub family: Option<String>,
    /// What exactly is wrong, at the first of the places.
    pub detail: String,
    /// At how many places of the key.
    pub places: u64,
}

impl Finding {
    /// Whether something has to be done about it.
    pub fn severity(&self) -> Severity {
        self.rule.severity()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.rule, self.key)?;
        if self.db != 0 {
            write!(f, " in database {}", self.db)?;
        }
        write!(f, ": {}", self.detail)?;
        match self.places - 1 {
            0 => Ok(()),
            more => write!(f, " (and {more} more)"),
        }
    }
}

/// Places remembered for each rule and key: enough to tell a lasting fault from one that a writer was just mending.
const PLACES_MAX: usize = 16;

/// What one look at a key has found, by rule.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    by_rule: BTreeMap<Rule, Places>,
}

#[derive(Clone, Debug, Default)]
struct Places {
    /// The first few places in alphabetical order, so that the order of a walk does not show.
    first: BTreeMap<String, String>,
    total: u64,
}

impl Faults {
    pub(crate) fn is_empty(&self) -> bool {
        self.by_rule.is_empty()
    }

    /// Adds a fault. `place` tells faults of one rule in one key apart.
    pub(crate) fn add(&mut self, rule: Rule, place: impl Into<String>, detail: impl Into<String>) {
        let places = self.by_rule.entry(rule).or_default();
        places.total += 1;
        let place = place.into();
        let last = places.first.last_key_value();
        if places.first.len() < PLACES_MAX || last.is_some_and(|(last, _)| place < *last) {
            places.first.insert(place, detail.into());
            if places.first.len() > PLACES_MAX {
                places.first.pop_last();
            }
        }
    }

    /// Leaves only what `earlier` had found as well, at the same place.
    pub(crate) fn retain_known(&mut self, earlier: &Self) {
        self.by_rule.retain(|rule, places| {
            let Some(known) = earlier.by_rule.get(rule) else { return false };
            let before = places.first.len();
            places.first.retain(|place, _| known.first.contains_key(place));
            places.total -= (before - places.first.len()) as u64;
            !places.first.is_empty()
        });
    }

    /// The findings of a key, by rule.
    pub(crate) fn into_findings(
        self,
        db: i64,
        key: &[u8],
        family: Option<&str>,
    ) -> impl Iterator<Item = Finding> {
        let (key, family) = (printable(key), family.map(str::to_owned));
        self.by_rule.into_iter().map(move |(rule, places)| Finding {
            db,
            key: key.clone(),
            rule,
            family: family.clone(),
            detail: places.first.into_values().next().unwrap_or_default(),
            places: places.total,
        })
    }
}

/// Bytes from a database for a terminal or a log: text as it is, controls and bytes that are no text escaped.
pub fn printable(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter.is_control() {
                out.extend(letter.escape_default());
            } else {
                out.push(letter);
            }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// A value for a message: short, printable, in double quotes.
pub(crate) fn quoted(value: &[u8]) -> String {
    const CHARS_MAX: usize = 60;
    let text = printable(value);
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("\"{}…\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(faults: Faults) -> Finding {
        let mut findings = faults.into_findings(0, b"k", None);
        let finding = findings.next().expect("a finding");
        assert_eq!(findings.next(), None);
        finding
    }

    #[test]
    fn places_of_one_rule_make_one_finding_that_names_the_first() {
        let mut faults = Faults::default();
        for n in (10..60).rev() {
            faults.add(Rule::BadMember, format!("m{n}"), format!("member \"m{n}\" is bad"));
        }
        let finding = only(faults);
        assert_eq!(finding.to_string(), "KL09 k: member \"m10\" is bad (and 49 more)");
    }

    #[test]
    fn fault_that_was_mended_between_two_looks_is_none() {
        let (mut first, mut second) = (Faults::default(), Faults::default());
        first.add(Rule::Dangling, "a", "a");
        first.add(Rule::Dangling, "b", "b");
        first.add(Rule::TtlMissing, "", "no TTL");
        second.add(Rule::Dangling, "b", "b");
        second.add(Rule::Dangling, "c", "c");
        second.retain_known(&first);
        let finding = only(second);
        assert_eq!((finding.detail.as_str(), finding.places), ("b", 1));
    }

    #[test]
    fn keys_are_shown_without_controls() {
        assert_eq!(printable(b"a\x1b[2J\xff\xc3\xbc"), "a\\u{1b}[2J\\xffü");
    }
}
