//! Hashes: packed in one allocation while small, a table once they grow.
//!
//! Redis makes a table as soon as one value is longer than 64 bytes. Most records of applications have such a value, so
//! here they stay packed for longer; Redis' word for how a hash is kept is given all the same.

use super::allocation;
use crate::{
    dict::Dict,
    packed::{Packed, Replaced},
};

/// A hash value.
#[derive(Debug, Clone)]
pub(crate) enum Hash {
    /// Field, value, field, value … in the order they were first set.
    Small(Packed),
    /// The same, where Redis would have a table.
    Record(Packed),
    Large(Box<Dict<Box<[u8]>>>),
}

/// Redis' own defaults (`hash-max-listpack-entries`, `hash-max-listpack-value`).
const SMALL_ENTRIES_MAX: usize = 512;
const SMALL_ITEM_LEN_MAX: usize = 64;
/// Longer records become tables. Up to here a walk is quicker than the way through a table, whose pieces would also take
/// twice the memory.
const RECORD_BYTES_MAX: usize = 4096;

impl Hash {
    /// The length of the first field, which stands where a packed hash begins.
    pub(super) fn glance(&self) -> usize {
        match self {
            Hash::Small(packed) | Hash::Record(packed) => {
                packed.iter().next().map_or(0, <[u8]>::len)
            }
            Hash::Large(_) => 0,
        }
    }

    pub(crate) fn new() -> Hash {
        Hash::Small(Packed::default())
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Hash::Small(packed) | Hash::Record(packed) => packed.iter().count() / 2,
            Hash::Large(dict) => dict.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Hash::Small(packed) | Hash::Record(packed) => packed.n_bytes() == 0,
            Hash::Large(dict) => dict.is_empty(),
        }
    }

    pub(crate) fn get(&self, field: &[u8]) -> Option<&[u8]> {
        match self {
            Hash::Small(packed) | Hash::Record(packed) => {
                find(packed, field).map(|found| found.value)
            }
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
            Hash::Small(packed) | Hash::Record(packed) => get_each_packed(packed, fields, found),
            Hash::Large(dict) => dict.get_each(fields, |value| found(value.map(|value| &**value))),
        }
    }

    pub(crate) fn contains(&self, field: &[u8]) -> bool {
        self.get(field).is_some()
    }

    /// Sets a field and says whether it is new. `seed` is for the table, should this grow into one.
    pub(crate) fn set(&mut self, field: &[u8], value: &[u8], seed: u64) -> bool {
        self.set_each(&[[field, value]], seed) == 1
    }

    /// Sets fields and says how many are new. `seed` is for the table, should this grow into one.
    pub(crate) fn set_each(&mut self, pairs: &[[&[u8]; 2]], seed: u64) -> usize {
        if let Hash::Small(packed) = self
            && pairs.iter().flatten().any(|item| item.len() > SMALL_ITEM_LEN_MAX)
        {
            *self = Hash::Record(std::mem::take(packed));
        }
        if let Hash::Record(packed) = self
            && packed.n_bytes() + pairs.iter().flatten().map(|item| item.len()).sum::<usize>()
                > RECORD_BYTES_MAX
        {
            self.enlarge(seed);
        }
        let n_new = match self {
            Hash::Large(dict) => {
                return pairs.iter().filter(|[field, value]| set_large(dict, field, value)).count();
            }
            Hash::Small(packed) | Hash::Record(packed) => set_packed(packed, pairs),
        };
        // Counting the items is a walk of its own; short of this many bytes it cannot matter.
        if let Hash::Small(packed) = self
            && packed.n_bytes() > 2 * SMALL_ENTRIES_MAX
            && packed.iter().count() > 2 * SMALL_ENTRIES_MAX
        {
            self.enlarge(seed);
        }
        n_new
    }

    pub(crate) fn remove(&mut self, field: &[u8]) -> bool {
        match self {
            Hash::Small(packed) | Hash::Record(packed) => {
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
            Hash::Small(packed) | Hash::Record(packed) => {
                let mut items = packed.iter();
                Box::new(std::iter::from_fn(move || Some((items.next()?, items.next()?))))
            }
            Hash::Large(dict) => Box::new(dict.iter().map(|(field, value)| (&**field, &**value))),
        }
    }

    /// A random field; `random` gives uniform 64-bit numbers.
    pub(crate) fn random(&self, mut random: impl FnMut() -> u64) -> Option<(&[u8], &[u8])> {
        match self {
            _ if self.is_empty() => None,
            Hash::Small(_) | Hash::Record(_) => {
                self.iter().nth((random() % self.len() as u64) as usize)
            }
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
            Hash::Small(_) | Hash::Record(_) => {
                self.iter().for_each(|(field, value)| visit(field, value));
                0
            }
            Hash::Large(dict) => dict.scan(cursor, |field, value| visit(field, value)),
        }
    }

    pub(super) fn encoding(&self) -> &'static str {
        match self {
            Hash::Small(_) => "listpack",
            Hash::Record(_) | Hash::Large(_) => "hashtable",
        }
    }

    pub(super) fn memory(&self) -> usize {
        match self {
            Hash::Small(packed) | Hash::Record(packed) => allocation(packed.n_bytes()),
            Hash::Large(dict) => {
                let node = allocation(size_of::<usize>() * 6);
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
        let (Hash::Small(packed) | Hash::Record(packed)) = self else { return };
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

/// Sets the fields of a packed hash and says how many are new.
fn set_packed(packed: &mut Packed, pairs: &[[&[u8]; 2]]) -> usize {
    // One by one each would move what follows it, and ask the allocator for a little more.
    if (2..=Names::MAX).contains(&pairs.len())
        && let Some(names) = Names::of_all(pairs.iter().map(|[field, _]| *field))
    {
        return set_together(packed, pairs, &names);
    }
    let mut n_new = 0;
    for [field, value] in pairs {
        match find(packed, field).map(|found| (found.value_at, found.end)) {
            Some((from, to)) => packed.splice(from, to, &[value]),
            None => {
                packed.push(&[field, value]);
                n_new += 1;
            }
        }
    }
    n_new
}

/// Sets fields that all differ, of which `names` are the names.
fn set_together(packed: &mut Packed, pairs: &[[&[u8]; 2]], names: &Names<'_>) -> usize {
    let mut is_new = [true; Names::MAX];
    let mut replaced = [Replaced::default(); Names::MAX];
    let mut n_replaced = 0;
    let mut items = packed.iter();
    while let Some(field) = items.next() {
        let from = items.position();
        items.next();
        names.each_equal(field, |n| {
            is_new[n] = false;
            replaced[n_replaced] = Replaced { from, to: items.position(), by: pairs[n][1] };
            n_replaced += 1;
        });
    }
    let mut added = [&[][..]; 2 * Names::MAX];
    let mut n_added = 0;
    for (pair, _) in pairs.iter().zip(is_new).filter(|(_, is_new)| *is_new) {
        added[n_added..n_added + 2].copy_from_slice(pair);
        n_added += 2;
    }
    packed.replace(&replaced[..n_replaced], &added[..n_added]);
    n_added / 2
}

/// Gives the value of each field, or none, to `found`.
fn get_each_packed<'a>(
    packed: &'a Packed,
    fields: &[&[u8]],
    mut found: impl FnMut(Option<&'a [u8]>),
) {
    for fields in fields.chunks(Names::MAX) {
        let names = Names::of(fields.iter().copied());
        let mut values = [None; Names::MAX];
        let mut items = packed.iter();
        while let (Some(field), Some(value)) = (items.next(), items.next()) {
            names.each_equal(field, |n| values[n] = Some(value));
        }
        values[..fields.len()].iter().for_each(|value| found(*value));
    }
}

/// Names to look for in one walk over a packed hash: a table so small that it is made for the walk.
///
/// Most fields of a record are not asked for, and most names that are asked for differ in their length or an end, so
/// few bytes are ever compared.
struct Names<'a> {
    names: [&'a [u8]; Names::MAX],
    /// One more than the last name of this kind, 0 for none.
    heads: [u8; Names::KINDS],
    /// The same for the name before it of its kind.
    nexts: [u8; Names::MAX],
}

impl<'a> Names<'a> {
    const MAX: usize = 16;
    const KINDS: usize = 64;

    /// Up to [`Names::MAX`] names.
    fn of(names: impl Iterator<Item = &'a [u8]>) -> Names<'a> {
        let mut all = Names::none();
        names.enumerate().for_each(|(n, name)| all.put(n, name));
        all
    }

    /// The same, if all of them differ.
    fn of_all(names: impl Iterator<Item = &'a [u8]>) -> Option<Names<'a>> {
        let mut all = Names::none();
        for (n, name) in names.enumerate() {
            let mut is_known = false;
            all.each_equal(name, |_| is_known = true);
            if is_known {
                return None;
            }
            all.put(n, name);
        }
        Some(all)
    }

    fn none() -> Names<'a> {
        Names { names: [&[]; Names::MAX], heads: [0; Names::KINDS], nexts: [0; Names::MAX] }
    }

    fn put(&mut self, n: usize, name: &'a [u8]) {
        let head = &mut self.heads[Names::kind(name)];
        self.names[n] = name;
        self.nexts[n] = *head;
        *head = n as u8 + 1;
    }

    /// Calls `equal` with the place of each name that is `field`.
    #[inline]
    fn each_equal(&self, field: &[u8], mut equal: impl FnMut(usize)) {
        let mut next = self.heads[Names::kind(field)];
        while let Some(n) = usize::from(next).checked_sub(1) {
            if self.names[n] == field {
                equal(n);
            }
            next = self.nexts[n];
        }
    }

    #[inline]
    fn kind(name: &[u8]) -> usize {
        let ends = match name {
            [] => 0,
            [first, .., last] => usize::from(*first) * 5 + usize::from(*last) * 3,
            [only] => usize::from(*only),
        };
        (ends + name.len()) % Names::KINDS
    }
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

#[cfg(test)]
mod tests;
