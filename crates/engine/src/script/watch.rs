//! How often a running script is checked: whether it has run for too long, and whether somebody wants to kill it.
//!
//! Lua calls the count hook once per *window*, a number of instructions. Most instructions take nanoseconds, but some
//! take time in proportion to the data: comparing strings or walking a table is as slow as the largest block is large,
//! and making a string is as slow as there are strings with the same hash. So the window shrinks in two ways, and
//! stays small until the script ends:
//!
//! - at once when a large block is allocated ([`Watch::note_block`]),
//! - when more than [`SLOW`] has passed since the last check ([`Watch::note_check`]).
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

/// More time between two checks than this shrinks the window.
const SLOW: Duration = Duration::from_millis(20);

/// Units of native work between two checks: about as many bytes copied.
const WORK: usize = 64 << 10;

/// A window that a script without large blocks does not get.
const SMALL_WINDOW: c_int = 500;

/// The state of the checks of one machine.
pub(super) struct Watch {
    /// Instructions between two calls of the hook.
    window: Cell<c_int>,
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
        self.window.set(c_int::try_from(window.max(1)).unwrap_or(c_int::MAX));
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
            self.shrink(self.window.get() / c_int::try_from(size / LARGE).unwrap_or(c_int::MAX));
        }
    }

    #[cold]
    fn shrink(&self, window: c_int) {
        let window = window.max(1);
        if window >= self.window.get() {
            return;
        }
        self.window.set(window);
        for l in [self.main.get(), self.current.get()] {
            // SAFETY: both are live by the contracts of `begin` and `set_current`.
            unsafe { self.apply(l) };
        }
    }

    /// The hook fired or a native function checked.
    pub(super) fn note_check(&self) {
        self.work.set(0);
        let now = Instant::now();
        if let Some(last) = self.checked_at.replace(Some(now))
            && now.duration_since(last) > SLOW
            && !self.main.get().is_null()
        {
            self.shrink(self.window.get() / 16);
        }
    }

    /// Whether the window has shrunk: single instructions may take long.
    pub(super) fn is_close(&self) -> bool {
        self.window.get() < SMALL_WINDOW
    }

    /// Counts native work and says whether it is time for a check.
    #[inline]
    pub(super) fn spend(&self, units: usize) -> bool {
        let work = self.work.get().saturating_add(units);
        self.work.set(work);
        work >= WORK
    }
}
