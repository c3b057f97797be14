//! What happens to jobs, as it happens, and waiting for the end of one.
//!
//! Events are messages: nothing is stored, and who does not listen misses them. A [`StreamItem::Gap`] says that this may
//! have happened; whoever needs the present state reads it then.

use std::time::Duration;

use futures_util::{StreamExt as _, stream::SelectAll};
use keyrack_store::{Event as Published, Subscription};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    hive::Hive,
    job::{Job, Status},
    keys::{self, Jid, QueueName},
};
use crate::Error;

/// How soon a store that was lost is asked again.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

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
    /// It was cancelled.
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

    fn from_word(word: &str) -> EventKind {
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
}

impl Event {
    /// Reads a message; what is no event is nothing, since anybody can publish.
    fn parse(payload: &[u8]) -> Option<Event> {
        let mut message: Map<String, Json> = serde_json::from_slice(payload).ok()?;
        let kind = EventKind::from_word(message.get("type")?.as_str()?);
        let mut text = |name: &str| match message.remove(name) {
            Some(Json::String(text)) => text,
            _ => String::new(),
        };
        let (jid, queue) = (text("jid"), text("queue"));
        let job = message.get("job").and_then(Job::from_snapshot);
        let progress = match kind {
            // A Node worker that reports nothing in particular leaves it out.
            EventKind::Progress => Some(message.remove("progress").unwrap_or_else(|| 0.into())),
            _ => None,
        };
        Some(Event { kind, jid, queue, job, progress })
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

    async fn subscribe(&self, queues: &[QueueName]) -> Result<Subscription, Error> {
        let channels: Vec<_> =
            queues.iter().map(|queue| keys::queue_events(queue, &queue.group())).collect();
        Ok(self.store().subscribe(&channels).await?)
    }

    /// Waits until a job has ended, and returns it; `None` when that has not happened in time.
    ///
    /// A duplicate ends as its original does, so that one is waited for and returned.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], or when the store fails.
    pub async fn outcome(&self, jid: &Jid, patience: Duration) -> Result<Option<Job>, Error> {
        // Whoever has no patience at all still learns of an end that has come.
        let job = match self.look_again(jid).await? {
            Observed::Ended(job) => return Ok(Some(job)),
            Observed::Waits(job) => job,
        };
        match tokio::time::timeout(patience, self.wait_for_end(job)).await {
            Ok(ended) => ended.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// A store that comes back within the caller's patience is as good as one that was there all the time.
    async fn wait_for_end(&self, job: Job) -> Result<Job, Error> {
        loop {
            match self.follow(job.clone()).await {
                Err(error) if error.is_transient() => tokio::time::sleep(RETRY_PAUSE).await,
                ended => return ended,
            }
        }
    }

    /// Listens to the queue of a job until it ends.
    async fn follow(&self, mut job: Job) -> Result<Job, Error> {
        let Some(queue) = job.queue_name() else { return Ok(job) };
        let mut messages = self.subscribe(&[queue]).await?;
        loop {
            // What happened before the subscription stood, or in a gap, is told by the job alone.
            let Some(jid) = job.id() else { return Ok(job) };
            job = match self.look_again(&jid).await? {
                Observed::Ended(job) => return Ok(job),
                Observed::Waits(job) => job,
            };
            if let Some(last) = next_end(&mut messages, job.jid()).await? {
                // The store knows more than the message, unless the job was told to run again meanwhile.
                let Some(jid) = job.id() else { return Ok(last) };
                return Ok(self.job(&jid).await.ok().filter(is_over).unwrap_or(last));
            }
        }
    }

    async fn look_again(&self, jid: &Jid) -> Result<Observed, Error> {
        self.look(self.job(jid).await?).await
    }

    /// Whether a job has ended, or which one is to be waited for.
    async fn look(&self, job: Job) -> Result<Observed, Error> {
        if job.status() != Status::Duplicate {
            return Ok(if is_over(&job) { Observed::Ended(job) } else { Observed::Waits(job) });
        }
        let Some(original) = job.duplicate_of().and_then(|jid| Jid::new(jid).ok()) else {
            return Ok(Observed::Ended(job));
        };
        match self.job(&original).await {
            Ok(original) if is_over(&original) => Ok(Observed::Ended(original)),
            Ok(original) => Ok(Observed::Waits(original)),
            Err(Error::NoSuchJob { .. }) => Ok(Observed::Ended(job)),
            Err(error) => Err(error),
        }
    }
}

enum Observed {
    Ended(Job),
    Waits(Job),
}

fn is_over(job: &Job) -> bool {
    job.status().is_final()
}

/// The job at its end; `None` when it has to be looked at again.
async fn next_end(messages: &mut Subscription, jid: &str) -> Result<Option<Job>, Error> {
    let piece = longest_plain_piece(jid);
    let mentions = |payload: &[u8]| {
        piece.is_empty() || payload.windows(piece.len()).any(|window| window == piece)
    };
    loop {
        let payload = match messages.next().await {
            Some(Published::Message(message)) => message.payload,
            Some(Published::Gap) => return Ok(None),
            None => return Err(gone()),
        };
        // Of a busy queue nearly all messages are about other jobs, and not worth parsing.
        if !mentions(&payload) {
            continue;
        }
        let Some(event) = Event::parse(&payload).filter(|event| event.jid == jid) else { continue };
        match event.kind {
            EventKind::Completed | EventKind::Failed | EventKind::Canceled => return Ok(event.job),
            EventKind::Duplicate => return Ok(None),
            EventKind::New
            | EventKind::Progress
            | EventKind::Delayed
            | EventKind::Resumed
            | EventKind::Other => {}
        }
    }
}

/// A part of the id that reads the same in every way of writing JSON.
fn longest_plain_piece(jid: &str) -> &[u8] {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    let pieces = jid.as_bytes().split(|byte| !is_plain(byte));
    pieces.max_by_key(|piece| piece.len()).unwrap_or_default()
}

fn gone() -> Error {
    Error::Store(keyrack_store::Error::Unreachable {
        target: "the store".into(),
        reason: "its subscriptions have ended".into(),
    })
}

#[cfg(test)]
mod tests;
