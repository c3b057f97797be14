//! Reading what only the first look says is needed: sums before late buckets, and the values of buckets that hold several.
//!
//! All intervals are read in one round trip, and none is made where every bucket is new, as in an import in order of time.

use std::collections::BTreeMap;

use keyrack_store::Store;
use redis::{FromRedisValue, Pipeline, Value};

use super::{
    change::{IntervalPart, ValueTable, has_many},
    key::{Declared, KeyId},
    tally::{Tally, TallyReads},
};
use crate::{decimal::Decimal, error::Error, order, results::Needs, sketch::Sketch, state};

/// Comes after every member that begins the same.
const AFTER: char = '\u{7f}';

/// What a reply is about, in an interval.
enum Asked {
    /// Sums in the tree.
    State(Vec<(u32, u64)>),
    /// The values of buckets.
    Sketches(Vec<u64>),
    /// Whether values are in the ordered set, and how often those occur that occur more than once.
    Present(u64),
    Repeats(u64),
    /// The smallest and the largest values.
    Low(u64),
    High(u64),
}

/// Reads what the intervals still need.
pub(super) async fn read_more(
    store: &Store,
    id: &KeyId,
    wanted: &Declared,
    table: &ValueTable,
    parts: &mut [IntervalPart],
) -> Result<(), Error> {
    let mut pipeline = Pipeline::new();
    let mut asked = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let mut questions =
            Questions { store, id, part, pipeline: &mut pipeline, asked: Vec::new() };
        questions.late();
        if keeps_values(wanted, part) {
            questions.sketches();
        }
        if wanted.need(part.state.interval(), Needs::Order) {
            questions.tallies(table);
        }
        asked.extend(questions.asked.into_iter().map(|asked| (at, asked)));
    }
    let replies: Vec<Value> = if asked.is_empty() {
        Vec::new()
    } else {
        pipeline.query_async(&mut store.connection()).await?
    };
    let mut found: Vec<Found> = Vec::new();
    found.resize_with(parts.len(), Found::default);
    for ((at, asked), reply) in asked.into_iter().zip(replies) {
        found[at].take(asked, reply, &mut parts[at])?;
    }
    for (part, found) in parts.iter_mut().zip(found) {
        let with_values = keeps_values(wanted, part);
        found.load(part, table, with_values);
    }
    Ok(())
}

/// What was read of the values of one interval's buckets.
#[derive(Default)]
struct Found {
    sketches: BTreeMap<u64, String>,
    tallies: BTreeMap<u64, TallyReads>,
}

impl Found {
    fn take(&mut self, asked: Asked, reply: Value, part: &mut IntervalPart) -> Result<(), Error> {
        match asked {
            Asked::State(fields) => {
                let texts: Vec<Option<String>> = value(reply)?;
                for (field, text) in fields.into_iter().zip(texts) {
                    text.iter().for_each(|text| part.state.load(field, text));
                }
            }
            Asked::Sketches(numbers) => {
                let texts: Vec<Option<String>> = value(reply)?;
                let texts = numbers.into_iter().zip(texts);
                self.sketches.extend(texts.filter_map(|(number, text)| Some((number, text?))));
            }
            Asked::Present(number) => {
                let present: Vec<Option<f64>> = value(reply)?;
                let counts = present.iter().map(|one| u64::from(one.is_some()));
                self.tallies.entry(number).or_default().before = counts.collect();
            }
            Asked::Repeats(number) => {
                let repeats: Vec<Option<u64>> = value(reply)?;
                let tally = self.tallies.entry(number).or_default();
                let counts = tally.before.iter_mut().zip(repeats);
                counts.for_each(|(count, repeats)| *count = repeats.unwrap_or(*count));
            }
            Asked::Low(number) => self.tallies.entry(number).or_default().low = value(reply)?,
            Asked::High(number) => self.tallies.entry(number).or_default().high = value(reply)?,
        }
        Ok(())
    }

    fn load(self, part: &mut IntervalPart, table: &ValueTable, with_values: bool) {
        if with_values {
            let stored = |number: &u64| {
                let text = self.sketches.get(number).map(String::as_str);
                (*number, Sketch::stored(part.state.leaf(*number), text))
            };
            part.sketches = part.buckets.keys().map(stored).collect();
        }
        for (number, reads) in self.tallies {
            let ordered = part.state.leaf(number).and_then(|leaf| leaf.ordered.as_ref());
            let (Some(ordered), Some(bucket)) = (ordered, part.buckets.get(&number)) else {
                continue;
            };
            part.tallies.insert(number, Tally::changed(ordered, bucket, table, &reads));
        }
    }
}

/// Whether anything is calculated from the values themselves.
pub(super) fn keeps_values(wanted: &Declared, part: &IntervalPart) -> bool {
    let interval = part.state.interval();
    wanted.need(interval, Needs::Order) || wanted.need(interval, Needs::Sketch)
}

/// What is to be read of one interval.
struct Questions<'a> {
    store: &'a Store,
    id: &'a KeyId,
    part: &'a IntervalPart,
    pipeline: &'a mut Pipeline,
    asked: Vec<Asked>,
}

impl Questions<'_> {
    /// The sums before buckets that have others behind them.
    fn late(&mut self) {
        let state = &self.part.state;
        let late = self.part.buckets.keys().filter(|number| state.is_late(**number));
        let mut missing: Vec<(u32, u64)> =
            late.flat_map(|number| state.fields_before(*number)).collect();
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() {
            return;
        }
        let key = self.id.state(state.interval());
        let names: Vec<String> = missing.iter().map(|at| state::field(*at)).collect();
        self.pipeline.cmd("HMGET").arg(&*self.store.place(&key)).arg(names);
        self.asked.push(Asked::State(missing));
    }

    /// The values of buckets that hold more than one: a single one is the bucket's sum.
    fn sketches(&mut self) {
        let state = &self.part.state;
        let has_several = |number: &&u64| state.leaf(**number).is_some_and(|leaf| leaf.values > 1);
        let numbers: Vec<u64> = self.part.buckets.keys().filter(has_several).copied().collect();
        if numbers.is_empty() {
            return;
        }
        let key = self.id.sketch(state.interval());
        self.pipeline.cmd("HMGET").arg(&*self.store.place(&key)).arg(&numbers);
        self.asked.push(Asked::Sketches(numbers));
    }

    /// How often values occur in buckets that hold many, and who is first and last where those may leave.
    fn tallies(&mut self, table: &ValueTable) {
        let interval = self.part.state.interval();
        let (order, repeats) = (self.id.order(interval), self.id.repeats(interval));
        let (order, repeats) = (self.store.place(&order), self.store.place(&repeats));
        for (&number, bucket) in &self.part.buckets {
            let Some(leaf) = self.part.state.leaf(number).filter(|leaf| has_many(leaf)) else {
                continue;
            };
            let codes = bucket.counted().into_iter().map(|(place, _)| &table.get(place).code);
            let members: Vec<String> = codes.map(|code| order::member(number, code)).collect();
            self.pipeline.cmd("ZMSCORE").arg(&*order).arg(&members);
            self.pipeline.cmd("HMGET").arg(&*repeats).arg(&members);
            self.asked.extend([Asked::Present(number), Asked::Repeats(number)]);
            let Some(ordered) = &leaf.ordered else { continue };
            let leaves =
                |value: &Decimal| bucket.removed.iter().any(|at| table.get(*at).value == *value);
            let prefix = order::bucket_prefix(number);
            let (from, to) = (format!("[{prefix}"), format!("({prefix}{AFTER}"));
            // One more than can leave, so that whoever is first among those that stay is there.
            let enough = bucket.removed.len() + 1;
            if leaves(&ordered.min) {
                let low = self.pipeline.cmd("ZRANGEBYLEX").arg(&*order).arg(&from).arg(&to);
                low.arg("LIMIT").arg(0).arg(enough);
                self.asked.push(Asked::Low(number));
            }
            if leaves(&ordered.max) {
                let high = self.pipeline.cmd("ZREVRANGEBYLEX").arg(&*order).arg(&to).arg(&from);
                high.arg("LIMIT").arg(0).arg(enough);
                self.asked.push(Asked::High(number));
            }
        }
    }
}

fn value<T: FromRedisValue>(reply: Value) -> Result<T, Error> {
    Ok(redis::from_redis_value(reply).map_err(redis::RedisError::from)?)
}
