//! `table.insert`, `remove`, `foreach`, `foreachi`, and what `sort` compares with.
//!
//! Lua's own go through a table up to its border without ever being interrupted. A border costs nothing: with a few dozen
//! items at the right places it is hundreds of millions. So these here count every step, and those that call a function of
//! C's, which no hook interrupts, check each time.
//!
//! All are plain C functions that own nothing, which is why they may raise from anywhere.
#![allow(
    unsafe_code,
    reason = "C functions that call into Lua and work on the values of their frame"
)]

use std::ffi::c_int;

use mlua::ffi::{self, lua_State};

use super::context::Context;
use super::readonly_tables::refuse_raw_write;
use super::stack::{leave, protect, raise};

/// Work that a step stands for.
const STEP_UNITS: usize = 16;

/// The lowest position for `table.insert`: it moves every item between there and the end in one go.
const LOWEST_POSITION: c_int = -1_000_000;

/// Asks the engine whether the script may go on.
///
/// # Safety
/// As for [`leave`].
pub(super) unsafe fn check(l: *mut lua_State) {
    // SAFETY: by contract.
    unsafe { leave(l, protect(l, |stack| stack.check().map(|()| 0))) };
}

/// Counts work, and checks now and then.
///
/// # Safety
/// As for [`leave`].
#[inline]
pub(super) unsafe fn count(l: *mut lua_State, context: &Context, units: usize) {
    if context.watch.spend(units) {
        // SAFETY: by contract.
        unsafe { check(l) };
    }
}

/// Counts a step that calls the function at `index`.
///
/// # Safety
/// As for [`leave`]; there must be a value at `index`.
unsafe fn count_call(l: *mut lua_State, context: &Context, index: c_int) {
    // SAFETY: by contract.
    unsafe {
        if ffi::lua_iscfunction(l, index) != 0 {
            check(l);
        } else {
            count(l, context, STEP_UNITS);
        }
    }
}

/// The border of the table in argument 1, in C's `int` as everywhere in Lua's library.
unsafe fn border(l: *mut lua_State) -> c_int {
    // SAFETY: raises unless it is a table.
    unsafe {
        ffi::luaL_checktype(l, 1, ffi::LUA_TTABLE);
        ffi::lua_objlen(l, 1) as c_int
    }
}

/// `table.insert(table, [position,] value)`.
pub(super) unsafe extern "C-unwind" fn insert(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; there is room for a few values.
    unsafe {
        let context = Context::of(l);
        if context.sealed.holds(l, 1) {
            return raise(l, refuse_raw_write);
        }
        let end = border(l).wrapping_add(1);
        let position = match ffi::lua_gettop(l) {
            2 => end,
            3 => {
                let position = ffi::luaL_checkinteger(l, 2) as c_int;
                if position < LOWEST_POSITION {
                    return raise(l, |stack| stack.arg_error(2, "position out of bounds"));
                }
                for at in (position..end.max(position)).rev() {
                    count(l, context, STEP_UNITS);
                    ffi::lua_rawgeti_(l, 1, at);
                    ffi::lua_rawseti_(l, 1, at + 1);
                }
                position
            }
            _ => return raise(l, |stack| stack.error("wrong number of arguments to 'insert'")),
        };
        ffi::lua_rawseti_(l, 1, position);
        0
    }
}

/// `table.remove(table [, position])`.
pub(super) unsafe extern "C-unwind" fn remove(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; there is room for a few values.
    unsafe {
        let context = Context::of(l);
        let end = border(l);
        let position = ffi::luaL_optinteger(l, 2, end.into()) as c_int;
        if position < 1 || position > end {
            return 0;
        }
        ffi::lua_rawgeti_(l, 1, position);
        for at in position..end {
            count(l, context, STEP_UNITS);
            ffi::lua_rawgeti_(l, 1, at + 1);
            ffi::lua_rawseti_(l, 1, at);
        }
        ffi::lua_pushnil(l);
        ffi::lua_rawseti_(l, 1, end);
        1
    }
}

/// `table.foreachi(table, function)`.
pub(super) unsafe extern "C-unwind" fn foreachi(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; there is room for a few values.
    unsafe {
        let context = Context::of(l);
        let end = border(l);
        ffi::luaL_checktype(l, 2, ffi::LUA_TFUNCTION);
        for position in 1..=end {
            count_call(l, context, 2);
            ffi::lua_pushvalue(l, 2);
            ffi::lua_pushnumber(l, f64::from(position));
            ffi::lua_rawgeti_(l, 1, position);
            ffi::lua_call(l, 2, 1);
            if ffi::lua_type(l, -1) != ffi::LUA_TNIL {
                return 1;
            }
            ffi::lua_settop(l, -2);
        }
        0
    }
}

/// `table.foreach(table, function)`: looks behind a sealed table.
pub(super) unsafe extern "C-unwind" fn foreach(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; there is room for a few values. An unknown key, where the function has changed the table, is an
    // error that passes through a frame that owns nothing.
    unsafe {
        let context = Context::of(l);
        ffi::luaL_checktype(l, 1, ffi::LUA_TTABLE);
        ffi::luaL_checktype(l, 2, ffi::LUA_TFUNCTION);
        context.sealed.open(l, 1);
        ffi::lua_pushnil(l);
        while ffi::lua_next(l, 1) != 0 {
            count_call(l, context, 2);
            ffi::lua_pushvalue(l, 2);
            ffi::lua_pushvalue(l, -3);
            ffi::lua_pushvalue(l, -3);
            ffi::lua_call(l, 2, 1);
            if ffi::lua_type(l, -1) != ffi::LUA_TNIL {
                return 1;
            }
            ffi::lua_settop(l, -3);
        }
        0
    }
}

/// Items from which on `table.sort` compares through [`less`].
const LONG_SORT: usize = 1000;

/// Prepares the arguments of `table.sort(table [, less])`: a sort that Lua's hook would not interrupt gets a comparison that
/// can be. One that is short gets none: comparing fewer than [`LONG_SORT`] texts below [`super::watch`]'s large blocks takes
/// a tenth of a second at most, so it is enough to check before.
///
/// # Safety
/// Called by Lua as the beginning of `table.sort`.
pub(super) unsafe fn prepare_sort(l: *mut lua_State) {
    // SAFETY: by contract; there is room for a few values.
    unsafe {
        let context = Context::of(l);
        if ffi::lua_type(l, 1) != ffi::LUA_TTABLE {
            return;
        }
        if ffi::lua_iscfunction(l, 2) != 0 {
            ffi::lua_settop(l, 2);
            ffi::lua_pushcclosure(l, ordered, 1);
        } else if ffi::lua_type(l, 2) <= ffi::LUA_TNIL {
            check(l);
            if ffi::lua_objlen(l, 1) >= LONG_SORT || context.watch.is_close() {
                ffi::lua_settop(l, 1);
                ffi::lua_pushcclosure(l, less, 0);
            }
        }
    }
}

/// Compares with the function of C's that is its upvalue.
unsafe extern "C-unwind" fn ordered(l: *mut lua_State) -> c_int {
    // SAFETY: called by `table.sort` with two arguments; the upvalue is a function.
    unsafe {
        check(l);
        ffi::lua_pushvalue(l, ffi::lua_upvalueindex(1));
        ffi::lua_insert(l, 1);
        ffi::lua_call(l, ffi::lua_gettop(l) - 1, 1);
        1
    }
}

/// Whether the first argument is less than the second, as `table.sort` compares by itself.
unsafe extern "C-unwind" fn less(l: *mut lua_State) -> c_int {
    // SAFETY: called by `table.sort` with two arguments.
    unsafe {
        match ffi::lua_type(l, 1) {
            ffi::LUA_TNUMBER => count(l, Context::of(l), STEP_UNITS),
            ffi::LUA_TSTRING => count(l, Context::of(l), ffi::lua_objlen(l, 1) + STEP_UNITS),
            // Only metatables compare others, perhaps by a function of C's.
            _ => check(l),
        }
        let is_less = ffi::lua_lessthan(l, 1, 2);
        ffi::lua_pushboolean(l, is_less);
        1
    }
}
