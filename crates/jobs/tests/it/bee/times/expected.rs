//! What the histories of jobs tell. The tests of the program have this module, too.

use std::collections::BTreeMap;

use keyrack_jobs::bee::{HistoryEntry, times::Record};

const MINUTE_MS: u64 = 60_000;

/// What should be told of each minute, by its beginning.
pub(crate) fn expected_minutes(histories: &[Vec<HistoryEntry>]) -> BTreeMap<u64, Record> {
    let mut minutes: BTreeMap<u64, Record> = BTreeMap::new();
    for history in histories {
        let mut ready: Option<u64> = None;
        let mut attempt: Option<(u64, u64)> = None;
        for (place, entry) in history.iter().enumerate() {
            let at = entry.timestamp as u64;
            let minute = minutes.entry(at / MINUTE_MS * MINUTE_MS).or_default();
            let next = history.get(place + 1).map(|next| next.event.as_str());
            match entry.event.as_str() {
                "submitted" => minute.submitted += 1,
                "canceled" => minute.canceled += 1,
                "expired" => minute.expired += 1,
                "failed" => minute.failed += 1,
                "completed" => minute.completed += 1,
                "exception" | "expiredLock" if next != Some("failed") => minute.retried += 1,
                _ => {}
            }
            match entry.event.as_str() {
                "queued" | "parked" | "released" => ready = ready.or(Some(at)),
                event => {
                    if event == "popped" {
                        attempt = Some((ready.unwrap_or(at), at));
                    }
                    ready = None;
                }
            }
            if let ("completed" | "exception", Some((ready_at, started_at))) =
                (entry.event.as_str(), attempt)
            {
                minute.wait.record(started_at - ready_at);
                minute.run.record(at - started_at);
            }
        }
    }
    minutes
}

#[track_caller]
pub(crate) fn assert_equal(told: &Record, expected: &Record, when: &str) {
    let counts = |record: &Record| {
        let Record { submitted, completed, failed, retried, canceled, expired, .. } = record;
        [*submitted, *completed, *failed, *retried, *canceled, *expired]
    };
    assert_eq!(counts(told), counts(expected), "counts of {} {when}", told.at);
    assert_eq!(told.wait, expected.wait, "wait times of {} {when}", told.at);
    assert_eq!(told.run, expected.run, "run times of {} {when}", told.at);
}
