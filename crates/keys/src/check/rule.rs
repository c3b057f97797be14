//! What can be wrong with a declaration, each under a code that never changes.

use std::fmt;

/// One thing that can be wrong with a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckRule {
    /// Two families can have a key of the same name.
    Overlap,
    /// Nothing says whether the keys expire.
    NoTtl,
    /// A collection has no limit.
    Unbounded,
    /// A part can hold what ends it.
    Unescaped,
    /// Nobody answers for the keys.
    NoOwner,
    /// Keys that belong together lie in different slots of a cluster.
    Cluster,
    /// Keys never expire, and nobody removes them.
    NeverRemoved,
    /// There is no example.
    NoExample,
}

impl CheckRule {
    /// Every rule, by code.
    pub const ALL: [Self; 8] = [
        Self::Overlap,
        Self::NoTtl,
        Self::Unbounded,
        Self::Unescaped,
        Self::NoOwner,
        Self::Cluster,
        Self::NeverRemoved,
        Self::NoExample,
    ];

    /// Its code: `KC01`.
    pub fn code(self) -> &'static str {
        self.row().0
    }

    /// What it reports, in a few words.
    pub fn title(self) -> &'static str {
        self.row().1
    }

    /// Whether it makes a check fail; the others are advice.
    pub fn is_problem(self) -> bool {
        self != Self::NoExample
    }

    fn row(self) -> (&'static str, &'static str) {
        match self {
            Self::Overlap => ("KC01", "two families that can have the same key"),
            Self::NoTtl => ("KC02", "family without a TTL rule"),
            Self::Unbounded => ("KC03", "collection without a limit"),
            Self::Unescaped => ("KC04", "part that can hold its own separator"),
            Self::NoOwner => ("KC05", "family without an owner"),
            Self::Cluster => ("KC06", "keys that a cluster puts apart"),
            Self::NeverRemoved => ("KC07", "keys that nothing removes"),
            Self::NoExample => ("KC08", "family without an example"),
        }
    }
}

impl fmt::Display for CheckRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
