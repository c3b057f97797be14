//! Journeys in short, for lists of many.

use futures_util::future::try_join_all;

use crate::{
    error::Error,
    event::Event,
    journey::Journey,
    journeys::Journeys,
    keys::{self, JourneyUid},
};

/// The most events of a journey that are kept, and so the most that a glance counts.
pub const STORED_MAX: u64 = crate::event::STORED_MAX as u64;

/// A journey in short.
#[derive(Debug, Clone, PartialEq)]
pub struct JourneySummary {
    /// The journey.
    pub journey: Journey,
    /// How many of its events are kept, up to [`STORED_MAX`].
    pub events: u64,
    /// When the last came, in unix seconds.
    pub last_event_at: Option<f64>,
}

impl Journeys {
    /// How many journeys there are.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn count(&self) -> Result<u64, Error> {
        let mut cmd = redis::cmd("ZCARD");
        cmd.arg(&*self.store().place(&keys::all()));
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    /// So many journeys from a rank on in short, the newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn glances(&self, from: usize, max: usize) -> Result<Vec<JourneySummary>, Error> {
        let journeys = self.list(from, max).await?;
        try_join_all(journeys.into_iter().map(|journey| self.glance(journey))).await
    }

    async fn glance(&self, journey: Journey) -> Result<JourneySummary, Error> {
        let stored = keys::stored(&JourneyUid::new(journey.uid.clone())?);
        let stored = self.store().place(&stored);
        let mut pipeline = redis::pipe();
        pipeline.cmd("LLEN").arg(&*stored).cmd("LINDEX").arg(&*stored).arg(0);
        let (events, last): (u64, Option<String>) =
            pipeline.query_async(&mut self.store().connection()).await?;
        let last = last.and_then(|text| serde_json::from_str::<Event>(&text).ok());
        Ok(JourneySummary { journey, events, last_event_at: last.map(|event| event.created_at) })
    }
}
