//! Delivering: claiming what is due, sending it, and storing what came of it.

use std::time::Duration;

use futures_util::future::join_all;
use keyrack_store::Script;
use sha2::{Digest as _, Sha256};

use crate::{
    error::Error,
    event::Event,
    hook::Target,
    keys::{self, ENDED_TTL_S, HookId},
    send::Answer,
    webhooks::Webhooks,
};

/// Shared Lua of the scripts here.
macro_rules! delivery_script {
    ($file:literal) => {
        keyrack_store::script!($file, "include/ended.lua")
    };
}

static CLAIM: Script = delivery_script!("deliver/claim.lua");
static SETTLE: Script = delivery_script!("deliver/settle.lua");

/// Deliveries of one webhook that a server makes at once, each of another lane.
const AT_ONCE: usize = 8;
/// How long a server has for a delivery before another one makes it.
const LEASE: Duration = Duration::from_secs(30);
/// For how long a delivery is tried.
pub(crate) const GIVE_UP_MS: u64 = 24 * 3_600_000;
/// The first wait before another try, and the longest; each is twice the one before, less up to a
/// fifth.
const RETRY_MS_MIN: u64 = 10_000;
const RETRY_MS_MAX: u64 = 15 * 60_000;
/// After so many failures in a row, a webhook is asked with one delivery at a time, after pauses
/// that double.
const FAILURES_MAX: u64 = 5;
const PAUSE_MS_MIN: u64 = 15_000;
const PAUSE_MS_MAX: u64 = 5 * 60_000;

/// A delivery that this server makes.
#[derive(Debug)]
struct Claimed {
    id: String,
    lane: String,
    attempt: u64,
    tries: u64,
    event: String,
}

impl Webhooks {
    /// Makes the deliveries of a webhook that are due, some at once, until none is. Returns how
    /// many it has tried.
    ///
    /// Any number of servers may do this at the same time.
    ///
    /// # Errors
    /// When the store fails, or there is no such webhook.
    pub async fn deliver_due(&self, hook: &HookId) -> Result<usize, Error> {
        let mut n_tried = 0;
        loop {
            // It may be changed, switched off or deleted while much is delivered.
            let Some(target) = self.target(hook).await? else { return Ok(n_tried) };
            let claimed = self.claim(hook).await?;
            if claimed.is_empty() {
                return Ok(n_tried);
            }
            n_tried += claimed.len();
            let tried = claimed.iter().map(|claimed| self.try_one(hook, &target, claimed));
            for result in join_all(tried).await {
                result?;
            }
        }
    }

    async fn try_one(
        &self,
        hook: &HookId,
        target: &Target,
        claimed: &Claimed,
    ) -> Result<(), Error> {
        let answer = match serde_json::from_str::<Event>(&claimed.event) {
            Ok(event) => self.sender()?.send(self.store(), target, &event).await,
            Err(_) => {
                Answer { status: None, error: Some("the stored event cannot be read".into()) }
            }
        };
        self.settle(hook, claimed, &answer).await
    }

    async fn claim(&self, hook: &HookId) -> Result<Vec<Claimed>, Error> {
        let call = CLAIM.call(self.store());
        let call = call.key("due", &keys::due(hook)).key("health", &keys::health(hook));
        let call = call.key("waiting", &keys::waiting(hook)).key("failed", &keys::failed(hook));
        let call = call.arg("now", self.store().now_ms()).arg("lease_ms", LEASE.as_millis() as u64);
        let call = call.arg("max", AT_ONCE).arg("failures_max", FAILURES_MAX);
        let call = call.arg("give_up_ms", GIVE_UP_MS).arg("kept_s", ENDED_TTL_S);
        let call = call.arg("delivery_prefix", self.delivery_prefix(hook));
        let call = call.arg("lane_prefix", self.lane_prefix(hook));
        let rows: Vec<(String, String, u64, u64, String)> = call.run().await?;
        let claimed = rows.into_iter().map(|(id, lane, attempt, tries, event)| Claimed {
            id,
            lane,
            attempt,
            tries,
            event,
        });
        Ok(claimed.collect())
    }

    async fn settle(&self, hook: &HookId, claimed: &Claimed, answer: &Answer) -> Result<(), Error> {
        let now = self.store().now_ms();
        let chance = chance(&claimed.id, claimed.attempt);
        let call = SETTLE.call(self.store());
        let call = call.key("due", &keys::due(hook)).key("health", &keys::health(hook));
        let call = call.key("waiting", &keys::waiting(hook)).key("done", &keys::done(hook));
        let call = call.key("failed", &keys::failed(hook)).arg("now", now);
        let call = call.arg("id", &claimed.id).arg("lane", &claimed.lane);
        let call = call.arg("attempt", claimed.attempt);
        let call = call.arg("status", answer.status.map_or(String::new(), |code| code.to_string()));
        let call = call.arg("problem", answer.error.as_deref().unwrap_or_default());
        let call = call.arg("retry_at", now + retry_ms(claimed.tries, chance));
        let call = call.arg("failures_max", FAILURES_MAX).arg("chance", chance.to_string());
        let call = call.arg("pause_ms_min", PAUSE_MS_MIN).arg("pause_ms_max", PAUSE_MS_MAX);
        let call = call.arg("give_up_ms", GIVE_UP_MS).arg("kept_s", ENDED_TTL_S);
        let call = call.arg("delivery_prefix", self.delivery_prefix(hook));
        let counts: bool = call.arg("lane_prefix", self.lane_prefix(hook)).run().await?;
        if !counts {
            tracing::warn!(delivery = claimed.id, "a delivery took longer than its lease");
        }
        Ok(())
    }
}

/// How long to wait after the nth try; `chance` is from 0 to 1.
fn retry_ms(tries: u64, chance: f64) -> u64 {
    let doubled = RETRY_MS_MIN.saturating_mul(1 << tries.saturating_sub(1).min(20));
    let wait = doubled.min(RETRY_MS_MAX);
    wait - (wait as f64 * 0.2 * chance) as u64
}

/// A number from 0 to 1 that differs from delivery to delivery and from attempt to attempt.
fn chance(id: &str, attempt: u64) -> f64 {
    let digest = Sha256::digest(format!("{id}:{attempt}"));
    let first = digest.first_chunk::<4>().copied().unwrap_or_default();
    f64::from(u32::from_be_bytes(first)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_quarter_of_an_hour_and_differ() {
        let waits: Vec<u64> = (1..=9).map(|tries| retry_ms(tries, 0.0) / 1000).collect();
        assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 900, 900]);
        assert_eq!(retry_ms(1, 1.0), 8_000);
        assert_eq!(retry_ms(u64::MAX, 0.0), RETRY_MS_MAX);
        assert_ne!(chance("a", 1).to_bits(), chance("a", 2).to_bits());
    }
}
