//! What a batch of events changes about one key, worked out from what was read of it.

use std::collections::{BTreeMap, HashMap};

use super::tally::{self, Tally};
use crate::{
    bucket::Bucket,
    decimal::Decimal,
    error::Error,
    event::Event,
    keys::{Calculation, Interval},
    order,
    results::{self, Facts},
    settings::{Duplicates, Labels, Settings},
    sketch::{self, EXACT_MAX, Sketch},
    stamp::Stamp,
    state::{Leaf, Ordered, State},
};

/// What happens to the value at one time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    pub(crate) stamp: Stamp,
    pub(crate) old: Option<Decimal>,
    /// What stood there, as text.
    old_text: Option<String>,
    pub(crate) new: Decimal,
    pub(crate) text: String,
}

impl Change {
    /// Whether a different text is to be stored.
    pub(crate) fn is_new_text(&self) -> bool {
        self.old_text.as_deref() != Some(self.text.as_str())
    }

    /// Whether the results differ.
    fn is_new_value(&self) -> bool {
        self.old.as_ref() != Some(&self.new)
    }
}

/// The changes by time, and what is to be told about each event.
pub(crate) struct Changes {
    pub(crate) changes: Vec<Change>,
    pub(crate) told: Vec<Result<(), Error>>,
}

/// Works out what stands at each time after all events, one after the other.
pub(crate) fn changes(
    events: &[Event],
    old: &HashMap<&str, Option<String>>,
    duplicates: Duplicates,
) -> Changes {
    let mut changes: Vec<Change> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut told = Vec::with_capacity(events.len());
    for event in events {
        let time = event.created_at.as_str();
        if let Some(&at) = places.get(time) {
            let change = &mut changes[at];
            told.push(settle(duplicates, &change.new.clone(), event).map(|new| {
                if let Some((new, text)) = new {
                    (change.new, change.text) = (new, text);
                }
            }));
            continue;
        }
        let old_text = old.get(time).cloned().flatten();
        // What other programs wrote and nobody can read counts as not there, as in a recomputation.
        let old_value: Option<Decimal> = old_text.as_deref().and_then(|text| text.parse().ok());
        let settled = match &old_value {
            None => Ok(Some((event.value.clone(), event.text.clone()))),
            Some(old) => settle(duplicates, old, event),
        };
        told.push(settled.map(|new| {
            let (new, text) = new.unwrap_or_else(|| {
                (old_value.clone().unwrap_or_default(), old_text.clone().unwrap_or_default())
            });
            places.insert(time, changes.len());
            changes.push(Change {
                stamp: event.created_at.clone(),
                old: old_value,
                old_text,
                new,
                text,
            });
        }));
    }
    Changes { changes, told }
}

/// What stands at a time after a second value came for it; `None` when that changes nothing.
fn settle(
    duplicates: Duplicates,
    old: &Decimal,
    event: &Event,
) -> Result<Option<(Decimal, String)>, Error> {
    let new = Some((event.value.clone(), event.text.clone()));
    Ok(match duplicates {
        Duplicates::Replace => new,
        Duplicates::First => None,
        Duplicates::Max => new.filter(|(value, _)| value > old),
        Duplicates::Min => new.filter(|(value, _)| value < old),
        Duplicates::Sum => {
            let sum = old + &event.value;
            let text = sum.to_string();
            Some((sum, text))
        }
        Duplicates::Reject if *old == event.value => None,
        Duplicates::Reject => {
            let reason = format!("there is a value at \"{}\" already", event.created_at);
            return Err(Error::invalid("created_at", reason));
        }
    })
}

/// The different values of a batch, those that leave and those that come, the smallest first.
#[derive(Debug, Default)]
pub(crate) struct ValueTable {
    values: Vec<KnownValue>,
    /// The places of the old and the new value of each change; none where the value stays.
    places: Vec<Option<(Option<u32>, u32)>>,
}

/// A value with what is worked out once, however many intervals it counts in.
#[derive(Debug)]
pub(crate) struct KnownValue {
    pub(crate) value: Decimal,
    /// It as text that sorts.
    pub(crate) code: String,
    pub(crate) size: i64,
}

impl ValueTable {
    pub(crate) fn new(changes: &[Change]) -> ValueTable {
        let changed = || changes.iter().filter(|change| change.is_new_value());
        let mut all: Vec<&Decimal> =
            changed().flat_map(|change| change.old.iter().chain([&change.new])).collect();
        all.sort_unstable();
        all.dedup();
        let place = |value: &Decimal| all.partition_point(|other| *other < value) as u32;
        let places = changes.iter().map(|change| {
            let is_new = change.is_new_value();
            is_new.then(|| (change.old.as_ref().map(place), place(&change.new)))
        });
        let places = places.collect();
        let known = |value: &Decimal| KnownValue {
            value: value.clone(),
            code: order::encode(value),
            size: sketch::size_of(value),
        };
        ValueTable { values: all.into_iter().map(known).collect(), places }
    }

    pub(crate) fn get(&self, place: u32) -> &KnownValue {
        &self.values[place as usize]
    }
}

/// What changes about one bucket.
#[derive(Debug, Default)]
pub(crate) struct BucketChange {
    /// How many values come to it.
    pub(crate) values: u64,
    /// By how much its sum grows.
    pub(crate) delta: Decimal,
    /// Values that leave it and values that come to it, by their places in the table.
    pub(crate) removed: Vec<u32>,
    pub(crate) added: Vec<u32>,
}

impl BucketChange {
    /// How often each value leaves and comes, the smallest value first.
    pub(crate) fn counted(&self) -> Vec<(u32, Moved)> {
        let mut all: Vec<(u32, Moved)> = Vec::new();
        let removed = self.removed.iter().map(|&place| (place, Moved { removed: 1, added: 0 }));
        let added = self.added.iter().map(|&place| (place, Moved { removed: 0, added: 1 }));
        all.extend(removed.chain(added));
        all.sort_unstable_by_key(|(place, _)| *place);
        all.dedup_by(|(place, moved), (kept, sum)| {
            let is_same = place == kept;
            if is_same {
                sum.removed += moved.removed;
                sum.added += moved.added;
            }
            is_same
        });
        all
    }
}

/// How often a value leaves a bucket and comes to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) removed: u64,
    pub(crate) added: u64,
}

/// What changes about the buckets of an interval, by their numbers.
fn by_bucket(
    interval: Interval,
    settings: &Settings,
    changes: &[Change],
    table: &ValueTable,
) -> BTreeMap<u64, BucketChange> {
    let mut buckets: BTreeMap<u64, BucketChange> = BTreeMap::new();
    for (change, places) in changes.iter().zip(&table.places) {
        let Some((old, new)) = *places else { continue };
        let bucket = Bucket::of(interval, change.stamp.wall(settings.time_zone()));
        let bucket = buckets.entry(bucket.number()).or_default();
        match &change.old {
            None => {
                bucket.values += 1;
                bucket.delta += &change.new;
            }
            Some(old) => bucket.delta += &(&change.new - old),
        }
        bucket.removed.extend(old);
        bucket.added.push(new);
    }
    buckets
}

/// An interval's part of what a key holds, as far as a batch touches it.
#[derive(Debug)]
pub(crate) struct IntervalPart {
    pub(crate) state: State,
    pub(crate) buckets: BTreeMap<u64, BucketChange>,
    /// The values of each bucket that is touched, where something is calculated from them.
    pub(crate) sketches: BTreeMap<u64, Sketch>,
    /// How often values occur in buckets of many values, where something is calculated from their order.
    pub(crate) tallies: BTreeMap<u64, Tally>,
    /// What the results of the buckets are made from, once everything is up to date.
    labeled: Vec<LabeledBucket>,
}

/// A bucket with its label, and what is known of the order of its values.
#[derive(Debug)]
struct LabeledBucket {
    bucket: Bucket,
    label: String,
    ordered: Option<Ordered>,
}

impl IntervalPart {
    pub(crate) fn new(
        interval: Interval,
        settings: &Settings,
        changes: &[Change],
        table: &ValueTable,
    ) -> IntervalPart {
        IntervalPart {
            state: State::new(interval),
            buckets: by_bucket(interval, settings, changes, table),
            sketches: BTreeMap::new(),
            tallies: BTreeMap::new(),
            labeled: Vec::new(),
        }
    }

    /// Brings everything up to date. `with_order` where something is calculated from the order of values.
    pub(crate) fn apply(&mut self, table: &ValueTable, with_order: bool, labels: Labels) {
        for (&number, bucket) in &self.buckets {
            let had_many = self.state.leaf(number).is_some_and(has_many);
            self.state.add(number, bucket.values, &bucket.delta);
            let Some(sketch) = self.sketches.get_mut(&number) else { continue };
            let gets_many =
                with_order && !had_many && self.state.leaf(number).is_some_and(has_many);
            if let (true, Sketch::Exact(before)) = (gets_many, &*sketch) {
                self.tallies.insert(number, Tally::of_all(before, bucket, table));
            }
            for known in bucket.removed.iter().map(|place| table.get(*place)) {
                sketch.remove(&known.value, known.size);
            }
            for known in bucket.added.iter().map(|place| table.get(*place)) {
                sketch.add(&known.value, known.size);
            }
            if let Some(tally) = self.tallies.get(&number) {
                self.state.set_ordered(number, Some(tally.ordered.clone()));
            }
        }
        let interval = self.state.interval();
        let buckets = self.buckets.keys().filter_map(|&number| Bucket::numbered(interval, number));
        let labeled = buckets.map(|bucket| LabeledBucket {
            label: bucket.label(labels),
            ordered: self.ordered(bucket.number()),
            bucket,
        });
        self.labeled = labeled.collect();
    }

    /// What is known of the order of a bucket's values.
    fn ordered(&self, number: u64) -> Option<Ordered> {
        match self.sketches.get(&number)? {
            Sketch::Exact(values) if !values.is_empty() => Some(tally::ordered(values)),
            _ => self.state.leaf(number)?.ordered.clone(),
        }
    }

    /// The fields of a result for the buckets that were touched.
    pub(crate) fn bucket_fields(
        &self,
        calculation: Calculation,
    ) -> impl Iterator<Item = (&str, String)> {
        self.labeled.iter().filter_map(move |LabeledBucket { bucket, label, ordered }| {
            let facts = Facts {
                leaf: self.state.leaf(bucket.number()),
                sketch: self.sketches.get(&bucket.number()),
                ordered: ordered.as_ref(),
            };
            Some((label.as_str(), results::of_bucket(calculation, *bucket, &facts)?))
        })
    }
}

/// Whether a bucket holds so many values that they are not kept one by one.
pub(crate) fn has_many(leaf: &Leaf) -> bool {
    leaf.values > EXACT_MAX as u64
}
