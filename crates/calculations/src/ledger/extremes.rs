//! The smallest, largest and different values of buckets, from the ordered values.

use std::collections::{BTreeMap, HashSet};

use keyrack_store::Store;
use redis::Pipeline;

use super::{
    change::{BucketChange, Extremes, IntervalPart},
    key::KeyId,
};
use crate::{decimal::Decimal, error::Error, keys::Interval, order, stamp::Stamp};

/// Comes after every member that begins the same.
const AFTER: char = '\u{7f}';

/// What the buckets' extremes will be after the changes.
pub(crate) async fn extremes(
    store: &Store,
    id: &KeyId,
    interval: Interval,
    touched: &IntervalPart,
) -> Result<BTreeMap<u64, Extremes>, Error> {
    // A bucket that had no values is known without asking.
    let (new, buckets): (Buckets<'_>, Buckets<'_>) =
        touched.buckets.iter().partition(|(number, _)| touched.state.leaf(**number).is_none());
    let mut all: BTreeMap<u64, Extremes> =
        new.into_iter().map(|(number, bucket)| (*number, of_new(bucket))).collect();
    if buckets.is_empty() {
        return Ok(all);
    }
    let key = id.order(interval);
    let key = store.place(&key);
    let mut pipeline = Pipeline::new();
    for &(&number, bucket) in &buckets {
        // One more than can leave, so that whoever is first among those that stay is there.
        let enough = bucket.removed.len() + 1;
        let (from, to) = range(&order::bucket_prefix(number));
        pipeline.cmd("ZRANGEBYLEX").arg(&*key).arg(&from).arg(&to).arg("LIMIT").arg(0).arg(enough);
        pipeline
            .cmd("ZREVRANGEBYLEX")
            .arg(&*key)
            .arg(&to)
            .arg(&from)
            .arg("LIMIT")
            .arg(0)
            .arg(enough);
        for value in values(bucket) {
            let (from, to) = range(&order::value_prefix(number, value));
            pipeline.cmd("ZLEXCOUNT").arg(&*key).arg(from).arg(to);
        }
    }
    let replies: Vec<redis::Value> = pipeline.query_async(&mut store.connection()).await?;
    let mut replies = replies.into_iter();
    for (&number, bucket) in buckets {
        let low: Vec<String> = next(&mut replies)?;
        let high: Vec<String> = next(&mut replies)?;
        let mut counts = Vec::new();
        for value in values(bucket) {
            counts.push((value, next::<i64>(&mut replies)?));
        }
        all.insert(number, after(number, bucket, &low, &high, &counts));
    }
    Ok(all)
}

type Buckets<'a> = Vec<(&'a u64, &'a BucketChange)>;

/// The extremes of a bucket to which the first values come.
fn of_new(bucket: &BucketChange) -> Extremes {
    let values = values(bucket);
    Extremes {
        min: values.first().map(|value| (*value).clone()),
        max: values.last().map(|value| (*value).clone()),
        distinct: values.len() as i64,
    }
}

/// The different values that leave or come.
fn values(bucket: &BucketChange) -> Vec<&Decimal> {
    let both = bucket.removed.iter().chain(&bucket.added);
    let mut values: Vec<&Decimal> = both.map(|(_, value)| value).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// What a bucket's extremes are once values have left and come.
fn after(
    number: u64,
    bucket: &BucketChange,
    low: &[String],
    high: &[String],
    counts: &[(&Decimal, i64)],
) -> Extremes {
    let leaving: HashSet<String> = bucket
        .removed
        .iter()
        .map(|(stamp, value)| order::member(number, value, stamp.as_str()))
        .collect();
    let staying = |members: &[String]| {
        let first = members.iter().find(|member| !leaving.contains(*member));
        first.and_then(|member| order::value_of(member))
    };
    let (low, high) = (staying(low), staying(high));
    let added = || bucket.added.iter().map(|(_, value)| value);
    let (removed, added_times) = (times(&bucket.removed), times(&bucket.added));
    let with = |times: &BTreeMap<&Decimal, i64>, value| times.get(value).copied().unwrap_or(0);
    let distinct = counts.iter().map(|(value, before)| {
        let now = before - with(&removed, *value) + with(&added_times, *value);
        i64::from(now > 0) - i64::from(*before > 0)
    });
    Extremes {
        min: added().chain(&low).min().cloned(),
        max: added().chain(&high).max().cloned(),
        distinct: distinct.sum(),
    }
}

/// How often each value occurs.
fn times(values: &[(Stamp, Decimal)]) -> BTreeMap<&Decimal, i64> {
    let mut times = BTreeMap::new();
    for (_, value) in values {
        *times.entry(value).or_default() += 1;
    }
    times
}

fn range(prefix: &str) -> (String, String) {
    (format!("[{prefix}"), format!("({prefix}{AFTER}"))
}

fn next<T: redis::FromRedisValue>(
    replies: &mut impl Iterator<Item = redis::Value>,
) -> Result<T, Error> {
    let reply = replies.next().unwrap_or(redis::Value::Nil);
    Ok(redis::from_redis_value(reply).map_err(redis::RedisError::from)?)
}
