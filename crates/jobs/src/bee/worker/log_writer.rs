//! Takes what handlers log to the store.
//!
//! A handler puts a line into a buffer and continues. One task for all jobs of the worker writes the buffer to the store, four
//! times a second at most, and at once when an attempt ends. It runs only while there is something to write. The buffer has a
//! limit: when the store is slow or away, the oldest lines are dropped, and the logs of their jobs count them.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    sync::Notify,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::super::{
    hive::Hive,
    job::Job,
    keys::Jid,
    logs::{LogEntry, NewLogLine},
    progress::Progress,
};

/// The time between two calls.
const WRITE_EVERY: Duration = Duration::from_millis(250);
/// The wait after a call that failed.
const AGAIN_AFTER: Duration = Duration::from_millis(500);
/// When the store is away for longer, everything logged until then is dropped.
const OUTAGE_MAX: Duration = Duration::from_secs(60);
/// How long the end of an attempt waits for its lines: the end matters more than they do.
const END_WAITS_MAX: Duration = Duration::from_secs(1);

/// The most that waits for the store, of all jobs of the worker.
const BUFFER_LINES_MAX: usize = 10_000;
const BUFFER_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The most that goes into one call, so that other clients need not wait.
const CALL_LINES_MAX: usize = 500;
const CALL_BYTES_MAX: usize = 256 * 1024;

/// Takes what the handlers of a worker log to the store.
#[derive(Debug)]
pub(super) struct LogWriter {
    hive: Hive,
    /// Handlers may log from threads that belong to no runtime.
    runtime: Option<Handle>,
    buffer: Mutex<Buffer>,
    /// Somebody waits for what is in the buffer.
    hurry: Notify,
    /// Something has been stored, or given up.
    stored: Notify,
}

/// An attempt at a job.
type Attempt = (Jid, u64);

/// What waits for the store. Each line and each progress has a number, in the order in which they came.
#[derive(Debug, Default)]
struct Buffer {
    lines: VecDeque<Waiting>,
    n_bytes: usize,
    /// The last of each attempt.
    progress: HashMap<Attempt, (u64, String)>,
    /// How many lines of an attempt did not fit.
    dropped: HashMap<Attempt, u64>,
    last_number: u64,
    /// Everything up to this number is stored, or never will be.
    stored: u64,
    /// Whether a task writes.
    has_writer: bool,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    attempt: Attempt,
    json: String,
}

/// What goes into one call.
#[derive(Debug, Default)]
struct Batch {
    lines: Vec<Waiting>,
    progress: HashMap<Attempt, (u64, String)>,
    dropped: HashMap<Attempt, u64>,
}

impl LogWriter {
    pub(super) fn new(hive: &Hive) -> Arc<LogWriter> {
        Arc::new(LogWriter {
            hive: hive.clone(),
            runtime: Handle::try_current().ok(),
            buffer: Mutex::default(),
            hurry: Notify::new(),
            stored: Notify::new(),
        })
    }

    /// Takes a line of a job. Returns its number.
    pub(super) fn line(self: &Arc<Self>, job: &Job, line: &NewLogLine) -> u64 {
        let Some(jid) = job.id() else { return 0 };
        let attempt = (jid, job.attempts());
        let json = line.to_json(attempt.1);
        self.put(|buffer, number| buffer.put_line(Waiting { number, attempt, json }))
    }

    /// Takes a report of progress, in place of the one before. Returns its number.
    pub(super) fn progress(self: &Arc<Self>, job: &Job, progress: &Progress) -> u64 {
        let Some(jid) = job.id() else { return 0 };
        let json = progress.to_json();
        self.put(|buffer, number| {
            buffer.progress.insert((jid, progress.attempt), (number, json));
        })
    }

    fn put(self: &Arc<Self>, put: impl FnOnce(&mut Buffer, u64)) -> u64 {
        let mut buffer = self.buffer.lock();
        buffer.last_number += 1;
        let number = buffer.last_number;
        put(&mut buffer, number);
        if !buffer.has_writer
            && let Some(runtime) = &self.runtime
        {
            buffer.has_writer = true;
            runtime.spawn(Arc::clone(self).write());
        }
        number
    }

    /// Waits until everything up to a number is stored, but not for long.
    pub(super) async fn stored(&self, number: u64) {
        let all_stored = async {
            loop {
                // Made before looking, so that it hears of what comes in between.
                let stored = self.stored.notified();
                {
                    let buffer = self.buffer.lock();
                    if buffer.stored >= number || !buffer.has_writer {
                        return;
                    }
                }
                self.hurry.notify_one();
                stored.await;
            }
        };
        let _ = timeout(END_WAITS_MAX, all_stored).await;
    }

    /// Writes until nothing is left.
    async fn write(self: Arc<Self>) {
        let mut away_since: Option<Instant> = None;
        loop {
            let Some(batch) = self.next_batch() else { return };
            let called_at = Instant::now();
            let result = self.hive.write_log_entries(&batch.entries(), false).await;
            let failed = result.is_err();
            match result {
                Ok(_) => away_since = None,
                Err(error) if away_since.is_none_or(|since| since.elapsed() < OUTAGE_MAX) => {
                    if away_since.is_none() {
                        tracing::debug!(%error, "could not store what jobs have logged; will try again");
                    }
                    away_since.get_or_insert(called_at);
                    self.buffer.lock().take_back(batch);
                }
                Err(error) => {
                    tracing::warn!(%error, "what jobs have logged is lost: the store was away for too long");
                    self.buffer.lock().give_up();
                }
            }
            let has_full_batch = self.buffer.lock().note_stored();
            self.stored.notify_waiters();
            if failed {
                sleep(AGAIN_AFTER).await;
            } else if !has_full_batch {
                tokio::select! {
                    () = sleep_until(called_at + WRITE_EVERY) => {}
                    () = self.hurry.notified() => {}
                }
            }
        }
    }

    /// What is to be written next. When there is nothing, the writer has ended.
    fn next_batch(&self) -> Option<Batch> {
        let mut buffer = self.buffer.lock();
        let batch = buffer.next_batch();
        buffer.has_writer = batch.is_some();
        batch
    }
}

impl Buffer {
    fn put_line(&mut self, line: Waiting) {
        while self.lines.len() >= BUFFER_LINES_MAX
            || (self.n_bytes + line.json.len() > BUFFER_BYTES_MAX && !self.lines.is_empty())
        {
            self.drop_oldest();
        }
        self.n_bytes += line.json.len();
        self.lines.push_back(line);
    }

    fn drop_oldest(&mut self) {
        let Some(line) = self.lines.pop_front() else { return };
        self.n_bytes -= line.json.len();
        *self.dropped.entry(line.attempt).or_default() += 1;
    }

    fn next_batch(&mut self) -> Option<Batch> {
        let mut batch = Batch {
            lines: Vec::new(),
            progress: std::mem::take(&mut self.progress),
            dropped: std::mem::take(&mut self.dropped),
        };
        let mut n_bytes = 0;
        while batch.lines.len() < CALL_LINES_MAX
            && n_bytes < CALL_BYTES_MAX
            && let Some(line) = self.lines.pop_front()
        {
            self.n_bytes -= line.json.len();
            n_bytes += line.json.len();
            batch.lines.push(line);
        }
        let is_empty =
            batch.lines.is_empty() && batch.progress.is_empty() && batch.dropped.is_empty();
        (!is_empty).then_some(batch)
    }

    /// Takes back what could not be written. What came meanwhile is newer.
    fn take_back(&mut self, batch: Batch) {
        for line in batch.lines.into_iter().rev() {
            self.n_bytes += line.json.len();
            self.lines.push_front(line);
        }
        while self.lines.len() > BUFFER_LINES_MAX || self.n_bytes > BUFFER_BYTES_MAX {
            self.drop_oldest();
        }
        for (attempt, older) in batch.progress {
            self.progress.entry(attempt).or_insert(older);
        }
        for (attempt, n) in batch.dropped {
            *self.dropped.entry(attempt).or_default() += n;
        }
    }

    fn give_up(&mut self) {
        self.lines.clear();
        self.n_bytes = 0;
        self.progress.clear();
        self.dropped.clear();
    }

    /// Notes how far everything is stored, while nothing is under way. Returns whether there is a whole batch more.
    fn note_stored(&mut self) -> bool {
        let first_line = self.lines.front().map(|line| line.number);
        let first = self.progress.values().map(|(number, _)| *number).chain(first_line).min();
        self.stored = first.map_or(self.last_number, |number| number - 1);
        self.lines.len() >= CALL_LINES_MAX
    }
}

impl Batch {
    /// What there is about each attempt.
    fn entries(&self) -> Vec<LogEntry> {
        let mut entries: Vec<LogEntry> = Vec::new();
        let mut places: HashMap<&Attempt, usize> = HashMap::new();
        let mut entry = |attempt| -> usize {
            *places.entry(attempt).or_insert_with(|| {
                let (jid, number): &Attempt = attempt;
                entries.push(LogEntry::new(jid.clone(), *number));
                entries.len() - 1
            })
        };
        let places_of_lines: Vec<usize> =
            self.lines.iter().map(|line| entry(&line.attempt)).collect();
        let places_of_progress: Vec<usize> = self.progress.keys().map(&mut entry).collect();
        let places_of_dropped: Vec<usize> = self.dropped.keys().map(entry).collect();
        for (place, line) in places_of_lines.into_iter().zip(&self.lines) {
            entries[place].lines.push(line.json.clone());
        }
        for (place, (_, json)) in places_of_progress.into_iter().zip(self.progress.values()) {
            entries[place].progress = Some(json.clone());
        }
        for (place, n) in places_of_dropped.into_iter().zip(self.dropped.values()) {
            entries[place].dropped = *n;
        }
        entries
    }
}
