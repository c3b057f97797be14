//! Everything that is stored beside a key's values, worked out from the values alone.
//!
//! Whatever order events came in, what they leave behind must be equal to this.

use std::collections::{BTreeMap, HashMap};

use keyrack_keys::Key;

use super::{
    key::{Declared, KeyId},
    tally::{Tally, TallyChanges},
};
use crate::{
    bucket::Bucket,
    decimal::Decimal,
    keys::Interval,
    results::{self, Facts, Needs},
    settings::Settings,
    sketch::{Sketch, size_of},
    stamp::Stamp,
    state::State,
};

/// What should be stored.
#[derive(Debug, Default)]
pub(crate) struct ExpectedState {
    /// Fields and values of hashes; sorted sets have their members as fields.
    pub(crate) parts: Vec<Part>,
    /// Values that could not be read, which other programs must have written.
    pub(crate) unreadable: u64,
}

/// What should be stored under one name.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) key: Key,
    pub(crate) kind: Kind,
    pub(crate) fields: HashMap<String, String>,
}

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A result, which everybody reads.
    Result,
    /// A hash of our own.
    State,
    /// A sorted set of our own.
    Order,
}

/// A value with its time.
type Moment = (Stamp, Decimal);

/// A field of the stored values, and what it becomes: another value, or nothing.
type Change = (String, Option<String>);

/// The values with each time in the one form in which it is stored, and the fields that are not.
///
/// Of several ways to write one time, the stored form counts; without it, the last in the order of texts.
pub(crate) fn in_stored_form(
    mut values: Vec<(String, String)>,
) -> (Vec<(String, String)>, Vec<Change>) {
    values.sort_unstable();
    let stored = |time: &str| time.parse::<Stamp>().map(|stamp| stamp.as_str().to_owned());
    let others = |(time, _): &&(String, String)| stored(time).is_ok_and(|stored| stored != *time);
    if !values.iter().any(|value| others(&value)) {
        return (values, Vec::new());
    }
    let mut merged: BTreeMap<String, String> = BTreeMap::new();
    let mut changes = Vec::new();
    for value in values.iter().filter(others) {
        merged.extend(stored(&value.0).ok().map(|time| (time, value.1.clone())));
        changes.push((value.0.clone(), None));
    }
    for value in values.iter().filter(|value| !others(value)) {
        merged.insert(value.0.clone(), value.1.clone());
    }
    let present: HashMap<&str, &str> =
        values.iter().map(|(time, value)| (time.as_str(), value.as_str())).collect();
    let new =
        merged.iter().filter(|(time, value)| present.get(time.as_str()) != Some(&value.as_str()));
    changes.extend(new.map(|(time, value)| (time.clone(), Some(value.clone()))));
    (merged.into_iter().collect(), changes)
}

/// Works everything out.
pub(crate) fn image(
    id: &KeyId,
    declared: &Declared,
    settings: &Settings,
    values: &[(String, String)],
) -> ExpectedState {
    let moments: Vec<Moment> = values
        .iter()
        .filter_map(|(time, value)| Some((time.parse().ok()?, value.parse().ok()?)))
        .collect();
    let unreadable = (values.len() - moments.len()) as u64;
    let mut parts = Vec::new();
    for interval in declared.intervals() {
        parts.extend(
            IntervalValues::new(interval, settings, &moments).parts(id, declared, settings),
        );
    }
    ExpectedState { parts, unreadable }
}

/// An interval's values by bucket.
struct IntervalValues<'a> {
    state: State,
    buckets: BTreeMap<u64, Vec<&'a Moment>>,
}

impl<'a> IntervalValues<'a> {
    fn new(interval: Interval, settings: &Settings, moments: &'a [Moment]) -> IntervalValues<'a> {
        let mut buckets: BTreeMap<u64, Vec<&Moment>> = BTreeMap::new();
        for moment in moments {
            let bucket = Bucket::of(interval, moment.0.wall(settings.time_zone()));
            buckets.entry(bucket.number()).or_default().push(moment);
        }
        IntervalValues { state: State::new(interval), buckets }
    }

    fn parts(mut self, id: &KeyId, declared: &Declared, settings: &Settings) -> Vec<Part> {
        let interval = self.state.interval();
        let needs_order = declared.need(interval, Needs::Order);
        let needs_sketch = declared.need(interval, Needs::Sketch);
        let mut results: BTreeMap<_, HashMap<String, String>> =
            declared.over(interval).map(|calculation| (calculation, HashMap::new())).collect();
        let (mut sketches, mut tallies) = (HashMap::new(), TallyChanges::default());
        for (&number, moments) in &self.buckets {
            let mut values: Vec<Decimal> = moments.iter().map(|moment| moment.1.clone()).collect();
            let mut sum = Decimal::default();
            values.iter().for_each(|value| sum += value);
            self.state.add(number, values.len() as u64, &sum);
            let mut sketch = Sketch::default();
            let mut ordered = None;
            if needs_order || needs_sketch {
                values.iter().for_each(|value| sketch.add(value, size_of(value)));
                let tally = Tally::of_values(&mut values);
                let is_few = matches!(sketch, Sketch::Exact(_));
                if is_few || needs_sketch {
                    sketches.extend(sketch.text().map(|text| (number.to_string(), text)));
                }
                if !is_few && needs_order {
                    tally.changes(number, &mut tallies);
                    self.state.set_ordered(number, Some(tally.ordered.clone()));
                }
                ordered = Some(tally.ordered);
            }
            let facts = Facts {
                leaf: self.state.leaf(number),
                sketch: Some(&sketch),
                ordered: ordered.as_ref(),
            };
            let Some(bucket) = Bucket::numbered(interval, number) else { continue };
            let label = bucket.label(settings.labels);
            for (calculation, fields) in &mut results {
                let text = results::of_bucket(*calculation, bucket, &facts);
                fields.extend(text.map(|text| (label.clone(), text)));
            }
        }
        let sums = self.state.moments(settings.gaps);
        for (calculation, fields) in &mut results {
            let statistics = results::over_buckets(*calculation, &sums, settings);
            fields.extend(
                statistics.into_iter().filter_map(|(name, text)| Some((name.into(), text?))),
            );
        }
        let mut parts: Vec<Part> = results
            .into_iter()
            .map(|(calculation, fields)| Part {
                key: id.result((calculation, interval)),
                kind: Kind::Result,
                fields,
            })
            .collect();
        let state = self.state.changes().into_iter().collect();
        parts.push(Part { key: id.state(interval), kind: Kind::State, fields: state });
        parts.push(Part { key: id.sketch(interval), kind: Kind::State, fields: sketches });
        let members = tallies.come.into_iter().map(|member| (member, "0".to_owned())).collect();
        parts.push(Part { key: id.order(interval), kind: Kind::Order, fields: members });
        let repeats = tallies.repeated.into_iter().collect();
        parts.push(Part { key: id.repeats(interval), kind: Kind::State, fields: repeats });
        parts
    }
}
