//! Letting go of an entry: it has ended, or it goes to a list where others find it.

use std::time::Duration;

use keyrack_keys::Key;
use keyrack_store::{Error, Script};
use tokio::time::Instant;

use super::{Settings, outage::Outage};
use crate::hot::keys;

static FINISH_ENTRY: Script = keyrack_store::script!("finish_entry.lua");

/// How many entries are kept for an operator to look at; at a few hundred bytes each, a few megabytes.
const UNKNOWN_MAX: usize = 10_000;

/// How long letting go may take when the store is out of reach. A longer outage is longer than any restart.
const PATIENCE: Duration = Duration::from_secs(60);

/// An end of a list.
#[derive(Debug, Clone, Copy)]
enum End {
    Head,
    Tail,
}

impl Settings {
    /// The job has ended: nobody needs to run it again.
    pub(super) async fn finish(&self, entry: &[u8]) {
        if !self.reliable {
            return;
        }
        let taken = keys::taken(&self.id);
        let mut cmd = redis::cmd("LREM");
        cmd.arg(&*self.store.place(&taken)).arg(1).arg(entry);
        let mut patience = RetryDeadline::new(self, "noting the end of a job");
        let result = loop {
            let result = cmd.exec_async(&mut self.store.connection()).await.map_err(Error::from);
            if patience.is_over(&result).await {
                break result;
            }
        };
        if let Err(error) = result {
            let shown = shown(entry);
            tracing::error!(worker = self.id.as_str(), %error, shown, "the job has ended but may run again");
        }
        self.let_go(entry);
    }

    /// Keeps an entry that this worker cannot run where an operator finds it.
    pub(super) async fn set_aside(&self, entry: &[u8]) {
        let mut patience = RetryDeadline::new(self, "setting an entry aside");
        let result = loop {
            let result = self.put(&keys::unknown(), End::Tail, UNKNOWN_MAX, entry).await;
            if patience.is_over(&result).await {
                break result;
            }
        };
        match result {
            Ok(0) => {}
            Ok(dropped) => {
                let worker = self.id.as_str();
                tracing::warn!(
                    worker,
                    dropped,
                    "jobs:hot:unknown is full; its oldest entries are gone"
                );
            }
            Err(error) => self.tell_of_loss(entry, &error),
        }
        self.let_go(entry);
    }

    /// Puts an entry that was not begun back where it came from.
    pub(super) async fn put_back(&self, entry: &[u8]) {
        self.give_back(End::Head, entry).await;
        self.let_go(entry);
    }

    /// Puts an entry back that this worker never heard of taking.
    pub(super) async fn put_stranger_back(&self, entry: &[u8]) {
        self.give_back(End::Head, entry).await;
    }

    /// Puts an entry to the end of the queue, for a worker that knows it.
    pub(super) async fn leave_to_others(&self, entry: &[u8]) {
        self.give_back(End::Tail, entry).await;
        self.let_go(entry);
    }

    fn let_go(&self, entry: &[u8]) {
        if self.reliable {
            self.held.remove(entry);
        }
    }

    /// When the connection is lost on the way, the entry may be there already. Where the worker's own list does not tell, that
    /// has to do: twice would be too often.
    async fn give_back(&self, end: End, entry: &[u8]) {
        let mut patience = RetryDeadline::new(self, "putting a job back");
        let result = loop {
            let result = self.put(&keys::hot(), end, 0, entry).await;
            let is_done = matches!(result, Err(Error::Lost(_))) && !self.reliable;
            if is_done || patience.is_over(&result).await {
                break result;
            }
        };
        if let Err(error) = result {
            self.tell_of_loss(entry, &error);
        }
    }

    async fn put(&self, to: &Key, end: End, max: usize, entry: &[u8]) -> Result<u64, Error> {
        let taken = self.reliable.then(|| keys::taken(&self.id));
        let end = match end {
            End::Head => "head",
            End::Tail => "tail",
        };
        let call = FINISH_ENTRY.call(&self.store).key("to", to).keys("taken", &taken);
        call.arg("entry", entry).arg("side", end).arg("max", max).run().await
    }

    /// In reliable mode the entry still stands in the worker's list, from where it is put back after an outage, or when the worker stops.
    fn tell_of_loss(&self, entry: &[u8], error: &Error) {
        let (worker, entry) = (self.id.as_str(), shown(entry));
        if self.reliable {
            tracing::warn!(worker, %error, entry, "could not put a job down; it is put back later");
        } else {
            tracing::error!(worker, %error, entry, "could not put a job back; it may be lost");
        }
    }
}

/// Repeating what fails for a reason that passes.
struct RetryDeadline<'a> {
    worker: &'a str,
    outage: Outage,
    deadline: Instant,
}

impl RetryDeadline<'_> {
    fn new<'a>(settings: &'a Settings, doing: &'static str) -> RetryDeadline<'a> {
        let deadline = Instant::now() + PATIENCE;
        RetryDeadline { worker: settings.id.as_str(), outage: Outage::new(doing), deadline }
    }

    /// Whether this result has to do; if not, waits a little.
    async fn is_over<T>(&mut self, result: &Result<T, Error>) -> bool {
        match result {
            Err(error) if error.is_transient() && Instant::now() < self.deadline => {
                let error = error.to_string();
                self.outage.wait(self.worker, &error).await;
                false
            }
            _ => true,
        }
    }
}

/// Enough of an entry for a log.
pub(super) fn shown(entry: &[u8]) -> String {
    const SHOWN_MAX: usize = 1000;
    let text = String::from_utf8_lossy(&entry[..entry.len().min(SHOWN_MAX)]).into_owned();
    if entry.len() > SHOWN_MAX { text + "…" } else { text }
}
