//! What the tests share: an account with a project, and events for it.

use std::collections::BTreeMap;

use keyrack_calculations::{
    Accounts, Event, KeyId, Ledger, account, dimension, dimension_key,
    keys::{Calculation, Interval, Project},
    project,
};
use keyrack_store::Store;

/// The five calculations of the key document.
pub(crate) const FIVE: [&str; 5] =
    ["sum", "count", "average", "standard_deviation", "linear_regression"];

pub(crate) struct LedgerTest {
    pub(crate) ledger: Ledger,
    pub(crate) project: Project,
}

impl LedgerTest {
    pub(crate) async fn new(store: Store) -> LedgerTest {
        let accounts = Accounts::open(store);
        let ledger = accounts.ledger(&account("7").unwrap()).await.unwrap();
        LedgerTest { ledger, project: project("2").unwrap() }
    }

    /// The key that the tests' events are about.
    pub(crate) fn python(&self) -> KeyId {
        self.key("python")
    }

    pub(crate) fn key(&self, key: &str) -> KeyId {
        let dimension = dimension("job-skills").unwrap();
        self.ledger.key(&self.project, &dimension, &dimension_key(key).unwrap())
    }

    /// Takes events in, all of which must be good.
    pub(crate) async fn record(&self, events: Vec<Event>) {
        let told = self.ledger.record(&self.project, events).await.unwrap();
        told.into_iter().for_each(|outcome| outcome.unwrap());
    }

    pub(crate) async fn result(
        &self,
        calculation: Calculation,
        interval: Interval,
    ) -> BTreeMap<String, String> {
        self.ledger.result(&self.python(), calculation, interval).await.unwrap()
    }

    /// The one statistic of that name, as a number.
    pub(crate) async fn statistic(
        &self,
        calculation: Calculation,
        interval: Interval,
        name: &str,
    ) -> Option<f64> {
        self.result(calculation, interval).await.get(name).map(|text| text.parse().unwrap())
    }

    /// All results of the key that are declared, with everything else that is stored about it left out.
    pub(crate) async fn results(&self) -> BTreeMap<String, BTreeMap<String, String>> {
        let mut all = BTreeMap::new();
        for (calculation, interval) in self.ledger.declared(&self.python()).await.unwrap() {
            let fields = self.result(calculation, interval).await;
            all.insert(format!("{calculation}:{interval}"), fields);
        }
        all
    }

    /// Everything that is stored is what the values say.
    #[track_caller]
    pub(crate) fn verify(&self) -> impl Future<Output = ()> {
        let place = std::panic::Location::caller();
        async move {
            let verdict = self.ledger.verify(&self.python()).await.unwrap();
            assert!(verdict.compared > 0, "nothing was compared at {place}");
            assert_eq!(verdict.differences, [], "at {place}");
            assert_eq!(verdict.unreadable, 0, "at {place}");
        }
    }
}

/// An event about python with the five calculations.
pub(crate) fn event(value: &str, at: &str, intervals: &[&str]) -> Event {
    event_for(value, at, intervals, &FIVE)
}

pub(crate) fn event_for(value: &str, at: &str, intervals: &[&str], calculations: &[&str]) -> Event {
    Event::new("job-skills", "python", value, at, intervals, calculations).unwrap()
}

/// A small generator, so that a failure can be repeated from its seed.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// From `KEYRACK_SEED`, or the given seed; prints it for whoever has to repeat the run.
    #[expect(clippy::print_stderr, reason = "the test runner shows it with a failure")]
    pub(crate) fn from_env(default: u64) -> Random {
        let seed = std::env::var("KEYRACK_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or(default);
        eprintln!("KEYRACK_SEED={seed}");
        Random(seed)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}
