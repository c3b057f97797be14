//! Guards in front of functions of Lua's own libraries: they see through read-only tables, refuse bytecode, and keep
//! what the instruction hook cannot interrupt within bounds.
//!
//! A guard looks at its arguments and then runs the original on the same frame, so that results and error texts are Lua's.
//! Guards are plain C functions that own nothing, which is why they may raise from anywhere.
//!
//! What no guard bounds: a pattern with nested repetitions can take exponential time in `string.find`, `match`, `gmatch` and
//! `gsub`. The hook counts instructions of the virtual machine and does not fire inside such a call.
#![allow(unsafe_code, reason = "C functions that share the frame of the function they guard")]

use std::cell::Cell;
use std::ffi::{c_char, c_int};

use mlua::ffi::{self, lua_CFunction, lua_Debug, lua_State};

use super::Interrupt;
use super::context::Context;
use super::failure::Failure;
use super::sealed::refuse_raw_write;
use super::stack::{Outcome, Raised, Stack, leave, protect, stop};

/// The guarded functions: table, name, guard. Position in this list is the index into [`Originals`].
pub(super) const GUARDED: [(&str, &str, lua_CFunction); 20] = [
    ("", "next", opened::<0>),
    ("", "rawget", opened::<1>),
    ("table", "foreach", opened::<2>),
    ("", "rawset", unwritten::<3>),
    ("", "setmetatable", unwritten::<4>),
    ("table", "insert", insert::<5>),
    ("", "getmetatable", getmetatable::<6>),
    ("", "load", load::<7>),
    ("", "loadstring", loadstring::<8>),
    ("coroutine", "create", counted::<9>),
    ("coroutine", "wrap", counted::<10>),
    ("string", "find", pattern::<FIND>),
    ("string", "match", pattern::<12>),
    ("string", "gmatch", pattern::<13>),
    ("string", "gfind", pattern::<14>),
    ("string", "gsub", pattern::<15>),
    ("string", "rep", rep::<16>),
    ("", "collectgarbage", collectgarbage::<17>),
    ("", "pcall", pcall),
    ("", "xpcall", xpcall),
];

/// The functions that stand behind the guards.
#[derive(Default)]
pub(super) struct Originals([Cell<Option<lua_CFunction>>; GUARDED.len()]);

impl Originals {
    /// Remembers what the guard with this index stands in front of.
    pub(super) fn set(&self, index: usize, original: lua_CFunction) {
        self.0[index].set(Some(original));
    }

    /// Runs the original on the current frame.
    ///
    /// # Safety
    /// As for any C function called by Lua.
    #[inline]
    unsafe fn run(&self, index: usize, l: *mut lua_State) -> c_int {
        match self.0[index].get() {
            // SAFETY: by contract.
            Some(original) => unsafe { original(l) },
            None => 0,
        }
    }
}

/// Raises what `work` returns.
///
/// # Safety
/// As for [`leave`].
unsafe fn raise(l: *mut lua_State, work: impl FnOnce(&mut Stack<'_>) -> Raised) -> c_int {
    // SAFETY: by contract; `work` is consumed before anything is raised.
    unsafe {
        let count = protect(l, |stack| Err(work(stack)));
        leave(l, count)
    }
}

/// Reads the table behind a sealed first argument.
unsafe extern "C-unwind" fn opened<const INDEX: usize>(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua, with room for more than one value.
    unsafe {
        let context = Context::of(l);
        if ffi::lua_gettop(l) > 0 {
            context.sealed.open(l, 1);
        }
        context.originals.run(INDEX, l)
    }
}

/// Refuses to write to a sealed first argument.
unsafe extern "C-unwind" fn unwritten<const INDEX: usize>(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua.
    unsafe {
        let context = Context::of(l);
        if context.sealed.holds(l, 1) {
            return raise(l, refuse_raw_write);
        }
        context.originals.run(INDEX, l)
    }
}

/// The lowest position for `table.insert`: it moves every item between there and the end in one go.
const LOWEST_POSITION: f64 = -1e6;

unsafe extern "C-unwind" fn insert<const INDEX: usize>(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua.
    unsafe {
        if ffi::lua_gettop(l) == 3 && ffi::lua_tonumber(l, 2) < LOWEST_POSITION {
            return raise(l, |stack| stack.arg_error(2, "position out of bounds"));
        }
        unwritten::<INDEX>(l)
    }
}

/// Shows the metatable that a sealed table pretends to have, never the one that does the work.
unsafe extern "C-unwind" fn getmetatable<const INDEX: usize>(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; a sealed table has a metatable.
    unsafe {
        let context = Context::of(l);
        if context.sealed.holds(l, 1) && ffi::lua_getmetatable(l, 1) != 0 {
            push(l, b"__metatable");
            ffi::lua_rawget_(l, -2);
            return 1;
        }
        context.originals.run(INDEX, l)
    }
}

/// The first byte of compiled code, which can do anything to the process that loads it.
const BYTECODE: c_char = 0x1b;

/// Whether the value at `index` is a string that Lua would take for compiled code.
///
/// # Safety
/// `l` must be a live state.
pub(super) unsafe fn is_bytecode(l: *mut lua_State, index: c_int) -> bool {
    // SAFETY: the value is a string, so nothing is converted; Lua ends every string with a zero byte.
    unsafe {
        ffi::lua_type(l, index) == ffi::LUA_TSTRING
            && *ffi::lua_tolstring(l, index, std::ptr::null_mut()) == BYTECODE
    }
}

/// Puts a space in front of the string on top: then the parser takes it for text and reports what it finds.
unsafe fn indent_top(l: *mut lua_State) {
    // SAFETY: there is a string on top and room for one more.
    unsafe {
        push(l, b" ");
        ffi::lua_insert(l, -2);
        ffi::lua_concat(l, 2);
    }
}

unsafe fn push(l: *mut lua_State, text: &'static [u8]) {
    // SAFETY: C functions have room for a few values; Lua copies the bytes.
    unsafe { ffi::lua_pushlstring_(l, text.as_ptr().cast(), text.len()) }
}

unsafe extern "C-unwind" fn loadstring<const INDEX: usize>(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua.
    unsafe {
        if is_bytecode(l, 1) {
            // Without a name the chunk is named after its text, which is about to change.
            if ffi::lua_type(l, 2) <= ffi::LUA_TNIL {
                ffi::lua_settop(l, 1);
                ffi::lua_pushvalue(l, 1);
            }
            ffi::lua_pushvalue(l, 1);
            indent_top(l);
            ffi::lua_replace(l, 1);
        }
        Context::of(l).originals.run(INDEX, l)
    }
}

unsafe extern "C-unwind" fn load<const INDEX: usize>(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua.
    unsafe {
        if ffi::lua_type(l, 1) == ffi::LUA_TFUNCTION {
            ffi::lua_pushvalue(l, 1);
            ffi::lua_pushboolean(l, 0);
            ffi::lua_pushcclosure(l, read_text, 2);
            ffi::lua_replace(l, 1);
        }
        Context::of(l).originals.run(INDEX, l)
    }
}

/// Reads through the script's own reader (upvalue 1); upvalue 2 says whether text has come yet.
unsafe extern "C-unwind" fn read_text(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua with two upvalues; an error of the reader passes through a frame that owns nothing.
    unsafe {
        ffi::lua_pushvalue(l, ffi::lua_upvalueindex(1));
        ffi::lua_call(l, 0, 1);
        let started = ffi::lua_toboolean(l, ffi::lua_upvalueindex(2)) != 0;
        if !started && ffi::lua_type(l, -1) == ffi::LUA_TSTRING && ffi::lua_objlen(l, -1) > 0 {
            ffi::lua_pushboolean(l, 1);
            ffi::lua_replace(l, ffi::lua_upvalueindex(2));
            if is_bytecode(l, -1) {
                indent_top(l);
            }
        }
        1
    }
}

/// Coroutines made between two looks at the clock. Each counts its own instructions, so a script that makes
/// short-lived ones without end would never reach the count of a single one.
const COROUTINES_PER_LOOK: u32 = 64;

unsafe extern "C-unwind" fn counted<const INDEX: usize>(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua.
    unsafe {
        let context = Context::of(l);
        context.coroutines.set(context.coroutines.get() + 1);
        if context.coroutines.get() >= COROUTINES_PER_LOOK {
            context.coroutines.set(0);
            let count = protect(l, look_up);
            leave(l, count);
        }
        context.originals.run(INDEX, l)
    }
}

/// `string.find` takes its pattern as plain text when the fourth argument says so.
const FIND: usize = 11;

/// Special characters in one pattern. The matcher recurses once for each, on the C stack.
const PATTERN_SPECIALS_MAX: usize = 1000;

unsafe extern "C-unwind" fn pattern<const INDEX: usize>(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; the string is on the stack while its bytes are read.
    unsafe {
        let plain = INDEX == FIND && ffi::lua_toboolean(l, 4) != 0;
        if !plain && ffi::lua_type(l, 2) == ffi::LUA_TSTRING {
            let mut length = 0;
            let start = ffi::lua_tolstring(l, 2, &mut length);
            let text = std::slice::from_raw_parts(start.cast::<u8>(), length);
            let special = |byte: &&u8| b"?*+-()".contains(byte);
            if length > PATTERN_SPECIALS_MAX
                && text.iter().filter(special).count() > PATTERN_SPECIALS_MAX
            {
                return raise(l, |stack| stack.error("pattern too complex"));
            }
        }
        Context::of(l).originals.run(INDEX, l)
    }
}

/// Repeating the empty string would spin, which memory does not bound.
unsafe extern "C-unwind" fn rep<const INDEX: usize>(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua.
    unsafe {
        let empty = ffi::lua_type(l, 1) == ffi::LUA_TSTRING && ffi::lua_objlen(l, 1) == 0;
        if empty && ffi::lua_isnumber(l, 2) != 0 {
            ffi::lua_pushvalue(l, 1);
            return 1;
        }
        Context::of(l).originals.run(INDEX, l)
    }
}

/// `pcall`: gives scripts the text of an error table instead of the table, as Redis does.
///
/// This and `xpcall` replace Lua's own, which push the status after the results without making room for it.
unsafe extern "C-unwind" fn pcall(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua with room for the status; `lua_pcall` returns whatever happens in the called function.
    unsafe {
        if ffi::lua_gettop(l) == 0 {
            // Redis then calls the status that it has just pushed.
            ffi::lua_pushboolean(l, 0);
            push(l, b"attempt to call a boolean value");
            return 2;
        }
        ffi::lua_pushboolean(l, 1);
        ffi::lua_insert(l, 1);
        if ffi::lua_pcall(l, ffi::lua_gettop(l) - 2, ffi::LUA_MULTRET, 0) == ffi::LUA_OK {
            return ffi::lua_gettop(l);
        }
        ffi::lua_pushboolean(l, 0);
        ffi::lua_replace(l, 1);
        if ffi::lua_type(l, 2) == ffi::LUA_TTABLE {
            push(l, b"err");
            ffi::lua_rawget_(l, 2);
            if ffi::lua_isstring(l, -1) != 0 {
                ffi::lua_replace(l, 2);
            }
            ffi::lua_settop(l, 2);
        }
        2
    }
}

/// `xpcall(function, handler)`.
unsafe extern "C-unwind" fn xpcall(l: *mut lua_State) -> c_int {
    // SAFETY: as for `pcall`.
    unsafe {
        if ffi::lua_gettop(l) < 2 {
            return raise(l, |stack| stack.arg_error(2, "value expected"));
        }
        ffi::lua_settop(l, 2);
        ffi::lua_insert(l, 1);
        ffi::lua_pushboolean(l, 1);
        ffi::lua_insert(l, 1);
        if ffi::lua_pcall(l, 0, ffi::LUA_MULTRET, 2) != ffi::LUA_OK {
            ffi::lua_pushboolean(l, 0);
            ffi::lua_replace(l, 1);
        }
        ffi::lua_remove(l, 2);
        ffi::lua_gettop(l)
    }
}

/// Leaves the settings of the collector alone, since they would outlive the script.
unsafe extern "C-unwind" fn collectgarbage<const INDEX: usize>(l: *mut lua_State) -> c_int {
    /// What Lua starts with for both settings.
    const DEFAULT: f64 = 200.0;
    // SAFETY: called by Lua; the option is compared while it is on the stack.
    unsafe {
        if ffi::lua_type(l, 1) == ffi::LUA_TSTRING {
            let mut length = 0;
            let start = ffi::lua_tolstring(l, 1, &mut length);
            let answer = match std::slice::from_raw_parts(start.cast::<u8>(), length) {
                b"stop" | b"restart" => Some(0.0),
                b"setpause" | b"setstepmul" => Some(DEFAULT),
                _ => None,
            };
            if let Some(answer) = answer {
                ffi::lua_pushnumber(l, answer);
                return 1;
            }
        }
        Context::of(l).originals.run(INDEX, l)
    }
}

/// The count hook: asks the engine whether the script may go on.
pub(super) unsafe extern "C-unwind" fn hook(l: *mut lua_State, _record: *mut lua_Debug) {
    // SAFETY: called by Lua between two instructions; nothing is alive when `stop` raises.
    unsafe {
        let context = Context::of(l);
        if !context.is_stopped() {
            protect(l, look_up);
        }
        if context.is_stopped() {
            // From now on every instruction of this thread raises again, so catching the error gains nothing.
            ffi::lua_sethook(l, Some(hook), ffi::LUA_MASKCOUNT, 1);
            stop(l);
        }
    }
}

/// Asks the engine whether the script may go on, and condemns it if not.
fn look_up(stack: &mut Stack<'_>) -> Outcome {
    if let Some(Interrupt::Stop(error)) = stack.context().with_caller(|caller| caller.interrupt()) {
        let place = (0..2).filter_map(|level| stack.frame(level)).find(|frame| !frame.is_c);
        stack.context().condemn(Failure::stopped(error.text(), place));
    }
    Ok(0)
}
