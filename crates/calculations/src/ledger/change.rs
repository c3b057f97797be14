//! What a batch of events changes about one key, worked out from what was read of it.

use std::collections::{BTreeMap, HashMap};

use crate::{
    bucket::Bucket,
    decimal::Decimal,
    error::Error,
    event::Event,
    keys::Interval,
    settings::{Duplicates, Settings},
    sketch::Sketch,
    stamp::Stamp,
    state::State,
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

/// What changes about one bucket.
#[derive(Debug, Default)]
pub(crate) struct BucketChange {
    /// How many values come to it.
    pub(crate) values: u64,
    /// By how much its sum grows.
    pub(crate) delta: Decimal,
    /// Values that leave it and values that come to it, with their times.
    pub(crate) removed: Vec<(Stamp, Decimal)>,
    pub(crate) added: Vec<(Stamp, Decimal)>,
}

/// What changes about the buckets of an interval, by their numbers.
pub(crate) fn by_bucket(
    interval: Interval,
    settings: &Settings,
    changes: &[Change],
) -> BTreeMap<u64, BucketChange> {
    let mut buckets: BTreeMap<u64, BucketChange> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.is_new_value()) {
        let bucket = Bucket::of(interval, change.stamp.wall(settings.time_zone()));
        let bucket = buckets.entry(bucket.number()).or_default();
        match &change.old {
            None => {
                bucket.values += 1;
                bucket.delta += &change.new;
            }
            Some(old) => {
                bucket.delta += &(&change.new - old);
                bucket.removed.push((change.stamp.clone(), old.clone()));
            }
        }
        bucket.added.push((change.stamp.clone(), change.new.clone()));
    }
    buckets
}

/// An interval's part of what a key holds, as far as a batch touches it.
#[derive(Debug)]
pub(crate) struct IntervalPart {
    pub(crate) state: State,
    pub(crate) buckets: BTreeMap<u64, BucketChange>,
    pub(crate) sketches: BTreeMap<u64, Sketch>,
    /// The smallest and largest values of each bucket that was touched, and how many different ones it has gained.
    pub(crate) extremes: BTreeMap<u64, Extremes>,
}

/// What the ordered values say about a bucket.
#[derive(Debug, Default, Clone)]
pub(crate) struct Extremes {
    pub(crate) min: Option<Decimal>,
    pub(crate) max: Option<Decimal>,
    pub(crate) distinct: i64,
}

impl IntervalPart {
    pub(crate) fn new(interval: Interval, settings: &Settings, changes: &[Change]) -> IntervalPart {
        IntervalPart {
            state: State::new(interval),
            buckets: by_bucket(interval, settings, changes),
            sketches: BTreeMap::new(),
            extremes: BTreeMap::new(),
        }
    }

    /// Brings sums and sketches up to date.
    pub(crate) fn apply(&mut self) {
        for (&number, bucket) in &self.buckets {
            let distinct = self.extremes.get(&number).map_or(0, |extremes| extremes.distinct);
            self.state.add(number, bucket.values, &bucket.delta, distinct);
            if let Some(sketch) = self.sketches.get_mut(&number) {
                bucket.removed.iter().for_each(|(_, value)| sketch.remove(value.to_f64()));
                bucket.added.iter().for_each(|(_, value)| sketch.add(value.to_f64()));
            }
        }
    }
}
