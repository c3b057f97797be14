//! The log of deliveries: looked at, and replayed.

use std::collections::HashMap;

use keyrack_store::Script;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{
    error::Error,
    event::Event,
    keys::{self, DeliveryId, HookId},
    webhooks::Webhooks,
};

static REPLAY: Script = keyrack_store::script!("deliveries/replay.lua");

/// The most deliveries of one answer.
pub const DELIVERIES_MAX: usize = 1_000;
/// Deliveries that are replayed in one call of the script.
const REPLAYED_AT_ONCE: usize = 100;

/// What has come of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DeliveryState {
    /// It has not ended: it is to be made, or made again.
    Waiting,
    /// The receiver has answered 2xx.
    Done,
    /// It was given up.
    Failed,
}

impl DeliveryState {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            DeliveryState::Waiting => "waiting",
            DeliveryState::Done => "done",
            DeliveryState::Failed => "failed",
        }
    }
}

impl std::str::FromStr for DeliveryState {
    type Err = String;

    fn from_str(word: &str) -> Result<DeliveryState, String> {
        let all = [DeliveryState::Waiting, DeliveryState::Done, DeliveryState::Failed];
        let found = all.into_iter().find(|state| state.as_str() == word);
        found.ok_or_else(|| format!("\"{word}\" is none of waiting, done, failed"))
    }
}

/// An event on its way to a webhook. It holds nothing of the event's data, which may be secret.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = WebhookDelivery))]
pub struct Delivery {
    /// The id of the event.
    pub id: String,
    /// What has happened.
    pub kind: String,
    /// To what.
    pub subject: String,
    /// When that was, in unix milliseconds.
    pub at: u64,
    /// What has come of it.
    pub state: DeliveryState,
    /// How often it was tried.
    pub attempts: u64,
    /// When it was last tried, in unix milliseconds.
    pub tried_at: Option<u64>,
    /// What the receiver answered then.
    pub status: Option<u16>,
    /// Why it failed then.
    pub error: Option<String>,
    /// When it was done or given up, in unix milliseconds.
    pub ended_at: Option<u64>,
}

impl Webhooks {
    /// The latest deliveries of a webhook in a state, newest first.
    ///
    /// # Errors
    /// When there is no such webhook.
    pub async fn deliveries(
        &self,
        hook: &HookId,
        state: DeliveryState,
        max: usize,
    ) -> Result<Vec<Delivery>, Error> {
        self.hook(hook).await?;
        let list = match state {
            DeliveryState::Waiting => keys::waiting(hook),
            DeliveryState::Done => keys::done(hook),
            DeliveryState::Failed => keys::failed(hook),
        };
        let mut cmd = redis::cmd("ZREVRANGE");
        cmd.arg(&*self.store().place(&list)).arg(0).arg(max.clamp(1, DELIVERIES_MAX) - 1);
        let ids: Vec<String> = cmd.query_async(&mut self.store().connection()).await?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut reads = redis::pipe();
        for id in &ids {
            let id = DeliveryId::new(&**id)?;
            reads.cmd("HGETALL").arg(&*self.store().place(&keys::delivery(hook, &id)));
        }
        let rows: Vec<HashMap<String, String>> =
            reads.query_async(&mut self.store().connection()).await?;
        Ok(rows.iter().filter_map(read).collect())
    }

    /// Delivers an ended delivery once more, behind what waits in its lane.
    ///
    /// # Errors
    /// When there is no such webhook or delivery, or it has not ended.
    pub async fn replay(&self, hook: &HookId, delivery: &str) -> Result<(), Error> {
        self.hook(hook).await?;
        match self.replay_some(hook, &[delivery.to_owned()]).await?.first().map(String::as_str) {
            Some("ok") => Ok(()),
            Some("waiting") => Err(Error::StillWaits { delivery: delivery.to_owned() }),
            _ => Err(Error::NoSuchDelivery { delivery: delivery.to_owned() }),
        }
    }

    /// Delivers once more what was given up at this time or later, oldest first. Returns how many
    /// that are.
    ///
    /// # Errors
    /// When there is no such webhook.
    pub async fn replay_failed(&self, hook: &HookId, since_ms: u64) -> Result<u64, Error> {
        self.hook(hook).await?;
        let mut cmd = redis::cmd("ZRANGEBYSCORE");
        cmd.arg(&*self.store().place(&keys::failed(hook))).arg(since_ms).arg("+inf");
        let ids: Vec<String> = cmd.query_async(&mut self.store().connection()).await?;
        let mut n_replayed = 0;
        for some in ids.chunks(REPLAYED_AT_ONCE) {
            let words = self.replay_some(hook, some).await?;
            n_replayed += words.iter().filter(|word| *word == "ok").count() as u64;
        }
        Ok(n_replayed)
    }

    async fn replay_some(&self, hook: &HookId, ids: &[String]) -> Result<Vec<String>, Error> {
        // A script puts ids into keys as they are.
        for id in ids {
            if !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return Err(Error::NoSuchDelivery { delivery: id.clone() });
            }
        }
        let call = REPLAY.call(self.store()).key("due", &keys::due(hook));
        let call = call.key("waiting", &keys::waiting(hook)).key("done", &keys::done(hook));
        let call = call.key("failed", &keys::failed(hook)).key("hooks", &keys::hooks());
        let call = call.arg("now", self.store().now_ms()).arg("hook", hook.as_str());
        let call = call.arg("delivery_prefix", self.delivery_prefix(hook));
        let call = call.arg("lane_prefix", self.lane_prefix(hook));
        Ok(call.args("ids", ids).run().await?)
    }
}

/// Reads a stored delivery; one that has expired meanwhile is none.
fn read(row: &HashMap<String, String>) -> Option<Delivery> {
    let event: Event = serde_json::from_str(row.get("event")?).ok()?;
    let number = |name: &str| row.get(name).and_then(|text| text.parse::<u64>().ok());
    let state = serde_json::from_value(Json::String(row.get("state")?.clone())).ok()?;
    Some(Delivery {
        id: event.id,
        kind: event.kind,
        subject: event.subject,
        at: event.at,
        state,
        attempts: number("attempts").unwrap_or_default(),
        tried_at: number("tried_at"),
        status: number("status").and_then(|code| u16::try_from(code).ok()),
        error: row.get("error").cloned(),
        ended_at: number("ended_at"),
    })
}
