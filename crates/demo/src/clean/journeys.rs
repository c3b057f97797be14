//! The journeys of the demo. Their uids are chosen by chance, so they are known by what they ask and since when.

use std::collections::HashSet;

use keyrack_journeys::{Prompt, keys};
use keyrack_keys::{Family, Registry};
use keyrack_store::{Keyspace, Store};
use redis::{RedisError, Value};

use crate::{error::Error, foreign_keys::Walk, journeys::prompts};

/// The journeys of a demo, and where they are.
pub(super) struct Journeys(Vec<Journey>);

struct Journey {
    uid: String,
    raw: Vec<u8>,
    place: Keyspace,
}

/// Whether a family is that of journeys. They go last: whoever cleans up again has to find what belongs to them.
pub(super) fn is_journey(family: &Family) -> bool {
    std::ptr::eq(family, &keys::journey::FAMILY)
}

impl Journeys {
    /// Finds the journeys that ask what the demo asks, and were made since it began.
    pub(super) async fn find(
        store: &Store,
        registry: &Registry,
        started_at: f64,
    ) -> Result<Journeys, Error> {
        let (mut found, prompts) = (Vec::new(), prompts());
        let pattern = keys::journey::FAMILY.pattern(store.layout());
        for place in store.keyspaces().await? {
            let mut names = Walk::matching(&place, pattern.clone());
            while let Some(batch) = names.next().await? {
                for raw in batch {
                    let parsed = registry.parse(&raw).filter(|parsed| is_journey(parsed.family));
                    let Some(uid) = parsed.and_then(|mut parsed| parsed.parts.pop()) else {
                        continue;
                    };
                    let Some((prompt, created_at)) = read(&place, &raw).await? else { continue };
                    if created_at >= started_at && prompts.contains(&prompt) {
                        found.push(Journey { uid, raw, place: place.clone() });
                    }
                }
            }
        }
        Ok(Journeys(found))
    }

    /// Their uids.
    pub(super) fn uids(&self) -> HashSet<String> {
        self.0.iter().map(|journey| journey.uid.clone()).collect()
    }

    /// Deletes them; returns how many there were.
    pub(super) async fn delete(self) -> Result<u64, Error> {
        let mut deleted = 0;
        for journey in self.0 {
            let mut delete = redis::pipe();
            delete.cmd("UNLINK").arg(journey.raw);
            journey.place.pipeline(&delete).await?;
            deleted += 1;
        }
        Ok(deleted)
    }
}

/// What a journey asks, and when it was made.
async fn read(place: &Keyspace, raw: &[u8]) -> Result<Option<(Prompt, f64)>, Error> {
    let mut read = redis::pipe();
    read.cmd("HMGET").arg(raw).arg("prompt").arg("created_at");
    let reply = place.pipeline(&read).await?.pop().unwrap_or(Value::Nil);
    // A key of another type is not the demo's.
    let Ok(reply) = reply.extract_error() else { return Ok(None) };
    let (prompt, created_at): (Option<String>, Option<f64>) =
        redis::from_redis_value(reply).map_err(RedisError::from)?;
    let prompt = prompt.and_then(|prompt| serde_json::from_str(&prompt).ok());
    Ok(prompt.zip(created_at))
}
