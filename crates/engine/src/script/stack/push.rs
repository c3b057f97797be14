//! Pushing values on the Lua stack.
#![allow(
    unsafe_code,
    reason = "the Lua stack is a C API; this module is part of the safe layer over it"
)]

use std::ffi::c_int;

use mlua::ffi::{self, lua_CFunction};

use super::Stack;

impl Stack<'_> {
    /// Pushes nil.
    pub(in crate::script) fn push_nil(&mut self) {
        self.room();
        // SAFETY: there is room.
        unsafe { ffi::lua_pushnil(self.l) }
    }

    /// Pushes a boolean.
    pub(in crate::script) fn push_bool(&mut self, value: bool) {
        self.room();
        // SAFETY: there is room.
        unsafe { ffi::lua_pushboolean(self.l, c_int::from(value)) }
    }

    /// Pushes a number.
    pub(in crate::script) fn push_number(&mut self, value: f64) {
        self.room();
        // SAFETY: there is room.
        unsafe { ffi::lua_pushnumber(self.l, value) }
    }

    /// Pushes the null pointer that stands for JSON's null.
    pub(in crate::script) fn push_null(&mut self) {
        self.room();
        // SAFETY: there is room.
        unsafe { ffi::lua_pushlightuserdata(self.l, std::ptr::null_mut()) }
    }

    /// Pushes a string.
    pub(in crate::script) fn push_bytes(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        self.room();
        // SAFETY: there is room; Lua copies the bytes.
        unsafe { ffi::lua_pushlstring_(self.l, bytes.as_ptr().cast(), bytes.len()) }
    }

    /// Pushes a copy of the value at `index`.
    pub(in crate::script) fn push_copy(&mut self, index: c_int) {
        self.room();
        // SAFETY: there is room; an index without value copies nil.
        unsafe {
            if ffi::lua_type(self.l, index) == ffi::LUA_TNONE {
                ffi::lua_pushnil(self.l);
            } else {
                ffi::lua_pushvalue(self.l, index);
            }
        }
    }

    /// Pushes a new table with space for `items` in its array part and `fields` in its hash part.
    pub(in crate::script) fn push_table(&mut self, items: usize, fields: usize) {
        // More than this is allocated as the items come, so that a lying header costs nothing.
        const MOST: usize = 1 << 16;
        self.room();
        // SAFETY: there is room, and the allocator does not refuse.
        unsafe { ffi::lua_createtable(self.l, items.min(MOST) as c_int, fields.min(MOST) as c_int) }
    }

    /// Pushes a native function; the topmost `upvalues` values become its upvalues.
    pub(in crate::script) fn push_function(&mut self, function: lua_CFunction, upvalues: c_int) {
        self.room();
        assert!(upvalues <= self.top(), "a closure needs its upvalues on the stack");
        // SAFETY: there is room, the upvalues exist, and `function` is a C function for Lua.
        unsafe { ffi::lua_pushcclosure(self.l, function, upvalues) }
    }

    /// Pushes a table of native functions.
    pub(in crate::script) fn push_library(&mut self, functions: &[(&str, lua_CFunction)]) {
        // Not sized beforehand: the order in which `pairs` finds fields depends on how the table grew.
        self.push_table(0, 0);
        for (name, function) in functions {
            self.push_function(*function, 0);
            self.raw_set_field(-2, name);
        }
    }
}
