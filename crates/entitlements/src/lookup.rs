//! Looking an entitlement up: in this process, in the store, at the source.

mod ask;
mod lease;
mod local;
mod shared_request;

use std::{collections::BTreeMap, sync::Arc};

use keyrack_keys::UserSub;
use serde::Serialize;

pub(crate) use self::{local::Local, shared_request::SharedRequests};
use crate::{counters::count, entitlement::Entitlement, error::Error, service::Entitlements};

/// For how long the store remembers what the source said, in seconds.
pub const TTL_S: u32 = 86_400;

/// Where an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The memory of this process.
    Local,
    /// The store.
    Store,
    /// The source of truth, just now.
    Source,
    /// The store, although the source was to be asked: it could not be.
    LastKnown,
    /// Nowhere: the source cannot be asked and nothing is known, so the user is taken to be entitled.
    Assumed,
}

/// An entitlement, and who says so.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EntitlementLookup {
    /// What is known.
    #[serde(flatten)]
    pub entitlement: Entitlement,
    /// Who says so.
    pub origin: Origin,
}

impl EntitlementLookup {
    fn new(entitlement: Entitlement, origin: Origin) -> EntitlementLookup {
        // An assumption stays one, wherever it was kept in between.
        let origin = if entitlement.is_assumed() { Origin::Assumed } else { origin };
        EntitlementLookup { entitlement, origin }
    }

    /// Whether the user surely has it: the source said so, and of what it said nothing has run out since.
    pub fn is_certain(&self, now: f64) -> bool {
        let Entitlement { is_active, expires_at, .. } = self.entitlement;
        is_active && self.origin != Origin::Assumed && expires_at.is_none_or(|at| at > now)
    }
}

/// What came of asking about a user.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    Found(Arc<BTreeMap<String, EntitlementLookup>>),
    UnknownUser,
}

/// How far a lookup goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookupScope {
    /// To the first who knows.
    Nearest,
    /// To the source.
    Source,
}

impl Entitlements {
    /// Whether a user is entitled to something, as somebody knows: this process, the store, or else the source.
    ///
    /// # Errors
    /// When nobody knows the user or such an entitlement, or when the store fails. A source that fails is no error.
    pub async fn lookup(
        &self,
        user: &UserSub,
        identifier: &str,
    ) -> Result<EntitlementLookup, Error> {
        if let Some(found) = self.lookup_local(user, identifier) {
            return Ok(found);
        }
        self.check_identifier(identifier)?;
        self.look(user, identifier, LookupScope::Nearest).await
    }

    /// The same as the source knows it now. How often somebody may ask for this is up to the caller; see
    /// [`Entitlements::limit_read`].
    ///
    /// # Errors
    /// As [`Entitlements::lookup`].
    pub async fn lookup_forced(
        &self,
        user: &UserSub,
        identifier: &str,
    ) -> Result<EntitlementLookup, Error> {
        self.check_identifier(identifier)?;
        self.look(user, identifier, LookupScope::Source).await
    }

    /// What this process remembers about a user.
    pub fn lookup_local(&self, user: &UserSub, identifier: &str) -> Option<EntitlementLookup> {
        let value = self.inner.local.get(user, identifier, self.store().now_ms())?;
        count(&self.inner.counters.local);
        Some(EntitlementLookup::new(value, Origin::Local))
    }

    async fn look(
        &self,
        user: &UserSub,
        identifier: &str,
        reach: LookupScope,
    ) -> Result<EntitlementLookup, Error> {
        let (this, asked) = (self.clone(), user.clone());
        let start = move || async move { this.ask(&asked, reach).await };
        let outcome = self.inner.flights.join(user, reach == LookupScope::Source, start).await;
        let found = match outcome {
            Some(Ok(Outcome::Found(values))) => values.get(identifier).copied(),
            Some(Ok(Outcome::UnknownUser)) => return Err(Error::UnknownUser),
            Some(Err(error)) => return Err(error),
            None => None,
        };
        // Every known identifier gets a value; only a process that is going down has none.
        let found = found.unwrap_or_else(|| {
            EntitlementLookup::new(Entitlement::assumed(self.now()), Origin::Assumed)
        });
        let counters = &self.inner.counters;
        count(match found.origin {
            Origin::Local => &counters.local,
            Origin::Store => &counters.store,
            Origin::Source => &counters.source,
            Origin::LastKnown => &counters.last_known,
            Origin::Assumed => &counters.assumed,
        });
        Ok(found)
    }
}
