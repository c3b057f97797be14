//! The first keys of each family and shape, which a sample always has.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use keyrack_keys::Family;

/// So many keys of each are measured: enough to tell how much their sizes differ.
const FIRST: u32 = 30;

/// Names of no family are told apart up to so many shapes.
const SHAPES_MAX: usize = 10_000;

/// How many keys were met of each family and shape.
#[derive(Debug, Default)]
pub(super) struct FirstKeys {
    met: Mutex<HashMap<u64, u32>>,
}

impl FirstKeys {
    /// Is this key one of the first of its kind? Counts it.
    pub(super) fn takes(&self, raw: &[u8], family: Option<&'static Family>) -> bool {
        let kind = match family {
            Some(family) => std::ptr::from_ref(family).addr() as u64,
            None => shape(raw),
        };
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        if met.len() >= SHAPES_MAX && !met.contains_key(&kind) {
            return false;
        }
        let count = met.entry(kind).or_default();
        *count = count.saturating_add(1);
        *count <= FIRST
    }
}

/// A rough shape of a name: words stay, and whatever has digits, or is too long for a word, could be anything.
fn shape(raw: &[u8]) -> u64 {
    const WORD_MAX: usize = 20;
    let mut hasher = DefaultHasher::new();
    for word in raw.split_inclusive(|byte| !byte.is_ascii_alphanumeric() && *byte < 0x80) {
        let end = word.last().filter(|byte| !byte.is_ascii_alphanumeric());
        let is_word = word.len() <= WORD_MAX && !word.iter().any(u8::is_ascii_digit);
        (is_word.then_some(word), end).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_keys_of_each_shape_are_taken() {
        let first = FirstKeys::default();
        let taken = |name: &str| first.takes(name.as_bytes(), None);
        let orders = (0..100).filter(|n| taken(&format!("order:{n}"))).count();
        assert_eq!(orders, FIRST as usize);
        assert!(taken("order:7:lines") && taken("leaderboard") && !taken("order:100"));
        // Ids of letters are shapes of their own, which are bounded.
        let names = (0..20_000_u32).map(|n| {
            let letters: String =
                (0..8).map(|at| char::from(b'a' + (n >> (2 * at) & 3) as u8)).collect();
            format!("name:{letters}")
        });
        assert!(names.filter(|name| taken(name)).count() <= SHAPES_MAX);
    }
}
