//! What many keys take together, and how sure that is.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::KeyMeasure;

/// How many keys there are, and what the measured ones of them take.
#[derive(Clone, Debug, Default)]
pub struct Measure {
    /// Keys met.
    pub keys: u64,
    /// Keys that were measured.
    pub measured: u64,
    /// The memory of the measured keys, and the sum of its squares.
    sum: u128,
    squares: f64,
    /// The largest measured key, and what it takes.
    pub biggest: Option<(String, u64)>,
    /// Measured keys that do not expire.
    pub lasting: u64,
    /// How long the measured keys that expire have left, in seconds.
    pub ttl: Spread,
    /// How long the measured keys have not been used, in seconds.
    pub idle: Spread,
    /// What was estimated group by group, where the keys are those of several.
    groups: Option<Estimate>,
}

/// What keys take, and how sure that is.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    bytes: Option<u64>,
    bytes_error: Option<u64>,
    lasting_share: Option<(f64, f64)>,
}

/// 95 of 100 estimates are off by no more than so many standard deviations.
const SURE: f64 = 1.96;

impl Measure {
    pub(super) fn add(&mut self, name: &str, seen: Option<KeyMeasure>) {
        self.keys += 1;
        let Some(seen) = seen else { return };
        self.measured += 1;
        self.sum += u128::from(seen.bytes);
        self.squares += (seen.bytes as f64).powi(2);
        if self.biggest.as_ref().is_none_or(|(_, bytes)| seen.bytes > *bytes) {
            self.biggest = Some((name.to_owned(), seen.bytes));
        }
        match seen.ttl_ms {
            Some(ms) => self.ttl.add(ms / 1_000),
            None => self.lasting += 1,
        }
        if let Some(seconds) = seen.idle_s {
            self.idle.add(seconds);
        }
    }

    /// Takes what was estimated for each group of the keys: a sample has more of small groups than of large ones.
    pub(super) fn sum_up<'m>(&mut self, groups: impl Iterator<Item = &'m Measure> + Clone) {
        let keys = self.keys as f64;
        let bytes: Option<u64> = groups.clone().map(Measure::bytes).sum();
        // Where nothing is known of a group, the others stand for it.
        if bytes.is_none() {
            return;
        }
        // Errors that do not depend on each other add up by their squares.
        let squares: Option<f64> = groups
            .clone()
            .map(|group| group.bytes_error().map(|error| (error as f64).powi(2)))
            .sum();
        let lasting: Option<(f64, f64)> =
            groups.filter(|group| group.keys > 0).try_fold((0.0, 0.0), |(sum, squares), group| {
                let (share, error) = group.lasting_share()?;
                let weight = group.keys as f64 / keys;
                Some((sum + share * weight, squares + (error * weight).powi(2)))
            });
        self.groups = Some(Estimate {
            bytes,
            bytes_error: squares.map(|squares| squares.sqrt().ceil() as u64),
            lasting_share: lasting.map(|(share, squares)| (share, squares.sqrt())),
        });
    }

    /// The memory of all keys; `None` when there are keys and none was measured.
    pub fn bytes(&self) -> Option<u64> {
        if let Some(groups) = self.groups {
            return groups.bytes;
        }
        if self.measured == 0 {
            return (self.keys == 0).then_some(0);
        }
        u64::try_from(self.sum * u128::from(self.keys) / u128::from(self.measured)).ok()
    }

    /// By how much [`Measure::bytes`] may be off, in 95 of 100 cases; 0 when every key was measured.
    ///
    /// `None` when too few were measured to tell.
    pub fn bytes_error(&self) -> Option<u64> {
        if let Some(groups) = self.groups {
            return groups.bytes_error;
        }
        if self.measured == self.keys {
            return Some(0);
        }
        if self.measured < 2 {
            return None;
        }
        let (n, keys) = (self.measured as f64, self.keys as f64);
        let mean = self.sum as f64 / n;
        let variance = ((self.squares - n * mean * mean) / (n - 1.0)).max(0.0);
        Some((SURE * keys * (variance / n * self.left(n, keys)).sqrt()).ceil() as u64)
    }

    /// The share of keys that do not expire, and by how much it may be off in 95 of 100 cases.
    pub fn lasting_share(&self) -> Option<(f64, f64)> {
        if let Some(groups) = self.groups {
            return groups.lasting_share;
        }
        if self.measured == 0 {
            return None;
        }
        let (n, keys) = (self.measured as f64, self.keys as f64);
        let share = self.lasting as f64 / n;
        Some((share, SURE * (share * (1.0 - share) / n * self.left(n, keys)).sqrt()))
    }

    /// A sample of nearly all keys is nearly sure.
    fn left(&self, n: f64, keys: f64) -> f64 {
        if keys > 1.0 { ((keys - n) / (keys - 1.0)).max(0.0) } else { 0.0 }
    }
}

impl Serialize for Measure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("keys", &self.keys)?;
        map.serialize_entry("measured", &self.measured)?;
        map.serialize_entry("bytes", &self.bytes())?;
        map.serialize_entry("bytes_error", &self.bytes_error())?;
        map.serialize_entry("biggest_key", &self.biggest.as_ref().map(|(name, _)| name))?;
        map.serialize_entry("biggest_bytes", &self.biggest.as_ref().map(|(_, bytes)| bytes))?;
        map.serialize_entry("without_ttl", &self.lasting_share().map(|(share, _)| share))?;
        map.serialize_entry("without_ttl_error", &self.lasting_share().map(|(_, error)| error))?;
        map.serialize_entry("ttl", &self.ttl)?;
        map.serialize_entry("idle", &self.idle)?;
        map.end()
    }
}

/// Upper ends of the ranges of times, in seconds: minute, hour, day, week, thirty days, and beyond.
const ENDS: [u64; 5] = [60, 3_600, 86_400, 604_800, 2_592_000];
const NAMES: [&str; 6] = ["1m", "1h", "1d", "7d", "30d", "more"];

/// Times, counted by range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    counts: [u64; 6],
    /// The longest.
    pub max: u64,
}

impl Spread {
    fn add(&mut self, seconds: u64) {
        let at = ENDS.iter().position(|end| seconds <= *end).unwrap_or(ENDS.len());
        self.counts[at] += 1;
        self.max = self.max.max(seconds);
    }

    /// How many times there are in each range, by the upper end of the range.
    pub fn ranges(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        NAMES.into_iter().zip(self.counts)
    }

    /// How many times there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The upper end of the range that the middle one lies in.
    pub fn median(&self) -> Option<&'static str> {
        let half = self.count().div_ceil(2);
        let mut seen = 0;
        let at = self.counts.iter().position(|count| {
            seen += count;
            seen >= half && half > 0
        });
        at.map(|at| NAMES[at])
    }
}

impl Serialize for Spread {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, count) in self.ranges() {
            map.serialize_entry(name, &count)?;
        }
        map.serialize_entry("max_s", &(self.count() > 0).then_some(self.max))?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(bytes: u64) -> Option<KeyMeasure> {
        Some(KeyMeasure { bytes, ttl_ms: None, idle_s: Some(5) })
    }

    #[test]
    fn keys_that_were_all_measured_leave_no_error() {
        let mut measure = Measure::default();
        for bytes in [100, 300] {
            measure.add("key", seen(bytes));
        }
        assert_eq!((measure.bytes(), measure.bytes_error()), (Some(400), Some(0)));
        assert_eq!(measure.biggest, Some(("key".into(), 300)));
        assert_eq!(measure.lasting_share(), Some((1.0, 0.0)));
    }

    #[test]
    fn error_holds_the_truth_in_most_samples() {
        // Sizes from 1 to 1000, of which every tenth is measured from another start.
        let truth: u64 = (1..=1_000).sum();
        let holds = (0..10).filter(|start| {
            let mut measure = Measure::default();
            for bytes in 1..=1_000_u64 {
                // A walk of coprime steps, so that samples are not evenly spread.
                let chosen = (bytes * 7_919 + start * 131) % 997 % 10 == 0;
                measure.add("key", if chosen { seen(bytes) } else { None });
            }
            let (bytes, error) = (measure.bytes().unwrap(), measure.bytes_error().unwrap());
            assert!(error > 0 && error < truth / 4, "{error}");
            bytes.abs_diff(truth) <= error
        });
        assert!(holds.count() >= 8);
    }

    #[test]
    fn times_are_counted_by_range() {
        let mut spread = Spread::default();
        for seconds in [0, 60, 61, 90_000, 9_000_000] {
            spread.add(seconds);
        }
        let counts: Vec<u64> = spread.ranges().map(|(_, count)| count).collect();
        assert_eq!(counts, [2, 1, 0, 1, 0, 1]);
        assert_eq!((spread.median(), spread.max), (Some("1h"), 9_000_000));
        assert_eq!(Spread::default().median(), None);
    }
}
