//! The times of an attempt, out of the history of its job.

use std::borrow::Cow;

use serde::Deserialize;

/// How long an attempt waited, and how long it ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct AttemptTimes {
    pub(in super::super) wait_ms: u64,
    pub(in super::super) run_ms: u64,
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    timestamp: f64,
}

impl AttemptTimes {
    /// Those of the last attempt in a history, if it ended at this time. `attempt_times` in `include/times.lua` has the same rule.
    pub(in super::super) fn of(history: &str, ended_at: u64) -> Option<AttemptTimes> {
        let entries: Vec<Entry<'_>> = serde_json::from_str(history).ok()?;
        let (mut waits_since, mut last) = (None, None);
        for entry in &entries {
            match &*entry.event {
                "queued" | "parked" | "released" => {
                    waits_since = waits_since.or(Some(entry.timestamp));
                }
                event => {
                    if event == "popped" {
                        last = Some((waits_since.unwrap_or(entry.timestamp), entry.timestamp));
                    }
                    waits_since = None;
                }
            }
        }
        let (ready_at, started_at) = last?;
        // A negative time becomes zero.
        let whole = |ms: f64| ms.floor() as u64;
        let times = AttemptTimes {
            wait_ms: whole(started_at - ready_at),
            run_ms: whole(ended_at as f64 - started_at),
        };
        Some(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(events: &[(&str, u64)], ended_at: u64) -> Option<(u64, u64)> {
        let entries: Vec<String> = events
            .iter()
            .map(|(event, at)| format!(r#"{{"event":"{event}","timestamp":{at},"hive":"h"}}"#))
            .collect();
        let times = AttemptTimes::of(&format!("[{}]", entries.join(",")), ended_at)?;
        Some((times.wait_ms, times.run_ms))
    }

    #[test]
    fn a_job_waits_from_when_it_was_ready_until_it_was_taken() {
        let ready = [("submitted", 5), ("queued", 10), ("popped", 17)];
        assert_eq!(times(&ready, 20), Some((7, 3)));
        let tenant = [("submitted", 5), ("parked", 5), ("queued", 10), ("popped", 17)];
        assert_eq!(times(&tenant, 20), Some((12, 3)), "also while others of its tenant ran");
        let delayed = [("submitted", 5), ("delayed", 5), ("queued", 10), ("popped", 17)];
        assert_eq!(times(&delayed, 20), Some((7, 3)), "not while it was delayed");
    }

    #[test]
    fn only_the_last_attempt_counts() {
        let retried = [("queued", 1), ("popped", 2), ("exception", 9), ("delayed", 9)];
        let again = [&retried[..], &[("queued", 40), ("popped", 42)]].concat();
        assert_eq!(times(&again, 50), Some((2, 8)));
        let returned = [("queued", 1), ("popped", 2), ("released", 9), ("popped", 11)];
        assert_eq!(times(&returned, 12), Some((2, 1)));
        let canceled = [("queued", 1), ("canceled", 2), ("retriedByHand", 9), ("queued", 9)];
        assert_eq!(times(&[&canceled[..], &[("popped", 10)]].concat(), 12), Some((1, 2)));
    }

    #[test]
    fn what_makes_no_sense_has_no_times() {
        assert_eq!(times(&[("queued", 10)], 20), None, "it was not taken");
        assert_eq!(times(&[("queued", 30), ("popped", 20)], 10), Some((0, 0)), "clocks differ");
        for history in ["", "{}", "[", "[1]", r#"[{"event":1}]"#] {
            assert_eq!(AttemptTimes::of(history, 1), None, "{history}");
        }
    }
}
