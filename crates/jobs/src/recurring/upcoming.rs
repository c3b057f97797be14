//! The next runs of all recurring jobs, as a calendar.

use std::{cmp::Reverse, collections::BinaryHeap};

use jiff::Timestamp;

use super::{
    error::Error,
    list::{ListState, Listed, Source},
    service::Recurring,
};

/// The most runs that are told at once.
pub const UPCOMING_MAX: usize = 5000;

/// The next runs of recurring jobs, soonest first.
#[derive(Debug)]
pub struct Upcoming {
    /// The runs.
    pub runs: Vec<UpcomingRun>,
    /// The jobs that run, by the `job` of a run.
    pub jobs: Vec<Listed>,
    /// Whether there are more within the time.
    pub more: bool,
}

/// A run that is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpcomingRun {
    /// When it is due; in the past if it is due now.
    pub at: Timestamp,
    /// Which of the jobs it is of.
    pub job: usize,
}

impl Recurring {
    /// Up to `max` runs until a time, over all jobs that are neither paused nor in a list that does not run. A job that is due several
    /// times already counts once.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn upcoming(&self, until: Timestamp, max: usize) -> Result<Upcoming, Error> {
        let listing = self.list().await?;
        let list_runs = !matches!(listing.state, ListState::OtherList(_));
        let runs = |job: &Listed| !job.paused && (list_runs || job.source.is_store());
        let jobs: Vec<Listed> = listing.jobs.into_iter().filter(runs).collect();
        let (runs, more) = merge(&jobs, self.now(), until, max.min(UPCOMING_MAX));
        Ok(Upcoming { runs, jobs, more })
    }
}

/// The runs of all jobs in order, and whether there are more of them.
fn merge(
    jobs: &[Listed],
    now: Timestamp,
    until: Timestamp,
    max: usize,
) -> (Vec<UpcomingRun>, bool) {
    let first = |(job, listed): (usize, &Listed)| Some(Reverse((listed.next_run?, job)));
    let mut next: BinaryHeap<_> = jobs.iter().enumerate().filter_map(first).collect();
    let mut runs = Vec::new();
    while let Some(Reverse((at, job))) = next.pop() {
        if at > until {
            break;
        }
        if runs.len() == max {
            return (runs, true);
        }
        runs.push(UpcomingRun { at, job });
        let after = jobs[job].definition.schedule().next_after(at.max(now));
        next.extend(after.map(|at| Reverse((at, job))));
    }
    (runs, false)
}

impl Source {
    fn is_store(&self) -> bool {
        matches!(self, Source::Store { .. })
    }
}
