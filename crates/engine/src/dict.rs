//! The hash table behind keyspaces, hashes, sets and sorted sets.
//!
//! A chained table like Redis' own rather than `hashbrown`, for two properties that open addressing cannot give:
//! it grows a few buckets at a time (no pause at a million keys), and a scan cursor stays valid while it grows or shrinks,
//! because the cursor counts buckets with their bits reversed.

use std::{
    hash::{BuildHasher, Hasher},
    hint::black_box,
    mem,
};

use foldhash::fast::FixedState;

/// A table from byte strings to values.
///
/// `K` is how keys are owned: boxed, or shared where another structure points at the same bytes.
#[derive(Debug, Clone)]
pub(crate) struct Dict<V, K = Box<[u8]>> {
    /// The table in use, and the larger or smaller one that replaces it during a rehash.
    tables: [Table<V, K>; 2],
    /// The next bucket of `tables[0]` to move, while a rehash is under way.
    rehash_from: Option<usize>,
    /// Changes since buckets were last moved.
    steps_owed: u8,
    seed: u64,
}

/// What a key hashes to; no table has more buckets than this can tell apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hashed(u32);

impl Hashed {
    fn bucket(self, mask: usize) -> usize {
        self.0 as usize & mask
    }
}

/// Keys whose memory is read together.
pub(crate) const TOGETHER: usize = 16;

type Link<V, K> = Option<Box<Node<V, K>>>;

#[derive(Debug, Clone)]
struct Node<V, K> {
    next: Link<V, K>,
    key: K,
    value: V,
    /// Costs 8 bytes, and saves reading the keys of others in the bucket, and all keys when the table grows: each would
    /// be a wait for memory.
    hash: Hashed,
}

impl<V, K: AsRef<[u8]>> Node<V, K> {
    fn has(&self, hash: Hashed, key: &[u8]) -> bool {
        self.hash == hash && self.key.as_ref() == key
    }
}

#[derive(Debug, Clone)]
struct Table<V, K> {
    /// Empty, or a power of two long.
    buckets: Vec<Link<V, K>>,
    len: usize,
}

const BUCKETS_MIN: usize = 4;

/// Entries of a bucket that a random draw tells apart. A table has at most about one entry for each bucket, two while it
/// shrinks; a longer chain is then found in one of ten billion buckets.
const CHAIN_LEN_MAX: u64 = 16;

impl<V: Clone, K: Clone> Table<V, K> {
    const fn empty() -> Self {
        Table { buckets: Vec::new(), len: 0 }
    }

    /// Takes zeroed pages from the system for a large table, which costs microseconds; pushing a million empty
    /// buckets would be a pause of milliseconds.
    fn with_buckets(n: usize) -> Self {
        Table { buckets: vec![None; n], len: 0 }
    }

    fn mask(&self) -> usize {
        self.buckets.len().wrapping_sub(1)
    }

    /// The first node of the bucket for this hash.
    fn chain(&self, hash: Hashed) -> Option<&Node<V, K>> {
        if self.len == 0 { None } else { self.buckets[hash.bucket(self.mask())].as_deref() }
    }
}

impl<V: Clone, K: AsRef<[u8]> + Clone> Table<V, K> {
    fn find(&self, hash: Hashed, key: &[u8]) -> Option<&Node<V, K>> {
        let mut chain = self.chain(hash);
        while chain.is_some_and(|node| !node.has(hash, key)) {
            chain = chain.and_then(|node| node.next.as_deref());
        }
        chain
    }
}

/// The link to the node of this key, or the empty one where it would be. There must be buckets.
fn link_mut<'a, V, K: AsRef<[u8]>>(
    buckets: &'a mut [Link<V, K>],
    hash: Hashed,
    key: &[u8],
) -> &'a mut Link<V, K> {
    let mask = buckets.len() - 1;
    let mut link = &mut buckets[hash.bucket(mask)];
    while link.as_ref().is_some_and(|node| !node.has(hash, key)) {
        link = &mut link.as_mut().expect("the loop condition saw a node").next;
    }
    link
}

impl<V: Clone, K: AsRef<[u8]> + Clone> Dict<V, K> {
    /// An empty table; `seed` keeps outsiders from choosing keys that collide.
    pub(crate) const fn new(seed: u64) -> Self {
        Dict { tables: [Table::empty(), Table::empty()], rehash_from: None, steps_owed: 0, seed }
    }

    /// An empty table with room for `n` entries.
    pub(crate) fn with_capacity(seed: u64, n: usize) -> Self {
        let mut dict = Dict::new(seed);
        if n > 0 {
            dict.tables[0] = Table::with_buckets(n.next_power_of_two().max(BUCKETS_MIN));
        }
        dict
    }

    pub(crate) fn len(&self) -> usize {
        self.tables[0].len + self.tables[1].len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Buckets in both tables: what the table itself costs beside its entries.
    pub(crate) fn n_buckets(&self) -> usize {
        self.tables[0].buckets.len() + self.tables[1].buckets.len()
    }

    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.get(key).is_some()
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&V> {
        self.get_key_value(key).map(|(_, value)| value)
    }

    pub(crate) fn get_key_value(&self, key: &[u8]) -> Option<(&K, &V)> {
        // Most databases have no key that expires, and ask with every command.
        if self.is_empty() {
            return None;
        }
        self.get_hashed(self.hash(key), key)
    }

    pub(crate) fn get_hashed(&self, hash: Hashed, key: &[u8]) -> Option<(&K, &V)> {
        let node = self.tables.iter().find_map(|table| table.find(hash, key))?;
        Some((&node.key, &node.value))
    }

    /// Looks up keys one after the other and gives each value, or none, to `found`.
    ///
    /// In a table that no cache holds, a look-up is mostly waiting for memory. These wait together: the buckets of
    /// some keys are read before the first of them is compared, and all are compared before `found` does its work.
    pub(crate) fn get_each<'a>(&'a self, keys: &[&[u8]], mut found: impl FnMut(Option<&'a V>)) {
        if self.rehash_from.is_some() || self.is_empty() {
            return keys.iter().for_each(|key| found(self.get(key)));
        }
        for keys in keys.chunks(TOGETHER) {
            let mut chains: [Option<&Node<V, K>>; TOGETHER] = [None; TOGETHER];
            let mut hashes = [Hashed::default(); TOGETHER];
            for ((chain, hash), key) in chains.iter_mut().zip(&mut hashes).zip(keys) {
                *hash = self.hash(key);
                *chain = self.tables[0].chain(*hash);
            }
            for ((chain, hash), key) in chains.iter_mut().zip(hashes).zip(keys) {
                while chain.is_some_and(|node| !node.has(hash, key)) {
                    *chain = chain.and_then(|node| node.next.as_deref());
                }
            }
            chains[..keys.len()].iter().for_each(|chain| found(chain.map(|node| &node.value)));
        }
    }

    /// Hashes up to [`TOGETHER`] keys, and reads what looking them up will read: as in [`Dict::get_each`], those who
    /// look them up to change something then need not wait for memory one after the other.
    pub(crate) fn fetch<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) -> [Hashed; TOGETHER] {
        let mut hashes = [Hashed::default(); TOGETHER];
        let mut chains: [[Option<&Node<V, K>>; 2]; TOGETHER] = [[None; 2]; TOGETHER];
        for ((hash, chains), key) in hashes.iter_mut().zip(&mut chains).zip(keys) {
            *hash = self.hash(key);
            *chains = self.tables.each_ref().map(|table| table.chain(*hash));
        }
        read(chains.as_flattened().iter().flatten().copied());
        hashes
    }

    pub(crate) fn get_mut(&mut self, key: &[u8]) -> Option<&mut V> {
        self.rehash_step();
        let hash = self.hash(key);
        for table in &mut self.tables {
            if table.len == 0 {
                continue;
            }
            if let Some(node) = link_mut(&mut table.buckets, hash, key) {
                return Some(&mut node.value);
            }
        }
        None
    }

    /// The value of a key, which gets the new one if it has none.
    pub(crate) fn get_or_insert_with(
        &mut self,
        key: &[u8],
        new: impl FnOnce() -> (K, V),
    ) -> &mut V {
        // A full table grows even if the key is there: it would with the next one.
        self.grow_if_full();
        let hash = self.hash(key);
        let is_in_second = self.rehash_from.is_some() && self.tables[0].find(hash, key).is_none();
        let Table { buckets, len } = &mut self.tables[usize::from(is_in_second)];
        let node = link_mut(buckets, hash, key).get_or_insert_with(|| {
            *len += 1;
            let (key, value) = new();
            Box::new(Node { next: None, key, value, hash })
        });
        &mut node.value
    }

    /// Adds a key that the caller knows to be absent.
    pub(crate) fn insert_new(&mut self, key: K, value: V) -> &mut V {
        self.insert_new_hashed(self.hash(key.as_ref()), key, value)
    }

    pub(crate) fn insert_new_hashed(&mut self, hash: Hashed, key: K, value: V) -> &mut V {
        self.grow_if_full();
        let table = &mut self.tables[usize::from(self.rehash_from.is_some())];
        table.len += 1;
        let mask = table.mask();
        let bucket = &mut table.buckets[hash.bucket(mask)];
        let node = Node { next: bucket.take(), key, value, hash };
        &mut bucket.insert(Box::new(node)).value
    }

    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<V> {
        self.remove_entry(key).map(|(_, value)| value)
    }

    pub(crate) fn remove_entry(&mut self, key: &[u8]) -> Option<(K, V)> {
        if self.is_empty() { None } else { self.remove_hashed(self.hash(key), key) }
    }

    pub(crate) fn remove_hashed(&mut self, hash: Hashed, key: &[u8]) -> Option<(K, V)> {
        self.rehash_step();
        for table in &mut self.tables {
            if table.len == 0 {
                continue;
            }
            let link = link_mut(&mut table.buckets, hash, key);
            if let Some(node) = link.take() {
                let Node { next, key, value, .. } = *node;
                *link = next;
                table.len -= 1;
                self.shrink_if_sparse();
                return Some((key, value));
            }
        }
        None
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.tables.iter().flat_map(|table| &table.buckets).flat_map(|bucket| {
            std::iter::successors(bucket.as_deref(), |node| node.next.as_deref())
                .map(|node| (&node.key, &node.value))
        })
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// Visits the buckets at `cursor` and returns the next cursor, 0 at the end.
    ///
    /// Every entry that is present from the call with cursor 0 to the call that returns 0 is visited at least once,
    /// however the table is resized in between.
    pub(crate) fn scan<'a>(&'a self, cursor: u64, mut visit: impl FnMut(&'a K, &'a V)) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let mut cursor = cursor as usize;
        let [a, b] = &self.tables;
        let (small, large) = match self.rehash_from {
            None => (a, None),
            Some(_) if a.buckets.len() <= b.buckets.len() => (a, Some(b)),
            Some(_) => (b, Some(a)),
        };
        visit_bucket(&small.buckets[cursor & small.mask()], &mut visit);
        let Some(large) = large else {
            return next_cursor(cursor, small.mask()) as u64;
        };
        // Every bucket of the larger table that the smaller one's bucket is spread over.
        loop {
            visit_bucket(&large.buckets[cursor & large.mask()], &mut visit);
            cursor = next_cursor(cursor, large.mask());
            if cursor & (small.mask() ^ large.mask()) == 0 {
                return cursor as u64;
            }
        }
    }

    /// A random entry, each as likely as any other; `random` gives uniform 64-bit numbers.
    ///
    /// Draws a bucket and a depth until there is an entry: entries in long chains are then as likely as those alone in
    /// their bucket. To draw a bucket and then one of its entries would favour the latter.
    pub(crate) fn random(&self, mut random: impl FnMut() -> u64) -> Option<(&K, &V)> {
        if self.is_empty() {
            return None;
        }
        // The buckets that a rehash has emptied come first, and are left out.
        let first = self.rehash_from.unwrap_or(0);
        let n_drawn = (self.n_buckets() - first) as u64;
        let first_len = self.tables[0].buckets.len();
        loop {
            let drawn = random();
            let depth = (drawn % CHAIN_LEN_MAX) as usize;
            let i = first + (drawn / CHAIN_LEN_MAX % n_drawn) as usize;
            let bucket = match i.checked_sub(first_len) {
                None => &self.tables[0].buckets[i],
                Some(i) => &self.tables[1].buckets[i],
            };
            let mut rest = bucket.as_deref();
            for _ in 0..depth {
                rest = rest.and_then(|node| node.next.as_deref());
            }
            let Some(mut node) = rest else { continue };
            // Whatever is deeper still shares the last place: less likely than the others, but not impossible.
            if depth as u64 == CHAIN_LEN_MAX - 1 {
                let deeper = || std::iter::successors(rest, |node| node.next.as_deref());
                let n = deeper().count() as u64;
                node = deeper().nth((random() % n) as usize).unwrap_or(node);
            }
            return Some((&node.key, &node.value));
        }
    }

    pub(crate) fn hash(&self, key: &[u8]) -> Hashed {
        let mut hasher = FixedState::with_seed(self.seed).build_hasher();
        hasher.write(key);
        // Buckets are chosen by the low bits; foldhash's are good enough for that.
        Hashed(hasher.finish() as u32)
    }

    fn grow_if_full(&mut self) {
        self.rehash_step();
        if self.rehash_from.is_none() && self.tables[0].len >= self.tables[0].buckets.len() {
            self.start_rehash((self.tables[0].buckets.len() * 2).max(BUCKETS_MIN));
        }
    }

    fn shrink_if_sparse(&mut self) {
        if self.is_empty() {
            self.tables = [Table::empty(), Table::empty()];
            self.rehash_from = None;
            return;
        }
        let n = self.tables[0].buckets.len();
        if self.rehash_from.is_none() && n > BUCKETS_MIN * 4 && self.len() < n / 8 {
            self.start_rehash(self.len().next_power_of_two().max(BUCKETS_MIN));
        }
    }

    fn start_rehash(&mut self, n_buckets: usize) {
        if self.tables[0].len == 0 {
            self.tables[0] = Table::with_buckets(n_buckets);
        } else {
            self.tables[1] = Table::with_buckets(n_buckets);
            self.rehash_from = Some(0);
            // The next change moves the first buckets; a small table has no others.
            self.steps_owed = TOGETHER as u8;
        }
    }

    /// Moves one bucket to the new table for each change, and many at a time: each is a wait for memory, and these wait
    /// together.
    fn rehash_step(&mut self) {
        let Some(from) = self.rehash_from else { return };
        self.steps_owed += 1;
        if usize::from(self.steps_owed) >= TOGETHER {
            self.steps_owed = 0;
            self.move_buckets(from);
        }
    }

    /// Moves some buckets, passing over a bounded number of empty ones.
    fn move_buckets(&mut self, from: usize) {
        const EMPTY_BUCKETS_MAX: usize = 10 * TOGETHER;
        let end = self.tables[0].buckets.len().min(from + EMPTY_BUCKETS_MAX);
        let is_full = |i: &usize| self.tables[0].buckets[*i].is_some();
        let mut full = [0; TOGETHER];
        let mut n_full = 0;
        for (place, i) in full.iter_mut().zip((from..end).filter(is_full)) {
            *place = i;
            n_full += 1;
        }
        let full = &full[..n_full];
        let nodes = full.iter().filter_map(|i| self.tables[0].buckets[*i].as_deref());
        black_box(nodes.map(|node| u64::from(node.hash.0)).sum::<u64>());
        full.iter().for_each(|i| self.move_bucket(*i));
        let is_last = n_full < TOGETHER;
        self.rehash_from = Some(if is_last { end } else { full[n_full - 1] + 1 });
        if self.tables[0].len == 0 {
            self.tables[0] = mem::replace(&mut self.tables[1], Table::empty());
            self.rehash_from = None;
        }
    }

    fn move_bucket(&mut self, i: usize) {
        let mut link = self.tables[0].buckets[i].take();
        while let Some(mut node) = link {
            link = node.next.take();
            self.tables[0].len -= 1;
            let to = &mut self.tables[1];
            to.len += 1;
            let mask = to.mask();
            let bucket = &mut to.buckets[node.hash.bucket(mask)];
            node.next = bucket.take();
            *bucket = Some(node);
        }
    }
}

/// Reads nodes and their keys, which brings them into the cache.
fn read<'a, V: 'a, K: AsRef<[u8]> + 'a>(nodes: impl Iterator<Item = &'a Node<V, K>>) {
    let first_bytes =
        nodes.map(|node| node.key.as_ref().first().map_or(0, |byte| u32::from(*byte)));
    black_box(first_bytes.sum::<u32>());
}

fn visit_bucket<'a, V, K>(bucket: &'a Link<V, K>, visit: &mut impl FnMut(&'a K, &'a V)) {
    let mut link = bucket;
    while let Some(node) = link {
        visit(&node.key, &node.value);
        link = &node.next;
    }
}

/// Counts up from the most significant bit of `mask`, so that the buckets a cursor has passed stay
/// passed when the table doubles or halves.
fn next_cursor(cursor: usize, mask: usize) -> usize {
    (cursor | !mask).reverse_bits().wrapping_add(1).reverse_bits()
}

#[cfg(test)]
mod tests;
