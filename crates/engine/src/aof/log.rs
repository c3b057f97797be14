//! The running log: where the engine leaves its effects, and how it learns that they are safe.
//!
//! Appending copies bytes into a buffer and nothing else; a thread of its own ([`super::writer`])
//! takes the buffer to disk. Everything that was appended while one batch was being synced shares
//! the next sync, so the cost of a sync is divided by the number of concurrent writers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Acquire},
    },
    thread::{self, JoinHandle},
    time::Instant,
};

use parking_lot::{Condvar, Mutex};

use super::{
    Error,
    commit::{Commits, Committed},
    disk::Disk,
    folder::Folder,
    frame::HEADER_LEN,
    load::Loading,
    manifest::Manifest,
    rewrite::{Rewrite, Switch},
    writer::Writer,
};

/// Appending waits for the disk when this much is waiting to be written.
///
/// Reached only when the disk is slower than the engine for a while and nobody waits for it
/// (`everysec`, `no`); the alternative is to run out of memory.
const PENDING_LEN_MAX: usize = 64 * 1024 * 1024;

/// When a write counts as done; Redis' `appendfsync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fsync {
    /// After the sync that covers it: an acknowledged write survives power loss.
    #[default]
    Always,
    /// At once, while the log is synced in the background. A crash of the process or a power loss
    /// takes at most one second's worth of acknowledged writes: should the disk not keep up with
    /// that, writers wait for it.
    EverySec,
    /// At once; the system decides when to sync.
    No,
}

impl Fsync {
    pub(super) fn from_u8(n: u8) -> Fsync {
        [Fsync::Always, Fsync::EverySec, Fsync::No][usize::from(n)]
    }
}

/// What is called before the process stops because the disk lost data.
pub(crate) type OnFatal = Arc<dyn Fn(&str) + Send + Sync>;

/// How a log is run.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) fsync: Fsync,
    /// Called with a message when a sync fails, from the writer's thread; must end the process.
    ///
    /// After a failed sync the kernel has dropped the pages it could not write, and a second sync
    /// succeeds without them: there is no way to know what is on disk other than to read it again.
    pub(crate) on_fatal: OnFatal,
    /// Told how much has been replayed.
    pub(crate) loading: Arc<Loading>,
}

impl Default for Options {
    /// `always`, and a message on standard error before the process aborts.
    fn default() -> Options {
        Options { fsync: Fsync::default(), on_fatal: Arc::new(abort), loading: Arc::default() }
    }
}

fn abort(message: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "keyrack: {message}; stopping");
    std::process::abort();
}

/// What the handle, the writer and a rewrite share.
pub(super) struct Shared {
    pub(super) queue: Mutex<Queue>,
    /// Rung when the writer has something to do.
    pub(super) work: Condvar,
    /// Rung when the writer has taken what was pending.
    pub(super) space: Condvar,
    pub(super) commits: Arc<Commits>,
    /// The folder and its manifest as it is on disk.
    pub(super) files: Mutex<Files>,
    pub(super) rewriting: AtomicBool,
    /// The length of all live files together.
    pub(super) size: AtomicU64,
    pub(super) base_size: AtomicU64,
    pub(super) on_fatal: Mutex<OnFatal>,
}

/// What is appended and not yet with the writer.
pub(super) struct Queue {
    /// Room for a batch header, then units.
    pub(super) pending: Vec<u8>,
    /// How many units `pending` holds.
    pub(super) n_units: usize,
    /// How many bytes of units were ever appended, and how many of them are synced.
    pub(super) appended: u64,
    pub(super) synced: u64,
    /// Where in `pending` the next file begins.
    pub(super) switch: Option<(usize, Arc<Switch>)>,
    /// Whether the writer sleeps until it is rung for.
    pub(super) parked: bool,
    pub(super) closing: bool,
}

/// The folder and what is in it.
pub(super) struct Files {
    pub(super) folder: Folder,
    pub(super) manifest: Manifest,
    pub(super) closed: bool,
}

impl Shared {
    /// Says what has happened and ends the process, unless a test has it otherwise.
    pub(super) fn fatal(&self, message: &str) {
        let on_fatal = self.on_fatal.lock().clone();
        on_fatal(message);
    }

    /// Wakes the writer if it sleeps; the queue is locked by the caller.
    pub(super) fn ring(&self, queue: &mut Queue) {
        if queue.parked {
            queue.parked = false;
            self.work.notify_one();
        }
    }

    /// Notes that a sync which began at `started_at` covers everything up to `upto`, lets those who
    /// wait for that go on, and returns how many they are.
    pub(super) fn note_synced(&self, upto: u64, started_at: Instant) -> usize {
        let mut queue = self.queue.lock();
        queue.synced = upto;
        // What came later cannot be older than the sync.
        self.commits.set_unsynced_since((queue.appended > upto).then_some(started_at));
        drop(queue);
        let n_woken = self.commits.advance(upto);
        if self.commits.fsync() != Fsync::Always {
            // The disk may have caught up enough for all others too.
            self.commits.review();
        }
        n_woken
    }
}

/// A log that is open for appending.
///
/// Dropping it closes it.
pub(crate) struct Log {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<Result<(), Error>>>>,
}

impl Log {
    /// Starts the writer on `disk`, the last incr file of `manifest`.
    pub(super) fn start(
        folder: Folder,
        manifest: Manifest,
        disk: Arc<dyn Disk>,
        sizes: Sizes,
        options: Options,
    ) -> Result<Log, Error> {
        let log_dir = folder.log_dir().to_owned();
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue {
                pending: vec![0; HEADER_LEN],
                n_units: 0,
                appended: 0,
                synced: 0,
                switch: None,
                parked: false,
                closing: false,
            }),
            work: Condvar::new(),
            space: Condvar::new(),
            commits: Arc::default(),
            files: Mutex::new(Files { folder, manifest, closed: false }),
            rewriting: AtomicBool::new(false),
            size: AtomicU64::new(sizes.all),
            base_size: AtomicU64::new(sizes.base),
            on_fatal: Mutex::new(options.on_fatal),
        });
        shared.commits.set_fsync(options.fsync);
        let writer = Writer::new(Arc::clone(&shared), disk, sizes.last);
        let thread = thread::Builder::new()
            .name("keyrack-log".to_owned())
            .spawn(move || writer.run())
            .map_err(Error::io("start a thread to write", log_dir))?;
        Ok(Log { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Adds a unit: the RESP-encoded effects of one command, or of one transaction or script with
    /// MULTI and EXEC round them. Returns the position to wait for.
    ///
    /// Called in the order in which the effects took place. Costs a copy; it blocks only while a
    /// slow disk is [far behind](PENDING_LEN_MAX).
    pub(crate) fn append(&self, unit: &[u8]) -> u64 {
        let mut queue = self.shared.queue.lock();
        while queue.pending.len() >= PENDING_LEN_MAX && self.write_error().is_none() {
            self.shared.ring(&mut queue);
            self.shared.space.wait(&mut queue);
        }
        if queue.appended == queue.synced && self.fsync() == Fsync::EverySec {
            self.shared.commits.set_unsynced_since(Some(Instant::now()));
        }
        queue.pending.extend_from_slice(unit);
        queue.n_units += 1;
        queue.appended += unit.len() as u64;
        self.shared.ring(&mut queue);
        queue.appended
    }

    /// Resolves when everything up to `position` is as safe as the [`Fsync`] setting promises.
    ///
    /// An error means that the outcome is open: see [`Error::Unsaved`]. Needs no runtime, and may
    /// be dropped at any time.
    pub(crate) fn committed(&self, position: u64) -> Committed {
        Committed::new(&self.shared.commits, position)
    }

    /// Resolves when everything up to `position` is as safe as the [`Fsync`] setting promises, or will not
    /// be for a while: for those who have read it and not written it.
    pub(crate) async fn shown(&self, position: u64) {
        if !self.shared.commits.is_settled(position) {
            // Whoever wrote it hears of the error.
            let _ = Committed::for_reader(&self.shared.commits, position).await;
        }
    }

    /// Blocks until [`Log::committed`] resolves; the engine itself never blocks.
    #[cfg(test)]
    pub(crate) fn wait_committed(&self, position: u64) -> Result<(), Error> {
        self.committed(position).wait()
    }

    /// Why the disk refuses writes, while it does; costs an atomic load while it does not.
    ///
    /// The engine must not append more than a little while this is set: what is appended is kept in
    /// memory until the disk takes it.
    pub(crate) fn write_error(&self) -> Option<String> {
        self.shared.commits.failure()
    }

    /// Ends the process, because the data in memory is no longer what the log says.
    pub(crate) fn end_process(&self, reason: &str) {
        self.shared.fatal(reason);
    }

    /// Has a test hear of it instead.
    #[cfg(test)]
    pub(crate) fn on_end_process(&self, on_fatal: OnFatal) {
        *self.shared.on_fatal.lock() = on_fatal;
    }

    /// When writes count as done.
    pub(crate) fn fsync(&self) -> Fsync {
        self.shared.commits.fsync()
    }

    /// Changes when writes count as done, also for those that wait.
    pub(crate) fn set_fsync(&self, fsync: Fsync) {
        // Under the queue's lock, so that the writer cannot miss it on its way to sleep.
        let mut queue = self.shared.queue.lock();
        self.shared.commits.set_fsync(fsync);
        let is_unsynced = queue.appended > queue.synced;
        self.shared.commits.set_unsynced_since(is_unsynced.then(Instant::now));
        self.shared.ring(&mut queue);
        drop(queue);
        self.shared.commits.review();
    }

    /// The length of the whole log in bytes, without what is not written yet.
    pub(crate) fn size(&self) -> u64 {
        self.shared.size.load(Acquire)
    }

    /// The length of the base file in bytes: what a rewrite would roughly leave.
    pub(crate) fn base_size(&self) -> u64 {
        self.shared.base_size.load(Acquire)
    }

    /// Begins a rewrite: what was appended so far will be replaced by what the rewrite is given,
    /// the keyspace as it is now; what is appended from now on goes to a new file.
    ///
    /// Touches no disk. The new file begins in database 0, so the next unit appended must select
    /// its database.
    pub(crate) fn begin_rewrite(&self) -> Result<Rewrite, Error> {
        let mut queue = self.shared.queue.lock();
        if queue.closing {
            return Err(Error::Closed);
        }
        if queue.switch.is_some() || self.shared.rewriting.swap(true, Acquire) {
            return Err(Error::RewriteInProgress);
        }
        let switch = Arc::new(Switch::default());
        queue.switch = Some((queue.pending.len(), Arc::clone(&switch)));
        self.shared.ring(&mut queue);
        Ok(Rewrite::new(Arc::clone(&self.shared), switch))
    }

    /// Writes and syncs what was appended, and lets go of the folder. Closing twice is fine.
    ///
    /// Fails if the disk refuses to take the rest.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let Some(thread) = self.thread.lock().take() else { return Ok(()) };
        let mut queue = self.shared.queue.lock();
        queue.closing = true;
        queue.parked = false;
        // The writer may also sleep between two attempts, when nobody else rings.
        self.shared.work.notify_one();
        drop(queue);
        // It takes its own panics to be errors.
        let result = thread.join().unwrap_or(Err(Error::Closed));
        let mut files = self.shared.files.lock();
        files.closed = true;
        files.folder.unlock();
        result
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // Whoever wants to know calls `close`.
        let _ = self.close();
    }
}

/// Lengths of the files a log starts with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) base: u64,
    /// The incr file that is written to.
    pub(super) last: u64,
    pub(super) all: u64,
}
