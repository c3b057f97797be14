//! How the rest of the world sees a running script: the state is locked while it runs, so this lives outside.

use std::{
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

use crate::reply::{Error, Reply};

/// Flags shared between the thread that runs a script and everybody who waits for it.
#[derive(Debug, Default)]
pub(crate) struct ScriptControl {
    running: AtomicBool,
    /// It has run for longer than `busy-reply-threshold`: others get BUSY instead of waiting on.
    busy: AtomicBool,
    /// It has called a write command, so that killing it would leave half its work.
    wrote: AtomicBool,
    kill: AtomicBool,
    /// The thread that runs commands is a worker of a tokio runtime that can go on without it.
    on_worker: AtomicBool,
}

/// How long a runtime may take to go on without a thread; many times what it needs.
const STEP_ASIDE_TIMEOUT: Duration = Duration::from_secs(1);

impl ScriptControl {
    pub(crate) fn start(&self) {
        self.busy.store(false, Ordering::Release);
        self.wrote.store(false, Ordering::Release);
        self.kill.store(false, Ordering::Release);
        self.running.store(true, Ordering::Release);
    }

    pub(crate) fn stop(&self) {
        self.running.store(false, Ordering::Release);
        self.busy.store(false, Ordering::Release);
    }

    pub(crate) fn note_write(&self) {
        self.wrote.store(true, Ordering::Release);
    }

    pub(crate) fn note_busy(&self) {
        if !self.busy.swap(true, Ordering::AcqRel) && self.on_worker.load(Ordering::Relaxed) {
            step_aside();
        }
    }

    /// Says whether whoever holds the state's lock runs on a worker of a tokio runtime with several threads.
    pub(crate) fn set_on_worker(&self, on_worker: bool) {
        self.on_worker.store(on_worker, Ordering::Relaxed);
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire)
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.kill.load(Ordering::Acquire)
    }

    /// SCRIPT KILL.
    pub(crate) fn kill(&self) -> Result<Reply, Error> {
        if !self.running.load(Ordering::Acquire) {
            return Err(Error::fixed("NOTBUSY No scripts in execution right now."));
        }
        if self.wrote.load(Ordering::Acquire) {
            return Err(Error::fixed(
                "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.",
            ));
        }
        self.kill.store(true, Ordering::Release);
        Ok(Reply::OK)
    }

    /// What other clients are told meanwhile.
    pub(crate) const BUSY: Error = Error::fixed(
        "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
    );
}

/// Lets another thread go on with the tasks that this one would run if it were not busy with a script. Among them
/// may be the one that is to receive SCRIPT KILL.
fn step_aside() {
    let (sender, receiver) = mpsc::channel();
    tokio::spawn(async move { sender.send(()) });
    // A task that has run proves that others can.
    let _ = tokio::task::block_in_place(|| receiver.recv_timeout(STEP_ASIDE_TIMEOUT));
}
