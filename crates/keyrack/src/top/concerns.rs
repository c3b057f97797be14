//! What somebody ought to look at, worst first. The dashboard judges by more, and links to where it is put right.

use std::time::Duration;

use keyrack_format as format;
use keyrack_jobs::bee::Stats;

use super::look::{Breaker, Picture};

/// A job that waits for longer than this is worth a look.
const OLD: Duration = Duration::from_secs(5 * 60);
/// Over how many minutes failures are counted, and what share of how many is too much.
const FAILING_MINUTES: u64 = 10;
const MINUTE_MS: u64 = 60_000;
const FAILING_MIN: u64 = 3;
const FAILING_PERCENT: u64 = 10;

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    Broken,
    Warning,
    Note,
}

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Concern {
    pub(super) weight: Weight,
    pub(super) subject: String,
    pub(super) text: String,
}

/// Everything that ought to be looked at.
pub(super) fn concerns(picture: &Picture) -> Vec<Concern> {
    let mut found = Vec::new();
    let mut add = |weight, subject: &str, text: String| {
        found.push(Concern { weight, subject: subject.to_owned(), text });
    };
    if let Some(trouble) = &picture.trouble {
        add(Weight::Broken, "store", format!("does not answer: {trouble}"));
    }
    match picture.breaker {
        Breaker::Open => add(Weight::Broken, "billing", "is not asked: it failed too often".into()),
        Breaker::HalfOpen => add(Weight::Warning, "billing", "failed; it is tried again".into()),
        Breaker::Closed => {}
    }
    if picture.hot.unknown > 0 {
        let jobs = format::counted(picture.hot.unknown, "job");
        add(Weight::Warning, "hot queue", format!("{jobs} that no worker knew"));
    }
    for stats in &picture.queues {
        of_queue(stats, picture.now_ms, |weight, text| add(weight, &stats.queue, text));
    }
    found.sort();
    found
}

fn of_queue(stats: &Stats, now_ms: u64, mut add: impl FnMut(Weight, String)) {
    let jobs = format::counted(stats.queued, "job");
    if stats.queued > 0 && !stats.paused && alive(stats, now_ms) == 0 {
        add(Weight::Broken, format!("{jobs} queued and no worker is alive"));
    }
    // A minute in which nothing happened has no entry.
    let from = now_ms.saturating_sub(FAILING_MINUTES * MINUTE_MS);
    let recent = stats.minutes.iter().filter(|minute| minute.at + MINUTE_MS > from);
    let (ended, failed) = recent.fold((0, 0), |(ended, failed), minute| {
        (ended + minute.completed + minute.failed, failed + minute.failed)
    });
    let percent = failed * 100 / ended.max(1);
    if failed >= FAILING_MIN && percent >= FAILING_PERCENT {
        add(Weight::Broken, format!("{percent} % failed in the last {FAILING_MINUTES} minutes"));
    }
    if stats.dropped > 0 {
        let jobs = format::counted(stats.dropped, "ended job");
        add(Weight::Warning, format!("{jobs} deleted before their time in the last hour"));
    }
    let oldest = Duration::from_millis(stats.oldest_ms.unwrap_or(0));
    if stats.paused && stats.queued > 0 {
        add(Weight::Note, format!("paused with {jobs} queued"));
    } else if oldest >= OLD && stats.queued > 0 {
        add(Weight::Warning, format!("the oldest job waits for {}", format::duration(oldest)));
    }
}

/// How many workers of a queue were heard of lately.
pub(super) fn alive(stats: &Stats, now_ms: u64) -> usize {
    stats.workers_alive(now_ms) as usize
}

#[cfg(test)]
mod tests {
    use keyrack_jobs::bee::{Minute, WorkerStats};

    use super::{super::look::Hot, *};

    const NOW: u64 = 1_700_000_000_000;

    fn queue(name: &str) -> Stats {
        let worker =
            WorkerStats { worker: "w".into(), seen_at: NOW - 1_000, running: 1, info: None };
        Stats { queue: name.into(), queued: 2, workers: vec![worker], ..Stats::default() }
    }

    #[track_caller]
    fn check(picture: Picture, expected: &[&str]) {
        let told = concerns(&Picture { now_ms: NOW, ..picture });
        let told: Vec<String> =
            told.iter().map(|concern| format!("{} {}", concern.subject, concern.text)).collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn healthy_store_is_no_concern() {
        check(Picture { queues: vec![queue("mail")], ..Picture::default() }, &[]);
    }

    #[test]
    fn worst_comes_first() {
        let lonely = Stats { workers: Vec::new(), ..queue("a") };
        let paused = Stats { paused: true, ..queue("b") };
        let old = Stats { oldest_ms: Some(600_000), ..queue("c") };
        let hot = Hot { unknown: 1, ..Hot::default() };
        let queues = vec![paused, old, lonely];
        check(
            Picture { queues, hot, breaker: Breaker::Open, ..Picture::default() },
            &[
                "a 2 jobs queued and no worker is alive",
                "billing is not asked: it failed too often",
                "c the oldest job waits for 10 min 0 s",
                "hot queue 1 job that no worker knew",
                "b paused with 2 jobs queued",
            ],
        );
    }

    fn picture(minutes: Vec<Minute>) -> Picture {
        let queues = vec![Stats { minutes, ..queue("mail") }];
        Picture { queues, now_ms: NOW, ..Picture::default() }
    }

    #[test]
    fn failing_queue_is_told_from_one_that_fails_now_and_then() {
        let failing = |completed, failed| {
            let at = NOW - MINUTE_MS;
            let minutes = vec![Minute { at, completed, failed, ..Minute::default() }];
            picture(minutes)
        };
        check(failing(0, 2), &[]);
        check(failing(97, 3), &[]);
        check(failing(5, 5), &["mail 50 % failed in the last 10 minutes"]);
    }

    #[test]
    fn what_failed_more_than_ten_minutes_ago_is_not_counted() {
        let minute =
            |ago, failed| Minute { at: NOW - ago * MINUTE_MS, failed, ..Minute::default() };
        check(picture(vec![minute(50, 5), minute(11, 5)]), &[]);
        check(
            picture(vec![minute(50, 5), minute(9, 5)]),
            &["mail 100 % failed in the last 10 minutes"],
        );
    }
}
