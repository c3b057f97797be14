//! Memory for the virtual machine.
//!
//! Nearly all of its blocks are small and live for one call of a script, and the next call asks for the same sizes again.
//! They are kept by size until then. Scripts run on whichever thread holds the engine, so for the general allocator nearly
//! every block would come back on another thread than it was made on, which is the slow way for it.
#![allow(unsafe_code, reason = "the allocator of a Lua state works on raw memory")]

use std::alloc::{self, Layout};
use std::cell::Cell;
use std::ptr;

/// Lua keeps doubles and pointers.
const ALIGN: usize = align_of::<f64>();
/// Sizes of blocks that are kept are multiples of this, up to so many times.
const STEP: usize = 16;
const STEPS: usize = 32;
/// Bytes that are kept; what is given back beyond them goes to the system.
const SPARE_MAX: usize = 4 << 20;

/// Blocks that were given back, by size.
pub(super) struct Blocks {
    lists: [Cell<*mut FreeBlock>; STEPS],
    spare: Cell<usize>,
}

/// A block that nobody uses; the next one of its size stands in it.
struct FreeBlock {
    next: *mut FreeBlock,
}

/// The place of a size in the lists, if such blocks are kept.
fn list_of(size: usize) -> Option<usize> {
    // A sanitizer sees nothing but what the system gives and takes back: for it every block has its own size and is not kept.
    if cfg!(feature = "fuzzing") {
        return None;
    }
    let at = size.div_ceil(STEP).checked_sub(1)?;
    (at < STEPS).then_some(at)
}

/// What is asked of the system for a block of this size.
fn layout_of(size: usize) -> Option<Layout> {
    let size = list_of(size).map_or(size, |at| (at + 1) * STEP);
    Layout::from_size_align(size, ALIGN).ok()
}

impl Blocks {
    pub(super) fn new() -> Blocks {
        Blocks { lists: [const { Cell::new(ptr::null_mut()) }; STEPS], spare: Cell::new(0) }
    }

    /// A block of so many bytes, which are not none; null when there is no memory.
    pub(super) fn take(&self, size: usize) -> *mut u8 {
        let Some(layout) = layout_of(size) else { return ptr::null_mut() };
        if let Some(list) = list_of(size).map(|at| &self.lists[at])
            && !list.get().is_null()
        {
            let block = list.get();
            // SAFETY: blocks in the list are ours, and each was made a `FreeBlock` by `give`.
            list.set(unsafe { (*block).next });
            self.spare.set(self.spare.get() - layout.size());
            return block.cast();
        }
        // SAFETY: the size is not zero.
        unsafe { alloc::alloc(layout) }
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// The block must have come from here with this size, and nobody may use it any more.
    pub(super) unsafe fn give(&self, block: *mut u8, size: usize) {
        let Some(layout) = layout_of(size) else { return };
        let spare = self.spare.get() + layout.size();
        match list_of(size) {
            Some(at) if spare <= SPARE_MAX => {
                let list = &self.lists[at];
                let block = block.cast::<FreeBlock>();
                // SAFETY: a kept block has at least `STEP` bytes and suits a pointer.
                unsafe { block.write(FreeBlock { next: list.get() }) };
                list.set(block);
                self.spare.set(spare);
            }
            // SAFETY: the system gave it with this layout.
            _ => unsafe { alloc::dealloc(block, layout) },
        }
    }

    /// Changes the size of a block, which may move it; null when there is no memory, and then it is as it was.
    ///
    /// # Safety
    /// As for [`Blocks::give`]; `new_size` must not be zero.
    pub(super) unsafe fn resize(&self, block: *mut u8, size: usize, new_size: usize) -> *mut u8 {
        let (Some(layout), Some(new_layout)) = (layout_of(size), layout_of(new_size)) else {
            return ptr::null_mut();
        };
        if layout == new_layout {
            return block;
        }
        if list_of(size).is_none() && list_of(new_size).is_none() {
            // SAFETY: by this function's contract; the new size is one of a layout.
            return unsafe { alloc::realloc(block, layout, new_layout.size()) };
        }
        let fresh = self.take(new_size);
        if !fresh.is_null() {
            // SAFETY: both have at least so many bytes, and they are two blocks.
            unsafe {
                ptr::copy_nonoverlapping(block, fresh, size.min(new_size));
                self.give(block, size);
            }
        }
        fresh
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for (at, list) in self.lists.iter().enumerate() {
            let layout = layout_of((at + 1) * STEP).expect("a size of blocks that are kept");
            while !list.get().is_null() {
                let block = list.get();
                // SAFETY: blocks in the list are ours, made by the system with the layout of the list.
                unsafe {
                    list.set((*block).next);
                    alloc::dealloc(block.cast(), layout);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Fills a block with bytes that tell it from others.
    fn mark(block: *mut u8, size: usize, mark: u8) {
        // SAFETY: the block has that size.
        unsafe { ptr::write_bytes(block, mark, size) };
    }

    fn is_marked(block: *mut u8, size: usize, mark: u8) -> bool {
        // SAFETY: the block has that size and was written.
        (0..size).all(|at| unsafe { *block.add(at) } == mark)
    }

    #[test]
    fn nobody_writes_into_a_block_of_another() {
        let act = (any::<prop::sample::Index>(), 1usize..800, 0..3);
        proptest!(|(acts in prop::collection::vec(act, 0..300))| {
            let blocks = Blocks::new();
            let mut held: Vec<(*mut u8, usize, u8)> = Vec::new();
            for (n, (which, size, what)) in acts.into_iter().enumerate() {
                if what == 0 || held.is_empty() {
                    let block = blocks.take(size);
                    prop_assert!(!block.is_null() && block.addr().is_multiple_of(ALIGN));
                    held.push((block, size, n as u8));
                    mark(block, size, n as u8);
                    continue;
                }
                let (block, old_size, old_mark) = held.swap_remove(which.index(held.len()));
                prop_assert!(is_marked(block, old_size, old_mark));
                if what == 1 {
                    // SAFETY: it was taken with that size and is not used any more.
                    unsafe { blocks.give(block, old_size) };
                } else {
                    // SAFETY: it was taken with that size; sizes are at least one.
                    let block = unsafe { blocks.resize(block, old_size, size) };
                    prop_assert!(is_marked(block, old_size.min(size), old_mark));
                    mark(block, size, old_mark);
                    held.push((block, size, old_mark));
                }
            }
            for (block, size, its_mark) in held {
                prop_assert!(is_marked(block, size, its_mark));
                // SAFETY: it was taken with that size and is not used any more.
                unsafe { blocks.give(block, size) };
            }
        });
    }

    #[test]
    fn no_more_is_kept_than_is_worth_it() {
        let blocks = Blocks::new();
        let many: Vec<*mut u8> = (0..2 * SPARE_MAX / 512).map(|_| blocks.take(512)).collect();
        // SAFETY: they were taken with that size and are not used any more.
        many.into_iter().for_each(|block| unsafe { blocks.give(block, 512) });
        let kept = if cfg!(feature = "fuzzing") { 0 } else { SPARE_MAX };
        assert_eq!(blocks.spare.get(), kept);
    }
}
