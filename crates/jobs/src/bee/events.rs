//! What happens to jobs, as it happens.
//!
//! Events are messages: nothing is stored, and who does not listen misses them. A [`StreamItem::Gap`] says that this may
//! have happened; whoever needs the present state reads it then.

use futures_util::{StreamExt as _, stream::SelectAll};
use keyrack_store::{Event as Published, Subscription};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    hive::Hive,
    job::Job,
    keys::{self, QueueName},
};
use crate::Error;

/// What kind of thing happened to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum EventKind {
    /// It entered the working queue.
    New,
    /// It ended as the duplicate of another.
    Duplicate,
    /// It is done.
    Completed,
    /// It failed for good.
    Failed,
    /// It was canceled.
    Canceled,
    /// Its worker told how far it is.
    Progress,
    /// It is not due yet: it was submitted with a delay, or has failed and is to be tried again. Of jobs with a delay only
    /// those that are due before all others are announced.
    Delayed,
    /// The queue was resumed, or its limits have changed: jobs that could not start may be able to now.
    Resumed,
    /// Something that this version does not know.
    Other,
}

impl EventKind {
    /// The word in the message.
    pub fn as_str(self) -> &'static str {
        match self {
            EventKind::New => "new",
            EventKind::Duplicate => "duplicate",
            EventKind::Completed => "completed",
            EventKind::Failed => "failed",
            EventKind::Canceled => "canceled",
            EventKind::Progress => "progress",
            EventKind::Delayed => "delayed",
            EventKind::Resumed => "resumed",
            EventKind::Other => "other",
        }
    }

    pub(super) fn from_word(word: &str) -> EventKind {
        match word {
            "new" => EventKind::New,
            "duplicate" => EventKind::Duplicate,
            "completed" => EventKind::Completed,
            "failed" => EventKind::Failed,
            "canceled" => EventKind::Canceled,
            "progress" => EventKind::Progress,
            "delayed" => EventKind::Delayed,
            "resumed" => EventKind::Resumed,
            _ => EventKind::Other,
        }
    }
}

/// Something that happened to a job, or to its queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The job; empty when the event is about the queue.
    pub jid: String,
    /// Its queue.
    pub queue: String,
    /// The job as it was then, if the message has it.
    pub job: Option<Job>,
    /// What the worker told, if that is what happened.
    pub progress: Option<Json>,
    /// What it said about that.
    pub message: Option<String>,
}

impl Event {
    /// Reads a message; what is no event is nothing, since anybody can publish.
    pub(super) fn parse(payload: &[u8]) -> Option<Event> {
        let mut message: Map<String, Json> = serde_json::from_slice(payload).ok()?;
        let kind = EventKind::from_word(message.get("type")?.as_str()?);
        let mut text = |name: &str| match message.remove(name) {
            Some(Json::String(text)) => text,
            _ => String::new(),
        };
        let (jid, queue) = (text("jid"), text("queue"));
        let words = Some(text("message")).filter(|text| !text.is_empty());
        let job = message.get("job").and_then(Job::from_snapshot);
        let progress = match kind {
            // A Node worker that reports nothing in particular leaves it out.
            EventKind::Progress => Some(message.remove("progress").unwrap_or_else(|| 0.into())),
            _ => None,
        };
        Some(Event { kind, jid, queue, job, progress, message: words })
    }
}

/// What comes out of an [`EventStream`].
#[derive(Debug, Clone, PartialEq)]
pub enum StreamItem {
    /// Something happened.
    Event(Box<Event>),
    /// Events may have been missed here.
    Gap,
}

/// The events of some queues, from the moment it was opened.
#[derive(Debug)]
pub struct EventStream {
    messages: SelectAll<Subscription>,
    /// Whether it listens to anything yet.
    is_listening: bool,
}

impl EventStream {
    /// What happens next; `None` only when the store itself is gone.
    pub async fn next(&mut self) -> Option<StreamItem> {
        if !self.is_listening {
            return std::future::pending().await;
        }
        loop {
            match self.messages.next().await? {
                Published::Gap => return Some(StreamItem::Gap),
                Published::Message(message) => {
                    if let Some(event) = Event::parse(&message.payload) {
                        return Some(StreamItem::Event(Box::new(event)));
                    }
                }
            }
        }
    }

    /// Listens to more queues.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn join(&mut self, hive: &Hive, queues: &[QueueName]) -> Result<(), Error> {
        if !queues.is_empty() {
            self.messages.push(hive.subscribe(queues).await?);
            self.is_listening = true;
        }
        Ok(())
    }
}

impl Hive {
    /// Listens to queues. Resolves once it does: what happens after that is heard.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn events(&self, queues: &[QueueName]) -> Result<EventStream, Error> {
        let mut stream = EventStream { messages: SelectAll::new(), is_listening: false };
        stream.join(self, queues).await?;
        Ok(stream)
    }

    pub(super) async fn subscribe(&self, queues: &[QueueName]) -> Result<Subscription, Error> {
        let channels: Vec<_> =
            queues.iter().map(|queue| keys::queue_events(queue, &queue.group())).collect();
        Ok(self.store().subscribe(&channels).await?)
    }
}

#[cfg(test)]
mod tests;
