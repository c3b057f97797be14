//! How often values occur in buckets that hold too many to keep them one by one.
//!
//! An ordered set has each different value of such a bucket once, and a hash has how often those occur that occur more than
//! once. So a value that comes again costs one field, and a value that leaves is known to be the last of its kind or not.

use std::collections::HashMap;

use super::{
    change::{BucketChange, ValueTable},
    commit::Steps,
    key::KeyId,
};
use crate::{decimal::Decimal, keys::Interval, order, state::Ordered};

/// The values of one bucket that a batch touches, and what is known of all of them afterwards.
#[derive(Debug)]
pub(crate) struct Tally {
    counts: Vec<TallyCount>,
    pub(crate) ordered: Ordered,
}

#[derive(Debug)]
struct TallyCount {
    /// The value as text that sorts.
    code: String,
    before: u64,
    after: u64,
}

/// What was read about the values of a bucket.
#[derive(Debug, Default)]
pub(crate) struct TallyReads {
    /// How often each value occurs that leaves or comes, the smallest first.
    pub(crate) before: Vec<u64>,
    /// The members that are first and last in order, where those may leave.
    pub(crate) low: Vec<String>,
    pub(crate) high: Vec<String>,
}

impl Tally {
    /// For a bucket whose values become many: all of them are counted.
    pub(crate) fn of_all(before: &[Decimal], bucket: &BucketChange, table: &ValueTable) -> Tally {
        let mut all = before.to_vec();
        for &place in &bucket.removed {
            if let Ok(at) = all.binary_search(&table.get(place).value) {
                all.remove(at);
            }
        }
        all.extend(bucket.added.iter().map(|&place| table.get(place).value.clone()));
        Tally::of_values(&mut all)
    }

    /// For a bucket with these values, of which there is at least one.
    pub(crate) fn of_values(values: &mut [Decimal]) -> Tally {
        values.sort_unstable();
        let counts: Vec<TallyCount> = values
            .chunk_by(|a, b| a == b)
            .map(|equal| TallyCount {
                code: order::encode(&equal[0]),
                before: 0,
                after: equal.len() as u64,
            })
            .collect();
        Tally { ordered: ordered(values), counts }
    }

    /// For a bucket that had many values before.
    pub(crate) fn changed(
        before: &Ordered,
        bucket: &BucketChange,
        table: &ValueTable,
        reads: &TallyReads,
    ) -> Tally {
        let counted = bucket.counted();
        let counts: Vec<TallyCount> = counted
            .iter()
            .zip(&reads.before)
            .map(|((place, moved), &before)| TallyCount {
                code: table.get(*place).code.clone(),
                before,
                after: (before + moved.added).saturating_sub(moved.removed),
            })
            .collect();
        let after: HashMap<&str, u64> =
            counts.iter().map(|count| (count.code.as_str(), count.after)).collect();
        let stays = |member: &&String| {
            let code = member.split(' ').nth(1).unwrap_or_default();
            after.get(code).is_none_or(|after| *after > 0)
        };
        let staying = |members: &[String], known: &Decimal| {
            if members.is_empty() {
                return Some(known.clone());
            }
            members.iter().find(stays).and_then(|member| order::value_of(member))
        };
        let (low, high) = (staying(&reads.low, &before.min), staying(&reads.high, &before.max));
        let added = || bucket.added.iter().map(|&place| &table.get(place).value);
        let came = counts.iter().filter(|count| count.before == 0 && count.after > 0).count();
        let left = counts.iter().filter(|count| count.before > 0 && count.after == 0).count();
        let ordered = Ordered {
            distinct: (before.distinct + came as u64).saturating_sub(left as u64),
            min: added().chain(&low).min().unwrap_or(&before.min).clone(),
            max: added().chain(&high).max().unwrap_or(&before.max).clone(),
        };
        Tally { counts, ordered }
    }

    /// Adds what changes about the bucket of this number.
    pub(crate) fn changes(&self, number: u64, changes: &mut TallyChanges) {
        for TallyCount { code, before, after } in &self.counts {
            let member = || order::member(number, code);
            match (*before, *after) {
                (0, 1..) => changes.come.push(member()),
                (1.., 0) => changes.gone.push(member()),
                _ => {}
            }
            if *after >= 2 && after != before {
                changes.repeated.push((member(), after.to_string()));
            } else if *before >= 2 && *after < 2 {
                changes.single.push(member());
            }
        }
    }
}

/// What changes about the ordered set and the counts of an interval.
#[derive(Debug, Default)]
pub(crate) struct TallyChanges {
    /// Members that come to the ordered set, and those that leave it.
    pub(crate) come: Vec<String>,
    pub(crate) gone: Vec<String>,
    /// Values that occur more than once, with how often; and those that do so no longer.
    pub(crate) repeated: Vec<(String, String)>,
    pub(crate) single: Vec<String>,
}

impl TallyChanges {
    pub(crate) fn write(self, id: &KeyId, interval: Interval, steps: &mut Steps<'_>) {
        steps.each("ZREM", &id.order(interval), self.gone);
        steps.add_in_order(&id.order(interval), self.come);
        steps.each("HDEL", &id.repeats(interval), self.single);
        steps.set(&id.repeats(interval), self.repeated);
    }
}

/// What is known of values in order, of which there is at least one.
pub(crate) fn ordered(values: &[Decimal]) -> Ordered {
    Ordered {
        distinct: values.chunk_by(|a, b| a == b).count() as u64,
        min: values.first().cloned().unwrap_or_default(),
        max: values.last().cloned().unwrap_or_default(),
    }
}
