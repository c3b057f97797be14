//! The handle to the queues: who calls, at what time, on which store.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
};

use keyrack_keys::{Key, Layout};
use keyrack_store::{Call, Script, Store};
use parking_lot::Mutex;

use super::{
    ids,
    keys::{self, Group, Jid, QueueName},
    outcome::Ends,
    times::SlowestFilter,
};
use crate::Error;

/// For how long a queue is taken to be on the list of all queues: another process may have deleted it.
const LISTED_MS: u64 = 60_000;

/// A handle to all queues of a store. Cheap to clone; all clones are the same hive.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), keyrack_jobs::Error> {
/// use keyrack_jobs::bee::{Hive, Submission};
///
/// let hive = Hive::open(keyrack_store::Store::open("embedded:memory").await?).await?;
/// let jid = hive.submit(Submission::new("emails")?.arg("alice@example.com")).await?;
/// assert_eq!(hive.job(&jid).await?.queue(), "emails");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Hive {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    id: String,
    /// What to add to the store's clock to have the server's, in ms; 0 where the store's follows the server's by itself.
    clock_offset_ms: AtomicI64,
    /// Whether the options of Node hives are to be set with the first write: looking at a store is to leave no trace.
    owes_options: AtomicBool,
    /// Queues that are on the list of all queues already, and since when that is known.
    listed: Mutex<HashMap<QueueName, u64>>,
    ends: Ends,
    slowest: SlowestFilter,
}

impl Hive {
    /// Opens the queues of a store, by the clock of its server: machines whose clocks differ share queues.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn open(store: Store) -> Result<Hive, Error> {
        let hive = Hive::named(store, ids::hive_id());
        hive.adjust_clock().await?;
        hive.inner.owes_options.store(true, Ordering::Relaxed);
        Ok(hive)
    }

    /// A hive with an id of one's own, by the store's own clock.
    pub fn named(store: Store, id: impl Into<String>) -> Hive {
        let inner = Inner {
            store,
            id: id.into(),
            clock_offset_ms: AtomicI64::new(0),
            owes_options: AtomicBool::new(false),
            listed: Mutex::new(HashMap::new()),
            ends: Ends::default(),
            slowest: SlowestFilter::default(),
        };
        Hive { inner: Arc::new(inner) }
    }

    /// The store it works on.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Those who wait for the ends of its jobs.
    pub(super) fn ends(&self) -> &Ends {
        &self.inner.ends
    }

    /// Which attempts are slow enough to tell of.
    pub(super) fn slowest(&self) -> &SlowestFilter {
        &self.inner.slowest
    }

    /// Its id, as it stands in the history of jobs.
    pub fn id(&self) -> &str {
        &self.inner.id
    }

    /// The time by which it works, in unix milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.store()
            .now_ms()
            .saturating_add_signed(self.inner.clock_offset_ms.load(Ordering::Relaxed))
    }

    /// Asks the server for its time, unless the store's clock follows it by itself.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn adjust_clock(&self) -> Result<(), Error> {
        if self.store().clock().is_anchored() {
            return Ok(());
        }
        let before = self.store().now_ms();
        let (seconds, micros): (u64, u64) =
            redis::cmd("TIME").query_async(&mut self.store().connection()).await?;
        let after = self.store().now_ms();
        let server = seconds * 1000 + micros / 1000;
        // Within the time that the question took, nobody can say who is right.
        let uncertain = before.saturating_sub(1)..=after + 1;
        let offset = if uncertain.contains(&server) {
            0
        } else {
            server as i64 - before.midpoint(after) as i64
        };
        self.inner.clock_offset_ms.store(offset, Ordering::Relaxed);
        Ok(())
    }

    /// Sets the options of Node hives unless they are set: their scripts fail without. The first write to a queue does it too.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn set_options(&self) -> Result<(), Error> {
        let key = keys::hive_options();
        let mut cmd = redis::cmd("SET");
        cmd.arg(&*self.store().place(&key)).arg(r#"{"log":false}"#).arg("NX");
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    /// Puts a queue on the list of all queues.
    pub(crate) async fn list_queue(&self, queue: &QueueName) -> Result<(), Error> {
        let now = self.now_ms();
        let listed_at = self.inner.listed.lock().get(queue).copied();
        if listed_at.is_some_and(|at| now.abs_diff(at) < LISTED_MS) {
            return Ok(());
        }
        let mut cmd = redis::cmd("SADD");
        cmd.arg(&*self.store().place(&keys::queues())).arg(queue.as_str());
        let is_new: bool = cmd.query_async(&mut self.store().connection()).await?;
        if is_new {
            self.share_outbox_kinds(queue).await?;
        }
        if self.inner.owes_options.load(Ordering::Relaxed) {
            self.set_options().await?;
            self.inner.owes_options.store(false, Ordering::Relaxed);
        }
        self.inner.listed.lock().insert(queue.clone(), now);
        Ok(())
    }

    /// Takes a queue off the list of all queues.
    pub(crate) async fn unlist_queue(&self, queue: &QueueName) -> Result<(), Error> {
        self.inner.listed.lock().remove(queue);
        let mut cmd = redis::cmd("SREM");
        cmd.arg(&*self.store().place(&keys::queues())).arg(queue.as_str());
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    /// Begins a call of a script: what every script is told first.
    pub(crate) fn call<'a>(&'a self, script: &'static Script, group: &Group) -> Call<'a> {
        let tag = match self.store().layout() {
            Layout::Documented => String::new(),
            Layout::Cluster => front_tag(&keys::queue(&any_queue(), group)),
        };
        script.call(self.store()).arg("tag", tag).arg("hive", self.id()).arg("now", self.now_ms())
    }

    /// A call about a queue.
    pub(crate) fn call_on_queue<'a>(
        &'a self,
        script: &'static Script,
        queue: &QueueName,
    ) -> Call<'a> {
        let group = queue.group();
        self.call(script, &group)
            .key("queue", &keys::queue(queue, &group))
            .arg("queue", queue.as_str())
    }

    /// A call about a job.
    pub(crate) fn call_on_job<'a>(&'a self, script: &'static Script, jid: &Jid) -> Call<'a> {
        let group = jid.group();
        self.call(script, &group).key("job", &keys::job(jid, &group)).arg("jid", jid.as_str())
    }
}

impl std::fmt::Debug for Hive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hive").field("id", &self.inner.id).finish_non_exhaustive()
    }
}

/// The `{group}` that stands in front of every key of the group.
fn front_tag(key: &Key) -> String {
    let placed = key.placed(Layout::Cluster);
    placed.strip_suffix(key.name()).unwrap_or_default().to_owned()
}

fn any_queue() -> QueueName {
    QueueName::new("any").expect("a good name")
}
