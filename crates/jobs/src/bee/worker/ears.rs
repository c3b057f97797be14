//! How an idle worker hears of new jobs.
//!
//! A busy worker asks for more whenever it finishes something, so it need not listen; and every message about every job
//! of its queue would be work for nothing. It listens when a claim brought less than it could take.

use keyrack_store::{Event, Subscription};

use super::super::{
    hive::Hive,
    ids,
    keys::{self, Hostname, QueueName},
};
use crate::Error;

/// Full claims in a row after which a worker stops listening.
const FULL_CLAIMS_MAX: u32 = 8;

/// The subscription of one station.
#[derive(Debug)]
pub(super) struct Ears {
    hive: Hive,
    queue: QueueName,
    open: Option<Subscription>,
    full_claims: u32,
}

impl Ears {
    pub(super) fn new(hive: Hive, queue: QueueName) -> Ears {
        Ears { hive, queue, open: None, full_claims: 0 }
    }

    /// Takes note of a claim that brought all it asked for.
    pub(super) fn note_full_claim(&mut self) {
        self.full_claims += 1;
        if self.full_claims >= FULL_CLAIMS_MAX {
            self.open = None;
        }
    }

    /// Begins to listen. True if it did not before: what came in between has to be asked for.
    pub(super) async fn listen(&mut self) -> Result<bool, Error> {
        self.full_claims = 0;
        if self.open.is_some() {
            return Ok(false);
        }
        let group = self.queue.group();
        let mut channels = vec![keys::queue_events(&self.queue, &group)];
        if let Ok(host) = Hostname::new(ids::hostname()) {
            channels.push(keys::host_events(&host, &group));
        }
        self.open = Some(self.hive.store().subscribe(&channels).await?);
        Ok(true)
    }

    /// Resolves when there may be something to claim. With `any_end`, also when a job of the queue has ended.
    pub(super) async fn hear(&mut self, any_end: bool) {
        let Some(subscription) = &mut self.open else { return std::future::pending().await };
        loop {
            match subscription.next().await {
                Some(Event::Message(message)) if !is_news(&message.payload, any_end) => {}
                Some(_) => return,
                None => {
                    self.open = None;
                    return std::future::pending().await;
                }
            }
        }
    }
}

/// Whether a message says that a job can be claimed. Both Node and our scripts write JSON without spaces.
pub(in crate::bee) fn is_news(message: &[u8], any_end: bool) -> bool {
    let says = |what: &[u8]| message.windows(what.len()).any(|window| window == what);
    // The type stands at the very start or end; a snapshot between may hold any text, so a false alarm is possible.
    says(br#""type":"new""#)
        || says(br#""type":"resumed""#)
        || (any_end && !says(br#""type":"progress""#))
}
