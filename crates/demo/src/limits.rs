//! Limits: searches that some people do too often.

use std::time::Duration;

use keyrack_entitlements::{
    Limit, Limiter,
    keys::{LimitName, LimitSubject},
};
use keyrack_store::Store;

use crate::{agenda::Plan, company::Timed, dice::Dice, error::Error, people::Person};

/// How often everybody may search.
const SEARCHES: Limit = Limit::Window { max: 5, period: Duration::from_secs(30) };
/// The few who search again and again.
const EAGER: u64 = 3;

/// What is done: somebody searches.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Deed {
    whom: Person,
}

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    at: Duration,
}

impl Plan for Limits {
    fn next(&mut self, dice: &mut Dice) -> Timed {
        self.at += Duration::from_millis(dice.between(300, 1_500));
        let whom = if dice.percent(70) { Person(dice.below(EAGER)) } else { Person::any(dice) };
        Timed { at: self.at, deed: Deed { whom }.into() }
    }
}

/// Where searches are counted.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    limiter: Limiter,
}

impl Desk {
    pub(crate) fn open(store: Store) -> Desk {
        Desk { limiter: Limiter::new(store) }
    }

    pub(crate) async fn perform(&self, deed: Deed) -> Result<(), Error> {
        let (name, subject) = (LimitName::new("demo-search")?, LimitSubject::new(deed.whom.id())?);
        self.limiter.take(&name, &subject, SEARCHES, 1).await?;
        Ok(())
    }
}
