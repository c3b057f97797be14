//! A safe view of the Lua stack for functions written in Rust, and the boundary between them and C.
//!
//! Lua reports errors with `longjmp`, which skips destructors, and knows nothing of unwinding. The argument why this is
//! sound has six parts.
//!
//! 1. **No call made through [`Stack`] raises.** It uses only calls of the C API that raise for lack of memory or not at
//!    all: raw table access, no metamethods, no calls into Lua, `next` with the key it gave. So no `longjmp` passes a Rust
//!    frame that owns something.
//! 2. **Errors are values until every Rust frame is gone.** A native function returns `Err(Raised)` with the error value on
//!    top of the stack; `enter`, which owns nothing at that point, calls `lua_error`. C functions written in Rust that call
//!    into Lua or raise by themselves ([`super::guards`], [`super::tables`], [`super::strings::gsub`]) own nothing at all: what
//!    they need between two calls lies on the Lua stack.
//! 3. **Failed allocations.** While Rust code runs the allocator never refuses ([`Context::set_strict`]); if the system has no
//!    memory the process ends. Values that would grow without bound, and copies of them, are checked against the budget by
//!    those who make them ([`Stack::spend`], [`Stack::make_room`], [`Stack::push_built`]); texts in messages are cut.
//!    While Lua's code runs the allocator refuses what is over the budget, and Lua raises.
//! 4. **Full stacks.** Every push asks for room first. Lua keeps [`ffi::LUA_MINSTACK`] slots free above the arguments of a C
//!    function, however many these are; beyond them `lua_checkstack` is asked. Where it refuses, the native function is
//!    unwound up to [`protect`], with all its destructors, and becomes an error. The thread's own stack is that of the
//!    script ([`super::STACK_SIZE`]); native functions that recurse ask [`Context::is_deep`], and so does [`protect`].
//! 5. **Panics** stop at [`protect`], before they reach a C frame. They end the script like a kill does: nothing that it
//!    catches keeps it running, since no native function does anything from then on ([`protect`]) and the hook raises at every
//!    instruction ([`super::watch::Watch::halt`]). When Lua's frames are gone the panic goes on in [`super::Scripts::run`], and the
//!    machine can be used again. Outside of [`protect`] the engine is asked only while the reply is made, when no frame of
//!    Lua's is there any more: such a panic unwinds as any other, and [`super::execute`] cleans up in a destructor.
//!    `tests/faults.rs` makes every native call and every question to the engine of a number of scripts panic.
//! 6. **Threads.** The only pointers to Lua's objects that outlive a call are those of [`super::watch`]: the main thread, which
//!    lives as long as the machine, and the coroutine that was entered last, which the registry keeps alive until another
//!    takes its place. So it does not matter who catches the error of a coroutine (`pcall`, `resume`, the parser), or when the
//!    collector runs: a pointer may be that of a dead coroutine, but never that of a freed one.
#![allow(unsafe_code, reason = "the Lua stack is a C API; this module is the safe layer over it")]

mod boundary;
mod budget;
mod push;
mod read;
mod table;
mod userdata;

use std::ffi::c_int;
use std::panic::resume_unwind;

use mlua::ffi::{self, lua_State};

use self::boundary::StackFull;
pub(super) use self::boundary::{c_function, leave, protect, protect_at_any_depth, raise, stop};
pub(super) use self::userdata::Data;
use super::context::Context;

/// The mark that an error value lies on top of the stack.
#[derive(Debug)]
pub(super) struct Raised(pub(super) ());

/// What a native function returns: how many values on top of the stack are its results.
pub(super) type Outcome = Result<c_int, Raised>;

/// The type of a Lua value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    None,
    Nil,
    Boolean,
    LightUserdata,
    Number,
    String,
    Table,
    Function,
    Userdata,
    Thread,
}

impl Kind {
    /// The name that Lua's `type` and its error messages use.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::None => "no value",
            Kind::Nil => "nil",
            Kind::Boolean => "boolean",
            Kind::LightUserdata | Kind::Userdata => "userdata",
            Kind::Number => "number",
            Kind::String => "string",
            Kind::Table => "table",
            Kind::Function => "function",
            Kind::Thread => "thread",
        }
    }
}

/// The values a native function sees, bottom first: its arguments, then what it pushed.
pub(super) struct Stack<'a> {
    l: *mut lua_State,
    context: &'a Context,
    /// The number of values up to which there is room without asking.
    roomy: c_int,
}

/// Values that every native function may push whatever its arguments: Lua keeps [`ffi::LUA_MINSTACK`] slots free above
/// them, of which C functions that call [`protect`] in between may have used the rest.
const ALWAYS_FREE: c_int = ffi::LUA_MINSTACK - 8;

impl<'a> Stack<'a> {
    /// A view for code that prepares or finishes a run.
    ///
    /// # Safety
    /// `l` must be the main state of a machine whose context is `context`, with strictness off.
    pub(super) unsafe fn outside(l: *mut lua_State, context: &'a Context) -> Stack<'a> {
        // Lua keeps as many slots free above the bottom of a state as above the arguments of a function.
        Stack { l, context, roomy: ALWAYS_FREE }
    }

    /// What the machine shares.
    pub(super) fn context(&self) -> &'a Context {
        self.context
    }

    /// The number of values.
    pub(super) fn top(&self) -> c_int {
        // SAFETY: reads two pointers.
        unsafe { ffi::lua_gettop(self.l) }
    }

    /// Drops all but the lowest `count` values.
    pub(super) fn truncate(&mut self, count: c_int) {
        if count < self.top() {
            // SAFETY: only lowers the top.
            unsafe { ffi::lua_settop(self.l, count) }
        }
    }

    /// Drops the topmost `count` values.
    pub(super) fn pop(&mut self, count: c_int) {
        self.truncate((self.top() - count).max(0));
    }

    /// Makes room for `count` more values; false when Lua's limit is reached.
    #[inline]
    pub(super) fn reserve(&mut self, count: c_int) -> bool {
        // SAFETY: cannot raise while the allocator does not refuse.
        self.top() + count <= self.roomy || unsafe { ffi::lua_checkstack(self.l, count) != 0 }
    }

    /// Makes room for pushed values; where there is none, the native function ends with an error.
    #[inline]
    fn need(&mut self, count: c_int) {
        if !self.reserve(count) {
            resume_unwind(Box::new(StackFull));
        }
    }

    /// Makes room for one pushed value.
    #[inline]
    fn room(&mut self) {
        self.need(1);
    }

    /// Moves the value on top to `index`.
    pub(super) fn replace(&mut self, index: c_int) {
        assert!(index > 0 && index <= self.top(), "there is no value to replace");
        // SAFETY: both values exist.
        unsafe { ffi::lua_replace(self.l, index) }
    }

    /// The index counted from the bottom, which pushes do not change.
    pub(super) fn absolute(&self, index: c_int) -> c_int {
        if index < 0 && index > ffi::LUA_REGISTRYINDEX { self.top() + index + 1 } else { index }
    }

    /// The state itself, for the modules that must go below this one.
    pub(super) fn raw(&self) -> *mut lua_State {
        self.l
    }
}
