//! Sorted sets: a short sorted list while small; a table and a counted tree that share the members once they grow.

use std::{
    borrow::Borrow,
    cmp::Ordering,
    mem,
    ops::{Bound, Range},
    sync::Arc,
};

use wabi_tree::OSBTreeSet;

use super::allocation;
use crate::dict::{Dict, Hashed, TOGETHER};

/// A sorted set value. Members are ordered by score, then by bytes; ranks count from 0.
#[derive(Debug, Clone)]
pub(crate) enum ZSet {
    /// In order.
    #[expect(
        clippy::box_collection,
        reason = "a Vec in place would make every value of every key larger"
    )]
    Small(Box<Vec<Entry>>),
    Large(Box<Large>),
}

#[derive(Debug, Clone)]
pub(crate) struct Large {
    scores: Dict<f64, Member>,
    order: OSBTreeSet<Entry>,
}

type Member = Arc<[u8]>;

/// Redis' own defaults (`zset-max-listpack-entries`, `zset-max-listpack-value`).
const SMALL_ENTRIES_MAX: usize = 128;
const SMALL_MEMBER_LEN_MAX: usize = 64;

/// A place between members: where a range of scores or of members begins or ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Edge<'a> {
    /// Before every member with this score.
    BeforeScore(f64),
    /// After every member with this score.
    AfterScore(f64),
    /// Just before this member, whatever its score is; for sets whose scores are all the same.
    BeforeMember(&'a [u8]),
    /// Just after this member, likewise.
    AfterMember(&'a [u8]),
    First,
    Last,
}

/// A range of scores with open or closed ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoreRange {
    pub(crate) min: f64,
    pub(crate) min_open: bool,
    pub(crate) max: f64,
    pub(crate) max_open: bool,
}

impl ScoreRange {
    pub(crate) fn low(&self) -> Edge<'static> {
        if self.min_open { Edge::AfterScore(self.min) } else { Edge::BeforeScore(self.min) }
    }

    pub(crate) fn high(&self) -> Edge<'static> {
        if self.max_open { Edge::BeforeScore(self.max) } else { Edge::AfterScore(self.max) }
    }
}

impl ZSet {
    pub(crate) fn new() -> ZSet {
        ZSet::Small(Box::default())
    }

    /// A set of different members in any order.
    pub(crate) fn from_items<T: AsRef<[u8]>>(items: Vec<(T, f64)>, seed: u64) -> ZSet {
        let n = items.len();
        let is_short = |(member, _): &(T, f64)| member.as_ref().len() <= SMALL_MEMBER_LEN_MAX;
        let is_small = n <= SMALL_ENTRIES_MAX && items.iter().all(is_short);
        let entries = items
            .into_iter()
            .map(|(member, score)| Entry { score, member: member.as_ref().into() });
        if is_small {
            let mut entries: Vec<Entry> = entries.map(Entry::without_negative_zero).collect();
            entries.sort_unstable();
            return ZSet::Small(Box::new(entries));
        }
        let mut scores = Dict::with_capacity(seed, n);
        let order = entries.inspect(|entry| {
            scores.insert_new(entry.member.clone(), entry.score);
        });
        let order = order.collect();
        ZSet::Large(Box::new(Large { scores, order }))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            ZSet::Small(entries) => entries.len(),
            ZSet::Large(large) => large.scores.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn score(&self, member: &[u8]) -> Option<f64> {
        match self {
            ZSet::Small(entries) => find(entries, member).map(|at| entries[at].score),
            ZSet::Large(large) => large.scores.get(member).copied(),
        }
    }

    /// Gives the score of each member, or none, to `found`.
    pub(crate) fn score_each(&self, members: &[&[u8]], mut found: impl FnMut(Option<f64>)) {
        match self {
            ZSet::Small(_) => members.iter().for_each(|member| found(self.score(member))),
            ZSet::Large(large) => large.scores.get_each(members, |score| found(score.copied())),
        }
    }

    /// Gives a member its score and returns the one it had. `seed` is for the table, should this grow into one.
    pub(crate) fn insert(&mut self, member: &[u8], score: f64, seed: u64) -> Option<f64> {
        if let ZSet::Small(entries) = self {
            let found = find(entries, member);
            if found.is_some() || has_room(entries, member) {
                return insert_small(entries, found, member, score);
            }
            self.enlarge(seed);
        }
        let ZSet::Large(large) = self else { unreachable!("enlarged above") };
        large.insert(member, score)
    }

    /// Gives members their scores, in this order, and gives `had` the one that each had, and its new one.
    pub(crate) fn insert_each(
        &mut self,
        items: &[(&[u8], f64)],
        seed: u64,
        mut had: impl FnMut(Option<f64>, f64),
    ) {
        for (n, (member, score)) in items.iter().enumerate() {
            // A small set may become a large one on the way.
            if let ZSet::Large(large) = self
                && items.len() - n >= TOGETHER
            {
                return large.insert_each(&items[n..], had);
            }
            had(self.insert(member, *score, seed), *score);
        }
    }

    pub(crate) fn remove(&mut self, member: &[u8]) -> Option<f64> {
        match self {
            ZSet::Small(entries) => find(entries, member).map(|at| entries.remove(at).score),
            ZSet::Large(large) => {
                let (member, score) = large.scores.remove_entry(member)?;
                large.order.remove(&Entry { score, member });
                large.give_room_back();
                Some(score)
            }
        }
    }

    /// Removes the members of a range of ranks, and returns them in order.
    pub(crate) fn remove_ranks(&mut self, ranks: Range<usize>) -> Vec<Entry> {
        match self {
            ZSet::Small(entries) => entries.drain(ranks).collect(),
            ZSet::Large(large) => large.remove_ranks(ranks),
        }
    }

    /// How many members come before this one.
    pub(crate) fn rank(&self, member: &[u8]) -> Option<usize> {
        match self {
            ZSet::Small(entries) => find(entries, member),
            ZSet::Large(large) => {
                let (member, score) = large.scores.get_key_value(member)?;
                large.order.rank_of(&Entry { score: *score, member: member.clone() })
            }
        }
    }

    /// How many members come before `edge`.
    pub(crate) fn rank_of_edge(&self, edge: Edge<'_>) -> usize {
        // The ends are asked for most, and need no search.
        match edge {
            Edge::First | Edge::BeforeScore(f64::NEG_INFINITY) => return 0,
            Edge::Last | Edge::AfterScore(f64::INFINITY) => return self.len(),
            _ => {}
        }
        match self {
            ZSet::Small(entries) => {
                entries.partition_point(|entry| edge.compare(entry) == Ordering::Greater)
            }
            ZSet::Large(large) => {
                let after = (Bound::Excluded(&edge as &dyn Probe), Bound::Unbounded);
                self.len() - large.order.range::<dyn Probe, _>(after).len()
            }
        }
    }

    /// The member at `rank`, counted from 0.
    pub(crate) fn at(&self, rank: usize) -> Option<(&[u8], f64)> {
        match self {
            ZSet::Small(entries) => entries.get(rank).map(Entry::pair),
            ZSet::Large(large) => large.order.get_by_rank(rank).map(Entry::pair),
        }
    }

    /// Members from `rank` on, in order.
    pub(crate) fn iter_from(&self, rank: usize) -> Box<dyn Iterator<Item = (&[u8], f64)> + '_> {
        match self {
            ZSet::Small(entries) => {
                Box::new(entries.get(rank..).unwrap_or_default().iter().map(Entry::pair))
            }
            ZSet::Large(large) => Box::new(skip(large.order.iter(), rank).map(Entry::pair)),
        }
    }

    /// Members from `rank` down to the first, in reverse order.
    pub(crate) fn iter_back_from(
        &self,
        rank: usize,
    ) -> Box<dyn Iterator<Item = (&[u8], f64)> + '_> {
        match self {
            ZSet::Small(entries) => {
                Box::new(entries.iter().take(rank.saturating_add(1)).rev().map(Entry::pair))
            }
            ZSet::Large(large) => {
                let n_above = self.len().saturating_sub(rank.saturating_add(1));
                Box::new(skip(large.order.iter().rev(), n_above).map(Entry::pair))
            }
        }
    }

    /// All members, in order.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = (&[u8], f64)> + '_> {
        self.iter_from(0)
    }

    /// A random member; `random` gives uniform 64-bit numbers.
    pub(crate) fn random(&self, mut random: impl FnMut() -> u64) -> Option<(&[u8], f64)> {
        if self.is_empty() { None } else { self.at((random() % self.len() as u64) as usize) }
    }

    /// Visits members at `cursor` and returns the next cursor; a small set is visited whole.
    pub(crate) fn scan<'a>(&'a self, cursor: u64, mut visit: impl FnMut(&'a [u8], f64)) -> u64 {
        match self {
            ZSet::Small(entries) => {
                entries.iter().for_each(|entry| visit(&entry.member, entry.score));
                0
            }
            ZSet::Large(large) => large.scores.scan(cursor, |member, score| visit(member, *score)),
        }
    }

    pub(super) fn encoding(&self) -> &'static str {
        match self {
            ZSet::Small(_) => "listpack",
            ZSet::Large(_) => "skiplist",
        }
    }

    pub(super) fn memory(&self) -> usize {
        // A shared member carries two counters in front of its bytes.
        let member = |bytes: &[u8]| allocation(2 * size_of::<usize>() + bytes.len());
        let entries: usize = self.iter().map(|(bytes, _)| member(bytes)).sum();
        match self {
            ZSet::Small(list) => {
                allocation(size_of::<Vec<Entry>>())
                    + allocation(list.capacity() * size_of::<Entry>())
                    + entries
            }
            ZSet::Large(large) => {
                let node = allocation(size_of::<usize>() * 5);
                // Tree nodes are about two thirds full.
                let in_tree = size_of::<Entry>() * 3 / 2;
                allocation(size_of::<Large>())
                    + large.scores.n_buckets() * size_of::<usize>()
                    + large.scores.len() * (node + in_tree)
                    + entries
            }
        }
    }

    fn enlarge(&mut self, seed: u64) {
        let ZSet::Small(entries) = self else { return };
        let mut large =
            Large { scores: Dict::with_capacity(seed, entries.len()), order: OSBTreeSet::new() };
        for entry in entries.drain(..) {
            large.scores.insert_new(entry.member.clone(), entry.score);
            large.order.insert(entry);
        }
        *self = ZSet::Large(Box::new(large));
    }
}

impl Large {
    fn insert(&mut self, member: &[u8], score: f64) -> Option<f64> {
        let hash = self.scores.hash(member);
        let Some((shared, &old)) = self.scores.get_hashed(hash, member) else {
            let entry = self.add(hash, member, score);
            self.order.insert(entry);
            return None;
        };
        if old != score {
            let shared = shared.clone();
            self.order.remove(&Entry { score: old, member: shared.clone() });
            self.order.insert(Entry { score, member: shared });
            *self.scores.get_mut(member).expect("found above") = score;
        }
        Some(old)
    }

    /// The same for many: what looking them up reads is read together, and the new ones go into the tree together.
    fn insert_each(&mut self, items: &[(&[u8], f64)], mut had: impl FnMut(Option<f64>, f64)) {
        let mut new = Vec::with_capacity(items.len());
        for items in items.chunks(TOGETHER) {
            let hashes = self.scores.fetch(items.iter().map(|(member, _)| *member));
            for ((member, score), hash) in items.iter().zip(hashes) {
                let old = self.scores.get_hashed(hash, member).map(|(_, old)| *old);
                match old {
                    None => new.push(self.add(hash, member, *score)),
                    Some(old) if old == *score => {}
                    Some(_) => {
                        // It may be one of the new ones.
                        self.put_in_order(&mut new);
                        self.insert(member, *score);
                    }
                }
                had(old, *score);
            }
        }
        self.put_in_order(&mut new);
    }

    /// Moves entries into the tree. Many are made a tree of their own, which is cheaply joined to this one if all of
    /// them come behind it, as those whose score is a time do.
    fn put_in_order(&mut self, new: &mut Vec<Entry>) {
        if new.len() < TOGETHER {
            self.order.extend(new.drain(..));
        } else {
            self.order.append(&mut new.drain(..).collect());
        }
    }

    /// Adds a member that is not there to the table, and returns its entry for the tree.
    fn add(&mut self, hash: Hashed, member: &[u8], score: f64) -> Entry {
        let member: Member = member.into();
        self.scores.insert_new_hashed(hash, member.clone(), score);
        Entry { score, member }
    }

    fn remove_ranks(&mut self, ranks: Range<usize>) -> Vec<Entry> {
        let removed = self.cut(ranks);
        for entries in removed.chunks(TOGETHER) {
            let hashes = self.scores.fetch(entries.iter().map(|entry| &*entry.member));
            for (entry, hash) in entries.iter().zip(hashes) {
                self.scores.remove_hashed(hash, &entry.member);
            }
        }
        self.give_room_back();
        removed
    }

    /// Makes the tree anew once most of its room is empty: by itself it keeps the nodes of all the members it ever had.
    fn give_room_back(&mut self) {
        // As rarely as the table beside it shrinks, so a removal costs no more than a few steps on average.
        const ROOM_PER_MEMBER_MAX: usize = 8;
        const ROOM_MIN: usize = 1024;
        if self.order.capacity() > ROOM_PER_MEMBER_MAX * self.order.len().max(ROOM_MIN) {
            self.order = mem::take(&mut self.order).into_iter().collect();
        }
    }

    /// Takes a range of ranks out of the tree, at once if it lies at an end.
    fn cut(&mut self, ranks: Range<usize>) -> Vec<Entry> {
        let at = |rank| self.order.get_by_rank(rank).cloned();
        if ranks.len() < TOGETHER {
        } else if ranks.start == 0
            && let Some(first_kept) = at(ranks.end)
        {
            let kept = self.order.split_off(&first_kept);
            return mem::replace(&mut self.order, kept).into_iter().collect();
        } else if ranks.end == self.order.len()
            && let Some(first) = at(ranks.start)
        {
            return self.order.split_off(&first).into_iter().collect();
        }
        let entries = skip(self.order.iter(), ranks.start).take(ranks.len());
        let entries: Vec<Entry> = entries.cloned().collect();
        entries.iter().for_each(|entry| {
            self.order.remove(entry);
        });
        entries
    }
}

/// What follows the first `n` items; the tree's iterators jump there.
fn skip<I: Iterator>(mut items: I, n: usize) -> I {
    if let Some(last_skipped) = n.checked_sub(1) {
        items.nth(last_skipped);
    }
    items
}

fn has_room(entries: &[Entry], member: &[u8]) -> bool {
    entries.len() < SMALL_ENTRIES_MAX && member.len() <= SMALL_MEMBER_LEN_MAX
}

fn insert_small(
    entries: &mut Vec<Entry>,
    found: Option<usize>,
    member: &[u8],
    score: f64,
) -> Option<f64> {
    let old_score = found.map(|at| entries[at].score);
    if old_score == Some(score) {
        return old_score;
    }
    let entry = match found {
        Some(at) => Entry { score, ..entries.remove(at) },
        None => Entry { score, member: member.into() },
    };
    let entry = entry.without_negative_zero();
    let at = entries.partition_point(|other| other < &entry);
    entries.insert(at, entry);
    old_score
}

fn find(entries: &[Entry], member: &[u8]) -> Option<usize> {
    entries.iter().position(|entry| &*entry.member == member)
}

/// A member in its place.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    score: f64,
    member: Member,
}

impl Entry {
    /// As in Redis, -0 becomes 0 in a small set and stays what it is in a large one.
    fn without_negative_zero(self) -> Entry {
        Entry { score: self.score + 0.0, ..self }
    }

    pub(crate) fn pair(&self) -> (&[u8], f64) {
        (&self.member, self.score)
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        // Scores are never NaN, and -0 equals 0 as in Redis.
        self.score
            .partial_cmp(&other.score)
            .unwrap_or(Ordering::Equal)
            .then_with(|| self.member.cmp(&other.member))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl Edge<'_> {
    /// Where this edge lies, seen from `entry`; never on it.
    fn compare(&self, entry: &Entry) -> Ordering {
        let (side, tie) = match self {
            Edge::First => return Ordering::Less,
            Edge::Last => return Ordering::Greater,
            Edge::BeforeScore(score) => (score.partial_cmp(&entry.score), Ordering::Less),
            Edge::AfterScore(score) => (score.partial_cmp(&entry.score), Ordering::Greater),
            Edge::BeforeMember(member) => (Some((*member).cmp(&entry.member)), Ordering::Less),
            Edge::AfterMember(member) => (Some((*member).cmp(&entry.member)), Ordering::Greater),
        };
        side.unwrap_or(Ordering::Equal).then(tie)
    }
}

/// What the tree can be searched for without making an [`Entry`]: an entry, or an edge between entries.
trait Probe {
    fn kind(&self) -> ProbeKind<'_>;
}

enum ProbeKind<'a> {
    Entry(&'a Entry),
    Edge(Edge<'a>),
}

impl Probe for Entry {
    fn kind(&self) -> ProbeKind<'_> {
        ProbeKind::Entry(self)
    }
}

impl Probe for Edge<'_> {
    fn kind(&self) -> ProbeKind<'_> {
        ProbeKind::Edge(*self)
    }
}

impl<'a> Borrow<dyn Probe + 'a> for Entry {
    fn borrow(&self) -> &(dyn Probe + 'a) {
        self
    }
}

impl Ord for dyn Probe + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.kind(), other.kind()) {
            (ProbeKind::Entry(a), ProbeKind::Entry(b)) => a.cmp(b),
            (ProbeKind::Edge(edge), ProbeKind::Entry(entry)) => edge.compare(entry),
            (ProbeKind::Entry(entry), ProbeKind::Edge(edge)) => edge.compare(entry).reverse(),
            // Only entries are stored, so the tree compares an edge with nothing but itself.
            (ProbeKind::Edge(_), ProbeKind::Edge(_)) => Ordering::Equal,
        }
    }
}

impl PartialOrd for dyn Probe + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn Probe + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for dyn Probe + '_ {}

#[cfg(test)]
mod tests;
