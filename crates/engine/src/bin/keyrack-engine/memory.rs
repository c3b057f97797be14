//! The program's allocator: the system's, with a count for INFO and a way to give pages back.

use std::alloc::System;

use keyrack_engine::{Allocator, CountingAllocator, counted_bytes, set_allocator};

pub(super) type CountedSystem = CountingAllocator<System>;

/// Tells the engine what memory is in use.
pub(super) fn describe() {
    set_allocator(Allocator { name: "system", used: counted_bytes, release });
}

/// By itself glibc gives back only what is at the end of its heaps, where something always is.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the standard library does not know this function")]
fn release() {
    unsafe extern "C" {
        /// Gives unused pages back, keeping `pad` bytes at the end of the heap.
        safe fn malloc_trim(pad: usize) -> i32;
    }
    malloc_trim(0);
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn release() {}
