//! Work on the state that is left to the next holder of the lock.
//!
//! A thread of a runtime serves many tasks, so it does not wait for the state while a script has it. It leaves a closure,
//! and the next who locks the state calls it before anything else.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
};

use parking_lot::Mutex;

use crate::state::State;

type Work = Box<dyn FnOnce(&mut State) + Send>;

/// Closures, called in the order in which they were pushed.
#[derive(Default)]
pub(crate) struct DeferredWork {
    queue: Mutex<VecDeque<Work>>,
    /// Whether there are any, for a look without the lock.
    any: AtomicBool,
}

impl DeferredWork {
    pub(crate) fn push(&self, work: impl FnOnce(&mut State) + Send + 'static) {
        let mut queue = self.queue.lock();
        queue.push_back(Box::new(work));
        self.any.store(true, Ordering::Release);
    }

    /// Calls all of them.
    #[inline]
    pub(crate) fn carry_out(&self, state: &mut State) {
        if self.any.load(Ordering::Acquire) {
            self.carry_out_all(state);
        }
    }

    #[cold]
    fn carry_out_all(&self, state: &mut State) {
        while let Some(work) = self.next() {
            // Whoever carries it out has nothing to do with it, and the panic hook has told of it.
            let _ = catch_unwind(AssertUnwindSafe(|| work(state)));
        }
    }

    fn next(&self) -> Option<Work> {
        let mut queue = self.queue.lock();
        let work = queue.pop_front();
        self.any.store(!queue.is_empty(), Ordering::Release);
        work
    }
}
