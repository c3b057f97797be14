//! What native functions spend: memory outside of the machine, and time.

use super::{Raised, Stack};
use crate::script::guards;

/// Work that a call of a native function stands for.
const CALL_UNITS: usize = 16;

impl Stack<'_> {
    /// Counts `units` of work (about the bytes copied) of a native function that holds `held` bytes outside of the machine:
    /// fails where that is too much memory, and checks now and then whether the script may go on.
    #[inline]
    pub(in crate::script) fn spend(&mut self, units: usize, held: usize) -> Result<(), Raised> {
        if self.context.over_budget(held) {
            return Err(self.error_memory());
        }
        if self.context.watch.spend(units) { self.check() } else { Ok(()) }
    }

    /// Counts a call of a native function: what calls it may be a loop in C, which the hook does not interrupt.
    #[inline]
    pub(super) fn count_call(&mut self) -> Result<(), Raised> {
        if self.context.watch.spend(CALL_UNITS) { self.check() } else { Ok(()) }
    }

    /// Makes room for `more` bytes in a buffer outside of the machine, and counts them as [`Stack::spend`] does. A buffer that
    /// grows exists twice for a moment.
    #[inline]
    pub(in crate::script) fn make_room(
        &mut self,
        out: &mut Vec<u8>,
        more: usize,
    ) -> Result<(), Raised> {
        let needed = out.len() + more;
        if needed <= out.capacity() {
            return self.spend(more, out.capacity());
        }
        let grown = needed.max(2 * out.capacity());
        self.spend(more, out.capacity() + grown)?;
        out.reserve(more);
        Ok(())
    }

    /// Pushes what was built in a buffer outside of the machine, which exists twice then.
    pub(in crate::script) fn push_built(&mut self, out: &Vec<u8>) -> Result<(), Raised> {
        self.spend(out.len(), out.capacity() + out.len())?;
        self.push_bytes(out);
        Ok(())
    }

    /// Asks the engine whether the script may go on.
    #[cold]
    pub(in crate::script) fn check(&mut self) -> Result<(), Raised> {
        guards::check(self);
        // Whoever sees the mark finds the script stopped; there is no error value then.
        if self.context.is_stopped() { Err(Raised(())) } else { Ok(()) }
    }
}
