//! What SCAN, HSCAN, SSCAN and ZSCAN share: cursors, options and the shape of the answer.
//!
//! A handler reads the [`cursor`] first, then looks its key up (a missing one is [`empty`], whatever the options say),
//! then parses [`ScanOptions`] and walks:
//!
//! ```text
//! let options = ScanOptions::parse(&args[3..], ScanTarget::Value)?;
//! let next = options.walk(cursor, |at, n_seen| {
//!     set.scan(at, |member| {
//!         *n_seen += 1;
//!         if options.accepts(member) {
//!             items.push(Reply::bulk(member));
//!         }
//!     })
//! });
//! Ok(scan::reply(next, items))
//! ```

use super::{int, is};
use crate::{
    glob,
    num::format_int,
    reply::{Error, Reply},
};

/// What is scanned, which decides the options there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanTarget {
    /// The database: TYPE is an option.
    Keys,
    /// One value's items.
    Value,
}

/// The options after the cursor, in any order; of one given twice the last counts.
#[derive(Debug)]
pub(super) struct ScanOptions<'a> {
    /// About how many items to visit.
    count: usize,
    /// `None` where everything matches.
    pattern: Option<&'a [u8]>,
    type_name: Option<&'a [u8]>,
}

const COUNT_DEFAULT: usize = 10;
/// A sparse table may have many empty buckets in a row; this many per item asked for, the walk pauses anyway.
const STEPS_PER_ITEM_MAX: usize = 10;

impl<'a> ScanOptions<'a> {
    /// Reads what follows the cursor.
    pub(super) fn parse(args: &[&'a [u8]], over: ScanTarget) -> Result<ScanOptions<'a>, Error> {
        let mut options = ScanOptions { count: COUNT_DEFAULT, pattern: None, type_name: None };
        for option in args.chunks(2) {
            let &[name, value] = option else { return Err(Error::SYNTAX) };
            if is(name, "count") {
                options.count = match int(value)? {
                    n @ 1.. => usize::try_from(n).unwrap_or(usize::MAX),
                    _ => return Err(Error::SYNTAX),
                };
            } else if is(name, "match") {
                options.pattern = (value != b"*").then_some(value);
            } else if is(name, "type") && over == ScanTarget::Keys {
                options.type_name = Some(value);
            } else {
                return Err(Error::SYNTAX);
            }
        }
        Ok(options)
    }

    /// Whether MATCH lets an item through.
    pub(super) fn accepts(&self, item: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| glob::matches(pattern, item))
    }

    /// Whether TYPE lets a key through.
    pub(super) fn accepts_type(&self, type_name: &str) -> bool {
        self.type_name.is_none_or(|wanted| is(wanted, type_name))
    }

    /// Steps from `cursor` on until about COUNT items have been seen, and returns the cursor to go on from.
    ///
    /// `step` visits what is at the cursor it gets, adds the number of items it saw, accepted or not, to its second
    /// argument, and returns the next cursor.
    pub(super) fn walk(
        &self,
        mut cursor: u64,
        mut step: impl FnMut(u64, &mut usize) -> u64,
    ) -> u64 {
        let mut n_seen = 0;
        let mut steps_left = self.count.saturating_mul(STEPS_PER_ITEM_MAX);
        loop {
            cursor = step(cursor, &mut n_seen);
            if cursor == 0 || n_seen >= self.count || steps_left == 0 {
                return cursor;
            }
            steps_left -= 1;
        }
    }
}

/// The cursor that `arg` is, read as C's `strtoul` does: a sign is fine, and nothing at all is 0.
pub(super) fn cursor(arg: &[u8]) -> Result<u64, Error> {
    const INVALID: Error = Error::fixed("ERR invalid cursor");
    let (negative, digits) = match arg {
        [] => return Ok(0),
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return Err(INVALID);
    }
    let mut n: u64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return Err(INVALID);
        }
        let digit = u64::from(digit - b'0');
        n = n.checked_mul(10).and_then(|n| n.checked_add(digit)).ok_or(INVALID)?;
    }
    Ok(if negative { n.wrapping_neg() } else { n })
}

/// The answer: where to go on, and what was found.
pub(super) fn reply(cursor: u64, items: Vec<Reply>) -> Reply {
    Reply::Array(vec![Reply::Bulk(format_int(cursor.cast_signed())), Reply::Array(items)])
}

/// The answer for a key that does not exist.
pub(super) fn empty() -> Reply {
    reply(0, Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_follow_strtoul() {
        let good: [(&[u8], u64); 5] =
            [(b"", 0), (b"0", 0), (b"+5", 5), (b"-1", u64::MAX), (b"007", 7)];
        for (text, n) in good {
            assert_eq!(cursor(text), Ok(n));
        }
        for bad in ["-", "+", "+-1", " 0", "0 ", "1x", "18446744073709551616"] {
            assert!(cursor(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn options_come_in_pairs_of_any_order_and_case() {
        let options = ScanOptions::parse(
            &[b"match", b"a*", b"TYPE", b"Hash", b"count", b"3"],
            ScanTarget::Keys,
        )
        .expect("the options are fine");
        assert!(options.accepts(b"ab") && !options.accepts(b"b"));
        assert!(options.accepts_type("hash") && !options.accepts_type("string"));
        assert_eq!(options.count, 3);
        for bad in [&[&b"count"[..]][..], &[b"count", b"0"], &[b"type", b"set"], &[b"x", b"y"]] {
            assert_eq!(ScanOptions::parse(bad, ScanTarget::Value).unwrap_err(), Error::SYNTAX);
        }
    }

    #[test]
    fn a_walk_pauses_after_count_items_or_many_empty_steps() {
        let options = ScanOptions::parse(&[b"COUNT", b"3"], ScanTarget::Value).expect("fine");
        let full = options.walk(0, |at, n_seen| {
            *n_seen += 1;
            at + 1
        });
        assert_eq!(full, 3);
        assert_eq!(options.walk(0, |at, _| at + 1), 31);
        assert_eq!(options.walk(7, |_, _| 0), 0);
    }
}
