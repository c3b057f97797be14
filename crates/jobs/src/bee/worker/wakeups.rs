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

/// The subscription of one queue worker.
#[derive(Debug)]
pub(super) struct Wakeups {
    hive: Hive,
    queue: QueueName,
    open: Option<Subscription>,
    full_claims: u32,
}

impl Wakeups {
    pub(super) fn new(hive: Hive, queue: QueueName) -> Wakeups {
        Wakeups { hive, queue, open: None, full_claims: 0 }
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

    /// Resolves when it is known when there may be something to claim. With `any_end`, also when a job of the queue has
    /// ended.
    pub(super) async fn next(&mut self, any_end: bool) -> ClaimTime {
        let Some(subscription) = &mut self.open else { return std::future::pending().await };
        loop {
            match subscription.next().await {
                Some(Event::Message(message)) => {
                    if let Some(ask) = ClaimTime::of(&message.payload, any_end) {
                        return ask;
                    }
                }
                Some(Event::Gap) => return ClaimTime::Now,
                None => {
                    self.open = None;
                    return std::future::pending().await;
                }
            }
        }
    }
}

/// When it is worth asking for jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bee) enum ClaimTime {
    /// There may be one.
    Now,
    /// One is due at this time, in unix milliseconds.
    At(u64),
}

impl ClaimTime {
    /// What a message says about that, if anything. Both Node and our scripts write JSON without spaces.
    pub(in crate::bee) fn of(message: &[u8], any_end: bool) -> Option<ClaimTime> {
        let says = |what: &[u8]| message.windows(what.len()).any(|window| window == what);
        // The type stands at the very start or end; a snapshot between may hold any text, so a false alarm is possible.
        if says(br#""type":"new""#)
            || says(br#""type":"resumed""#)
            || (any_end && !says(br#""type":"progress""#))
        {
            return Some(ClaimTime::Now);
        }
        due_in(message).map(ClaimTime::At)
    }
}

/// When the delayed job is due that a message is about. Only our scripts write such messages, with the time at the end.
fn due_in(message: &[u8]) -> Option<u64> {
    let message = std::str::from_utf8(message).ok()?;
    let (_, till) = message.strip_prefix(r#"{"type":"delayed","#)?.rsplit_once(r#""till":"#)?;
    let till: f64 = till.strip_suffix('}')?.parse().ok()?;
    Some(till.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_when_to_ask_for_jobs() {
        let ask = |message: &str, any_end| ClaimTime::of(message.as_bytes(), any_end);
        let delayed = r#"{"type":"delayed","jid":"j","queue":"q","till":1794709387100.5}"#;
        assert_eq!(ask(delayed, false), Some(ClaimTime::At(1_794_709_387_101)));
        assert_eq!(ask(delayed, true), Some(ClaimTime::Now), "an attempt may have ended");
        assert_eq!(ask(r#"{"type":"new","jid":"j","queue":"q"}"#, false), Some(ClaimTime::Now));
        assert_eq!(ask(r#"{"jid":"j","queue":"q","type":"new"}"#, false), Some(ClaimTime::Now));
        let completed = r#"{"type":"completed","jid":"j","queue":"q","job":{}}"#;
        assert_eq!((ask(completed, false), ask(completed, true)), (None, Some(ClaimTime::Now)));
        assert_eq!(ask(r#"{"type":"progress","jid":"j","queue":"q"}"#, true), None);
        assert_eq!(ask(r#"{"type":"delayed","jid":"j","queue":"q","till":soon}"#, false), None);
    }
}
