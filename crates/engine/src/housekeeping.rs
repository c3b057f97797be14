//! What happens when nobody asks: waits that end, keys that expire, the log that is rewritten.

use std::{
    sync::{Arc, Weak},
    thread,
    time::Duration,
};

use parking_lot::{Condvar, Mutex};

use crate::{engine::Shared, rewrite::Progress, state::State};

/// How often the housekeeper looks round when nothing is due earlier.
const INTERVAL: Duration = Duration::from_millis(100);
/// A table of expiries is walked once in this many rounds, so a key that nobody asks for outlives its time by 10 s at most.
const ROUNDS_PER_WALK: usize = 100;
/// Buckets looked at with the lock held; a slice takes well under a millisecond.
const BUCKETS_PER_SLICE: usize = 512;

/// Wakes the housekeeper early.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    wake: Condvar,
}

impl Bell {
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

fn keep(weak: &Weak<Shared>, bell: &Bell) {
    loop {
        let Some(shared) = weak.upgrade() else { return };
        round(&shared, ROUNDS_PER_WALK);
        let pause = until_next_deadline(&shared);
        drop(shared);
        bell.wait(pause);
    }
}

/// One round that looks at everything, for clocks moved by hand.
pub(crate) fn tick(shared: &Shared) {
    round(shared, 1);
}

fn round(shared: &Shared, rounds_per_walk: usize) {
    {
        let mut state = shared.lock_patiently();
        state.freeze_time();
        state.end_overdue_waits();
    }
    expire(shared, rounds_per_walk);
    rewrite(shared);
}

fn until_next_deadline(shared: &Shared) -> Duration {
    let mut state = shared.lock_patiently();
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
        let state = shared.lock_patiently();
        let dbs = state.dbs.iter().enumerate();
        dbs.filter(|(_, db)| db.n_volatile() > 0).map(|(i, db)| (i, db.n_volatile())).collect()
    };
    for (db, n_volatile) in databases {
        let mut left = (n_volatile * 2 / rounds_per_walk).max(BUCKETS_PER_SLICE);
        loop {
            let mut state = shared.lock_patiently();
            state.freeze_time();
            let seen_all = state.expire_some(db, BUCKETS_PER_SLICE);
            state.finish_unit();
            left = left.saturating_sub(BUCKETS_PER_SLICE);
            if seen_all || (left == 0 && rounds_per_walk > 1) {
                break;
            }
        }
    }
}

/// Carries a rewrite of the log to its end, a slice at a time.
fn rewrite(shared: &Shared) {
    if !begin_rewrite_if_wanted(&mut shared.lock_patiently()) {
        return;
    }
    loop {
        let progress = shared.lock_patiently().rewrite_some(BUCKETS_PER_SLICE);
        match progress {
            Progress::More => thread::yield_now(),
            Progress::Idle => return,
            Progress::Dumped(base) => {
                let finished = base.finish();
                shared.lock_patiently().end_rewrite(finished);
                return;
            }
            Progress::Failed(error) => {
                shared.lock_patiently().end_rewrite(Err(error));
                return;
            }
        }
    }
}

/// Begins a rewrite if one was asked for or the log has outgrown the data; says whether one is under way.
fn begin_rewrite_if_wanted(state: &mut State) -> bool {
    if !state.rewrite.is_running() && state.wants_rewrite() {
        state.begin_rewrite();
    }
    state.rewrite.is_running()
}
