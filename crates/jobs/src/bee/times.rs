//! How much happens in a queue, and how long it takes: counts, wait times and run times over the last 90 days.
//!
//! Each attempt that completes or fails is counted when it ends, in the same call. It has waited since its job was ready (queued,
//! parked for its tenant, or given back) until a worker took it, and has run from then on. A job that was given back or
//! snoozed, or lost its worker, has made no attempt that counts. Jobs have no name but their queue, so times are those of a queue.
//!
//! In reading order: [`histogram`] has the buckets, `attempt` finds the times of an attempt in its job's history, `plain` adds up
//! those of a batch, `record` reads what is stored and `query` says which records to read.

mod attempt;
pub mod histogram;
mod plain;
mod query;
mod record;
mod slowest;

use keyrack_store::Script;
use serde::Serialize;

use self::record::Open;
pub(super) use self::{
    attempt::AttemptTimes, plain::PlainTimes, record::Minutes, slowest::SlowestFilter,
};
pub use self::{
    histogram::Histogram,
    query::{Resolution, TimesQuery},
    record::Record,
    slowest::SlowAttempt,
};
use super::{hive::Hive, keys::QueueName};
use crate::Error;

static TIMES: Script = bee_script!("times.lua");

/// What happened in a queue over some time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Times {
    /// The queue.
    pub queue: String,
    /// The beginning of the first record, in unix milliseconds.
    pub from: u64,
    /// The end of the last record, in unix milliseconds.
    pub to: u64,
    /// How long a record is.
    pub resolution: Resolution,
    /// All of it together.
    pub sum: Record,
    /// The records, oldest first. One in which nothing happened is left out.
    pub records: Vec<Record>,
    /// The slowest attempts, slowest first: at most ten, of the last 24 hours.
    pub slowest: Vec<SlowAttempt>,
}

type Reply = (Vec<String>, Vec<(String, String)>, Vec<(String, String)>);

impl Hive {
    /// How much happened in a queue, and how long it took. Of a queue that nobody has used, everything is zero.
    ///
    /// # Errors
    /// When the time makes no sense or is longer ago than records of its resolution are kept, or when the store fails.
    pub async fn times(&self, queue: &QueueName, query: &TimesQuery) -> Result<Times, Error> {
        let range = query.range(self.now_ms())?;
        let resolution = range.resolution;
        let fields: Vec<String> = range.indexes().map(|index| index.to_string()).collect();
        let (records, open, slowest) = self.read_times(queue, resolution.word(), fields).await?;
        let mut found = Vec::new();
        let mut open = Open::parse(&open, resolution);
        for (index, stored) in range.indexes().zip(records) {
            let mut record = Record::parse(&stored);
            if let Some(more) = open.take(index) {
                record.merge(&more);
            }
            record.at = index * resolution.ms();
            if !record.is_empty() {
                found.push(record.rated());
            }
        }
        let mut sum = Record { at: range.start_ms(), ..Record::default() };
        found.iter().for_each(|record| sum.merge(record));
        Ok(Times {
            queue: queue.to_string(),
            from: range.start_ms(),
            to: range.end_ms(),
            resolution,
            sum: sum.rated(),
            records: found,
            slowest: slowest::among(&slowest, range.start_ms()..range.end_ms()),
        })
    }

    /// All that was ever counted in a queue. The numbers never go down as long as something happens in it every 90 days.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn times_total(&self, queue: &QueueName) -> Result<Record, Error> {
        let hours = Resolution::Hour;
        let (records, open, _) =
            self.read_times(queue, hours.word(), vec!["total".to_owned()]).await?;
        let mut total = records.first().map(|stored| Record::parse(stored)).unwrap_or_default();
        Open::parse(&open, hours).into_records().for_each(|record| total.merge(&record));
        Ok(total)
    }

    async fn read_times(
        &self,
        queue: &QueueName,
        of: &str,
        fields: Vec<String>,
    ) -> Result<Reply, Error> {
        Ok(self.call_on_queue(&TIMES, queue).arg("of", of).args("fields", fields).run().await?)
    }
}
