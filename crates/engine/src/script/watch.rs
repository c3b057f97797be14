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
    /// The main thread of the machine; null between runs.
    main: Cell<*mut lua_State>,
    /// The thread that runs now, as far as is known: the main thread, or the one that `slot` keeps alive. Null between runs.
    current: Cell<*mut lua_State>,
    /// The place in the registry that keeps `current` alive.
    slot: Cell<c_int>,
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
            slot: Cell::new(0),
        }
    }

    /// Gives the watch a place in the registry, which must hold something already.
    pub(super) fn set_slot(&self, slot: c_int) {
        self.slot.set(slot);
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

    /// The coroutine on top of `l` is about to run; pops it.
    ///
    /// # Safety
    /// `l` must be live, and `coroutine` the thread on top of it.
    pub(super) unsafe fn enter(&self, l: *mut lua_State, coroutine: *mut lua_State) {
        // SAFETY: the place in the registry is taken, so storing does not allocate and cannot raise. From here on the coroutine
        // lives at least until another one takes its place, whoever forgets to say so.
        unsafe {
            ffi::lua_rawseti_(l, ffi::LUA_REGISTRYINDEX, self.slot.get());
            self.current.set(coroutine);
            if ffi::lua_gethookcount(coroutine) > self.window.get() {
                self.apply(coroutine);
            }
        }
    }

    /// `l` goes on, after a coroutine it resumed has stopped in whatever way: everybody who gets control then says so
    /// (`resume`, `wrap`, `pcall`, `xpcall` and `load` of [`super::guards`], the hook, the end of the script). Between the stop
    /// and that moment the window is kept for the coroutine that has stopped, which [`Watch::enter`] keeps alive.
    ///
    /// # Safety
    /// `l` must be live and running, with room for a value.
    #[inline]
    pub(super) unsafe fn go_on(&self, l: *mut lua_State) {
        if self.current.get() != l {
            // SAFETY: by contract.
            unsafe {
                ffi::lua_pushthread(l);
                self.enter(l, l);
            }
        }
    }

    /// The script has to end: from now on the hook fires at every instruction, and nothing makes it fire less often.
    pub(super) fn halt(&self) {
        self.window_max.set(1);
        if !self.main.get().is_null() {
            self.resize(1);
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
            // SAFETY: `main` is live by the contract of `begin`; `current` is the same, or what the registry holds.
            unsafe { self.apply(l) };
        }
    }

    /// Sets the hook of `l`, a thread of a script that has to end, to every instruction.
    ///
    /// # Safety
    /// `l` must be a live state.
    pub(super) unsafe fn halt_thread(&self, l: *mut lua_State) {
        // SAFETY: by contract.
        unsafe { ffi::lua_sethook(l, Some(hook), ffi::LUA_MASKCOUNT, 1) };
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
