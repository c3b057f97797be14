//! The thread that takes appended units to disk, a batch at a time.
//!
//! A write that fails (no space, a file size limit) is tried again for as long as it takes: the
//! file is cut back to its last whole batch, the batch stays in memory, and writers are told. A
//! sync that fails ends the process, for the reason given at [`super::log::Options::on_fatal`].

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering::AcqRel},
    thread,
    time::{Duration, Instant},
};

use parking_lot::MutexGuard;

use super::{
    Error,
    background::BackgroundSync,
    disk::Disk,
    folder::ManifestError,
    frame::{self, HEADER_LEN},
    log::{Fsync, Queue, Shared},
    rewrite::Switch,
};

/// How often the log is synced with [`Fsync::EverySec`].
///
/// Half of what may be lost, so that the sync has the other half for itself.
const SYNC_INTERVAL: Duration = Duration::from_millis(500);

/// How long a batch gathers when nobody waits for it.
///
/// Without the pause the writer would be woken for every unit, which costs the engine more than
/// the append itself.
const GATHER_TIME: Duration = Duration::from_millis(1);

/// The part of a sync's duration that is worth waiting for more writers to share the next one.
const GROUP_TIME_DIVISOR: u32 = 8;

/// The most that is waited for that, should a sync take unusually long.
const GROUP_TIME_MAX: Duration = Duration::from_millis(1);

/// How long to wait before a failed write is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Buffers that grew beyond this are given back to the allocator.
const SPARE_LEN_MAX: usize = 1024 * 1024;

pub(super) struct Writer {
    shared: Arc<Shared>,
    disk: Arc<dyn Disk>,
    /// The length of the file up to its last whole batch.
    len: u64,
    /// The position up to which the log is written, and synced.
    written: u64,
    synced: u64,
    /// When the last sync ended, or began if it runs in the background.
    synced_at: Instant,
    background: Option<BackgroundSync>,
    sync_time: Duration,
    /// How many writers the last sync let go on.
    n_woken: usize,
    /// Whether the last round wrote something, so that more is likely to come.
    busy: bool,
    spare: Vec<u8>,
    /// The change of files under way.
    switching: Option<Arc<Switch>>,
}

/// What there is to do.
enum Work {
    Write {
        batch: Vec<u8>,
        upto: u64,
        switch: Option<Arc<Switch>>,
    },
    Sync,
    /// The sync in the background is done.
    EndSync,
    Close,
}

/// Why the thread ends early, having told everybody.
enum Stopped {
    /// The log was closed while the disk refused a batch.
    Refused(String),
    /// A sync failed, and the hook that should have ended the process came back.
    Fatal(String),
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, disk: Arc<dyn Disk>, len: u64) -> Writer {
        Writer {
            shared,
            disk,
            len,
            written: 0,
            synced: 0,
            synced_at: Instant::now(),
            background: None,
            sync_time: Duration::ZERO,
            n_woken: 0,
            busy: false,
            spare: vec![0; HEADER_LEN],
            switching: None,
        }
    }

    /// Works until the log is closed.
    pub(super) fn run(mut self) -> Result<(), Error> {
        // A panic must not leave those who wait for it waiting for ever. How much of a batch it has written is open, as
        // after a failed sync.
        let worked = catch_unwind(AssertUnwindSafe(|| self.work()));
        let worked = worked.unwrap_or_else(|panic| {
            let message = panic_text(&*panic);
            let message = format!("the thread that writes the log has failed: {message}");
            self.shared.fatal(&message);
            Err(Stopped::Fatal(message))
        });
        let (reason, result) = match worked {
            Ok(()) => (None, Ok(())),
            Err(Stopped::Refused(reason) | Stopped::Fatal(reason)) => {
                (Some(reason.clone()), Err(Error::Unsaved { reason }))
            }
        };
        self.shared.commits.stop(reason);
        let mut queue = self.shared.queue.lock();
        queue.closing = true;
        let waiting = queue.switch.take().map(|(_, switch)| switch);
        for switch in waiting.into_iter().chain(self.switching.take()) {
            // A rewrite must not wait for an answer that never comes.
            switch.settle(Err(Error::Closed));
        }
        self.shared.space.notify_all();
        result
    }

    fn work(&mut self) -> Result<(), Stopped> {
        loop {
            match self.next_work() {
                Work::Write { batch, upto, switch } => {
                    self.switching = switch;
                    self.write(batch, upto)?;
                    if let Some(switch) = self.switching.clone() {
                        self.switch(&switch)?;
                        self.switching = None;
                    }
                }
                Work::Sync if self.shared.commits.fsync() == Fsync::Always => self.sync()?,
                Work::Sync => self.begin_sync()?,
                Work::EndSync => self.end_sync()?,
                Work::Close => return self.sync(),
            }
        }
    }

    /// Sleeps until there is something to do.
    fn next_work(&mut self) -> Work {
        let shared = Arc::clone(&self.shared);
        let mut queue = shared.queue.lock();
        match shared.commits.fsync() {
            Fsync::Always => self.await_group(&mut queue),
            Fsync::EverySec | Fsync::No if self.busy && !queue.closing => {
                shared.work.wait_for(&mut queue, GATHER_TIME);
            }
            Fsync::EverySec | Fsync::No => {}
        }
        self.busy = false;
        loop {
            if self.background.as_ref().is_some_and(BackgroundSync::is_done) {
                return Work::EndSync;
            }
            if queue.pending.len() > HEADER_LEN || queue.switch.is_some() {
                self.busy = true;
                return self.take(&mut queue);
            }
            if queue.closing {
                return Work::Close;
            }
            let sync_due = match shared.commits.fsync() {
                _ if self.synced == self.written => None,
                Fsync::Always => Some(Duration::ZERO),
                // The one under way rings when it is done.
                Fsync::EverySec if self.background.is_some() => None,
                Fsync::EverySec => Some(SYNC_INTERVAL.saturating_sub(self.synced_at.elapsed())),
                Fsync::No => None,
            };
            queue.parked = true;
            match sync_due {
                Some(Duration::ZERO) => {
                    queue.parked = false;
                    return Work::Sync;
                }
                Some(delay) => _ = shared.work.wait_for(&mut queue, delay),
                None => shared.work.wait(&mut queue),
            }
            queue.parked = false;
        }
    }

    /// Gives the writers that the last sync let go on a moment to come back with their next units.
    ///
    /// Otherwise the first of them would have a sync of its own and all others wait for the one
    /// after it, which doubles the number of syncs for the same work.
    fn await_group(&mut self, queue: &mut MutexGuard<'_, Queue>) {
        let n_woken = std::mem::take(&mut self.n_woken);
        let group_time = (self.sync_time / GROUP_TIME_DIVISOR).min(GROUP_TIME_MAX);
        let deadline = self.synced_at + group_time;
        while n_woken > 1 && queue.n_units < n_woken && !queue.closing && Instant::now() < deadline
        {
            MutexGuard::unlocked(queue, thread::yield_now);
        }
    }

    /// Takes what is pending, up to where the next file begins if a rewrite asked for one.
    fn take(&mut self, queue: &mut Queue) -> Work {
        let fresh = std::mem::take(&mut self.spare);
        let mut batch = std::mem::replace(&mut queue.pending, fresh);
        let mut upto = queue.appended;
        queue.n_units = 0;
        let switch = queue.switch.take().map(|(at, switch)| {
            let rest = &batch[at..];
            queue.pending.extend_from_slice(rest);
            upto -= rest.len() as u64;
            batch.truncate(at);
            switch
        });
        self.shared.space.notify_all();
        Work::Write { batch, upto, switch }
    }

    /// Writes one batch, however long the disk refuses it, and syncs as the setting demands.
    fn write(&mut self, mut batch: Vec<u8>, upto: u64) -> Result<(), Stopped> {
        if batch.len() > HEADER_LEN {
            frame::seal(&mut batch, self.len);
            self.write_with_retry(&batch)?;
            self.len += batch.len() as u64;
            self.shared.size.fetch_add(batch.len() as u64, AcqRel);
        }
        self.written = upto;
        batch.truncate(HEADER_LEN);
        batch.shrink_to(SPARE_LEN_MAX);
        self.spare = batch;
        match self.shared.commits.fsync() {
            Fsync::Always => self.sync(),
            Fsync::EverySec
                if self.background.is_none() && self.synced_at.elapsed() >= SYNC_INTERVAL =>
            {
                self.begin_sync()
            }
            Fsync::EverySec | Fsync::No => Ok(()),
        }
    }

    fn write_with_retry(&mut self, batch: &[u8]) -> Result<(), Stopped> {
        while let Err(error) = self.disk.write_at(batch, self.len) {
            // Should this fail too, the next attempt overwrites the remains, and a restart cuts
            // them as a torn end.
            let _ = self.disk.truncate(self.len);
            let reason = format!("could not write to the log: {error}");
            self.shared.commits.refuse(reason.clone());
            let mut queue = self.shared.queue.lock();
            self.shared.space.notify_all();
            if queue.closing {
                return Err(Stopped::Refused(reason));
            }
            self.shared.work.wait_for(&mut queue, RETRY_INTERVAL);
        }
        self.shared.commits.recover();
        Ok(())
    }

    /// Waits until everything written is on stable storage.
    fn sync(&mut self) -> Result<(), Stopped> {
        // Of two syncs at a time only one would hear of an error.
        self.end_sync()?;
        if self.synced < self.written {
            let started_at = Instant::now();
            self.disk.sync().or_else(|error| self.fatal("sync the log", &error))?;
            self.synced = self.written;
            self.sync_time = started_at.elapsed();
            self.n_woken = self.shared.note_synced(self.synced, started_at);
        }
        self.synced_at = Instant::now();
        Ok(())
    }

    /// Begins a sync in the background.
    fn begin_sync(&mut self) -> Result<(), Stopped> {
        match BackgroundSync::start(&self.shared, &self.disk, self.written) {
            Ok(background) => {
                self.synced_at = background.started_at();
                self.background = Some(background);
                Ok(())
            }
            // The system has no thread to spare, so this one has to wait.
            Err(_) => self.sync(),
        }
    }

    /// Takes the result of the sync in the background, after waiting for it if need be.
    fn end_sync(&mut self) -> Result<(), Stopped> {
        match self.background.take().map(BackgroundSync::finish) {
            None => Ok(()),
            Some(Ok(upto)) => {
                self.synced = upto;
                Ok(())
            }
            Some(Err(error)) => self.fatal("sync the log", &error),
        }
    }

    /// Closes the current file and goes on in a new one.
    fn switch(&mut self, switch: &Switch) -> Result<(), Stopped> {
        // Only the last file may end torn, so this one has to be whole before it is not the last.
        self.sync()?;
        let begun = self.shared.files.lock().begin_incr(self.len);
        match begun {
            Ok((seq, file)) => {
                self.disk = Arc::new(file);
                self.len = 0;
                switch.settle(Ok(seq));
                Ok(())
            }
            // The current file stays in use, and the rewrite fails.
            Err(ManifestError::Kept(error)) => {
                switch.settle(Err(error));
                Ok(())
            }
            Err(ManifestError::Unsynced(error)) => self.fatal("sync the log", &error),
        }
    }

    fn fatal(&self, attempt: &str, error: &dyn std::error::Error) -> Result<(), Stopped> {
        let mut message = format!("could not {attempt}: {error}");
        if let Some(source) = error.source() {
            message = format!("{message}: {source}");
        }
        self.shared.fatal(&message);
        Err(Stopped::Fatal(message))
    }
}

/// What a panic said.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic")
}
