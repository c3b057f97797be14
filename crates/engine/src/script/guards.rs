//! Guards in front of functions of Lua's own libraries: they see through read-only tables, refuse bytecode, and keep
//! what the instruction hook cannot interrupt within bounds.
//!
//! A guard looks at its arguments and then runs the original on the same frame, so that results and error texts are Lua's.
//! Guards are plain C functions that own nothing, which is why they may raise from anywhere.
//!
//! Functions whose time cannot be bounded from outside are not guarded but replaced: those with patterns ([`strings`]), those
//! that walk tables ([`tables`]), and `unpack`. [`super::watch`] says how long a single instruction may take.
#![allow(unsafe_code, reason = "C functions that share the frame of the function they guard")]

use std::cell::Cell;
use std::ffi::{c_char, c_int};

use mlua::ffi::{self, lua_CFunction, lua_Debug, lua_State};

use super::Interrupt;
use super::context::Context;
use super::failure::Failure;
use super::number;
use super::readonly_tables::refuse_raw_write;
use super::stack::{Outcome, Stack, leave, protect, protect_at_any_depth, raise, stop};
use super::{strings, tables};

/// The guarded functions: table, name, guard. Position in this list is the index into [`Originals`].
pub(super) const GUARDED: [(&str, &str, lua_CFunction); 20] = [
    ("", "next", opened::<0>),
    ("", "rawget", opened::<1>),
    ("table", "foreach", tables::foreach),
    ("", "rawset", unwritten::<3>),
    ("", "setmetatable", unwritten::<4>),
    ("table", "insert", tables::insert),
    ("", "getmetatable", getmetatable::<6>),
    ("", "load", load::<7>),
    ("", "loadstring", loadstring::<8>),
    ("coroutine", "resume", resume::<9>),
    ("coroutine", "wrap", wrap::<10>),
    ("string", "rep", rep::<11>),
    ("", "collectgarbage", collectgarbage::<12>),
    ("table", "sort", sort::<13>),
    ("", "pcall", pcall),
    ("", "xpcall", xpcall),
    ("", "unpack", unpack),
    ("string", "gsub", strings::gsub),
    ("table", "foreachi", tables::foreachi),
    ("table", "remove", tables::remove),
];

/// The functions that stand behind the guards.
#[derive(Default)]
pub(super) struct Originals([Cell<Option<lua_CFunction>>; GUARDED.len() + 1]);

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

/// The longest text that is compiled: the parser cannot be interrupted, and takes about half a second for so much.
pub(super) const SOURCE_MAX: usize = 16 << 20;

/// What longer ones get.
pub(super) const SOURCE_TOO_LONG: &str = "chunk is longer than 16 MiB";

/// Work that compiling a byte stands for.
const SOURCE_UNITS: usize = 16;

unsafe extern "C-unwind" fn loadstring<const INDEX: usize>(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua.
    unsafe {
        if ffi::lua_type(l, 1) == ffi::LUA_TSTRING {
            let length = ffi::lua_objlen(l, 1);
            if length > SOURCE_MAX {
                ffi::lua_pushnil(l);
                push(l, SOURCE_TOO_LONG.as_bytes());
                return 2;
            }
            tables::count(l, Context::of(l), length * SOURCE_UNITS);
        }
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

/// `load(reader [, name])`. Lua's parser makes a string of the chunk's name and does not keep it alive while the reader runs
/// for the first time. Equal strings are one in Lua, so the same text on the stack keeps it alive.
unsafe extern "C-unwind" fn load<const INDEX: usize>(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; the frame owns nothing, so that checks may raise.
    unsafe {
        // The parser's name ends at the first zero byte, so the anchor must, too.
        let name = ffi::luaL_optlstring(l, 2, c"=(load)".as_ptr(), std::ptr::null_mut());
        ffi::luaL_checktype(l, 1, ffi::LUA_TFUNCTION);
        ffi::lua_settop(l, 2);
        ffi::lua_pushstring_(l, name);
        ffi::lua_replace(l, 2);
        ffi::lua_pushvalue(l, 1);
        ffi::lua_pushnumber(l, 0.0);
        ffi::lua_pushcclosure(l, read_text, 2);
        ffi::lua_replace(l, 1);
        let context = Context::of(l);
        let results = context.originals.run(INDEX, l);
        // The parser catches errors of the reader, also those that a coroutine has passed on.
        context.watch.go_on(l);
        results
    }
}

/// Reads through the script's own reader (upvalue 1); upvalue 2 says how many bytes have come.
unsafe extern "C-unwind" fn read_text(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua with two upvalues; an error of the reader passes through a frame that owns nothing.
    unsafe {
        ffi::lua_pushvalue(l, ffi::lua_upvalueindex(1));
        ffi::lua_call(l, 0, 1);
        // Other types are for the parser to refuse; it takes a number for its text.
        if ffi::lua_isstring(l, -1) == 0 {
            return 1;
        }
        let length = ffi::lua_objlen(l, -1);
        let before = ffi::lua_tonumber(l, ffi::lua_upvalueindex(2));
        let total = before + length as f64;
        if total > SOURCE_MAX as f64 {
            return raise(l, |stack| stack.error_bare(SOURCE_TOO_LONG));
        }
        ffi::lua_pushnumber(l, total);
        ffi::lua_replace(l, ffi::lua_upvalueindex(2));
        if before == 0.0 && is_bytecode(l, -1) {
            indent_top(l);
        }
        // A reader written in C is interrupted by nothing else.
        tables::count(l, Context::of(l), (length + 1) * SOURCE_UNITS);
        1
    }
}

/// `coroutine.resume`: the coroutine gets the window of the running script.
unsafe extern "C-unwind" fn resume<const INDEX: usize>(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua, with room for a few values.
    unsafe {
        let context = Context::of(l);
        let coroutine = ffi::lua_tothread(l, 1);
        if !coroutine.is_null() {
            leave(l, protect(l, count_resume));
            ffi::lua_pushvalue(l, 1);
            context.watch.enter(l, coroutine);
        }
        // Errors of the coroutine come back as results. The one that is raised instead ends the script or is caught by
        // somebody who says what runs then.
        let results = context.originals.run(INDEX, l);
        resumed(l, context);
        results
    }
}

/// `coroutine.wrap`: as Lua's own, but what it returns is guarded like `resume`.
unsafe extern "C-unwind" fn wrap<const INDEX: usize>(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; the original leaves a function on top, whose only upvalue is the coroutine.
    unsafe {
        let context = Context::of(l);
        context.originals.run(INDEX, l);
        context.originals.set(WRAPPED, ffi::lua_tocfunction(l, -1).unwrap_or(wrapped));
        ffi::lua_getupvalue(l, -1, 1);
        ffi::lua_pushcclosure(l, wrapped, 1);
        1
    }
}

/// The place of what `coroutine.wrap` returns among the originals, behind those of [`GUARDED`].
const WRAPPED: usize = GUARDED.len();

/// Runs the function that Lua's `coroutine.wrap` returns, on a frame that has the same upvalue.
unsafe extern "C-unwind" fn wrapped(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; as for `resume`. Errors are raised: whoever catches them says what runs then.
    unsafe {
        let context = Context::of(l);
        leave(l, protect(l, count_resume));
        let coroutine = ffi::lua_tothread(l, ffi::lua_upvalueindex(1));
        ffi::lua_pushvalue(l, ffi::lua_upvalueindex(1));
        context.watch.enter(l, coroutine);
        let results = context.originals.run(WRAPPED, l);
        resumed(l, context);
        results
    }
}

/// Work that a resumption stands for: each coroutine counts its own instructions, so a script that resumes short-lived ones
/// without end might never reach the count of a single one.
const RESUME_UNITS: usize = 1024;

fn count_resume(stack: &mut Stack<'_>) -> Outcome {
    stack.spend(RESUME_UNITS, 0)?;
    Ok(0)
}

/// Says that `l` goes on after a resumption.
///
/// # Safety
/// `l` must be running a C function that owns nothing.
unsafe fn resumed(l: *mut lua_State, context: &Context) {
    // SAFETY: by contract; the results may fill the stack to its last place.
    unsafe {
        if ffi::lua_checkstack(l, 1) == 0 {
            raise(l, |stack| stack.error("too many results to resume"));
        }
        context.watch.go_on(l);
    }
}

/// `unpack(table [, first [, last]])`. Lua's own computes the number of results in 32 bits, and writes beyond the stack where
/// that overflows.
unsafe extern "C-unwind" fn unpack(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; the frame owns nothing, so the checks may raise. There is room for as many values as are pushed.
    unsafe {
        ffi::luaL_checktype(l, 1, ffi::LUA_TTABLE);
        let first = ffi::luaL_optinteger(l, 2, 1) as c_int;
        let last = match ffi::lua_type(l, 3) {
            ffi::LUA_TNONE | ffi::LUA_TNIL => ffi::lua_objlen(l, 1) as c_int,
            _ => ffi::luaL_checkinteger(l, 3) as c_int,
        };
        if first > last {
            return 0;
        }
        let count = i64::from(last) - i64::from(first) + 1;
        match c_int::try_from(count) {
            Ok(count) if count < UNPACK_MAX && ffi::lua_checkstack(l, count) != 0 => {
                for position in first..=last {
                    ffi::lua_rawgeti_(l, 1, position);
                }
                count
            }
            _ => raise(l, |stack| stack.error("too many results to unpack")),
        }
    }
}

/// More values than Lua's stack ever holds for a C function.
const UNPACK_MAX: c_int = 1 << 20;

/// `table.sort(table [, less])`, in a form that can be interrupted.
unsafe extern "C-unwind" fn sort<const INDEX: usize>(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua.
    unsafe {
        tables::prepare_sort(l);
        Context::of(l).originals.run(INDEX, l)
    }
}

/// `string.rep`: repeating the empty string would spin, which memory does not bound; and what cannot fit is refused before
/// memory is filled byte by byte.
unsafe extern "C-unwind" fn rep<const INDEX: usize>(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua.
    unsafe {
        if ffi::lua_type(l, 1) == ffi::LUA_TSTRING && ffi::lua_isnumber(l, 2) != 0 {
            let length = ffi::lua_objlen(l, 1);
            if length == 0 {
                ffi::lua_pushvalue(l, 1);
                return 1;
            }
            let count = number::to_i64(ffi::lua_tonumber(l, 2)) as c_int;
            let total = length.saturating_mul(usize::try_from(count).unwrap_or(0));
            if Context::of(l).over_budget(total) {
                return raise(l, |stack| stack.error_memory());
            }
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
        Context::of(l).watch.go_on(l);
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
            Context::of(l).watch.go_on(l);
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
        // A collection takes time in proportion to all that the script holds.
        tables::check(l);
        Context::of(l).originals.run(INDEX, l)
    }
}

/// The count hook: asks the engine whether the script may go on.
pub(super) unsafe extern "C-unwind" fn hook(l: *mut lua_State, _record: *mut lua_Debug) {
    // SAFETY: called by Lua between two instructions; nothing is alive when `stop` raises.
    unsafe {
        let context = Context::of(l);
        context.watch.go_on(l);
        protect_at_any_depth(l, |stack| stack.check().map(|()| 0));
        if context.is_stopped() {
            stop(l);
        }
    }
}

/// Functions of C's that may lie between a check and the code that called them, and that code.
const PLACE_LEVELS: c_int = 5;

/// Asks the engine whether the script may go on, and condemns it if not.
pub(super) fn check(stack: &Stack<'_>) {
    let context = stack.context();
    if context.is_stopped() {
        return;
    }
    #[cfg(test)]
    super::tests::faults::strike();
    context.watch.note_check();
    if let Some(Interrupt::Stop(error)) = context.with_caller(|caller| caller.interrupt()) {
        let place =
            (0..PLACE_LEVELS).filter_map(|level| stack.frame(level)).find(|frame| !frame.is_c);
        context.condemn(Failure::stopped(error.text(), place));
    }
}
