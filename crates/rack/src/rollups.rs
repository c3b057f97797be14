//! Rollups of event values: sums, counts, trends and more, by hour, day and so on.

use std::{fmt::Display, time::SystemTime};

pub use keyrack_calculations::keys::{Calculation, Interval};
use keyrack_calculations::{
    Accounts, KeyId, Ledger, account, dimension, dimension_key, keys::Project, project,
};

use crate::{Error, Result, rack::unix_ms};

/// The rollups of one project of an account. Cheap to clone.
///
/// ```
/// # use keyrack::prelude::*;
/// use keyrack::rollups::Calculation::{LinearRegression as Trend, Sum};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> keyrack::Result<()> {
/// let rack = Keyrack::open("embedded:memory").await?;
/// let shop = rack.rollups("1", "1").await?;
/// shop.record(Event::now("revenue", "shop", 1999).hourly([Sum, Trend])).await?;
/// let hours = shop.buckets("revenue", "shop", Sum, Interval::Hours).await?;
/// assert_eq!(hours[0].1, 1999.0);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Rollups {
    ledger: Ledger,
    project: Project,
    store: keyrack_store::Store,
}

/// A value of a key, and what is to be calculated from the values of that key.
///
/// Two events of one key in the same second are one value, of which the last counts, unless the setting `duplicates` of the
/// project says otherwise.
#[derive(Debug, Clone)]
pub struct Event {
    dimension: String,
    key: String,
    value: String,
    at: Option<SystemTime>,
    intervals: Vec<Interval>,
    calculations: Vec<Calculation>,
}

impl Event {
    /// A value of now, by the clock of the store. What is measured is the dimension, such as revenue, and one thing of it the
    /// key, such as a shop. The value is a decimal number.
    pub fn now(dimension: impl Into<String>, key: impl Into<String>, value: impl Display) -> Event {
        Event {
            dimension: dimension.into(),
            key: key.into(),
            value: value.to_string(),
            at: None,
            intervals: Vec::new(),
            calculations: Vec::new(),
        }
    }

    /// The same for a value of another time.
    pub fn at(self, time: impl Into<SystemTime>) -> Event {
        Event { at: Some(time.into()), ..self }
    }

    /// Calculates by the hour.
    pub fn hourly(self, calculations: impl IntoIterator<Item = Calculation>) -> Event {
        self.per(Interval::Hours, calculations)
    }

    /// Calculates by the day.
    pub fn daily(self, calculations: impl IntoIterator<Item = Calculation>) -> Event {
        self.per(Interval::Days, calculations)
    }

    /// Calculates by an interval. What is calculated by one interval is calculated by all of the event.
    pub fn per(
        mut self,
        interval: Interval,
        calculations: impl IntoIterator<Item = Calculation>,
    ) -> Event {
        self.intervals.push(interval);
        self.calculations.extend(calculations);
        self
    }

    fn checked(&self, now_ms: u64) -> Result<keyrack_calculations::Event> {
        let ms = self.at.map_or(now_ms, unix_ms);
        let at = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        // A time beyond the calendar is refused by its text.
        let at = at.map_or_else(
            || ms.to_string(),
            |at| at.strftime("%Y-%m-%d %H:%M:%S +0000").to_string(),
        );
        let intervals: Vec<String> = self.intervals.iter().map(ToString::to_string).collect();
        let calculations: Vec<String> = self.calculations.iter().map(ToString::to_string).collect();
        let event = keyrack_calculations::Event::new(
            &self.dimension,
            &self.key,
            &self.value,
            &at,
            &intervals,
            &calculations,
        );
        Ok(event?)
    }
}

impl Rollups {
    pub(crate) async fn open(
        accounts: &Accounts,
        account_name: &str,
        project_name: &str,
    ) -> Result<Rollups> {
        let (account, project) = (account(account_name)?, project(project_name)?);
        let ledger = accounts.ledger(&account).await?;
        Ok(Rollups { ledger, project, store: accounts.store().clone() })
    }

    /// Takes in an event. When this returns, the results are those of all values, this one among them.
    ///
    /// # Errors
    /// What is wrong with which field, or that the store failed.
    pub async fn record(&self, event: Event) -> Result<()> {
        self.record_all([event]).await
    }

    /// Takes in many events. If one is wrong, none is taken.
    ///
    /// # Errors
    /// As [`Rollups::record`]; of events that the settings of the project refuse, the first.
    pub async fn record_all(&self, events: impl IntoIterator<Item = Event>) -> Result<()> {
        let now_ms = self.store.now_ms();
        let events: Result<Vec<_>> =
            events.into_iter().map(|event| event.checked(now_ms)).collect();
        let outcomes = self.ledger.record(&self.project, events?).await?;
        outcomes.into_iter().try_for_each(|outcome| Ok(outcome?))
    }

    /// A result by its buckets, oldest first, each with the time at which it begins.
    ///
    /// # Errors
    /// When a name cannot stand in a key, or when the store failed.
    pub async fn buckets(
        &self,
        dimension: &str,
        key: &str,
        calculation: Calculation,
        interval: Interval,
    ) -> Result<Vec<(String, f64)>> {
        let id = self.id(dimension, key)?;
        let found = self.ledger.result(&id, calculation, interval).await?;
        let number = |text: String| text.parse().unwrap_or(f64::NAN);
        Ok(found.into_iter().map(|(bucket, value)| (bucket, number(value))).collect())
    }

    /// Everything that the service can do: rules, settings, streams.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn id(&self, name: &str, key: &str) -> Result<KeyId, Error> {
        Ok(self.ledger.key(&self.project, &dimension(name)?, &dimension_key(key)?))
    }
}
