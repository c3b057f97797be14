//! Where the next page begins: the list is made again from the same seed, as of the same moment.

use std::{fmt, str::FromStr};

use crate::error::Error;

/// A place in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) seed: u64,
    /// What the user was shown from then on was on earlier pages.
    pub(super) as_of_ms: u64,
    pub(super) offset: usize,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}-{:x}", self.seed, self.as_of_ms, self.offset)
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Cursor, Error> {
        let bad = || Error::Invalid {
            what: format!("\"{text}\" is no cursor of a list; begin without one"),
        };
        let number = |part: Option<&str>| u64::from_str_radix(part?, 16).ok();
        let mut parts = text.split('-');
        let (seed, as_of_ms) = (number(parts.next()), number(parts.next()));
        let offset = number(parts.next()).and_then(|offset| usize::try_from(offset).ok());
        match (seed, as_of_ms, offset, parts.next()) {
            (Some(seed), Some(as_of_ms), Some(offset), None) => {
                Ok(Cursor { seed, as_of_ms, offset })
            }
            _ => Err(bad()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_and_other_texts_are_refused() {
        let cursor = Cursor { seed: u64::MAX, as_of_ms: 1_700_000_000_000, offset: 100 };
        assert_eq!(cursor.to_string().parse::<Cursor>().ok(), Some(cursor));
        for text in ["", "1-2", "1-2-x", "1-2-3-4", "-1-2-3"] {
            assert!(text.parse::<Cursor>().is_err(), "{text}");
        }
    }
}
