//! The exact sums behind an interval's results, so that one more value costs the same however many there are.
//!
//! Each bucket has its sum. Over the buckets lies a tree, 64 below each node, that knows how many buckets and how much
//! lies before any of them: a bucket that comes late moves all later ones up by one, and their sum says what that means
//! for the sum by rank.

use std::{collections::BTreeMap, ops::Range};

use crate::{
    bucket::last_number, decimal::Decimal, keys::Interval, moments::Moments, settings::Gaps,
};

/// Each node has two to the power of this many below it.
const BITS: u32 = 6;

/// The field that holds the whole interval's sums.
pub(crate) const TOTAL: &str = "total";

/// What is known of one bucket.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Leaf {
    pub(crate) values: u64,
    pub(crate) sum: Decimal,
    /// What is known of the order of many values; that of few follows from the values.
    pub(crate) ordered: Option<Ordered>,
}

/// How many different values there are, and the smallest and largest of them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ordered {
    pub(crate) distinct: u64,
    pub(crate) min: Decimal,
    pub(crate) max: Decimal,
}

/// What lies below a node of the tree.
#[derive(Debug, Clone, Default, PartialEq)]
struct Node {
    buckets: u64,
    sum: Decimal,
}

/// What is known of all buckets together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Total {
    pub(crate) buckets: u64,
    pub(crate) values: u64,
    pub(crate) sum: Decimal,
    squares: Decimal,
    /// Each bucket's sum times its rank, the first being 1.
    ranked: Decimal,
    /// Each bucket's sum times its number.
    dated: Decimal,
    first: u64,
    pub(crate) last: u64,
}

/// The part of an interval's sums that has been read or changed.
#[derive(Debug, Clone)]
pub(crate) struct State {
    interval: Interval,
    levels: u32,
    pub(crate) total: Total,
    leaves: BTreeMap<u64, Leaf>,
    nodes: BTreeMap<(u32, u64), Node>,
    /// What has changed: 0 for a leaf.
    changed: BTreeMap<(u32, u64), ()>,
}

impl State {
    pub(crate) fn new(interval: Interval) -> State {
        State {
            interval,
            levels: levels(interval),
            total: Total::default(),
            leaves: BTreeMap::new(),
            nodes: BTreeMap::new(),
            changed: BTreeMap::new(),
        }
    }

    /// The fields to read for a change of a bucket that is the last or later.
    pub(crate) fn fields_at(&self, number: u64) -> impl Iterator<Item = (u32, u64)> + use<> {
        (0..=self.levels).map(move |level| (level, number >> (BITS * level)))
    }

    /// The further fields to read for a bucket that is not.
    pub(crate) fn fields_before(&self, number: u64) -> impl Iterator<Item = (u32, u64)> + use<> {
        let levels = self.levels;
        (0..=levels).flat_map(move |level| before(level, levels, number).map(move |at| (level, at)))
    }

    /// Whether buckets lie behind this one.
    pub(crate) fn is_late(&self, number: u64) -> bool {
        self.total.buckets > 0 && number < self.total.last
    }

    /// Takes in a field that was read; whatever makes no sense counts as absent.
    pub(crate) fn load(&mut self, (level, at): (u32, u64), text: &str) {
        if level == 0 {
            self.leaves.extend(Leaf::parse(text).map(|leaf| (at, leaf)));
        } else {
            self.nodes.extend(Node::parse(text).map(|node| ((level, at), node)));
        }
    }

    /// Takes in the sums of the whole interval.
    pub(crate) fn load_total(&mut self, text: &str) {
        self.total = Total::parse(text).unwrap_or_default();
    }

    /// A bucket's sums.
    pub(crate) fn leaf(&self, number: u64) -> Option<&Leaf> {
        self.leaves.get(&number)
    }

    /// Says what is known of the order of a bucket's values.
    pub(crate) fn set_ordered(&mut self, number: u64, ordered: Option<Ordered>) {
        if let Some(leaf) = self.leaves.get_mut(&number) {
            leaf.ordered = ordered;
        }
    }

    /// Adds to a bucket: so many more values, so much more of a sum.
    ///
    /// The fields for it must have been loaded, those before it too if it is late.
    pub(crate) fn add(&mut self, number: u64, values: u64, delta: &Decimal) {
        let is_late = self.is_late(number);
        let (rank, after) = if is_late {
            let (buckets, sum) = self.before(number);
            let own = self.leaves.get(&number).map(|leaf| &leaf.sum);
            let up_to = own.map_or_else(|| sum.clone(), |own| &sum + own);
            (buckets + 1, &self.total.sum - &up_to)
        } else {
            let is_new = !self.leaves.contains_key(&number);
            (self.total.buckets + u64::from(is_new), Decimal::default())
        };
        let is_new = !self.leaves.contains_key(&number);
        let leaf = self.leaves.entry(number).or_default();
        let square = &leaf.sum * &leaf.sum;
        leaf.values += values;
        leaf.sum += delta;
        let growth = &(&leaf.sum * &leaf.sum) - &square;
        let total = &mut self.total;
        if is_new {
            total.first = if total.buckets == 0 { number } else { total.first.min(number) };
            total.last = total.last.max(number);
            total.buckets += 1;
            total.ranked += &after;
        }
        total.values += values;
        total.sum += delta;
        total.squares += &growth;
        total.ranked += &delta.times(rank);
        total.dated += &delta.times(number);
        self.changed.insert((0, number), ());
        for level in 1..=self.levels {
            let at = (level, number >> (BITS * level));
            let node = self.nodes.entry(at).or_default();
            node.buckets += u64::from(is_new);
            node.sum += delta;
            self.changed.insert(at, ());
        }
    }

    /// How many buckets lie before this one, and their sum.
    fn before(&self, number: u64) -> (u64, Decimal) {
        let (mut buckets, mut sum) = (0, Decimal::default());
        for (_, leaf) in self.leaves.range(before(0, self.levels, number)) {
            buckets += 1;
            sum += &leaf.sum;
        }
        for level in 1..=self.levels {
            let Range { start, end } = before(level, self.levels, number);
            for (_, node) in self.nodes.range((level, start)..(level, end)) {
                buckets += node.buckets;
                sum += &node.sum;
            }
        }
        (buckets, sum)
    }

    /// The fields that have changed, as they are to be stored.
    pub(crate) fn changes(&self) -> Vec<(String, String)> {
        if self.changed.is_empty() {
            return Vec::new();
        }
        let fields = self.changed.keys().map(|&(level, at)| {
            let text = match level {
                0 => self.leaves.get(&at).map(Leaf::text),
                _ => self.nodes.get(&(level, at)).map(Node::text),
            };
            (field((level, at)), text.unwrap_or_default())
        });
        fields.chain([(TOTAL.to_owned(), self.total.text())]).collect()
    }

    /// The sums that the statistics need.
    pub(crate) fn moments(&self, gaps: Gaps) -> Moments {
        self.total.moments(gaps)
    }

    /// The interval.
    pub(crate) fn interval(&self) -> Interval {
        self.interval
    }
}

/// The name of a leaf's or node's field.
pub(crate) fn field((level, at): (u32, u64)) -> String {
    format!("{level}:{at}")
}

/// The nodes of a level that lie before `number` and have the same parent; at the top, all of them.
fn before(level: u32, levels: u32, number: u64) -> Range<u64> {
    let own = number >> (BITS * level);
    let first = if level == levels { 0 } else { own >> BITS << BITS };
    first..own
}

/// How many levels the tree needs so that at most 64 nodes are on top.
fn levels(interval: Interval) -> u32 {
    let last = last_number(interval);
    (1..).find(|level| last >> (BITS * level) < 1 << BITS).unwrap_or(1)
}

impl Leaf {
    fn text(&self) -> String {
        match &self.ordered {
            None => format!("{} {}", self.values, self.sum),
            Some(Ordered { distinct, min, max }) => {
                format!("{} {} {distinct} {min} {max}", self.values, self.sum)
            }
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Leaf> {
        let mut words = text.split(' ');
        let decimal = |text: Option<&str>| Some(text?.parse::<StoredDecimal>().ok()?.0);
        Some(Leaf {
            values: words.next()?.parse().ok()?,
            sum: decimal(words.next())?,
            ordered: words.next().and_then(|distinct| {
                let distinct = distinct.parse().ok()?;
                Some(Ordered { distinct, min: decimal(words.next())?, max: decimal(words.next())? })
            }),
        })
    }
}

impl Node {
    fn text(&self) -> String {
        format!("{} {}", self.buckets, self.sum)
    }

    fn parse(text: &str) -> Option<Node> {
        let (buckets, sum) = text.split_once(' ')?;
        Some(Node { buckets: buckets.parse().ok()?, sum: sum.parse::<StoredDecimal>().ok()?.0 })
    }
}

impl Total {
    fn text(&self) -> String {
        let Total { buckets, values, sum, squares, ranked, dated, first, last } = self;
        format!("{buckets} {values} {sum} {squares} {ranked} {dated} {first} {last}")
    }

    pub(crate) fn parse(text: &str) -> Option<Total> {
        let mut words = text.split(' ');
        let number = |text: Option<&str>| text?.parse::<u64>().ok();
        let decimal = |text: Option<&str>| Some(text?.parse::<StoredDecimal>().ok()?.0);
        Some(Total {
            buckets: number(words.next())?,
            values: number(words.next())?,
            sum: decimal(words.next())?,
            squares: decimal(words.next())?,
            ranked: decimal(words.next())?,
            dated: decimal(words.next())?,
            first: number(words.next())?,
            last: number(words.next())?,
        })
    }

    pub(crate) fn moments(&self, gaps: Gaps) -> Moments {
        match gaps {
            Gaps::Skip => Moments::new(self.buckets, &self.sum, &self.ranked, &self.squares),
            Gaps::Calendar if self.buckets == 0 => self.moments(Gaps::Skip),
            Gaps::Calendar => {
                // Counted from the first bucket, which is 1.
                let by_place = &self.dated - &self.sum.times(self.first);
                let by_place = &by_place + &self.sum;
                Moments::new(self.last - self.first + 1, &self.sum, &by_place, &self.squares)
            }
        }
    }

    /// The number of the first bucket.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The same without the last bucket, whose sum is `open`.
    pub(crate) fn without_last(&self, open: &Decimal) -> Total {
        let buckets = self.buckets.saturating_sub(1);
        Total {
            buckets,
            values: self.values,
            sum: &self.sum - open,
            squares: &self.squares - &(open * open),
            ranked: &self.ranked - &open.times(self.buckets),
            dated: &self.dated - &open.times(self.last),
            first: self.first,
            last: if buckets == 0 { self.first } else { self.last - 1 },
        }
    }
}

/// A sum as it is stored, which may have more digits than a value.
struct StoredDecimal(Decimal);

impl std::str::FromStr for StoredDecimal {
    type Err = crate::decimal::DecimalError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Decimal::stored(text).map(StoredDecimal)
    }
}

#[cfg(test)]
mod tests;
