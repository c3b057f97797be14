//! Waiting for the end of a job.
//!
//! However many wait for jobs of one queue, one subscription listens for them, and a message wakes only those who wait for
//! its job: the ends of ten thousand jobs that ten thousand wait for are read once each.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use keyrack_store::{Event as Published, Subscription};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::{sync::oneshot, task::AbortHandle};

use super::{
    events::{Event, EventKind},
    hive::Hive,
    job::{Job, Status},
    keys::{Jid, QueueName},
};
use crate::Error;

/// How soon a store that was lost is asked again.
const RETRY_PAUSE: Duration = Duration::from_millis(50);
/// How many of [`Hive::outcomes`] are waited for at once. The others are looked at when one has ended, and most have by then.
const TOGETHER_MAX: usize = 1024;

impl Hive {
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
            Observed::Waits(_) if patience.is_zero() => return Ok(None),
            Observed::Waits(job) => job,
        };
        match tokio::time::timeout(patience, self.wait_for_end(job)).await {
            Ok(ended) => ended.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Waits until all of some jobs have ended, as [`Hive::outcome`] does for one. In the order of their ids: each job, `None`
    /// for one that has not ended in time, or the error of one that there is not.
    pub async fn outcomes(
        &self,
        jids: Vec<Jid>,
        patience: Duration,
    ) -> Vec<Result<Option<Job>, Error>> {
        let deadline = tokio::time::Instant::now() + patience;
        let outcomes = stream::iter(jids).map(|jid| async move {
            let left = deadline.saturating_duration_since(tokio::time::Instant::now());
            self.outcome(&jid, left).await
        });
        outcomes.buffered(TOGETHER_MAX).collect().await
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
        let ends = self.ends().of_queue(self, &queue).await?;
        loop {
            let Some(jid) = job.id() else { return Ok(job) };
            let heard = ends.listen(jid.as_str());
            // What happened before anybody listened, or in a gap, is told by the job alone.
            job = match self.look_again(&jid).await? {
                Observed::Ended(job) => return Ok(job),
                Observed::Waits(original) if original.jid() != jid.as_str() => {
                    job = original;
                    continue;
                }
                Observed::Waits(job) => job,
            };
            if let Some(last) = heard.next().await? {
                // The store knows more than the message, unless the job was told to run again meanwhile.
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

/// Those who wait for ends, by queue.
#[derive(Debug, Default)]
pub(super) struct Ends {
    queues: Mutex<HashMap<QueueName, Weak<QueueEnds>>>,
}

impl Ends {
    /// The ends of a queue's jobs, as long as anybody waits for one.
    async fn of_queue(&self, hive: &Hive, queue: &QueueName) -> Result<Arc<QueueEnds>, Error> {
        if let Some(ends) = self.standing(queue) {
            return Ok(ends);
        }
        let messages = hive.subscribe(std::slice::from_ref(queue)).await?;
        let mut queues = self.queues.lock();
        // Of those who subscribed at the same time, the first serves all.
        if let Some(ends) = queues.get(queue).and_then(Weak::upgrade).filter(|ends| ends.stands()) {
            return Ok(ends);
        }
        queues.retain(|_, ends| ends.strong_count() > 0);
        let ends = QueueEnds::open(messages);
        queues.insert(queue.clone(), Arc::downgrade(&ends));
        Ok(ends)
    }

    fn standing(&self, queue: &QueueName) -> Option<Arc<QueueEnds>> {
        self.queues.lock().get(queue).and_then(Weak::upgrade).filter(|ends| ends.stands())
    }
}

/// What those who wait at one queue share.
#[derive(Debug)]
struct QueueEnds {
    listeners: Arc<Listeners>,
    task: AbortHandle,
}

impl QueueEnds {
    fn open(messages: Subscription) -> Arc<QueueEnds> {
        let listeners = Arc::new(Listeners::default());
        let task = tokio::spawn(dispatch(messages, listeners.clone())).abort_handle();
        Arc::new(QueueEnds { listeners, task })
    }

    /// Whether its subscription still stands, in a runtime that still runs.
    fn stands(&self) -> bool {
        !self.task.is_finished()
    }

    /// Listens for the end of a job from now on.
    fn listen(&self, jid: &str) -> OutcomeListener<'_> {
        let (tell, told) = oneshot::channel();
        let mut state = self.listeners.state.lock();
        state.last += 1;
        let number = state.last;
        state.by_jid.entry(jid.to_owned()).or_default().push((number, tell));
        OutcomeListener { listeners: &self.listeners, jid: jid.to_owned(), number, told }
    }
}

impl Drop for QueueEnds {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Debug, Default)]
struct Listeners {
    state: Mutex<ListenersState>,
}

#[derive(Debug, Default)]
struct ListenersState {
    last: u64,
    by_jid: HashMap<String, Vec<Listener>>,
}

/// The number of one who listens, and where it is told of the end.
type Listener = (u64, oneshot::Sender<Option<Job>>);

impl Listeners {
    /// Tells all who wait for a job: its end, or that they have to look at it again.
    fn tell(&self, jid: &str, end: Option<&Job>) {
        let told = self.state.lock().by_jid.remove(jid);
        for (_, listener) in told.into_iter().flatten() {
            // Whoever waits no more has left in this moment.
            let _ = listener.send(end.cloned());
        }
    }

    fn is_awaited(&self, jid: &str) -> bool {
        self.state.lock().by_jid.contains_key(jid)
    }

    /// Has everybody look again.
    fn tell_of_gap(&self) {
        let all = std::mem::take(&mut self.state.lock().by_jid);
        for (_, listener) in all.into_values().flatten() {
            let _ = listener.send(None);
        }
    }

    /// Nobody will hear anything any more: what is dropped says so.
    fn end(&self) {
        self.state.lock().by_jid.clear();
    }
}

/// Somebody who listens for the end of a job; dropped, it listens no more.
struct OutcomeListener<'a> {
    listeners: &'a Listeners,
    jid: String,
    number: u64,
    told: oneshot::Receiver<Option<Job>>,
}

impl OutcomeListener<'_> {
    /// The job at its end; `None` when it has to be looked at again.
    async fn next(mut self) -> Result<Option<Job>, Error> {
        (&mut self.told).await.map_err(|_| gone())
    }
}

impl Drop for OutcomeListener<'_> {
    fn drop(&mut self) {
        let mut state = self.listeners.state.lock();
        if let Some(same) = state.by_jid.get_mut(&self.jid) {
            same.retain(|(number, _)| *number != self.number);
            if same.is_empty() {
                state.by_jid.remove(&self.jid);
            }
        }
    }
}

/// What a message is about; all else in it is passed over.
#[derive(Deserialize)]
struct Heading<'a> {
    #[serde(borrow)]
    r#type: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    jid: std::borrow::Cow<'a, str>,
}

/// Reads the messages of a queue until nobody waits any more, and wakes whom they concern.
async fn dispatch(mut messages: Subscription, listeners: Arc<Listeners>) {
    // A runtime that ends drops this in the middle.
    let _end = EndOfDispatch(listeners.clone());
    while let Some(heard) = messages.next().await {
        match heard {
            Published::Gap => listeners.tell_of_gap(),
            Published::Message(message) => hear(&message.payload, &listeners),
        }
    }
}

struct EndOfDispatch(Arc<Listeners>);

impl Drop for EndOfDispatch {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn hear(payload: &[u8], listeners: &Listeners) {
    // Of a busy queue nearly all messages are about jobs that nobody waits for, and not worth more.
    let Ok(heading) = serde_json::from_slice::<Heading<'_>>(payload) else { return };
    match EventKind::from_word(&heading.r#type) {
        EventKind::Completed | EventKind::Failed | EventKind::Canceled => {
            if listeners.is_awaited(&heading.jid)
                && let Some(event) = Event::parse(payload)
            {
                listeners.tell(&event.jid, event.job.as_ref());
            }
        }
        EventKind::Duplicate => listeners.tell(&heading.jid, None),
        EventKind::New
        | EventKind::Progress
        | EventKind::Delayed
        | EventKind::Resumed
        | EventKind::Other => {}
    }
}

fn gone() -> Error {
    Error::Store(keyrack_store::Error::Unreachable {
        target: "the store".into(),
        reason: "its subscriptions have ended".into(),
    })
}

#[cfg(test)]
mod tests;
