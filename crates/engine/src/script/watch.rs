//! How often a running script is checked: whether it has run for too long, and whether somebody wants to kill it.
//!
//! Lua calls the count hook once per *window*, a number of instructions. Most instructions take nanoseconds, but some
//! take time in proportion to the data: comparing strings or walking a table is as slow as the largest block is large,
//! and making a string is as slow as there are strings with the same hash. So the window changes in two ways:
//!
//! - when a large block is allocated it shrinks at once, and stays small until the script ends ([`Watch::note_block`]),
//! - when more than [`SLOW`] has passed since the last check it shrinks, and when less than [`QUICK`] has passed it grows
//!   again ([`Watch::note_check`]): a thread that was only preempted is soon back at full speed.
//!
//! Native functions report their own work ([`Watch::spend`]), since the hook does not fire inside them.
#![allow(unsafe_code, reason = "sets the count hook of a Lua state")]

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;
use std::time::{Duration, Instant};

use mlua::ffi::{self, lua_State};

use super::guards::hook;

/// Blocks from this size on shrink the window: 64 KiB compare in microseconds.
const LARGE: usize = 64 << 10;

/// The window for blocks of that size.
const BLOCK_WINDOW: c_int = 1000;

/// More time between two checks than this shrinks the window.
const SLOW: Duration = Duration::from_millis(20);

/// Less time between two checks than this lets the window grow again.
const QUICK: Duration = Duration::from_millis(1);

/// Units of native work between two checks: about as many bytes copied.
const WORK: usize = 64 << 10;

/// A window that a script without large blocks does not get.
const SMALL_WINDOW: c_int = 500;

/// The state of the checks of one machine.
pub(super) struct Watch {
    /// Instructions between two calls of the hook.
    window: Cell<c_int>,
    /// The largest window that the blocks of the script allow.
    window_max: Cell<c_int>,
    checked_at: Cell<Option<Instant>>,
    /// Native work since the last check.
    work: Cell<usize>,
    /// The main thread of the machine, and the coroutine that runs now; null between runs.
    main: Cell<*mut lua_State>,
    current: Cell<*mut lua_State>,
}

impl Watch {
    pub(super) fn new() -> Watch {
        Watch {
            window: Cell::new(1),
            window_max: Cell::new(1),
            checked_at: Cell::new(None),
            work: Cell::new(0),
            main: Cell::new(ptr::null_mut()),
            current: Cell::new(ptr::null_mut()),
        }
    }

    /// A script starts on the main thread `l`.
    ///
    /// # Safety
    /// `l` must stay live until [`Watch::end`].
    pub(super) unsafe fn begin(&self, l: *mut lua_State, window: u32) {
        self.window_max.set(c_int::try_from(window.max(1)).unwrap_or(c_int::MAX));
        self.window.set(self.window_max.get());
        self.checked_at.set(None);
        self.work.set(0);
        self.main.set(l);
        self.current.set(l);
        // SAFETY: the state is live.
        unsafe { self.apply(l) };
    }

    /// The script has ended.
    pub(super) fn end(&self) {
        self.main.set(ptr::null_mut());
        self.current.set(ptr::null_mut());
    }

    /// The coroutine `l` runs from now on.
    ///
    /// # Safety
    /// `l` must stay live until another one is named or the script ends. A coroutine that is resumed is anchored in the
    /// registry. One that goes on after another has ended is held by whoever resumed it; when it ends itself, all who can
    /// get control then (`resume`, `wrap`, `pcall`, `xpcall` of [`super::guards`], or the end of the script) come here before
    /// anything is allocated.
    pub(super) unsafe fn set_current(&self, l: *mut lua_State) {
        self.current.set(l);
        // SAFETY: the state is live. A window of one instruction that ends a stopped script stays.
        unsafe {
            if ffi::lua_gethookcount(l) > self.window.get() {
                self.apply(l);
            }
        }
    }

    /// Sets the hook of `l` to the window.
    ///
    /// # Safety
    /// `l` must be a live state. Lua allows this call at any time, even from its allocator: it only stores four fields.
    unsafe fn apply(&self, l: *mut lua_State) {
        // SAFETY: by contract.
        unsafe { ffi::lua_sethook(l, Some(hook), ffi::LUA_MASKCOUNT, self.window.get()) };
    }

    /// The allocator gives out a block of `size` bytes.
    #[inline]
    pub(super) fn note_block(&self, size: usize) {
        if size >= LARGE && !self.main.get().is_null() {
            self.note_large_block(size);
        }
    }

    #[cold]
    fn note_large_block(&self, size: usize) {
        let allowed = BLOCK_WINDOW / c_int::try_from(size / LARGE).unwrap_or(c_int::MAX);
        self.window_max.set(self.window_max.get().min(allowed.max(1)));
        if self.window.get() > self.window_max.get() {
            self.resize(self.window_max.get());
        }
    }

    /// The hook fired or a native function checked.
    pub(super) fn note_check(&self) {
        self.work.set(0);
        let now = Instant::now();
        let Some(last) = self.checked_at.replace(Some(now)) else { return };
        if self.main.get().is_null() {
            return;
        }
        let (window, passed) = (self.window.get(), now.duration_since(last));
        if passed > SLOW && window > 1 {
            self.resize((window / 16).max(1));
        } else if passed < QUICK && window < self.window_max.get() {
            self.resize(window.saturating_mul(2).min(self.window_max.get()));
        }
    }

    fn resize(&self, window: c_int) {
        self.window.set(window);
        for l in [self.main.get(), self.current.get()] {
            // SAFETY: both are live by the contracts of `begin` and `set_current`.
            unsafe { self.apply(l) };
        }
    }

    /// Whether the window has shrunk: single instructions may take long.
    pub(super) fn is_close(&self) -> bool {
        self.window_max.get() < SMALL_WINDOW
    }

    /// Counts native work and says whether it is time for a check.
    #[inline]
    pub(super) fn spend(&self, units: usize) -> bool {
        let work = self.work.get().saturating_add(units);
        self.work.set(work);
        work >= WORK
    }
}
