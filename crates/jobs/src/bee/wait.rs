//! Claims that wait until there is something to claim, for workers that are not connected to the store.
//!
//! However many wait at one queue, one subscription listens for them and each new job wakes one of them: a job does not cost
//! as many calls as there are workers without work.

mod recent;
mod several;

use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use keyrack_store::{Event, Subscription};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, oneshot, watch},
    task::AbortHandle,
    time::{Instant, sleep_until, timeout_at},
};

pub use self::several::WeightedClaim;
use self::{
    recent::{RecentClaims, RecentWorkers},
    several::Turns,
};
use super::{
    claim::{Blocked, Claimed},
    hive::Hive,
    keys::{self, Jid, QueueName, WorkerId},
    reservation::SettleAndClaim,
    settle::{End, Outcome, Verdict},
    worker::ClaimTime,
};
use crate::Error;

/// Somebody asks now and then although nothing was heard, should a message have been lost.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// After how many lost workers a job is given only to a worker without other jobs, and no other beside it: these workers
/// say nothing about themselves.
const ALONE_AFTER: u64 = 2;

/// The place where claims wait. Cheap to clone; all clones are the same.
#[derive(Debug, Clone)]
pub struct Waiters {
    hive: Hive,
    queues: Arc<Mutex<HashMap<QueueName, Weak<QueueWaiters>>>>,
    claims: Arc<RecentClaims>,
    workers: Arc<RecentWorkers>,
    turns: Arc<Turns>,
}

/// Who claims, and how much.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The queue.
    pub queue: QueueName,
    /// The worker.
    pub worker: WorkerId,
    /// The most jobs that it takes.
    pub max: usize,
    /// For how long they are locked.
    pub lock: Duration,
}

impl Waiters {
    /// A place to wait at the queues of a hive.
    pub fn new(hive: &Hive) -> Waiters {
        Waiters {
            hive: hive.clone(),
            queues: Arc::default(),
            claims: Arc::default(),
            workers: Arc::default(),
            turns: Arc::default(),
        }
    }

    /// Claims jobs; when there are none, waits for some. Comes back empty when none have come in time.
    ///
    /// Dropping the future, or what it returns, gives the jobs back.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn claim(&self, claim: &Claim, wait: Duration) -> Result<ClaimGuard, Error> {
        let deadline = Instant::now() + wait;
        let caught = self.claim_once(claim).await?;
        if !caught.is_empty() || wait.is_zero() {
            return Ok(caught);
        }
        let queue_waiters = self.queue_waiters(&claim.queue).await?;
        loop {
            // From here on a job wakes this one, should the claim just miss it.
            let mut called = std::pin::pin!(queue_waiters.wakeup.notified());
            called.as_mut().enable();
            let caught = self.claim_once(claim).await?;
            let is_newly_full = queue_waiters.note(caught.claimed(), claim.max, self.hive.now_ms());
            // An end that was heard before nobody knew that ends matter is found by asking once more.
            if is_newly_full && caught.is_empty() && Instant::now() < deadline {
                continue;
            }
            if !caught.is_empty() || timeout_at(deadline, called).await.is_err() {
                return Ok(caught);
            }
        }
    }

    /// Settles jobs and claims the next in one step, without waiting.
    ///
    /// Dropping the future, or what it returns, gives the claimed jobs back; what was to be settled is.
    ///
    /// # Errors
    /// As [`Hive::settle`].
    pub async fn settle(
        &self,
        mut outcomes: Vec<Outcome>,
        claim: &Claim,
    ) -> Result<(Vec<Verdict>, ClaimGuard), Error> {
        outcomes.iter_mut().for_each(|outcome| self.claims.complete(outcome, &claim.worker));
        let (tell, told) = oneshot::channel();
        let (hive, its, claims) = (self.hive.clone(), claim.clone(), self.claims.clone());
        tokio::spawn(async move {
            let (outcomes, alone_after) = (outcomes.as_slice(), Some(ALONE_AFTER));
            let (max, lock) = (its.max, its.lock);
            let request =
                SettleAndClaim { outcomes, max, lock, alone_after, ..SettleAndClaim::default() };
            let settled = hive.settle_and_claim(&its.queue, &its.worker, &request).await;
            let _ = tell.send(settled.map(|settled| {
                let claimed = settled.claimed;
                (settled.verdicts, ClaimGuard { hive, claim: its, claimed, claims })
            }));
        });
        let nothing = |_| Ok((Vec::new(), self.nothing(claim)));
        told.await.unwrap_or_else(nothing)
    }

    /// Claims in a task of its own: the answer finds its way back even if nobody waits for it any more.
    async fn claim_once(&self, claim: &Claim) -> Result<ClaimGuard, Error> {
        let (tell, told) = oneshot::channel();
        let (hive, its, claims) = (self.hive.clone(), claim.clone(), self.claims.clone());
        tokio::spawn(async move {
            let claimed = hive
                .claim_after(&its.queue, &its.worker, its.max, its.lock, Some(ALONE_AFTER))
                .await;
            let caught = claimed.map(|claimed| ClaimGuard { hive, claim: its, claimed, claims });
            // Unheard, it is dropped, and the jobs go back.
            let _ = tell.send(caught);
        });
        told.await.unwrap_or_else(|_| Ok(self.nothing(claim)))
    }

    fn nothing(&self, claim: &Claim) -> ClaimGuard {
        let claimed = Claimed::default();
        let (hive, claims) = (self.hive.clone(), self.claims.clone());
        ClaimGuard { hive, claim: claim.clone(), claimed, claims }
    }

    /// The queue of a job that was handed out here a moment ago.
    pub fn queue_of(&self, jid: &Jid) -> Option<QueueName> {
        self.claims.queue_of(jid)
    }

    /// The lock for which a worker was registered here a moment ago.
    pub fn lock_of(&self, queue: &QueueName, worker: &WorkerId) -> Option<Duration> {
        self.workers.lock_of(queue, worker)
    }

    /// Whether the worker of a claim was registered here a moment ago, for as many jobs and for the same lock.
    pub fn is_registered(&self, claim: &Claim) -> bool {
        self.workers.has(claim)
    }

    /// Takes note of a worker that was registered by a heartbeat.
    pub fn note_registered(&self, claim: &Claim) {
        self.workers.remember(claim);
    }

    /// Takes note of a worker that has left.
    pub fn note_left(&self, queue: &QueueName, worker: &WorkerId) {
        self.workers.forget(queue, worker);
    }

    /// The waiting claims of a queue, as long as there are any.
    async fn queue_waiters(&self, queue: &QueueName) -> Result<Arc<QueueWaiters>, Error> {
        let present = || self.queues.lock().get(queue).and_then(Weak::upgrade);
        if let Some(queue_waiters) = present() {
            return Ok(queue_waiters);
        }
        let channel = keys::queue_events(queue, &queue.group());
        let messages = self.hive.store().subscribe(&[channel]).await?;
        let mut queues = self.queues.lock();
        if let Some(queue_waiters) = queues.get(queue).and_then(Weak::upgrade) {
            return Ok(queue_waiters);
        }
        queues.retain(|_, queue_waiters| queue_waiters.strong_count() > 0);
        let queue_waiters = QueueWaiters::open(self.hive.clone(), messages);
        queues.insert(queue.clone(), Arc::downgrade(&queue_waiters));
        Ok(queue_waiters)
    }
}

/// What those who wait at one queue share.
#[derive(Debug)]
struct QueueWaiters {
    wakeup: Arc<Notify>,
    /// When to ask again without having heard anything.
    ask_at: watch::Sender<Instant>,
    /// Whether jobs could not start because too many run.
    is_full: Arc<AtomicBool>,
    wakeup_task: AbortHandle,
}

impl QueueWaiters {
    fn open(hive: Hive, messages: Subscription) -> Arc<QueueWaiters> {
        let (wakeup, is_full) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let (ask_at, ask_at_changes) = watch::channel(Instant::now() + ASK_EVERY);
        let wakeup_task =
            WakeupTask { hive, messages, wakeup: wakeup.clone(), is_full: is_full.clone() };
        let wakeup_task =
            tokio::spawn(wakeup_task.run(ask_at.clone(), ask_at_changes)).abort_handle();
        Arc::new(QueueWaiters { wakeup, ask_at, is_full, wakeup_task })
    }

    /// Takes note of what a claim said. True if it is the first that says that too many jobs run.
    fn note(&self, claimed: &Claimed, max: usize, now_ms: u64) -> bool {
        let is_full = claimed.blocked == Some(Blocked::Concurrency);
        let was_full = self.is_full.swap(is_full, Ordering::Relaxed);
        if claimed.jobs.len() == max {
            // There may be more, for somebody else.
            self.wakeup.notify_one();
        }
        if let Some(at) = claimed.again_at {
            ask_by(&self.ask_at, at, now_ms);
        }
        is_full && !was_full
    }
}

/// Has somebody ask at this time, in unix milliseconds, unless somebody does before.
fn ask_by(ask_at: &watch::Sender<Instant>, at: u64, now_ms: u64) {
    let at = Instant::now() + Duration::from_millis(at.saturating_sub(now_ms).max(1));
    ask_at.send_if_modified(|ask_at| {
        let is_sooner = at < *ask_at;
        *ask_at = at.min(*ask_at);
        is_sooner
    });
}

impl Drop for QueueWaiters {
    fn drop(&mut self) {
        self.wakeup_task.abort();
    }
}

/// Listens, and wakes those who wait.
struct WakeupTask {
    hive: Hive,
    messages: Subscription,
    wakeup: Arc<Notify>,
    is_full: Arc<AtomicBool>,
}

impl WakeupTask {
    async fn run(mut self, ask_at: watch::Sender<Instant>, mut changes: watch::Receiver<Instant>) {
        loop {
            let next = *changes.borrow_and_update();
            tokio::select! {
                event = self.messages.next() => match event {
                    Some(Event::Message(message)) => self.hear(&message.payload, &ask_at),
                    Some(Event::Gap) => self.wakeup.notify_waiters(),
                    None => return,
                },
                () = sleep_until(next) => {
                    ask_at.send_replace(Instant::now() + ASK_EVERY);
                    self.wakeup.notify_one();
                }
                changed = changes.changed() => if changed.is_err() { return },
            }
        }
    }

    fn hear(&self, message: &[u8], ask_at: &watch::Sender<Instant>) {
        match ClaimTime::of(message, self.is_full.load(Ordering::Relaxed)) {
            Some(ClaimTime::Now) => self.wakeup.notify_one(),
            Some(ClaimTime::At(ms)) => ask_by(ask_at, ms, self.hive.now_ms()),
            None => {}
        }
    }
}

/// Jobs that were claimed for somebody who may have gone: unless they are kept, they go back.
#[derive(Debug)]
#[must_use = "what is not kept goes back"]
pub struct ClaimGuard {
    hive: Hive,
    claim: Claim,
    claimed: Claimed,
    claims: Arc<RecentClaims>,
}

impl ClaimGuard {
    /// The queue that was asked.
    pub fn queue(&self) -> &QueueName {
        &self.claim.queue
    }

    /// What was claimed.
    pub fn claimed(&self) -> &Claimed {
        &self.claimed
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.claimed.jobs.is_empty()
    }

    /// Keeps the jobs: from now on they are the worker's.
    pub fn keep(mut self) -> Claimed {
        self.claims.remember(&self.claimed.jobs);
        std::mem::take(&mut self.claimed)
    }
}

impl Drop for ClaimGuard {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.is_empty() {
            return;
        }
        let outcomes: Vec<Outcome> =
            self.claimed.jobs.iter().map(|job| Outcome::of(job, End::Released)).collect();
        let (hive, claim) = (self.hive.clone(), self.claim.clone());
        runtime.spawn(async move {
            let settled =
                hive.settle(&claim.queue, &claim.worker, &outcomes, 0, claim.lock).await;
            if let Err(error) = settled {
                tracing::warn!(queue = %claim.queue, %error, "could not give jobs back; their locks will expire");
            }
        });
    }
}

#[cfg(test)]
mod tests;
