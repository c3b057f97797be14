//! Buffers that nobody uses right now.
//!
//! A connection needs its buffers only from the moment bytes arrive until they are answered, mostly without waiting in
//! between, so a few buffers per thread serve any number of connections and stay warm in the cache.

use std::cell::RefCell;

/// Enough for a pipeline of a few hundred usual commands.
pub(super) const BUFFER_LEN: usize = 16 * 1024;
/// Buffers that have grown beyond this are freed.
const KEPT_LEN_MAX: usize = 64 * 1024;
/// Connections that wait for the disk keep their buffers meanwhile, and give them back all at once.
const KEPT_MAX: usize = 128;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer with room.
pub(super) fn take() -> Vec<u8> {
    SPARE.with_borrow_mut(Vec::pop).unwrap_or_else(|| Vec::with_capacity(BUFFER_LEN))
}

/// Gives a buffer back, leaving one without room in its place.
pub(super) fn give(buffer: &mut Vec<u8>) {
    let mut buffer = std::mem::take(buffer);
    if !(BUFFER_LEN..=KEPT_LEN_MAX).contains(&buffer.capacity()) {
        return;
    }
    buffer.clear();
    SPARE.with_borrow_mut(|spare| {
        if spare.len() < KEPT_MAX {
            spare.push(buffer);
        }
    });
}
