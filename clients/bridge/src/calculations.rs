//! Calls about rollups of event values. The only place that names the types of `keyrack_calculations`.

use std::borrow::Cow;

use jiff::Timestamp;
use keyrack_calculations::{
    Accounts, Event, KeyId, Ledger, POINTS_MAX, account, dimension, dimension_key,
    keys::{Calculation, Interval, Project},
    project,
};
use keyrack_store::Store;
use serde::Deserialize;

use crate::{error::Failure, parts::to_json};

/// The account and the project whose events these are.
#[derive(Deserialize)]
pub(crate) struct Scope<'a> {
    account: Cow<'a, str>,
    project: Cow<'a, str>,
}

impl Scope<'_> {
    async fn open(&self, store: &Store) -> Result<(Ledger, Project), Failure> {
        let (account, project) = (account(&self.account)?, project(&self.project)?);
        Ok((Accounts::open(store.clone()).ledger(&account).await?, project))
    }
}

/// Events in the words of HTTP. Without a time, an event is of now.
#[derive(Deserialize)]
pub(crate) struct Record<'a> {
    #[serde(flatten, borrow)]
    scope: Scope<'a>,
    events: Vec<NewEvent>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewEvent {
    dimension: String,
    key: String,
    value: String,
    created_at: Option<String>,
    interval: Vec<String>,
    calculation: Vec<String>,
}

impl NewEvent {
    fn check(&self, now: &str) -> Result<Event, keyrack_calculations::Error> {
        let at = self.created_at.as_deref().unwrap_or(now);
        let (dimension, key, value) = (&self.dimension, &self.key, &self.value);
        Event::new(dimension, key, value, at, &self.interval, &self.calculation)
    }
}

impl Record<'_> {
    /// Takes the events in. If one is wrong, none is taken.
    pub(crate) async fn run(self, store: &Store) -> Result<String, Failure> {
        let (ledger, project) = self.scope.open(store).await?;
        let n = self.events.len();
        let now = now(store);
        let mut events = Vec::with_capacity(n);
        for (place, event) in self.events.iter().enumerate() {
            events.push(event.check(&now).map_err(|error| of_event(place, n, error))?);
        }
        for (place, outcome) in ledger.record(&project, events).await?.into_iter().enumerate() {
            outcome.map_err(|error| of_event(place, n, error))?;
        }
        Ok("null".to_owned())
    }
}

/// The time of the store, as events have it.
fn now(store: &Store) -> String {
    let now =
        i64::try_from(store.now_ms()).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    now.unwrap_or(Timestamp::MAX).strftime("%Y-%m-%d %H:%M:%S +0000").to_string()
}

/// What is wrong with one of several events.
fn of_event(place: usize, n: usize, error: keyrack_calculations::Error) -> Failure {
    let failure = Failure::from(error);
    if n == 1 {
        return failure;
    }
    Failure { message: format!("event {} of {n}: {}", place + 1, failure.message), ..failure }
}

/// A result of a key.
#[derive(Deserialize)]
pub(crate) struct Read<'a> {
    #[serde(flatten, borrow)]
    scope: Scope<'a>,
    dimension: Cow<'a, str>,
    key: Cow<'a, str>,
    calculation: Cow<'a, str>,
    interval: Cow<'a, str>,
    /// The most buckets of a series.
    #[serde(default)]
    points: Option<usize>,
}

impl Read<'_> {
    async fn open(&self, store: &Store) -> Result<(Ledger, KeyId, Calculation, Interval), Failure> {
        let (ledger, project) = self.scope.open(store).await?;
        let id = ledger.key(&project, &dimension(&self.dimension)?, &dimension_key(&self.key)?);
        Ok((ledger, id, self.calculation.parse()?, self.interval.parse()?))
    }

    /// The result as it is stored: buckets, or statistics, with their values.
    pub(crate) async fn result(self, store: &Store) -> Result<String, Failure> {
        let (ledger, id, calculation, interval) = self.open(store).await?;
        Ok(to_json(&ledger.result(&id, calculation, interval).await?))
    }

    /// The last buckets in order, those without values among them.
    pub(crate) async fn series(self, store: &Store) -> Result<String, Failure> {
        let (ledger, id, calculation, interval) = self.open(store).await?;
        let points = self.points.unwrap_or(POINTS_MAX);
        Ok(to_json(&ledger.series(&id, calculation, interval, points).await?))
    }
}
