//! Panics on demand, for tests: the places at which a mistake nobody has found could show.

/// Panics in a test that has asked for it; otherwise there is nothing here.
#[inline]
pub(crate) fn point() {
    #[cfg(test)]
    armed::point();
}

#[cfg(test)]
pub(crate) mod armed {
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    }

    pub(super) fn point() {
        match LEFT.get() {
            None => {}
            Some(0) => {
                LEFT.set(None);
                panic!("a fault that a test asked for");
            }
            Some(left) => LEFT.set(Some(left - 1)),
        }
    }

    /// Lets `n` points on this thread pass while `work` is done, and panics at the next. Tells whether it came to that.
    pub(crate) fn panic_after<T>(n: usize, work: impl FnOnce() -> T) -> (T, bool) {
        LEFT.set(Some(n));
        let result = work();
        (result, LEFT.take().is_none())
    }
}
