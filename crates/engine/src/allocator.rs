//! What the program's allocator has handed out, and how it gives pages back to the system.
//!
//! A library does not choose the allocator; the program does, and tells the engine about it with [`set_allocator`].
//! INFO then shows how much memory is in use, rather than how many pages the process has, and pages that a FLUSHALL or the
//! end of a large key has emptied go back to the system. [`CountingAllocator`] counts for allocators that do not.

use std::{
    alloc::{GlobalAlloc, Layout},
    cell::Cell,
    sync::{
        OnceLock,
        atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed},
    },
};

/// What an allocator can tell and do. All of it may be called from any thread.
#[derive(Debug, Clone, Copy)]
pub struct Allocator {
    /// Its name, which INFO shows.
    pub name: &'static str,
    /// Bytes allocated and not freed.
    pub used: fn() -> usize,
    /// Gives unused pages back to the system. May take some milliseconds.
    pub release: fn(),
}

static ALLOCATOR: OnceLock<Allocator> = OnceLock::new();
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Tells the engine about the program's allocator, once and before the first engine is opened: a process has one
/// allocator, however many engines.
pub fn set_allocator(allocator: Allocator) {
    // A second one is a mistake that costs nothing but the wrong figures.
    let _ = ALLOCATOR.set(allocator);
}

/// Memory in use, now and at most so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) name: &'static str,
    pub(crate) used: usize,
    pub(crate) peak: usize,
}

/// Memory in use, if the program has told how to find out.
pub(crate) fn usage() -> Option<Usage> {
    let allocator = ALLOCATOR.get()?;
    let used = (allocator.used)();
    let peak = PEAK.fetch_max(used, Relaxed).max(used);
    Some(Usage { name: allocator.name, used, peak })
}

/// Notices when much memory has been freed, and has the allocator give it back.
#[derive(Debug, Default)]
pub(crate) struct MemoryWatch {
    /// The most that was in use since memory was last given back.
    highest: usize,
    last: usize,
}

/// Less than this is not worth the trouble: it will be used again.
const RELEASED_MIN: usize = 16 << 20;
/// Freeing a large key or database takes a while; pages are given back when it is over.
const STILL_FREEING: usize = 1 << 20;

impl MemoryWatch {
    /// Looks at what is in use; called about ten times a second, without any lock.
    pub(crate) fn look(&mut self) {
        let (Some(allocator), Some(Usage { used, .. })) = (ALLOCATOR.get(), usage()) else {
            return;
        };
        if self.should_release(used) {
            (allocator.release)();
        }
    }

    fn should_release(&mut self, used: usize) -> bool {
        let is_falling = self.last.saturating_sub(used) > STILL_FREEING;
        self.last = used;
        self.highest = self.highest.max(used);
        let n_freed = self.highest - used;
        let is_much = n_freed >= RELEASED_MIN && n_freed >= self.highest / 4;
        if is_much && !is_falling {
            self.highest = used;
            return true;
        }
        false
    }
}

/// Another allocator, with a count of the bytes it has handed out; `Counting::used` of it is process-wide.
///
/// Threads count apart: one counter for all would be a cache line that every allocation of every thread fights for.
#[derive(Debug)]
pub struct CountingAllocator<A>(pub A);

/// Threads that have a counter to themselves. All later ones share the last, which is slower and as exact.
const N_OWN: usize = 255;
const UNASSIGNED: usize = usize::MAX;

#[repr(align(64))]
struct Counter(AtomicIsize);

static COUNTERS: [Counter; N_OWN + 1] = [const { Counter(AtomicIsize::new(0)) }; N_OWN + 1];
static N_THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The thread's counter. Needs no destructor, and so can be used for as long as the thread allocates.
    static COUNTER: Cell<usize> = const { Cell::new(UNASSIGNED) };
}

/// Bytes that all [`CountingAllocator`]s of the process have allocated and not freed.
pub fn counted_bytes() -> usize {
    // A thread may have freed more than it has allocated, but not all together.
    let sum = COUNTERS.iter().fold(0isize, |sum, Counter(n)| sum.wrapping_add(n.load(Relaxed)));
    usize::try_from(sum).unwrap_or(0)
}

fn count(n_bytes: isize) {
    let mut at = COUNTER.get();
    if at == UNASSIGNED {
        at = N_THREADS.fetch_add(1, Relaxed).min(N_OWN);
        COUNTER.set(at);
    }
    let Counter(counter) = &COUNTERS[at];
    if at < N_OWN {
        // Only this thread writes here, so nothing can come in between.
        counter.store(counter.load(Relaxed).wrapping_add(n_bytes), Relaxed);
    } else {
        counter.fetch_add(n_bytes, Relaxed);
    }
}

#[expect(
    unsafe_code,
    reason = "an allocator cannot be declared without; every call is handed on as it is"
)]
// SAFETY: the other allocator keeps the contract; counting neither allocates nor touches memory but the counters. A layout's
// size fits into isize.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        let block = unsafe { self.0.alloc(layout) };
        if !block.is_null() {
            count(layout.size() as isize);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps the contract.
        unsafe { self.0.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        let block = unsafe { self.0.alloc_zeroed(layout) };
        if !block.is_null() {
            count(layout.size() as isize);
        }
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        let block = unsafe { self.0.realloc(block, layout, size) };
        if !block.is_null() {
            count((size as isize).wrapping_sub(layout.size() as isize));
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use std::{alloc::System, thread};

    use super::*;

    #[test]
    fn pages_are_given_back_once_when_much_has_been_freed() {
        let mut watch = MemoryWatch::default();
        let mib = |n: usize| n << 20;
        // Grows, falls for a while, stays: given back when it stays, and only once.
        let looks = [10, 200, 150, 40, 5, 5, 5, 20, 5, 5].map(|n| watch.should_release(mib(n)));
        assert_eq!(looks.iter().position(|released| *released), Some(5));
        assert_eq!(looks.iter().filter(|released| **released).count(), 1);
        // A tenth of much is kept for what comes next.
        assert!(![1000, 900, 900, 900].map(|n| watch.should_release(mib(n))).contains(&true));
    }

    #[test]
    #[expect(unsafe_code, reason = "allocators are called by hand")]
    fn bytes_are_counted_over_all_threads_and_back_to_nothing() {
        let allocator = CountingAllocator(System);
        let before = counted_bytes();
        // More threads than have counters of their own; each frees what another has allocated.
        let layout = Layout::from_size_align(1000, 8).expect("a layout");
        let blocks: Vec<usize> = (0..N_OWN + 20)
            .map(|_| {
                let allocate = move || {
                    // SAFETY: the size is not 0.
                    let block = unsafe { CountingAllocator(System).alloc(layout) };
                    // SAFETY: the block has this layout.
                    unsafe { CountingAllocator(System).realloc(block, layout, 3000) as usize }
                };
                thread::spawn(allocate).join().expect("the thread is done")
            })
            .collect();
        assert_eq!(counted_bytes() - before, blocks.len() * 3000);
        let layout = Layout::from_size_align(3000, 8).expect("a layout");
        // SAFETY: each block has this layout and is freed once.
        blocks.into_iter().for_each(|block| unsafe { allocator.dealloc(block as *mut u8, layout) });
        assert_eq!(counted_bytes(), before);
    }
}
