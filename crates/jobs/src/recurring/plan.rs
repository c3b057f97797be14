//! The list of recurring jobs, and the digests by which the store may know it.

use std::{collections::HashMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use super::{definition::Definition, digest, error::Error, schedule::Schedule};

/// A list of definitions that passed every check.
#[derive(Debug)]
pub(super) struct Plan {
    jobs: Vec<Definition>,
}

/// The digests of a list and its jobs, for processes that started at some time of the year.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Digests {
    /// The digest of the whole list, as the store writes it.
    pub(super) list: String,
    /// Those of the jobs, in the list's order.
    pub(super) jobs: Vec<String>,
    places: HashMap<String, usize>,
}

impl Plan {
    pub(super) fn new(jobs: Vec<Definition>, now: Timestamp) -> Result<Plan, Error> {
        jobs.iter().try_for_each(Definition::check)?;
        let plan = Plan { jobs };
        let digests = plan.digests(now);
        for (place, job) in digests.jobs.iter().enumerate() {
            let other = digests.places[job];
            if other != place {
                let name = |place: usize| plan.jobs[place].name().to_owned();
                return Err(Error::SameDigest { first: name(place), second: name(other) });
            }
        }
        Ok(plan)
    }

    pub(super) fn jobs(&self) -> &[Definition] {
        &self.jobs
    }

    /// The jobs of that name, by their places.
    pub(super) fn named(&self, name: &str) -> Result<Vec<usize>, Error> {
        let places = (0..self.jobs.len()).filter(|place| self.jobs[*place].name() == name);
        let places: Vec<usize> = places.collect();
        if places.is_empty() {
            return Err(Error::NoSuchJob { name: name.to_owned() });
        }
        Ok(places)
    }

    /// The digests that a process has which starts at that moment.
    pub(super) fn digests(&self, started_at: Timestamp) -> Digests {
        let jobs: Vec<u64> =
            self.jobs.iter().map(|definition| digest::job(definition, started_at)).collect();
        let list = digest::list(&jobs).to_string();
        let jobs: Vec<String> = jobs.iter().map(u64::to_string).collect();
        let places = jobs.iter().enumerate().map(|(place, job)| (job.clone(), place)).collect();
        Digests { list, jobs, places }
    }

    /// The digests of all processes with this list that started within a year: now first, then as the clocks were before each
    /// change. They change with summer time, though the list does not.
    pub(super) fn seasons(&self, now: Timestamp) -> Vec<Arc<Digests>> {
        const YEAR: SignedDuration = SignedDuration::from_hours(366 * 24);
        let since = now.checked_sub(YEAR).unwrap_or(Timestamp::MIN);
        let mut changes: Vec<Timestamp> = Vec::new();
        for job in &self.jobs {
            if let Schedule::Interval(interval) = job.schedule() {
                let before = interval.zone.preceding(now).map(|change| change.timestamp());
                changes.extend(before.take_while(|change| *change > since));
            }
        }
        changes.sort_unstable();
        changes.dedup();
        let before_change =
            |change: &Timestamp| change.checked_sub(SignedDuration::from_secs(1)).ok();
        let moments = std::iter::once(now).chain(changes.iter().rev().filter_map(before_change));
        let mut seasons: Vec<Arc<Digests>> = Vec::new();
        for digests in moments.map(|moment| self.digests(moment)) {
            if seasons.iter().all(|other| other.list != digests.list) {
                seasons.push(Arc::new(digests));
            }
        }
        seasons
    }

    /// The digests of the season in which the list has this digest; `None` when it is that of another list.
    pub(super) fn season(&self, list: &str, now: Timestamp) -> Option<Arc<Digests>> {
        self.seasons(now).into_iter().find(|season| season.list == list)
    }
}

impl Digests {
    /// The place in the list of the job with this digest.
    pub(super) fn place(&self, job: &str) -> Option<usize> {
        self.places.get(job).copied()
    }
}

#[cfg(test)]
mod tests;
