//! What happens when nobody asks: waits that end, keys that expire, the log that is rewritten.

use std::{
    sync::{Arc, Weak},
    thread,
    time::Duration,
};

use parking_lot::{Condvar, Mutex};

use crate::{allocator::MemoryWatch, aof, engine::Shared, rewrite::Progress, state::State};

/// How often the housekeeper looks round when nothing is due earlier.
const INTERVAL: Duration = Duration::from_millis(100);
/// A table of expiries is walked once in this many rounds, so a key that nobody asks for outlives its time by 10 s at most.
const ROUNDS_PER_WALK: usize = 100;
/// Buckets looked at with the lock held; a slice takes well under a millisecond.
const BUCKETS_PER_SLICE: usize = 512;

/// Wakes the housekeeper early.
#[derive(Debug, Default)]
pub(crate) struct Wakeup {
    rung: Mutex<bool>,
    wake: Condvar,
}

impl Wakeup {
    pub(crate) fn ring(&self) {
        *self.rung.lock() = true;
        self.wake.notify_one();
    }

    fn wait(&self, timeout: Duration) {
        let mut rung = self.rung.lock();
        if !*rung {
            self.wake.wait_for(&mut rung, timeout);
        }
        *rung = false;
    }
}

/// Starts the housekeeping thread, which ends with the engine.
pub(crate) fn start(shared: &Arc<Shared>) {
    let weak = Arc::downgrade(shared);
    let bell = shared.bell().clone();
    thread::Builder::new()
        .name("keyrack-housekeeping".into())
        .spawn(move || keep(&weak, &bell))
        .expect("the system can start a thread");
}

fn keep(weak: &Weak<Shared>, bell: &Wakeup) {
    let mut memory = MemoryWatch::default();
    loop {
        let Some(shared) = weak.upgrade() else { return };
        round(&shared, ROUNDS_PER_WALK);
        // Not in the condition, where the lock would be held for as long as the block takes.
        let base = begin_rewrite_if_wanted(&mut shared.lock_blocking());
        if let Some(base) = base {
            rewrite_aside(&shared, base);
        }
        let pause = until_next_deadline(&shared);
        drop(shared);
        memory.look();
        bell.wait(pause);
    }
}

/// One round that looks at everything, for clocks moved by hand.
pub(crate) fn tick(shared: &Arc<Shared>) {
    round(shared, 1);
    let base = begin_rewrite_if_wanted(&mut shared.lock_blocking());
    if let Some(base) = base {
        rewrite(&Arc::downgrade(shared), base);
    }
}

fn round(shared: &Shared, rounds_per_walk: usize) {
    {
        let mut state = shared.lock_blocking();
        state.freeze_time();
        state.end_overdue_waits();
    }
    expire(shared, rounds_per_walk);
}

fn until_next_deadline(shared: &Shared) -> Duration {
    let mut state = shared.lock_blocking();
    state.freeze_time();
    match state.waiting.next_deadline_ms() {
        // A deadline within this millisecond is still ahead of a clock that counts whole ones.
        Some(at) => Duration::from_millis((at + 1).saturating_sub(state.now_ms())).min(INTERVAL),
        None => INTERVAL,
    }
}

/// Removes expired keys, a slice at a time so that clients get their turn in between.
fn expire(shared: &Shared, rounds_per_walk: usize) {
    let databases: Vec<(usize, usize)> = {
        let state = shared.lock_blocking();
        let dbs = state.dbs.iter().enumerate();
        dbs.filter(|(_, db)| db.n_volatile() > 0).map(|(i, db)| (i, db.n_volatile())).collect()
    };
    for (db, n_volatile) in databases {
        let mut left = (n_volatile * 2 / rounds_per_walk).max(BUCKETS_PER_SLICE);
        loop {
            let mut state = shared.lock_blocking();
            state.freeze_time();
            let seen_all = state.expire_some(db, BUCKETS_PER_SLICE);
            state.finish_unit();
            state.unlock_fair();
            left = left.saturating_sub(BUCKETS_PER_SLICE);
            if seen_all || (left == 0 && rounds_per_walk > 1) {
                break;
            }
        }
    }
}

/// Begins a rewrite if one was asked for or the log has outgrown the data.
fn begin_rewrite_if_wanted(state: &mut State) -> Option<aof::Rewrite> {
    if state.rewrite.is_running() || !state.wants_rewrite() {
        return None;
    }
    state.begin_rewrite()
}

/// Rewrites on a thread of its own: the disk may take seconds, and waits have to end in time.
fn rewrite_aside(shared: &Arc<Shared>, base: aof::Rewrite) {
    let weak = Arc::downgrade(shared);
    let thread = thread::Builder::new().name("keyrack-rewrite".into());
    if thread.spawn(move || rewrite(&weak, base)).is_err() {
        // The system has no thread to spare; it may have one in the next round.
        shared.lock_blocking().restart_rewrite();
    }
}

/// Carries a rewrite to its end, a slice at a time, or drops it when the engine is gone.
fn rewrite(weak: &Weak<Shared>, mut base: aof::Rewrite) {
    let written = loop {
        let Some(shared) = weak.upgrade() else { return };
        let mut state = shared.lock_blocking();
        let progress = state.rewrite_some(BUCKETS_PER_SLICE);
        // Whoever has waited meanwhile comes first.
        state.unlock_fair();
        drop(shared);
        let written = match progress {
            Progress::GivenUp => return,
            Progress::More(commands) => base.write(&commands),
            Progress::Last(commands) => break base.write(&commands),
        };
        if written.is_err() {
            break written;
        }
    };
    let finished = written.and_then(|()| base.finish());
    if let Some(shared) = weak.upgrade() {
        shared.lock_blocking().end_rewrite(finished);
    }
}
