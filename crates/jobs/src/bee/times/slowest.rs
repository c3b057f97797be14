//! The slowest attempts of each hour.

use std::{collections::HashMap, ops::Range};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::super::keys::QueueName;

/// How many are kept of each hour, and told of several. `SLOWEST_MAX` in `include/times.lua` is the same.
const KEPT: usize = 10;
const HOUR_MS: u64 = 3_600_000;

/// An attempt that took long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SlowAttempt {
    /// The job.
    pub jid: String,
    /// How long the attempt ran, in milliseconds.
    pub run_ms: u64,
    /// When it ended, in unix milliseconds.
    pub at: u64,
}

#[derive(Deserialize)]
struct Hour {
    jobs: Vec<SlowAttempt>,
}

/// The slowest of those stored that ended in this time.
pub(super) fn among(hours: &[(String, String)], time: Range<u64>) -> Vec<SlowAttempt> {
    let hours = hours.iter().filter_map(|(_, stored)| serde_json::from_str::<Hour>(stored).ok());
    let mut all: Vec<SlowAttempt> =
        hours.flat_map(|hour| hour.jobs).filter(|one| time.contains(&one.at)).collect();
    all.sort_by(|a, b| b.run_ms.cmp(&a.run_ms).then_with(|| a.jid.cmp(&b.jid)));
    all.truncate(KEPT);
    all
}

/// What this process has reported of the present hour. An attempt that is not among its own slowest is not among those of all, so
/// the store is told of few.
#[derive(Debug, Default)]
pub(in super::super) struct SlowestFilter {
    hour: Mutex<ReportedHour>,
}

#[derive(Debug, Default)]
struct ReportedHour {
    number: u64,
    /// The longest run times of each queue, longest first.
    runs: HashMap<QueueName, Vec<u64>>,
}

impl SlowestFilter {
    /// Calls `with` with a test for run times that are among the slowest so far.
    pub(in super::super) fn with<T>(
        &self,
        queue: &QueueName,
        now_ms: u64,
        with: impl FnOnce(&mut dyn FnMut(u64) -> bool) -> T,
    ) -> T {
        let mut hour = self.hour.lock();
        if hour.number != now_ms / HOUR_MS {
            *hour = ReportedHour { number: now_ms / HOUR_MS, runs: HashMap::new() };
        }
        if !hour.runs.contains_key(queue) {
            hour.runs.insert(queue.clone(), Vec::new());
        }
        let runs = hour.runs.get_mut(queue).expect("it was just added");
        with(&mut |run_ms| {
            let is_slow = runs.len() < KEPT || runs.last().is_some_and(|least| *least < run_ms);
            if is_slow {
                let place = runs.partition_point(|other| *other >= run_ms);
                runs.insert(place, run_ms);
                runs.truncate(KEPT);
            }
            is_slow
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_is_told_of_the_slowest_only() {
        let (filter, queue) = (SlowestFilter::default(), QueueName::new("q").expect("a name"));
        let mut told = Vec::new();
        for n in 0..1_000u64 {
            let run_ms = n * 7_919 % 1_000;
            if filter.with(&queue, 5, |passes| passes(run_ms)) {
                told.push(run_ms);
            }
        }
        for slow in 990..1_000 {
            assert!(told.contains(&slow), "{slow}");
        }
        assert!(told.len() < 100, "{} were told of", told.len());
        assert!(!filter.with(&queue, 6, |passes| passes(990)));
        assert!(filter.with(&queue, HOUR_MS, |passes| passes(1)), "the next hour begins anew");
    }
}
