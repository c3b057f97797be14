//! What can be wrong with a key, each under a code that never changes.

use std::fmt;

use serde::{Serialize, Serializer};

/// One thing that can be wrong with a key.
///
/// Codes are for scripts and suppressions, so a rule keeps its code for ever and a code is never given away twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The name fits no declaration.
    NoFamily,
    /// The Redis type is not the declared one.
    WrongType,
    /// The key should expire and does not.
    TtlMissing,
    /// The key should never expire and will.
    TtlForbidden,
    /// The key expires later than it may.
    TtlOutOfRange,
    /// A hash has a field that is not declared.
    UndeclaredField,
    /// A hash lacks a field.
    MissingField,
    /// A string or the value of a field cannot be read.
    BadValue,
    /// A member of a set or sorted set, or the name of a field, cannot be read.
    BadMember,
    /// A score cannot be read.
    BadScore,
    /// An item of a list cannot be read.
    BadItem,
    /// An id stands where its key must exist, and that key does not.
    Dangling,
    /// The hash tag is missing, in the wrong place, or not wanted here.
    WrongSlot,
    /// The key lies in a database where its family does not live.
    WrongDatabase,
    /// Another program's key, which keyrack reads at most.
    Foreign,
    /// A value is too large to be read during a walk.
    Unchecked,
    /// A key in some state is not named where keys in that state have to be.
    Unlisted,
    /// A key that should go after a while has neither a TTL nor a place from which it would be removed.
    NeverRemoved,
    /// A key is named where keys in its state do not belong.
    Misplaced,
    /// A key holds more than it may.
    TooLarge,
}

/// Whether something has to be done about a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The database breaks its contract.
    Problem,
    /// Worth knowing.
    Info,
}

impl Rule {
    /// Every rule, by code.
    pub const ALL: [Self; 20] = [
        Self::NoFamily,
        Self::WrongType,
        Self::TtlMissing,
        Self::TtlForbidden,
        Self::TtlOutOfRange,
        Self::UndeclaredField,
        Self::MissingField,
        Self::BadValue,
        Self::BadMember,
        Self::BadScore,
        Self::BadItem,
        Self::Dangling,
        Self::WrongSlot,
        Self::WrongDatabase,
        Self::Foreign,
        Self::Unchecked,
        Self::Unlisted,
        Self::NeverRemoved,
        Self::Misplaced,
        Self::TooLarge,
    ];

    /// Its code: `KL01`.
    pub fn code(self) -> &'static str {
        self.row().0
    }

    /// What it reports, in a few words.
    pub fn title(self) -> &'static str {
        self.row().1
    }

    /// Whether something has to be done about it.
    pub fn severity(self) -> Severity {
        match self {
            Self::Foreign | Self::Unchecked => Severity::Info,
            _ => Severity::Problem,
        }
    }

    fn row(self) -> (&'static str, &'static str) {
        match self {
            Self::NoFamily => ("KL01", "key of no declared family"),
            Self::WrongType => ("KL02", "key of another type than declared"),
            Self::TtlMissing => ("KL03", "key without the TTL it must have"),
            Self::TtlForbidden => ("KL04", "key with a TTL it must not have"),
            Self::TtlOutOfRange => ("KL05", "key with a longer TTL than declared"),
            Self::UndeclaredField => ("KL06", "hash field that is not declared"),
            Self::MissingField => ("KL07", "hash without a field it must have"),
            Self::BadValue => ("KL08", "string or field value that does not parse"),
            Self::BadMember => ("KL09", "member or field name that does not parse"),
            Self::BadScore => ("KL10", "score that does not parse"),
            Self::BadItem => ("KL11", "list item that does not parse"),
            Self::Dangling => ("KL12", "reference to a key that does not exist"),
            Self::WrongSlot => {
                ("KL13", "key in the wrong cluster slot, or tagged outside a cluster")
            }
            Self::WrongDatabase => ("KL14", "key in the wrong numbered database"),
            Self::Foreign => ("KL15", "key that another program owns"),
            Self::Unchecked => ("KL16", "value too large to check"),
            Self::Unlisted => ("KL17", "key missing from the list that its state asks for"),
            Self::NeverRemoved => ("KL18", "key that nothing will remove"),
            Self::Misplaced => ("KL19", "list entry for a key in another state"),
            Self::TooLarge => ("KL20", "key that holds more than declared"),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_count_up_in_the_order_of_the_rules() {
        for (i, rule) in Rule::ALL.into_iter().enumerate() {
            assert_eq!(rule.code(), format!("KL{:02}", i + 1));
            assert_eq!(rule as usize, i);
        }
    }

    #[test]
    fn page_about_the_lint_has_a_row_for_every_rule() {
        let page = include_str!("../../../docs/lint.md");
        for rule in Rule::ALL {
            let kind = match rule.severity() {
                Severity::Problem => "problem",
                Severity::Info => "info",
            };
            let row = format!("| {} | {kind} | {} |", rule.code(), rule.title());
            assert!(page.contains(&row), "docs/lint.md lacks \"{row}\"");
        }
    }
}
