//! A sync beside the writer, so that what is appended meanwhile reaches the system's cache at once.
//!
//! A process that crashes loses only what is still in its own memory. A writer that waited for a
//! slow disk would let that grow for as long as the disk takes.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Acquire, Ordering::Release},
    },
    thread::{self, JoinHandle},
    time::Instant,
};

use super::{disk::Disk, log::Shared};

/// A sync under way.
pub(super) struct BackgroundSync {
    thread: JoinHandle<io::Result<()>>,
    done: Arc<AtomicBool>,
    upto: u64,
    started_at: Instant,
}

/// Tells the writer that the sync has ended, with a panic too.
struct End {
    shared: Arc<Shared>,
    is_done: Arc<AtomicBool>,
}

impl Drop for End {
    fn drop(&mut self) {
        // Under the lock, so that the writer cannot miss it on its way to sleep.
        let mut queue = self.shared.queue.lock();
        self.is_done.store(true, Release);
        self.shared.ring(&mut queue);
    }
}

impl BackgroundSync {
    /// Starts syncing `disk`, which holds everything up to `upto`; rings for the writer at the end.
    ///
    /// A thread for each, once in half a second, costs nothing that could be measured and leaves
    /// nothing to shut down.
    pub(super) fn start(
        shared: &Arc<Shared>,
        disk: &Arc<dyn Disk>,
        upto: u64,
    ) -> io::Result<BackgroundSync> {
        let started_at = Instant::now();
        let done = Arc::new(AtomicBool::new(false));
        let (shared, disk, is_done) = (Arc::clone(shared), Arc::clone(disk), Arc::clone(&done));
        let thread = thread::Builder::new().name("keyrack-sync".to_owned()).spawn(move || {
            let end = End { shared, is_done };
            let result = disk.sync();
            if result.is_ok() {
                end.shared.note_synced(upto, started_at);
            }
            result
        })?;
        Ok(BackgroundSync { thread, done, upto, started_at })
    }

    /// Whether [`BackgroundSync::finish`] would return at once.
    pub(super) fn is_done(&self) -> bool {
        self.done.load(Acquire)
    }

    /// When it began.
    pub(super) fn started_at(&self) -> Instant {
        self.started_at
    }

    /// Waits for its end; everything up to the position returned is on stable storage.
    pub(super) fn finish(self) -> io::Result<u64> {
        let panicked = |_| Err(io::Error::other("the thread that syncs the log has died"));
        self.thread.join().unwrap_or_else(panicked).map(|()| self.upto)
    }
}
