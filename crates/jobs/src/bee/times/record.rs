//! What happened in some stretch of time, as it is stored.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::{Histogram, Resolution};

/// What happened in a queue in some stretch of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Record {
    /// Its beginning, in unix milliseconds.
    pub at: u64,
    /// Jobs submitted.
    pub submitted: u64,
    /// Jobs that workers took.
    pub started: u64,
    /// Jobs completed.
    pub completed: u64,
    /// Jobs failed for good.
    pub failed: u64,
    /// Those of them whose group of failures was muted.
    pub muted: u64,
    /// Attempts that failed or were lost, and are made again.
    pub retried: u64,
    /// Jobs canceled.
    pub canceled: u64,
    /// Jobs that ended because they had not started in time.
    pub expired: u64,
    /// Ended jobs that were deleted before their time, because the queue keeps no more of them.
    pub dropped: u64,
    /// Which share of the jobs that ended have failed for good; nothing if none ended.
    pub error_rate: Option<f64>,
    /// How long attempts that completed or failed had waited.
    #[cfg_attr(feature = "openapi", schema(value_type = super::histogram::HistogramSchema))]
    pub wait: Histogram,
    /// How long they ran.
    #[cfg_attr(feature = "openapi", schema(value_type = super::histogram::HistogramSchema))]
    pub run: Histogram,
}

impl Record {
    /// The same with its error rate.
    pub(super) fn rated(mut self) -> Record {
        let ended = self.completed.saturating_add(self.failed);
        self.error_rate = (ended > 0).then(|| self.failed as f64 / ended as f64);
        self
    }

    /// Adds another.
    pub fn merge(&mut self, other: &Record) {
        for (count, more) in self.counts_mut().into_iter().zip(other.counts()) {
            *count = count.saturating_add(more);
        }
        self.wait.merge(&other.wait);
        self.run.merge(&other.run);
    }

    /// What was added to a total since it was `earlier`. All of it if the total has begun anew, which is so when one of its
    /// numbers is lower.
    pub fn since(&self, earlier: &Record) -> Record {
        let began_anew = self.counts().iter().zip(earlier.counts()).any(|(now, then)| *now < then);
        if began_anew || !self.wait.includes(&earlier.wait) || !self.run.includes(&earlier.run) {
            return self.clone();
        }
        let (wait, run) = (self.wait.since(&earlier.wait), self.run.since(&earlier.run));
        let mut grown = Record { wait, run, error_rate: None, ..*self };
        for (count, before) in grown.counts_mut().into_iter().zip(earlier.counts()) {
            *count -= before;
        }
        grown
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.counts() == [0; 9] && self.wait.count() == 0
    }

    fn counts(&self) -> [u64; 9] {
        let mut copy = Record { wait: Histogram::default(), run: Histogram::default(), ..*self };
        copy.counts_mut().map(|count| *count)
    }

    fn counts_mut(&mut self) -> [&mut u64; 9] {
        [
            &mut self.submitted,
            &mut self.started,
            &mut self.completed,
            &mut self.failed,
            &mut self.muted,
            &mut self.retried,
            &mut self.canceled,
            &mut self.expired,
            &mut self.dropped,
        ]
    }

    /// A stored record; what makes no sense is left out.
    pub(super) fn parse(stored: &str) -> Record {
        let mut record = Record::default();
        let numbers: HashMap<String, f64> = serde_json::from_str(stored).unwrap_or_default();
        for (name, n) in numbers {
            record.add(&name, n as u64);
        }
        record
    }

    /// Adds a number by its stored name.
    fn add(&mut self, name: &str, n: u64) {
        let count = match name {
            "submitted" => &mut self.submitted,
            "started" => &mut self.started,
            "completed" => &mut self.completed,
            "failed" => &mut self.failed,
            "muted" => &mut self.muted,
            "retried" => &mut self.retried,
            "canceled" => &mut self.canceled,
            "expired" => &mut self.expired,
            "dropped" => &mut self.dropped,
            "wait_ms" => return self.wait.add_sum(n),
            "run_ms" => return self.run.add_sum(n),
            name => return self.add_bucket(name, n),
        };
        *count = count.saturating_add(n);
    }

    /// Adds to a bucket, by `w5` or `r7`, or to two, by `t5.7`.
    fn add_bucket(&mut self, name: &str, n: u64) {
        if let Some(bucket) = name.strip_prefix('w').and_then(|text| text.parse().ok()) {
            self.wait.add(bucket, n);
        } else if let Some(bucket) = name.strip_prefix('r').and_then(|text| text.parse().ok()) {
            self.run.add(bucket, n);
        } else if let Some((wait, run)) = name.strip_prefix('t').and_then(|t| t.split_once('.'))
            && let (Ok(wait), Ok(run)) = (wait.parse(), run.parse())
        {
            self.wait.add(wait, n);
            self.run.add(run, n);
        }
    }
}

/// The minutes that no records were made of yet, as records of some length by their numbers.
pub(super) struct Open {
    records: BTreeMap<u64, Record>,
}

impl Open {
    pub(super) fn parse(counters: &[(String, String)], resolution: Resolution) -> Open {
        let mut records: BTreeMap<u64, Record> = BTreeMap::new();
        for (minute, what, n) in counters.iter().filter_map(counter) {
            let index = minute.saturating_mul(Resolution::Minute.ms()) / resolution.ms();
            records.entry(index).or_default().add(what, n);
        }
        Open { records }
    }

    pub(super) fn take(&mut self, index: u64) -> Option<Record> {
        self.records.remove(&index)
    }

    pub(super) fn into_records(self) -> impl Iterator<Item = Record> {
        self.records.into_values()
    }
}

/// The minute of a counter, what it counts, and how many.
fn counter((field, n): &(String, String)) -> Option<(u64, &str, u64)> {
    let (minute, what) = field.split_once(':')?;
    Some((minute.parse().ok()?, what, n.parse().ok()?))
}

/// Minutes with their counts, from counters and records, by their numbers.
pub(in super::super) struct Minutes(pub(in super::super) BTreeMap<u64, Record>);

impl Minutes {
    pub(in super::super) fn new(
        counters: &[(String, String)],
        recorded: &[(String, String)],
    ) -> Minutes {
        let mut minutes = Open::parse(counters, Resolution::Minute).records;
        for (minute, stored) in recorded {
            if let Ok(minute) = minute.parse() {
                minutes.entry(minute).or_default().merge(&Record::parse(stored));
            }
        }
        Minutes(minutes)
    }
}
