//! Entitlements: customers who are looked up, and a billing provider that is sometimes out.

use std::{sync::Arc, time::Duration};

use keyrack_entitlements::{ERRORS_MAX, RevenueCat, Settings};
use keyrack_store::Store;

use crate::{
    agenda::{Agenda, Plan},
    billing::{Billing, PRO},
    error::Error,
    people::Person,
    random::Random,
    scenario::TimedAction,
};

/// When the provider first fails, how long it does, and how long after that the next time.
const FIRST_OUTAGE: Duration = Duration::from_secs(20);
const OUTAGE: Duration = Duration::from_secs(15);
const BETWEEN_OUTAGES: Duration = Duration::from_secs(15 * 60);

/// How many customers are known when the demo starts.
const KNOWN: u64 = 40;

/// What is done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
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
    fn next(&mut self, random: &mut Random) -> TimedAction {
        loop {
            if self.agenda.next_at().is_some_and(|at| at < self.planned)
                && let Some(timed) = self.agenda.take()
            {
                return timed;
            }
            let outage_at = *self.outage_at.get_or_insert(FIRST_OUTAGE);
            let at = self.planned;
            let whom = Person::any(random);
            self.agenda.enter(
                at,
                if random.percent(10) { Action::ReadForced(whom) } else { Action::Read(whom) },
            );
            self.planned += Duration::from_millis(random.between(150, 900));
            if self.planned > outage_at {
                self.plan_outage(outage_at, random);
            }
        }
    }
}

impl Entitlements {
    /// More people than the breaker lets through ask in the meantime.
    fn plan_outage(&mut self, at: Duration, random: &mut Random) {
        self.agenda.enter(at, Action::Outage);
        let askers = ERRORS_MAX + 4;
        for asker in 1..=askers {
            self.agenda
                .enter(at + OUTAGE / askers * asker, Action::ReadForced(Person::any(random)));
        }
        self.agenda.enter(at + OUTAGE, Action::Recovery);
        self.outage_at = Some(at + BETWEEN_OUTAGES);
    }
}

/// Where customers are looked up.
#[derive(Debug, Clone)]
pub(crate) struct Driver {
    entitlements: keyrack_entitlements::Entitlements,
    billing: Arc<Billing>,
    /// Whether failures may be counted: the breaker is everybody's.
    may_fail: bool,
}

impl Driver {
    pub(crate) async fn open(store: Store, may_fail: bool) -> Result<Driver, Error> {
        let billing = Billing::start(store.clock().clone()).await?;
        let source = RevenueCat::new(billing.url(), "demo", "demo", RevenueCat::TIME_MAX)?;
        let settings = Settings { identifiers: vec![PRO.into()], ..Settings::default() };
        let entitlements =
            keyrack_entitlements::Entitlements::open(store, Arc::new(source), settings)?;
        Ok(Driver { entitlements, billing: Arc::new(billing), may_fail })
    }

    /// The handle, for whoever serves it over HTTP.
    pub(crate) fn entitlements(&self) -> &keyrack_entitlements::Entitlements {
        &self.entitlements
    }

    pub(crate) async fn begin(&self, random: &mut Random) -> Result<(), Error> {
        for _ in 0..KNOWN {
            self.look_up(Person::any(random), false).await?;
        }
        Ok(())
    }

    pub(crate) async fn perform(&self, action: Action) -> Result<(), Error> {
        match action {
            Action::Read(whom) => self.look_up(whom, false).await?,
            Action::ReadForced(whom) => self.look_up(whom, true).await?,
            Action::Outage => self.billing.set_down(self.may_fail),
            Action::Recovery => self.billing.set_down(false),
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
