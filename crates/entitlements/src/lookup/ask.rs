//! Asking about a user behind the memory of this process: the store, then the source, then what has to do.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use keyrack_keys::UserSub;
use keyrack_store::Script;

use super::{EntitlementLookup, LookupScope, Origin, Outcome, TTL_S, lease::Turn};
use crate::{
    breaker::{Admission, State},
    counters::{Counters, count},
    entitlement::{ASSUMED_S, Entitlement},
    error::Error,
    keys,
    service::Entitlements,
    source::Answer,
    web::CallError,
};

static REMEMBER: Script = keyrack_store::script!("remember.lua");
static ASSUME: Script = keyrack_store::script!("assume.lua");

/// What the store holds about a user.
pub(super) struct Stored {
    raw: BTreeMap<String, Vec<u8>>,
    /// For how long, in milliseconds.
    ttl_ms: u64,
}

/// What the source said when it was asked.
enum Reply {
    Answer(Answer),
    UnknownUser,
    None,
}

impl Entitlements {
    /// One request about a user, whose answer is remembered and told to everybody.
    pub(super) async fn ask(&self, user: &UserSub, reach: LookupScope) -> Result<Outcome, Error> {
        if reach == LookupScope::Nearest {
            let stored = self.stored(user).await?;
            if let Some(values) = self.all_known(&stored) {
                return Ok(self.keep(user, values, Origin::Store, stored.ttl_ms));
            }
        }
        let Turn { stored, lease } = self.turn(user, reach).await?;
        let outcome = match self.all_known(&stored) {
            // Somebody else has asked meanwhile.
            Some(values) if reach == LookupScope::Nearest => {
                Ok(self.keep(user, values, Origin::Store, stored.ttl_ms))
            }
            _ => self.ask_behind(user, stored).await,
        };
        if let Some(lease) = lease {
            self.give_back(user, lease).await;
        }
        outcome
    }

    /// What the store holds, if that is all there is to know.
    pub(super) fn all_known(&self, stored: &Stored) -> Option<BTreeMap<String, Entitlement>> {
        let fresh = stored.fresh(self.now());
        self.identifiers().iter().all(|name| fresh.contains_key(name)).then_some(fresh)
    }

    async fn ask_behind(&self, user: &UserSub, stored: Stored) -> Result<Outcome, Error> {
        let now = self.now();
        match self.ask_source(user, now).await? {
            Reply::Answer(answer) => self.remember(user, now, &answer).await,
            Reply::UnknownUser => Ok(Outcome::UnknownUser),
            Reply::None => self.make_do(user, self.now(), stored).await,
        }
    }

    /// What the store holds about a user, of any entitlement. Nobody is asked, and nothing is remembered.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn stored_values(
        &self,
        user: &UserSub,
    ) -> Result<BTreeMap<String, Entitlement>, Error> {
        Ok(self.stored_values_for(user).await?.0)
    }

    /// The same, and for how many milliseconds the store will hold it.
    pub(crate) async fn stored_values_for(
        &self,
        user: &UserSub,
    ) -> Result<(BTreeMap<String, Entitlement>, u64), Error> {
        let stored = self.stored(user).await?;
        let read =
            |(name, raw): (&String, &Vec<u8>)| Some((name.clone(), Entitlement::from_json(raw)?));
        Ok((stored.raw.iter().filter_map(read).collect(), stored.ttl_ms))
    }

    async fn stored(&self, user: &UserSub) -> Result<Stored, Error> {
        let mut pipeline = redis::pipe();
        let key = keys::entitlements(user);
        let key = self.store().place(&key);
        pipeline.cmd("HGETALL").arg(&*key).cmd("PTTL").arg(&*key);
        let (raw, ttl_ms) = pipeline.query_async(&mut self.store().connection()).await?;
        Ok(Stored::new(raw, ttl_ms))
    }

    /// Asks the source, unless it fails too often.
    async fn ask_source(&self, user: &UserSub, now: f64) -> Result<Reply, Error> {
        let counters = &self.inner.counters;
        // Before the breaker: a user without a customer id sends no request, so none may be used up for one.
        let customer = self.customer(user).await?;
        let Some(customer) = customer else { return self.unknown_user(counters).await };
        let admission = self.admit(now).await?;
        if admission == Admission::Refused {
            count(&counters.held_back);
            return Ok(Reply::None);
        }
        count(&counters.requests);
        let time_max = self.inner.settings.source_time_max;
        let asked = tokio::time::timeout(time_max, self.inner.source.fetch(&customer)).await;
        let reply = match asked.unwrap_or(Err(CallError::TimedOut(time_max))) {
            Ok(reply) => reply,
            Err(error) => {
                count(&counters.failures);
                tracing::warn!(%error, "the source of entitlements failed");
                self.count_failure(self.now()).await?;
                return Ok(Reply::None);
            }
        };
        if admission == Admission::Trial {
            tracing::info!("the source of entitlements is back");
            self.close_breaker().await?;
        }
        Ok(reply.map_or(Reply::UnknownUser, Reply::Answer))
    }

    /// The source knows nothing of a user who has no customer id. While it fails nobody is turned away.
    async fn unknown_user(&self, counters: &Counters) -> Result<Reply, Error> {
        if self.breaker().await? == State::Open {
            count(&counters.held_back);
            return Ok(Reply::None);
        }
        Ok(Reply::UnknownUser)
    }

    async fn remember(&self, user: &UserSub, now: f64, answer: &Answer) -> Result<Outcome, Error> {
        let values = answer.at(now, self.identifiers());
        let pairs = values.iter().flat_map(|(name, value)| [name.clone(), value.to_json()]);
        let call = REMEMBER.call(self.store()).key("entitlements", &keys::entitlements(user));
        let call = call.arg("ttl", TTL_S).arg("checked_at", now).arg("assumed", ASSUMED_S);
        call.args("values", pairs.collect::<Vec<_>>()).run::<()>().await?;
        self.tell(user, now).await;
        Ok(self.keep(user, values, Origin::Source, u64::from(TTL_S) * 1000))
    }

    /// The source cannot be asked: what is known has to do, and where nothing is, nobody is turned away.
    async fn make_do(&self, user: &UserSub, now: f64, stored: Stored) -> Result<Outcome, Error> {
        let mut known = stored.fresh(now);
        let missing: Vec<&String> =
            self.identifiers().iter().filter(|name| !known.contains_key(*name)).collect();
        if missing.is_empty() {
            return Ok(self.keep(user, known, Origin::LastKnown, stored.ttl_ms));
        }
        let assumed = Entitlement::assumed(now);
        let triples = missing.iter().flat_map(|name| {
            let before = stored.raw.get(*name).cloned().unwrap_or_default();
            [name.as_bytes().to_vec(), before, assumed.to_json().into_bytes()]
        });
        let ttl = Duration::from_secs_f64(ASSUMED_S);
        let call = ASSUME.call(self.store()).key("entitlements", &keys::entitlements(user));
        let call = call.arg("ttl_ms", u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
        let in_force: Vec<Vec<u8>> = call.args("values", triples.collect::<Vec<_>>()).run().await?;
        for (name, raw) in missing.into_iter().zip(in_force) {
            known.insert(name.clone(), Entitlement::from_json(&raw).unwrap_or(assumed));
        }
        self.tell(user, now).await;
        let ttl_ms = stored.ttl_ms.min(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
        Ok(self.keep(user, known, Origin::LastKnown, ttl_ms))
    }

    /// Puts values into the memory of this process, and gives them to whoever asked.
    fn keep(
        &self,
        user: &UserSub,
        values: BTreeMap<String, Entitlement>,
        origin: Origin,
        ttl_ms: u64,
    ) -> Outcome {
        let until_ms = self.store().now_ms().saturating_add(ttl_ms);
        self.inner.local.keep(user, values.iter(), until_ms);
        let found =
            values.into_iter().map(|(name, value)| (name, EntitlementLookup::new(value, origin)));
        Outcome::Found(Arc::new(found.collect()))
    }
}

impl Stored {
    pub(super) fn new(raw: BTreeMap<String, Vec<u8>>, ttl_ms: i64) -> Stored {
        Stored { raw, ttl_ms: ttl_ms.try_into().unwrap_or(u64::from(TTL_S) * 1000) }
    }

    /// What can be read and used.
    fn fresh(&self, now: f64) -> BTreeMap<String, Entitlement> {
        let values = self.raw.iter().filter_map(|(identifier, raw)| {
            let value = Entitlement::from_json(raw)?;
            (!value.is_stale(now)).then(|| (identifier.clone(), value))
        });
        values.collect()
    }
}
