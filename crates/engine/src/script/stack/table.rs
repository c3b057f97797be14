//! Raw access to the tables on the Lua stack, which calls no metamethods.
#![allow(
    unsafe_code,
    reason = "the Lua stack is a C API; this module is part of the safe layer over it"
)]

use std::ffi::c_int;

use mlua::ffi;

use super::{Kind, Stack};

impl Stack<'_> {
    /// Pushes the value that the table at `table` holds for the key on top, which it replaces.
    pub(in crate::script) fn raw_get(&mut self, table: c_int) {
        self.assert_table(table);
        // SAFETY: it is a table; raw access calls no metamethod.
        unsafe { ffi::lua_rawget_(self.l, table) }
    }

    /// Pushes item `position` of the table at `table`.
    pub(in crate::script) fn raw_get_at(&mut self, table: c_int, position: c_int) {
        self.assert_table(table);
        self.room();
        // SAFETY: it is a table, and there is room.
        unsafe { ffi::lua_rawgeti_(self.l, table, position) }
    }

    /// Pushes the field `name` of the table at `table` and returns its type.
    pub(in crate::script) fn raw_field(&mut self, table: c_int, name: &str) -> Kind {
        let table = self.absolute(table);
        self.push_bytes(name);
        self.raw_get(table);
        self.kind(-1)
    }

    /// Sets the key below the top to the value on top in the table at `table`; pops both. A key of nil or NaN sets nothing.
    pub(in crate::script) fn raw_set(&mut self, table: c_int) {
        self.assert_table(table);
        let key = self.kind(-2);
        if matches!(key, Kind::Nil | Kind::None)
            || (key == Kind::Number && self.number(-2).is_nan())
        {
            return self.pop(2);
        }
        // SAFETY: it is a table, the key is one that tables take, and there are two values.
        unsafe { ffi::lua_rawset(self.l, table) }
    }

    /// Sets item `position` of the table at `table` to the value on top and pops it.
    pub(in crate::script) fn raw_set_at(&mut self, table: c_int, position: c_int) {
        self.assert_table(table);
        // SAFETY: it is a table.
        unsafe { ffi::lua_rawseti_(self.l, table, position) }
    }

    /// Sets the field `name` of the table at `table` to the value on top and pops it.
    pub(in crate::script) fn raw_set_field(&mut self, table: c_int, name: &str) {
        let table = self.absolute(table);
        self.push_bytes(name);
        // SAFETY: swaps key and value, which are both above the table.
        unsafe { ffi::lua_insert(self.l, -2) };
        self.raw_set(table);
    }

    /// Replaces the key on top by the next key and value of the table at `table`; pops the key at the end and returns false.
    ///
    /// Start with nil. The key must be left as this function pushed it: Lua raises on a key it does not know.
    pub(in crate::script) fn next(&mut self, table: c_int) -> bool {
        self.assert_table(table);
        self.room();
        // SAFETY: it is a table, there is room, and callers pass the key back unchanged.
        unsafe { ffi::lua_next(self.l, table) != 0 }
    }

    /// Pushes the table that the read-only table at `index` stands for, or a copy of the value at `index`.
    pub(in crate::script) fn push_unsealed(&mut self, index: c_int) {
        let index = self.absolute(index);
        self.need(2);
        self.push_copy(index);
        // SAFETY: there is a value on top and room for the one that replaces it.
        unsafe { self.context.sealed.open(self.l, -1) };
    }

    /// Whether fields of the table at `index` can be set: it is not sealed and has no say of its own about it.
    pub(in crate::script) fn is_writable(&mut self, index: c_int) -> bool {
        let index = self.absolute(index);
        self.need(2);
        // SAFETY: there is room for the metatable and one field of it.
        unsafe {
            if self.kind(index) != Kind::Table || self.context.sealed.holds(self.l, index) {
                return false;
            }
            if ffi::lua_getmetatable(self.l, index) == 0 {
                return true;
            }
        }
        let writable = self.raw_field(-1, "__newindex") == Kind::Nil;
        self.pop(2);
        writable
    }

    fn assert_table(&self, index: c_int) {
        assert!(self.kind(index) == Kind::Table, "the value at {index} is no table");
    }
}
