//! Taking events: storing, for each webhook that asks for it, what has to be delivered.

use keyrack_store::Script;

use crate::{
    error::Error,
    event::{Event, TEST, digest},
    hook::random_hex,
    keys::{self, HookId},
    webhooks::Webhooks,
};

static ENQUEUE: Script = keyrack_store::script!("enqueue/enqueue.lua");

/// The most deliveries of a webhook that have not ended. A receiver that is away for longer than it
/// takes to collect them loses what comes then, which `dropped` of its health counts.
const WAITING_MAX: usize = 100_000;
/// Events of one call of the script.
const EVENTS_AT_ONCE: usize = 100;

impl Webhooks {
    /// Takes events, in their order. One that was taken before, and is still known, is not taken
    /// again.
    ///
    /// # Errors
    /// When the store fails; then the same events may be handed over again.
    pub async fn enqueue(&self, events: &[Event]) -> Result<(), Error> {
        if events.is_empty() {
            return Ok(());
        }
        for (hook, settings) in self.all().await? {
            let wanted: Vec<&Event> = events.iter().filter(|event| settings.wants(event)).collect();
            for some in wanted.chunks(EVENTS_AT_ONCE) {
                self.enqueue_for(&hook, some).await?;
            }
        }
        Ok(())
    }

    /// Sends an event to a webhook that only shows that it works. Returns the id of the event.
    ///
    /// # Errors
    /// When there is no such webhook.
    pub async fn send_test(&self, hook: &HookId) -> Result<String, Error> {
        let unique = random_hex(16)?;
        let data = serde_json::json!({"text": "a test event of keyrack", "severity": "note"});
        let subject = format!("test:{}", digest(&unique));
        let event = Event::new(TEST, &unique, self.store().now_ms(), subject, data);
        match self.enqueue_for(hook, &[&event]).await? {
            true => Ok(event.id),
            false => Err(Error::NoSuchHook { hook: hook.to_string() }),
        }
    }

    /// Returns whether there is such a webhook.
    async fn enqueue_for(&self, hook: &HookId, events: &[&Event]) -> Result<bool, Error> {
        let mut values = Vec::with_capacity(3 * events.len());
        for event in events {
            let text = serde_json::to_string(event).expect("an event is JSON");
            values.extend([event.delivery_id()?.to_string(), event.lane().to_string(), text]);
        }
        let call = ENQUEUE.call(self.store()).key("hooks", &keys::hooks());
        let call = call.key("due", &keys::due(hook)).key("waiting", &keys::waiting(hook));
        let call = call.key("health", &keys::health(hook)).arg("hook", hook.as_str());
        let call = call.arg("now", self.store().now_ms()).arg("waiting_max", WAITING_MAX);
        let call = call.arg("delivery_prefix", self.delivery_prefix(hook));
        let call = call.arg("lane_prefix", self.lane_prefix(hook));
        Ok(call.args("values", values).run().await?)
    }
}
