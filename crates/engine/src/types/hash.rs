//! Hashes: packed in one allocation while small, a table once they grow.

use super::allocation;
use crate::{dict::Dict, packed::Packed};

/// A hash value.
#[derive(Debug, Clone)]
pub(crate) enum Hash {
    /// Field, value, field, value … in the order they were first set.
    Small(Packed),
    Large(Box<Dict<Box<[u8]>>>),
}

/// Redis' own defaults (`hash-max-listpack-entries`, `hash-max-listpack-value`).
const SMALL_ENTRIES_MAX: usize = 512;
const SMALL_ITEM_LEN_MAX: usize = 64;

impl Hash {
    pub(crate) fn new() -> Hash {
        Hash::Small(Packed::default())
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Hash::Small(packed) => packed.iter().count() / 2,
            Hash::Large(dict) => dict.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Hash::Small(packed) => packed.n_bytes() == 0,
            Hash::Large(dict) => dict.is_empty(),
        }
    }

    pub(crate) fn get(&self, field: &[u8]) -> Option<&[u8]> {
        match self {
            Hash::Small(packed) => find(packed, field).map(|found| found.value),
            Hash::Large(dict) => dict.get(field).map(|value| &**value),
        }
    }

    /// Gives the value of each field, or none, to `found`.
    pub(crate) fn get_each<'a>(
        &'a self,
        fields: &[&[u8]],
        mut found: impl FnMut(Option<&'a [u8]>),
    ) {
        match self {
            Hash::Small(_) => fields.iter().for_each(|field| found(self.get(field))),
            Hash::Large(dict) => dict.get_each(fields, |value| found(value.map(|value| &**value))),
        }
    }

    pub(crate) fn contains(&self, field: &[u8]) -> bool {
        self.get(field).is_some()
    }

    /// Sets a field and says whether it is new. `seed` is for the table, should this grow into one.
    pub(crate) fn set(&mut self, field: &[u8], value: &[u8], seed: u64) -> bool {
        if field.len().max(value.len()) > SMALL_ITEM_LEN_MAX {
            self.enlarge(seed);
        }
        let grown = match self {
            Hash::Large(dict) => return set_large(dict, field, value),
            Hash::Small(packed) => match find(packed, field) {
                Some(found) => {
                    let (from, to) = (found.value_at, found.end);
                    packed.splice(from, to, &[value]);
                    return false;
                }
                None => {
                    packed.push(&[field, value]);
                    // Counting the items is a walk of its own; short of this many bytes it cannot matter.
                    packed.n_bytes() > 2 * SMALL_ENTRIES_MAX
                        && packed.iter().count() > 2 * SMALL_ENTRIES_MAX
                }
            },
        };
        if grown {
            self.enlarge(seed);
        }
        true
    }

    pub(crate) fn remove(&mut self, field: &[u8]) -> bool {
        match self {
            Hash::Small(packed) => {
                let Some(found) = find(packed, field) else { return false };
                let (from, to) = (found.at, found.end);
                packed.splice(from, to, &[]);
                true
            }
            Hash::Large(dict) => dict.remove(field).is_some(),
        }
    }

    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = (&[u8], &[u8])> + '_> {
        match self {
            Hash::Small(packed) => {
                let mut items = packed.iter();
                Box::new(std::iter::from_fn(move || Some((items.next()?, items.next()?))))
            }
            Hash::Large(dict) => Box::new(dict.iter().map(|(field, value)| (&**field, &**value))),
        }
    }

    /// A random field; `random` gives uniform 64-bit numbers.
    pub(crate) fn random(&self, mut random: impl FnMut() -> u64) -> Option<(&[u8], &[u8])> {
        match self {
            Hash::Small(_) if self.is_empty() => None,
            Hash::Small(_) => self.iter().nth((random() % self.len() as u64) as usize),
            Hash::Large(dict) => dict.random(random).map(|(field, value)| (&**field, &**value)),
        }
    }

    /// Visits fields at `cursor` and returns the next cursor; a small hash is visited whole.
    pub(crate) fn scan<'a>(
        &'a self,
        cursor: u64,
        mut visit: impl FnMut(&'a [u8], &'a [u8]),
    ) -> u64 {
        match self {
            Hash::Small(_) => {
                self.iter().for_each(|(field, value)| visit(field, value));
                0
            }
            Hash::Large(dict) => dict.scan(cursor, |field, value| visit(field, value)),
        }
    }

    pub(super) fn encoding(&self) -> &'static str {
        match self {
            Hash::Small(_) => "listpack",
            Hash::Large(_) => "hashtable",
        }
    }

    pub(super) fn memory(&self) -> usize {
        match self {
            Hash::Small(packed) => allocation(packed.n_bytes()),
            Hash::Large(dict) => {
                let node = allocation(size_of::<usize>() * 5);
                allocation(size_of::<Dict<Box<[u8]>>>())
                    + dict.n_buckets() * size_of::<usize>()
                    + dict
                        .iter()
                        .map(|(field, value)| {
                            node + allocation(field.len()) + allocation(value.len())
                        })
                        .sum::<usize>()
            }
        }
    }

    fn enlarge(&mut self, seed: u64) {
        let Hash::Small(packed) = self else { return };
        let mut dict = Dict::with_capacity(seed, packed.iter().count() / 2);
        let mut items = packed.iter();
        while let (Some(field), Some(value)) = (items.next(), items.next()) {
            dict.insert_new(field.into(), value.into());
        }
        *self = Hash::Large(Box::new(dict));
    }
}

fn set_large(dict: &mut Dict<Box<[u8]>>, field: &[u8], value: &[u8]) -> bool {
    if let Some(old) = dict.get_mut(field) {
        if old.len() == value.len() {
            old.copy_from_slice(value);
        } else {
            *old = value.into();
        }
        return false;
    }
    dict.insert_new(field.into(), value.into());
    true
}

/// A field of a packed hash, and where it stands.
struct Found<'a> {
    value: &'a [u8],
    at: usize,
    value_at: usize,
    end: usize,
}

fn find<'a>(packed: &'a Packed, field: &[u8]) -> Option<Found<'a>> {
    let mut items = packed.iter();
    loop {
        let at = items.position();
        let candidate = items.next()?;
        let value_at = items.position();
        let value = items.next()?;
        if candidate == field {
            return Some(Found { value, at, value_at, end: items.position() });
        }
    }
}
