//! Somebody who listens to the queues: every end is announced, and announced once.

use std::collections::BTreeMap;

use keyrack_jobs::bee::{EventStream, Hive, StreamItem, keys};

use super::{check::same, seen::Entry, world::queue_name};

/// Ends that are announced with the whole job, by the name that they have in its history.
const ENDS: [&str; 5] = ["completed", "failed", "duplicate", "canceled", "expired"];

pub(super) struct Listener {
    stream: EventStream,
    /// How often each end of each job was heard of.
    ends: BTreeMap<(String, &'static str), usize>,
    n_marks: usize,
}

impl Listener {
    pub(super) async fn open(hive: &Hive) -> Listener {
        let stream = hive.events(&[queue_name(0), queue_name(1)]).await.expect("events");
        Listener { stream, ends: BTreeMap::new(), n_marks: 0 }
    }

    /// Takes in everything that was told up to now.
    pub(super) async fn listen(&mut self, hive: &Hive) -> Result<(), String> {
        self.n_marks += 1;
        let mark = format!("mark{}", self.n_marks);
        let message = serde_json::json!({"type": "mark", "jid": mark, "queue": ""});
        let channel = keys::queue_events(&queue_name(0), &queue_name(0).group());
        let told = hive.store().publish(&channel, message.to_string()).await;
        told.map_err(|error| error.to_string())?;
        loop {
            let Some(StreamItem::Event(event)) = self.stream.next().await else {
                return Err("events were missed".into());
            };
            if event.jid == mark {
                return Ok(());
            }
            if ENDS.contains(&event.kind.as_str()) {
                let status = event.job.as_ref().map(|job| job.status().as_str());
                // A job that has not started in time is told of as a failure, for listeners that know no other word.
                let told = if status == Some("expired") { "failed" } else { status.unwrap_or("") };
                same(&format!("the event of {}", event.jid), &told, &event.kind.as_str())?;
                let end = ENDS.into_iter().find(|end| Some(*end) == status).expect("an end");
                *self.ends.entry((event.jid.clone(), end)).or_default() += 1;
            }
        }
    }

    /// Another job has this id from now on.
    pub(super) fn forget(&mut self, jid: &str) {
        self.ends.retain(|(of, _), _| of != jid);
    }

    /// Whether what was heard of a job is what has happened to it.
    pub(super) fn check(&self, jid: &str, history: &[Entry]) -> Result<(), String> {
        for end in ENDS {
            let happened = history.iter().filter(|entry| entry.event == end).count();
            let heard = self.ends.get(&(jid.to_owned(), end)).copied().unwrap_or(0);
            same(&format!("how often {jid} was announced as {end}"), &happened, &heard)?;
        }
        Ok(())
    }
}
