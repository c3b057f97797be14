//! What the store has been doing in the last minutes, for the small lines of the overview.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use keyrack_services::census::Counts;
use keyrack_store::Info;
use parking_lot::Mutex;

/// How far moments are apart. Somebody who has just opened the page wants to see what was before.
pub(super) const APART: Duration = Duration::from_secs(1);
/// How many moments are kept: five minutes.
const MOMENTS_MAX: usize = 300;
/// After so long without any, as when the store is away, a line would tell of a time that it does not show.
const GAP: Duration = Duration::from_secs(30);

/// The last moments.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    moments: Mutex<VecDeque<Sample>>,
}

#[derive(Debug)]
struct Sample {
    at: Instant,
    commands: u64,
    /// Keys of each service.
    keys: HashMap<&'static str, u64>,
    /// What else there is of each service.
    levels: HashMap<&'static str, f64>,
}

impl Sampler {
    /// Adds a moment.
    pub(super) fn note(
        &self,
        info: &Info,
        counts: Option<&Counts>,
        levels: HashMap<&'static str, f64>,
    ) {
        let mut keys = HashMap::new();
        for family in keyrack_contract::registry().families() {
            if let Some(n) = counts.and_then(|counts| counts.of(family)) {
                *keys.entry(family.owner_crate()).or_insert(0) += n;
            }
        }
        self.add(Sample { at: Instant::now(), commands: info.commands, keys, levels });
    }

    fn add(&self, moment: Sample) {
        let mut moments = self.moments.lock();
        if let Some(last) = moments.back() {
            let passed = moment.at.duration_since(last.at);
            if passed > GAP || moment.commands < last.commands {
                moments.clear();
            }
        }
        if moments.len() >= MOMENTS_MAX {
            moments.pop_front();
        }
        moments.push_back(moment);
    }

    /// Commands a second between each two moments.
    pub(super) fn commands_per_second(&self) -> Vec<f64> {
        self.per_second(|moment| Some(moment.commands as f64))
    }

    /// By how much there was more of a service a second, between each two moments.
    pub(super) fn rates(&self, service: &str) -> Vec<f64> {
        self.per_second(|moment| moment.levels.get(service).copied())
    }

    /// How much there was of a service in each moment.
    pub(super) fn levels(&self, service: &str) -> Vec<f64> {
        let moments = self.moments.lock();
        moments.iter().filter_map(|moment| moment.levels.get(service).copied()).collect()
    }

    fn per_second(&self, level: impl Fn(&Sample) -> Option<f64>) -> Vec<f64> {
        let moments = self.moments.lock();
        let pairs = moments.iter().zip(moments.iter().skip(1));
        pairs
            .filter_map(|(a, b)| {
                let seconds = b.at.duration_since(a.at).as_secs_f64();
                Some(((level(b)? - level(a)?) / seconds.max(0.001)).max(0.0))
            })
            .collect()
    }

    /// Keys of a service in each moment.
    pub(super) fn keys(&self, service: &str) -> Vec<f64> {
        let moments = self.moments.lock();
        moments.iter().filter_map(|moment| Some(*moment.keys.get(service)? as f64)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(start: Instant, s: u64, commands: u64) -> Sample {
        let keys = HashMap::from([("jobs", commands / 10)]);
        let levels = HashMap::from([("files", commands as f64)]);
        Sample { at: start + Duration::from_secs(s), commands, keys, levels }
    }

    #[test]
    fn rates_are_those_between_moments() {
        let (sampler, start) = (Sampler::default(), Instant::now());
        for (s, commands) in [(0, 0), (2, 200), (3, 250)] {
            sampler.add(moment(start, s, commands));
        }
        assert_eq!(sampler.commands_per_second(), [100.0, 50.0]);
        assert_eq!(sampler.keys("jobs"), [0.0, 20.0, 25.0]);
        assert!(sampler.keys("files").is_empty());
        assert_eq!(sampler.levels("files"), [0.0, 200.0, 250.0]);
        assert_eq!(sampler.rates("files"), [100.0, 50.0]);
        assert!(sampler.rates("jobs").is_empty());
    }

    #[test]
    fn moments_are_bounded_and_begin_anew_after_a_gap_or_a_restart() {
        let (sampler, start) = (Sampler::default(), Instant::now());
        for s in 0..400 {
            sampler.add(moment(start, s, s));
        }
        assert_eq!(sampler.keys("jobs").len(), MOMENTS_MAX);
        sampler.add(moment(start, 500, 1_000));
        assert_eq!(sampler.keys("jobs").len(), 1);
        sampler.add(moment(start, 502, 5));
        assert_eq!(sampler.keys("jobs").len(), 1);
    }
}
