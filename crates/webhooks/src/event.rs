//! What is sent.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use crate::keys::{DeliveryId, Lane};

/// All kinds that a webhook can ask for.
pub const KINDS: &[&str] = &[
    "job.completed",
    "job.failed",
    "job.canceled",
    "job.expired",
    "job.duplicate",
    "rule.fired",
    "rule.resolved",
    "alert.raised",
    "alert.cleared",
];

/// The kind of an event that only shows that a webhook works.
pub(crate) const TEST: &str = "test";

/// Something that has happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// What tells it from all other events: a receiver that sees it twice knows so by this.
    pub id: String,
    /// What has happened, one of [`KINDS`].
    pub kind: String,
    /// When it happened, in unix milliseconds.
    pub at: u64,
    /// What it is about. Events about the same are delivered in order.
    pub subject: String,
    /// The queue of a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// All about it.
    pub data: Json,
}

impl Event {
    /// An event whose id follows from `unique`: handed over twice, it is one event.
    pub fn new(kind: &str, unique: &str, at: u64, subject: String, data: Json) -> Event {
        let id = format!("evt_{}", digest(&format!("{kind} {unique}")));
        Event { id, kind: kind.to_owned(), at, subject, queue: None, data }
    }

    /// The same event, about a job of this queue.
    #[must_use]
    pub fn in_queue(mut self, queue: impl Into<String>) -> Event {
        self.queue = Some(queue.into());
        self
    }

    pub(crate) fn delivery_id(&self) -> Result<DeliveryId, keyrack_keys::PartError> {
        DeliveryId::new(&*self.id)
    }

    pub(crate) fn lane(&self) -> Lane {
        Lane::new(digest(&self.subject)).expect("hex digits are a name")
    }
}

/// 32 hex digits of a text: as good as different for different texts, and fit for keys.
pub(crate) fn digest(text: &str) -> String {
    hex(&Sha256::digest(text)[..16])
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
