//! Calculations: orders, views and waiting times, and rules that notice when something is unusual.

use std::time::Duration;

use jiff::Timestamp;
use keyrack_calculations::{
    Accounts, Condition, Error as Refused, Event, Ledger, Operator, Rule, account, dimension,
    dimension_key,
    keys::{Calculation, Interval, Project},
    project,
};
use keyrack_store::Store;

use crate::{agenda::Plan, error::Error, mark::MARK, random::Random, scenario::TimedAction};

/// The one project.
const PROJECT: &str = "demo-shop";

/// What is measured: dimension, key, and the usual lowest and highest value.
const SERIES: [(&str, &str, u64, u64); 8] = [
    ("orders", "europe", 20, 180),
    ("orders", "americas", 30, 240),
    ("orders", "asia", 10, 140),
    ("page-views", "home", 40, 90),
    ("page-views", "pricing", 5, 30),
    ("page-views", "blog", 10, 60),
    ("checkout-ms", "card", 180, 900),
    ("checkout-ms", "transfer", 60, 300),
];

const INTERVALS: [&str; 3] = ["minutes", "hours", "days"];
const CALCULATIONS: [&str; 6] =
    ["count", "sum", "average", "standard_deviation", "linear_regression", "percentile_95"];

/// How far back values go when the demo starts, and how far apart they are.
const PAST: Duration = Duration::from_secs(36 * 3600);
const PAST_GAP: Duration = Duration::from_secs(30 * 60);
/// From here on business is better by the hour, so that there is a trend to see.
const GROWTH_PERCENT_PER_HOUR: u64 = 2;

/// What is done: a value comes in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Action {
    series: usize,
    value: u64,
}

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct Calculations {
    at: Duration,
}

impl Plan for Calculations {
    fn next(&mut self, random: &mut Random) -> TimedAction {
        self.at += Duration::from_millis(random.between(200, 1_200));
        let series = random.below(SERIES.len() as u64) as usize;
        let (_, _, low, high) = SERIES[series];
        // A rush now and then is what the rules are for.
        let rush = if random.percent(4) { 4 } else { 1 };
        let value = random.between(low, high) * rush;
        TimedAction { at: self.at, action: Action { series, value }.into() }
    }
}

/// Where values are taken in.
#[derive(Debug, Clone)]
pub(crate) struct Driver {
    ledger: Ledger,
    project: Project,
}

impl Driver {
    pub(crate) async fn open(store: Store) -> Result<Driver, Error> {
        let ledger = Accounts::open(store).ledger(&account(MARK)?).await?;
        Ok(Driver { ledger, project: project(PROJECT)? })
    }

    /// Makes rules, and takes in the values of the last day and a half.
    pub(crate) async fn begin(&self, random: &mut Random) -> Result<(), Error> {
        for rule in rules()? {
            self.ledger.create_rule(&self.project, &rule).await?;
        }
        let now = self.ledger.store().now_ms();
        let steps = (PAST.as_secs() / PAST_GAP.as_secs()).max(1);
        let mut events = Vec::new();
        for (series, (_, _, low, high)) in SERIES.iter().enumerate() {
            for step in (1..=steps).rev() {
                let ago = PAST_GAP * u32::try_from(step).unwrap_or(u32::MAX);
                let hours = (PAST.saturating_sub(ago)).as_secs() / 3600;
                let value =
                    random.between(*low, *high) * (100 + hours * GROWTH_PERCENT_PER_HOUR) / 100;
                let at = now.saturating_sub(ago.as_millis() as u64);
                events.push(event(&Action { series, value }, at)?);
            }
        }
        self.record(events).await
    }

    pub(crate) async fn perform(&self, action: Action) -> Result<(), Error> {
        let event = event(&action, self.ledger.store().now_ms())?;
        self.record(vec![event]).await
    }

    async fn record(&self, events: Vec<Event>) -> Result<(), Error> {
        for told in self.ledger.record(&self.project, events).await? {
            told?;
        }
        Ok(())
    }
}

fn event(action: &Action, now_ms: u64) -> Result<Event, Refused> {
    let (dimension, key, ..) = SERIES[action.series];
    let now = Timestamp::from_millisecond(i64::try_from(now_ms).unwrap_or(0)).unwrap_or_default();
    let at = now.strftime("%Y-%m-%d %H:%M:%S +0000").to_string();
    Event::new(dimension, key, &action.value.to_string(), &at, &INTERVALS, &CALCULATIONS)
}

/// Rules of both kinds; the first fires in every good hour.
fn rules() -> Result<Vec<Rule>, Error> {
    let comparator = |calculation, threshold: &str| -> Result<Condition, Refused> {
        let threshold = threshold
            .parse()
            .map_err(|error| Refused::Invalid { field: "threshold", reason: format!("{error}") })?;
        let operator = Operator::AtLeast;
        Ok(Condition::Comparator { calculation, operator, threshold, hold_ms: 0, resolve_ms: None })
    };
    let rule = |about: (&str, &str), interval, condition| -> Result<Rule, Refused> {
        let (dimension, key) = (dimension(about.0)?, dimension_key(about.1)?);
        Ok(Rule { dimension, key, interval, condition })
    };
    Ok(vec![
        rule(("orders", "europe"), Interval::Hours, comparator(Calculation::Sum, "320")?)?,
        rule(("page-views", "home"), Interval::Hours, comparator(Calculation::Count, "3")?)?,
        rule(("orders", "asia"), Interval::Days, Condition::Observer { trigger: 3, hold_ms: 0 })?,
    ])
}
