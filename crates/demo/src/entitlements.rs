//! Entitlements: customers who are looked up, and a billing provider that is sometimes out.

use std::{sync::Arc, time::Duration};

use keyrack_entitlements::{ERRORS_MAX, RevenueCat, Settings};
use keyrack_store::Store;

use crate::{
    agenda::{Agenda, Plan},
    billing::{Billing, PRO},
    company::Timed,
    dice::Dice,
    error::Error,
    people::Person,
};

/// When the provider first fails, how long it does, and how long after that the next time.
const FIRST_OUTAGE: Duration = Duration::from_secs(20);
const OUTAGE: Duration = Duration::from_secs(15);
const BETWEEN_OUTAGES: Duration = Duration::from_secs(15 * 60);

/// How many customers are known when the curtain rises.
const KNOWN: u64 = 40;

/// What is done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Deed {
    /// Somebody opens the app.
    Read(Person),
    /// Somebody has just paid, and wants to know.
    ReadForced(Person),
    /// The provider fails.
    Outage,
    /// The provider is back.
    Recovery,
}

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct Entitlements {
    agenda: Agenda,
    planned: Duration,
    outage_at: Option<Duration>,
}

impl Plan for Entitlements {
    fn next(&mut self, dice: &mut Dice) -> Timed {
        loop {
            if self.agenda.next_at().is_some_and(|at| at < self.planned)
                && let Some(timed) = self.agenda.take()
            {
                return timed;
            }
            let outage_at = *self.outage_at.get_or_insert(FIRST_OUTAGE);
            let at = self.planned;
            let whom = Person::any(dice);
            self.agenda.enter(
                at,
                if dice.percent(10) { Deed::ReadForced(whom) } else { Deed::Read(whom) },
            );
            self.planned += Duration::from_millis(dice.between(150, 900));
            if self.planned > outage_at {
                self.plan_outage(outage_at, dice);
            }
        }
    }
}

impl Entitlements {
    /// More people than the breaker lets through ask in the meantime.
    fn plan_outage(&mut self, at: Duration, dice: &mut Dice) {
        self.agenda.enter(at, Deed::Outage);
        let askers = ERRORS_MAX + 4;
        for asker in 1..=askers {
            self.agenda.enter(at + OUTAGE / askers * asker, Deed::ReadForced(Person::any(dice)));
        }
        self.agenda.enter(at + OUTAGE, Deed::Recovery);
        self.outage_at = Some(at + BETWEEN_OUTAGES);
    }
}

/// Where customers are looked up.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    entitlements: keyrack_entitlements::Entitlements,
    billing: Arc<Billing>,
    /// Whether failures may be counted: the breaker is everybody's.
    may_fail: bool,
}

impl Desk {
    pub(crate) async fn open(store: Store, may_fail: bool) -> Result<Desk, Error> {
        let billing = Billing::start(store.clock().clone()).await?;
        let source = RevenueCat::new(billing.url(), "demo", "demo", RevenueCat::TIME_MAX)?;
        let settings = Settings { identifiers: vec![PRO.into()], ..Settings::default() };
        let entitlements =
            keyrack_entitlements::Entitlements::open(store, Arc::new(source), settings)?;
        Ok(Desk { entitlements, billing: Arc::new(billing), may_fail })
    }

    /// The handle, for whoever serves it over HTTP.
    pub(crate) fn entitlements(&self) -> &keyrack_entitlements::Entitlements {
        &self.entitlements
    }

    pub(crate) async fn begin(&self, dice: &mut Dice) -> Result<(), Error> {
        for _ in 0..KNOWN {
            self.look_up(Person::any(dice), false).await?;
        }
        Ok(())
    }

    pub(crate) async fn perform(&self, deed: Deed) -> Result<(), Error> {
        match deed {
            Deed::Read(whom) => self.look_up(whom, false).await?,
            Deed::ReadForced(whom) => self.look_up(whom, true).await?,
            Deed::Outage => self.billing.set_down(self.may_fail),
            Deed::Recovery => self.billing.set_down(false),
        }
        Ok(())
    }

    async fn look_up(&self, whom: Person, forced: bool) -> Result<(), Error> {
        let user = whom.sub()?;
        if self.entitlements.customer(&user).await?.is_none() {
            // The provider knows them by the same name, so that what they have bought follows from the seed.
            self.entitlements.link(&user, &whom.id()).await?;
        }
        let found = if forced {
            self.entitlements.lookup_forced(&user, PRO).await
        } else {
            self.entitlements.lookup(&user, PRO).await
        };
        found?;
        Ok(())
    }
}
