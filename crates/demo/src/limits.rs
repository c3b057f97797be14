//! Limits: searches that some people do too often.

use std::time::Duration;

use keyrack_entitlements::{
    Limit, Limiter,
    keys::{LimitName, LimitSubject},
};
use keyrack_store::Store;

use crate::{agenda::Plan, error::Error, people::Person, random::Random, scenario::TimedAction};

/// How often everybody may search.
const SEARCHES: Limit = Limit::Window { max: 5, period: Duration::from_secs(30) };
/// The few who search again and again.
const EAGER: u64 = 3;

/// What is done: somebody searches.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Action {
    whom: Person,
}

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    at: Duration,
}

impl Plan for Limits {
    fn next(&mut self, random: &mut Random) -> TimedAction {
        self.at += Duration::from_millis(random.between(300, 1_500));
        let whom =
            if random.percent(70) { Person(random.below(EAGER)) } else { Person::any(random) };
        TimedAction { at: self.at, action: Action { whom }.into() }
    }
}

/// Where searches are counted.
#[derive(Debug, Clone)]
pub(crate) struct Driver {
    limiter: Limiter,
}

impl Driver {
    pub(crate) fn open(store: Store) -> Driver {
        Driver { limiter: Limiter::new(store) }
    }

    pub(crate) async fn perform(&self, action: Action) -> Result<(), Error> {
        let (name, subject) =
            (LimitName::new("demo-search")?, LimitSubject::new(action.whom.id())?);
        self.limiter.take(&name, &subject, SEARCHES, 1).await?;
        Ok(())
    }
}
