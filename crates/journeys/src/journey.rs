//! Journeys: made, looked at, listed, deleted.

use std::collections::HashMap;

use serde::Serialize;

use crate::{
    error::Error,
    journeys::Journeys,
    keys::{self, JourneyUid},
    prompt::Prompt,
    uid,
};

/// The longest journey: every second of it may be counted.
const DURATION_S_MAX: f64 = 4.0 * 3600.0;

/// A journey.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Journey {
    /// Its uid.
    pub uid: String,
    /// What it asks.
    pub prompt: Prompt,
    /// How long it lasts, in seconds.
    pub duration_seconds: f64,
    /// When it was created, in unix seconds.
    pub created_at: f64,
}

impl Journeys {
    /// Creates a journey.
    ///
    /// # Errors
    /// When the prompt or the duration makes no sense, or when the store fails.
    pub async fn create(&self, prompt: Prompt, duration_seconds: f64) -> Result<Journey, Error> {
        prompt.check()?;
        if !(duration_seconds > 0.0 && duration_seconds <= DURATION_S_MAX) {
            let reason = format!("{duration_seconds}; give up to {DURATION_S_MAX} seconds");
            return Err(Error::Invalid { field: "duration_seconds", reason });
        }
        let (uid, created_at) = (JourneyUid::new(uid::new("oseh_j_"))?, self.now());
        let mut connection = self.store().connection();
        let mut cmd = redis::cmd("HSET");
        cmd.arg(&*self.store().place(&keys::journey(&uid)));
        cmd.arg("prompt").arg(serde_json::to_string(&prompt).unwrap_or_default());
        cmd.arg("style").arg(prompt.style()).arg("duration").arg(duration_seconds);
        cmd.arg("created_at").arg(created_at);
        if let Some((low, high)) = prompt.bounds() {
            cmd.arg("low").arg(low).arg("high").arg(high);
        }
        cmd.exec_async(&mut connection).await?;
        // Last, and elsewhere on a cluster: a journey that is listed is there.
        let mut cmd = redis::cmd("ZADD");
        cmd.arg(&*self.store().place(&keys::all())).arg(created_at).arg(uid.as_str());
        cmd.exec_async(&mut connection).await?;
        Ok(Journey { uid: uid.to_string(), prompt, duration_seconds, created_at })
    }

    /// A journey.
    ///
    /// # Errors
    /// When there is none, or when the store fails.
    pub async fn journey(&self, uid: &JourneyUid) -> Result<Journey, Error> {
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(&*self.store().place(&keys::journey(uid)));
        let fields: HashMap<String, String> =
            cmd.query_async(&mut self.store().connection()).await?;
        read(uid, &fields).ok_or_else(|| Error::NoSuchJourney { uid: uid.to_string() })
    }

    /// So many journeys from a rank on, the newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, from: usize, max: usize) -> Result<Vec<Journey>, Error> {
        if max == 0 {
            return Ok(Vec::new());
        }
        let mut cmd = redis::cmd("ZREVRANGE");
        cmd.arg(&*self.store().place(&keys::all())).arg(from).arg(from.saturating_add(max - 1));
        let uids: Vec<String> = cmd.query_async(&mut self.store().connection()).await?;
        let mut journeys = Vec::new();
        for uid in uids {
            let uid = JourneyUid::new(uid)?;
            match self.journey(&uid).await {
                Ok(journey) => journeys.push(journey),
                // Deleted a moment ago.
                Err(Error::NoSuchJourney { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(journeys)
    }

    /// Deletes a journey and its events; its sessions expire.
    ///
    /// # Errors
    /// When there is none, or when the store fails.
    pub async fn delete(&self, uid: &JourneyUid) -> Result<(), Error> {
        let mut connection = self.store().connection();
        let mut cmd = redis::cmd("ZREM");
        cmd.arg(&*self.store().place(&keys::all())).arg(uid.as_str());
        cmd.exec_async(&mut connection).await?;
        let mut cmd = redis::cmd("DEL");
        for key in [keys::journey(uid), keys::stored(uid), keys::counts(uid)] {
            cmd.arg(&*self.store().place(&key));
        }
        let deleted: u64 = cmd.query_async(&mut connection).await?;
        if deleted == 0 { Err(Error::NoSuchJourney { uid: uid.to_string() }) } else { Ok(()) }
    }
}

fn read(uid: &JourneyUid, fields: &HashMap<String, String>) -> Option<Journey> {
    let number = |name: &str| fields.get(name)?.parse().ok();
    Some(Journey {
        uid: uid.to_string(),
        prompt: serde_json::from_str(fields.get("prompt")?).ok()?,
        duration_seconds: number("duration")?,
        created_at: number("created_at")?,
    })
}
