//! How the rest of the world sees a running script: the state is locked while it runs, so this lives outside.
//!
//! Whether a script has run for too long is a matter of time, not of what the script does: everybody who waits for it can
//! tell by [`ScriptControl::is_busy`], also while it is inside one long call and asks nobody.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        atomic::{AtomicU8, AtomicU64, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::reply::{Error, Reply};

/// Shared between the thread that runs a script and everybody who waits for it.
#[derive(Debug)]
pub(crate) struct ScriptControl {
    created_at: Instant,
    /// When the script began, in µs since `created_at`; [`NONE`] while none runs.
    started_us: AtomicU64,
    /// How long it may run before others get BUSY instead of waiting on.
    busy_after_us: AtomicU64,
    /// One value, so that a script that has written cannot be killed, and one that was killed cannot write.
    fate: AtomicU8,
}

/// No script runs.
const NONE: u64 = u64::MAX;

/// No script runs.
const IDLE: u8 = 0;
/// The script has not called a write command, so nothing is left of it if it ends here.
const READ_ONLY: u8 = 1;
/// It has, so that killing it would leave half its work.
const WROTE: u8 = 2;
const KILLED: u8 = 3;

/// How long a runtime may take to go on without a thread; many times what it needs.
const STEP_ASIDE_TIMEOUT: Duration = Duration::from_secs(1);

impl Default for ScriptControl {
    fn default() -> ScriptControl {
        ScriptControl {
            created_at: Instant::now(),
            started_us: AtomicU64::new(NONE),
            busy_after_us: AtomicU64::new(0),
            fate: AtomicU8::new(IDLE),
        }
    }
}

impl ScriptControl {
    /// A script begins, which makes others wait for no longer than `busy_after`.
    pub(crate) fn start(&self, busy_after: Duration) {
        self.busy_after_us.store(micros(busy_after), Ordering::Relaxed);
        self.fate.store(READ_ONLY, Ordering::Release);
        self.started_us.store(micros(self.created_at.elapsed()), Ordering::Release);
    }

    /// It has ended.
    pub(crate) fn stop(&self) {
        self.started_us.store(NONE, Ordering::Release);
        self.fate.store(IDLE, Ordering::Release);
    }

    /// The script is about to call a write command, unless it was killed.
    pub(crate) fn note_write(&self) -> Result<(), Error> {
        let noted =
            self.fate.compare_exchange(READ_ONLY, WROTE, Ordering::AcqRel, Ordering::Acquire);
        if noted == Err(KILLED) { Err(ScriptControl::KILLED) } else { Ok(()) }
    }

    /// Whether the script that runs has called a write command.
    pub(crate) fn has_written(&self) -> bool {
        self.fate.load(Ordering::Acquire) == WROTE
    }

    pub(crate) fn is_running(&self) -> bool {
        self.started_us.load(Ordering::Acquire) != NONE
    }

    /// Whether a script has been running for at least this long.
    pub(crate) fn has_run_for(&self, time: Duration) -> bool {
        match self.started_us.load(Ordering::Acquire) {
            NONE => false,
            started_us => {
                micros(self.created_at.elapsed()).saturating_sub(started_us) >= micros(time)
            }
        }
    }

    /// Whether a script has been running for longer than `busy-reply-threshold`.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_running()
            && self.has_run_for(Duration::from_micros(self.busy_after_us.load(Ordering::Relaxed)))
    }

    /// Whether the script has to end. One load, so code that takes long on behalf of a script can ask often.
    pub(crate) fn is_killed(&self) -> bool {
        self.fate.load(Ordering::Acquire) == KILLED
    }

    /// SCRIPT KILL.
    pub(crate) fn kill(&self) -> Result<Reply, Error> {
        match self.fate.compare_exchange(READ_ONLY, KILLED, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) | Err(KILLED) => Ok(Reply::OK),
            Err(WROTE) => Err(Error::fixed(
                "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.",
            )),
            Err(_) => Err(Error::fixed("NOTBUSY No scripts in execution right now.")),
        }
    }

    /// What other clients are told meanwhile.
    pub(crate) const BUSY: Error = Error::fixed(
        "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
    );

    /// How a killed script ends.
    pub(crate) const KILLED: Error = Error::fixed("ERR Script killed by user with SCRIPT KILL...");
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX - 1)
}

/// Lets another thread go on with the tasks that this one would run if it were not busy with a script. Among them
/// may be the one that is to receive SCRIPT KILL. Does nothing on a thread that no runtime can go on without.
pub(crate) fn step_aside() {
    let is_worker = Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if !is_worker {
        return;
    }
    let (sender, receiver) = mpsc::channel();
    tokio::spawn(async move { sender.send(()) });
    // Inside a `LocalSet` tokio panics instead, and does not tell before; the script goes on nevertheless.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // A task that has run proves that others can.
        tokio::task::block_in_place(|| receiver.recv_timeout(STEP_ASIDE_TIMEOUT))
    }));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::ScriptControl;

    #[test]
    fn a_script_is_busy_by_time_alone() {
        let control = ScriptControl::default();
        assert!(!control.is_busy() && !control.has_run_for(Duration::ZERO));
        control.start(Duration::from_secs(3600));
        assert!(control.is_running() && !control.is_busy());
        control.stop();
        control.start(Duration::ZERO);
        assert!(control.is_busy());
        control.stop();
        assert!(!control.is_running() && !control.is_busy());
    }

    #[test]
    fn who_has_written_cannot_be_killed_and_who_was_killed_cannot_write() {
        let control = ScriptControl::default();
        assert!(control.kill().is_err(), "there is nothing to kill");
        control.start(Duration::ZERO);
        assert!(!control.has_written());
        control.note_write().expect("it runs");
        control.note_write().expect("it runs");
        assert!(control.has_written());
        assert!(control.kill().is_err_and(|error| error.code() == "UNKILLABLE"));
        assert!(!control.is_killed());
        control.stop();
        control.start(Duration::ZERO);
        control.kill().expect("it has written nothing");
        control.kill().expect("it is killed already");
        assert!(control.is_killed());
        assert!(control.note_write().is_err());
        control.stop();
        assert!(!control.is_killed());
    }
}
