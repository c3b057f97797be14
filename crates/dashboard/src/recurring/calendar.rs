//! The next days: what runs on each, and when.

use jiff::{SignedDuration, Timestamp, ToSpan as _, Zoned, tz::TimeZone};
use keyrack_jobs::recurring::{ListState, Listed, Listing, Source};

/// Days that are shown, this one included.
const DAYS: i64 = 7;

/// Times of a day that are shown of a job; it may run more often.
const TIMES: usize = 4;

/// Jobs that are shown of a day. The others are in the table above.
const JOBS: usize = 50;

/// A day in UTC.
pub(super) struct Day {
    pub(super) date: String,
    pub(super) jobs: Vec<DayJob>,
    /// How many jobs more run on that day.
    pub(super) more: usize,
}

/// A job that runs on a day.
pub(super) struct DayJob {
    pub(super) name: String,
    /// Its first times, in UTC.
    pub(super) times: Vec<String>,
    /// Whether it runs more often.
    pub(super) more: bool,
}

/// What runs in the next days. Paused jobs, and a list that is not in force, run not at all.
pub(super) fn days(listing: &Listing, now: Timestamp) -> Vec<Day> {
    let list_runs = !matches!(listing.state, ListState::OtherList(_));
    let jobs: Vec<&Listed> = listing
        .jobs
        .iter()
        .filter(|job| !job.paused && (list_runs || matches!(job.source, Source::Store { .. })))
        .collect();
    let today = now.to_zoned(TimeZone::UTC).start_of_day().unwrap_or_else(|_| Zoned::default());
    let starts = (0..DAYS).filter_map(|day| today.checked_add(day.days()).ok());
    starts.map(|start| day(&jobs, &start, now)).filter(|day| !day.jobs.is_empty()).collect()
}

fn day(jobs: &[&Listed], start: &Zoned, now: Timestamp) -> Day {
    let end = start.timestamp().saturating_add(SignedDuration::from_hours(24));
    let end = end.unwrap_or(Timestamp::MAX);
    let mut found: Vec<(Timestamp, DayJob)> = Vec::new();
    let mut more = 0;
    for job in jobs {
        let mut runs = runs_of_day(job, start.timestamp(), end, now);
        let Some(first) = runs.first().copied() else { continue };
        if found.len() == JOBS {
            more += 1;
            continue;
        }
        let has_more = runs.len() > TIMES;
        runs.truncate(TIMES);
        let time = |at: &Timestamp| at.strftime("%H:%M:%S").to_string();
        let name = job.definition.name().to_owned();
        found
            .push((first, DayJob { name, times: runs.iter().map(time).collect(), more: has_more }));
    }
    found.sort_by_key(|(first, _)| *first);
    let jobs = found.into_iter().map(|(_, job)| job).collect();
    Day { date: start.strftime("%a %Y-%m-%d").to_string(), jobs, more }
}

/// The first runs of a day, one more than is shown.
fn runs_of_day(job: &Listed, start: Timestamp, end: Timestamp, now: Timestamp) -> Vec<Timestamp> {
    let Some(next) = job.next_run else { return Vec::new() };
    let schedule = job.definition.schedule();
    // What is due already counts for today.
    let first = if next >= start || now >= start && next <= now {
        Some(next.max(start))
    } else {
        schedule.next_after(start.saturating_sub(SignedDuration::from_secs(1)).unwrap_or(start))
    };
    let runs = std::iter::successors(first, |run| schedule.next_after((*run).max(now)));
    runs.take_while(|run| *run < end).take(TIMES + 1).collect()
}
