//! What somebody wants of the state who must not wait for it.
//!
//! A thread of a runtime serves many others, so it does not wait for the state while a script has it. It leaves a note,
//! and the next who locks the state does what is written there before anything else.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
};

use parking_lot::Mutex;

use crate::state::State;

type Note = Box<dyn FnOnce(&mut State) + Send>;

/// Notes in the order in which they were left.
#[derive(Default)]
pub(crate) struct Notes {
    notes: Mutex<VecDeque<Note>>,
    /// Whether there are any, for a look without the lock.
    any: AtomicBool,
}

impl Notes {
    pub(crate) fn leave(&self, note: impl FnOnce(&mut State) + Send + 'static) {
        let mut notes = self.notes.lock();
        notes.push_back(Box::new(note));
        self.any.store(true, Ordering::Release);
    }

    /// Does what they say.
    #[inline]
    pub(crate) fn carry_out(&self, state: &mut State) {
        if self.any.load(Ordering::Acquire) {
            self.carry_out_all(state);
        }
    }

    #[cold]
    fn carry_out_all(&self, state: &mut State) {
        while let Some(note) = self.next() {
            // Whoever carries it out has nothing to do with it, and the panic hook has told of it.
            let _ = catch_unwind(AssertUnwindSafe(|| note(state)));
        }
    }

    fn next(&self) -> Option<Note> {
        let mut notes = self.notes.lock();
        let note = notes.pop_front();
        self.any.store(!notes.is_empty(), Ordering::Release);
        note
    }
}
