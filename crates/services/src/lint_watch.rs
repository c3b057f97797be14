//! The lint as a companion of a server: the store is checked against its declarations all the time, at a bounded rate.
//!
//! A walk looks into so many keys a second and ends within some minutes; where there are more keys than that, it looks
//! into every nth only. All names are met. What it found is kept for the metrics until the next walk has ended.

use std::{
    num::{NonZeroU32, NonZeroU64},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use keyrack_keys::Registry;
use keyrack_lint::{Options, Report, WalkRate, lint};
use keyrack_store::{Error, Keyspace, Store};
use tokio::time::Instant;

/// How long a walk takes at most, about.
const WALK_TIME_MAX: Duration = Duration::from_secs(300);
/// Pause between the end of a walk and the next.
const PAUSE: Duration = Duration::from_secs(10);
/// Nobody reads single findings here, but the lint tells doubled ones by them.
const FINDINGS_MAX: usize = 10_000;

/// Checks a store again and again.
#[derive(Clone, Debug, Default)]
pub struct LintWatch {
    latest: Arc<RwLock<Option<Walked>>>,
}

/// What a walk found, and when it ended.
#[derive(Clone, Debug)]
pub struct Walked {
    /// What it found.
    pub report: Arc<Report>,
    /// When it ended.
    pub at: Instant,
    /// How many walks there have been.
    pub walks: u64,
}

impl LintWatch {
    /// What the latest walk found; `None` before the end of the first.
    pub fn latest(&self) -> Option<Walked> {
        self.latest.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Walks for ever and looks into at most so many keys a second. It may be dropped at any moment.
    pub async fn run(&self, store: &Store, registry: &Registry, keys_per_second: NonZeroU32) {
        loop {
            match walk(store, registry, keys_per_second).await {
                Ok(report) => self.keep(report),
                Err(error) => tracing::warn!(%error, "could not check the store"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn keep(&self, report: Report) {
        if !report.is_clean() {
            tracing::info!(problems = report.problems(), "the store is not as declared");
        }
        let mut latest = self.latest.write().unwrap_or_else(PoisonError::into_inner);
        let walks = latest.as_ref().map_or(0, |walked| walked.walks) + 1;
        *latest = Some(Walked { report: Arc::new(report), at: Instant::now(), walks });
    }
}

async fn walk(
    store: &Store,
    registry: &Registry,
    keys_per_second: NonZeroU32,
) -> Result<Report, Error> {
    let keys: u64 = store.keyspaces().await?.iter().map(Keyspace::keys).sum();
    let (sample, pace) = sampling(keys, keys_per_second);
    let options = Options {
        sample,
        findings_max: FINDINGS_MAX,
        pace: WalkRate { keys_per_second: Some(pace) },
        ..Options::default()
    };
    lint(store, registry, &options, |_| {}).await
}

/// Every how many keys one is looked into, and how many are met a second.
fn sampling(keys: u64, keys_per_second: NonZeroU32) -> (NonZeroU64, NonZeroU32) {
    let in_one_walk = u64::from(keys_per_second.get()) * WALK_TIME_MAX.as_secs();
    let sample = NonZeroU64::new(keys.div_ceil(in_one_walk)).unwrap_or(NonZeroU64::MIN);
    let met = u64::from(keys_per_second.get()).saturating_mul(sample.get());
    let pace = u32::try_from(met).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MAX);
    (sample, pace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_keys_than_fit_into_a_walk_are_sampled() {
        let sampled = |keys| {
            let (sample, pace) = sampling(keys, NonZeroU32::new(1_000).unwrap());
            (sample.get(), pace.get())
        };
        assert_eq!(sampled(0), (1, 1_000));
        assert_eq!(sampled(300_000), (1, 1_000));
        assert_eq!(sampled(1_000_000), (4, 4_000));
    }
}
