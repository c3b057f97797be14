//! A short list of byte strings in one allocation: the compact form of small hashes.
//!
//! Each item is its length as a variable-length integer followed by its bytes. Everything is a linear walk,
//! which is the point: up to a few hundred small items, one cache-friendly walk beats any table and costs a
//! fraction of its memory.

/// Byte strings end to end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Packed(Box<[u8]>);

impl Packed {
    pub(crate) fn iter(&self) -> Items<'_> {
        Items { bytes: &self.0, position: 0 }
    }

    /// Bytes used, which is what the allocation holds.
    pub(crate) fn n_bytes(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn push(&mut self, items: &[&[u8]]) {
        let at = self.0.len();
        self.splice(at, at, items);
    }

    /// Replaces the bytes of whole items in `from..to` by `items`.
    ///
    /// Offsets come from [`Items::position`].
    pub(crate) fn splice(&mut self, from: usize, to: usize, items: &[&[u8]]) {
        let n_new: usize = items.iter().map(|item| len_size(item.len()) + item.len()).sum();
        let mut bytes = std::mem::take(&mut self.0).into_vec();
        let tail_len = bytes.len() - to;
        if n_new > to - from {
            let grown = bytes.len() + n_new - (to - from);
            bytes.reserve_exact(grown - bytes.len());
            bytes.resize(grown, 0);
            let end = bytes.len();
            bytes.copy_within(to..to + tail_len, end - tail_len);
        } else {
            bytes.copy_within(to..to + tail_len, from + n_new);
            bytes.truncate(from + n_new + tail_len);
        }
        let mut at = from;
        for item in items {
            at += write_len(&mut bytes[at..], item.len());
            bytes[at..at + item.len()].copy_from_slice(item);
            at += item.len();
        }
        self.0 = bytes.into_boxed_slice();
    }

    /// Replaces items and adds others at the end, all at once.
    ///
    /// What is replaced is in the order in which it stands.
    pub(crate) fn replace(&mut self, replaced: &[Replaced<'_>], added: &[&[u8]]) {
        let n_gone: usize = replaced.iter().map(|Replaced { from, to, .. }| to - from).sum();
        let new = replaced.iter().map(|replaced| replaced.by).chain(added.iter().copied());
        let n_new: usize = new.map(|item| len_size(item.len()) + item.len()).sum();
        let mut bytes = Vec::with_capacity(self.0.len() - n_gone + n_new);
        let mut kept_from = 0;
        for Replaced { from, to, by } in replaced {
            bytes.extend_from_slice(&self.0[kept_from..*from]);
            push_item(&mut bytes, by);
            kept_from = *to;
        }
        bytes.extend_from_slice(&self.0[kept_from..]);
        added.iter().for_each(|item| push_item(&mut bytes, item));
        self.0 = bytes.into_boxed_slice();
    }
}

/// An item of a [`Packed`] and what takes its place. Offsets come from [`Items::position`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Replaced<'a> {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) by: &'a [u8],
}

fn push_item(bytes: &mut Vec<u8>, item: &[u8]) {
    let mut len = item.len();
    while len >= 0x80 {
        bytes.push((len as u8) | 0x80);
        len >>= 7;
    }
    bytes.push(len as u8);
    bytes.extend_from_slice(item);
}

/// Walks the items of a [`Packed`].
#[derive(Debug, Clone)]
pub(crate) struct Items<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl Items<'_> {
    /// Where the next item starts.
    pub(crate) fn position(&self) -> usize {
        self.position
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let mut len = usize::from(*self.bytes.get(self.position)?);
        self.position += 1;
        if len >= 0x80 {
            len &= 0x7f;
            let mut shift = 7;
            loop {
                let byte = usize::from(self.bytes[self.position]);
                self.position += 1;
                len |= (byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
        }
        let item = &self.bytes[self.position..self.position + len];
        self.position += len;
        Some(item)
    }
}

fn len_size(len: usize) -> usize {
    let bits = (usize::BITS - len.leading_zeros()).max(1);
    bits.div_ceil(7) as usize
}

fn write_len(out: &mut [u8], mut len: usize) -> usize {
    let mut n = 0;
    while len >= 0x80 {
        out[n] = (len as u8) | 0x80;
        len >>= 7;
        n += 1;
    }
    out[n] = len as u8;
    n + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn splicing_agrees_with_a_vec() {
        let item = prop::collection::vec(any::<u8>(), 0..300);
        let edit = (any::<prop::sample::Index>(), 0usize..3, prop::collection::vec(item, 0..3));
        proptest!(|(edits in prop::collection::vec(edit, 0..30))| {
            let mut packed = Packed::default();
            let mut model: Vec<Vec<u8>> = Vec::new();
            for (at, n_removed, added) in edits {
                let at = at.index(model.len() + 1);
                let end = (at + n_removed).min(model.len());
                let mut items = packed.iter();
                items.by_ref().take(at).for_each(drop);
                let from = items.position();
                items.by_ref().take(end - at).for_each(drop);
                let to = items.position();
                let refs: Vec<&[u8]> = added.iter().map(Vec::as_slice).collect();
                packed.splice(from, to, &refs);
                model.splice(at..end, added);
                let all: Vec<Vec<u8>> = packed.iter().map(<[u8]>::to_vec).collect();
                prop_assert_eq!(&all, &model);
            }
        });
    }

    #[test]
    fn replacing_and_adding_agrees_with_a_vec() {
        let item = || prop::collection::vec(any::<u8>(), 0..300);
        let items = prop::collection::vec((item(), any::<bool>(), item()), 0..20);
        let added = prop::collection::vec(item(), 0..5);
        proptest!(|(items in items, added in added)| {
            let mut packed = Packed::default();
            packed.push(&items.iter().map(|(old, ..)| &**old).collect::<Vec<_>>());
            let mut replaced = Vec::new();
            let mut walk = packed.iter();
            for (_, is_replaced, by) in &items {
                let from = walk.position();
                walk.next();
                if *is_replaced {
                    replaced.push(Replaced { from, to: walk.position(), by });
                }
            }
            let added: Vec<&[u8]> = added.iter().map(Vec::as_slice).collect();
            packed.replace(&replaced, &added);
            let kept = items.iter().map(|(old, is_replaced, by)| if *is_replaced { by } else { old });
            let expected: Vec<&[u8]> = kept.map(Vec::as_slice).chain(added).collect();
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), expected);
        });
    }
}
