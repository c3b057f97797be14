//! Queueing a job and waiting for what it has to say.

use std::time::Duration;

use keyrack_store::{Event, Subscription};
use serde::Serialize;
use serde_json::Value;

use super::{
    error::Error,
    keys::{self, JobUid},
    push::Producer,
};

impl Producer {
    /// Queues a job and waits until it announces its outcome.
    ///
    /// The job gets `job_uid` as a further argument. It has to be an id that nobody used before, since the outcome comes on a
    /// channel of that name. A job that fails, is lost or is of a kind that announces nothing answers nobody: the limit ends
    /// the wait.
    ///
    /// # Errors
    /// As [`Producer::push`], and when no outcome came within `limit`.
    pub async fn call_and_wait(
        &self,
        name: &str,
        kwargs: &impl Serialize,
        job_uid: &JobUid,
        limit: Duration,
    ) -> Result<Value, Error> {
        let kwargs = with_job_uid(name, kwargs, job_uid)?;
        // A quick worker answers before a later subscription would stand.
        let mut events = self.store.subscribe(&[keys::job_events(job_uid)]).await?;
        self.push(name, &kwargs).await?;
        let mut interrupted = false;
        let answer =
            tokio::time::timeout(limit, first_message(&mut events, &mut interrupted)).await;
        match answer {
            Ok(Some(payload)) => serde_json::from_slice(&payload)
                .map_err(|source| Error::BadAnswer { name: name.to_owned(), source }),
            Ok(None) | Err(_) => Err(Error::NoAnswer { name: name.to_owned(), limit, interrupted }),
        }
    }
}

/// The first message; `None` when the store is gone. Whether one may have been missed is told at once, in case time runs out.
async fn first_message(events: &mut Subscription, interrupted: &mut bool) -> Option<Vec<u8>> {
    loop {
        match events.next().await? {
            Event::Message(message) => return Some(message.payload),
            Event::Gap => *interrupted = true,
        }
    }
}

fn with_job_uid(name: &str, kwargs: &impl Serialize, job_uid: &JobUid) -> Result<Value, Error> {
    let no_json = |source| Error::KwargsNoJson { name: name.to_owned(), source };
    let mut kwargs = serde_json::to_value(kwargs).map_err(no_json)?;
    let Some(map) = kwargs.as_object_mut() else {
        return Err(Error::KwargsNoObject { name: name.to_owned() });
    };
    map.insert("job_uid".to_owned(), job_uid.as_str().into());
    Ok(kwargs)
}
