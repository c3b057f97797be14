//! What happens to jobs, as it happens.

use std::{collections::HashMap, sync::Arc};

use keyrack_jobs::bee::{Event, EventStream, Hive, Job, StreamItem, keys::QueueName};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex as AsyncMutex, Notify};

use crate::{
    error::Failure,
    parts::{milliseconds, to_json},
};

/// The most events that are taken at once.
const BATCH_MAX: usize = 256;

/// The streams that are listened to.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    state: Mutex<(u32, HashMap<u32, Arc<Stream>>)>,
}

#[derive(Debug)]
struct Stream {
    events: AsyncMutex<EventStream>,
    closed: Notify,
}

/// An event, or nothing but its type for a gap.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventRecord<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    queue: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<&'a Job>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<&'a serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

fn told(heard: &StreamItem) -> String {
    match heard {
        StreamItem::Gap => {
            let (id, queue) = ("", "");
            let (job, progress, message) = (None, None, None);
            to_json(&EventRecord { r#type: "gap", id, queue, job, progress, message })
        }
        StreamItem::Event(event) => {
            let Event { kind, jid, queue, job, progress, message } = &**event;
            to_json(&EventRecord {
                r#type: kind.as_str(),
                id: jid,
                queue,
                job: job.as_ref(),
                progress: progress.as_ref(),
                message: message.as_deref(),
            })
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct Listen {
    queues: Vec<String>,
}

impl Listen {
    /// Begins to listen, and returns the number of the stream.
    pub(crate) async fn run(self, hive: &Hive, streams: &Streams) -> Result<String, Failure> {
        let queues: Result<Vec<_>, _> = self.queues.into_iter().map(QueueName::new).collect();
        let events = hive.events(&queues?).await?;
        let stream = Stream { events: AsyncMutex::new(events), closed: Notify::new() };
        let (last, open) = &mut *streams.state.lock();
        *last = last.wrapping_add(1);
        open.insert(*last, Arc::new(stream));
        Ok(last.to_string())
    }
}

#[derive(Deserialize)]
pub(crate) struct OfStream {
    stream: u32,
    /// Milliseconds to wait for an event; for ever unless given.
    timeout: Option<f64>,
}

impl OfStream {
    /// Waits for the next events; null once nobody listens any more, and nothing if none come in time.
    pub(crate) async fn next(self, streams: &Streams) -> Result<String, Failure> {
        let stream = streams.state.lock().1.get(&self.stream).cloned();
        let Some(stream) = stream else { return Ok("null".to_owned()) };
        let mut events = stream.events.lock().await;
        let patience = async {
            match self.timeout {
                Some(timeout) => tokio::time::sleep(milliseconds(timeout)).await,
                None => std::future::pending().await,
            }
        };
        let first = tokio::select! {
            biased;
            () = stream.closed.notified() => None,
            heard = events.next() => heard,
            () = patience => return Ok("[]".to_owned()),
        };
        let Some(first) = first else { return Ok("null".to_owned()) };
        let mut batch = vec![told(&first)];
        while batch.len() < BATCH_MAX {
            // What is there already, and no more.
            tokio::select! {
                biased;
                Some(heard) = events.next() => batch.push(told(&heard)),
                () = std::future::ready(()) => break,
            }
        }
        Ok(format!("[{}]", batch.join(",")))
    }

    /// Stops listening.
    pub(crate) fn close(&self, streams: &Streams) -> String {
        if let Some(stream) = streams.state.lock().1.remove(&self.stream) {
            stream.closed.notify_one();
        }
        "null".to_owned()
    }
}
