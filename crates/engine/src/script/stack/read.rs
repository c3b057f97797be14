//! Reading the values on the Lua stack.
#![allow(
    unsafe_code,
    reason = "the Lua stack is a C API; this module is part of the safe layer over it"
)]

use std::ffi::c_int;

use mlua::ffi;

use super::{Kind, Stack};

impl Stack<'_> {
    /// The type of the value at `index`.
    pub(in crate::script) fn kind(&self, index: c_int) -> Kind {
        // SAFETY: any index is acceptable.
        match unsafe { ffi::lua_type(self.l, index) } {
            ffi::LUA_TNIL => Kind::Nil,
            ffi::LUA_TBOOLEAN => Kind::Boolean,
            ffi::LUA_TLIGHTUSERDATA => Kind::LightUserdata,
            ffi::LUA_TNUMBER => Kind::Number,
            ffi::LUA_TSTRING => Kind::String,
            ffi::LUA_TTABLE => Kind::Table,
            ffi::LUA_TFUNCTION => Kind::Function,
            ffi::LUA_TUSERDATA => Kind::Userdata,
            ffi::LUA_TTHREAD => Kind::Thread,
            _ => Kind::None,
        }
    }

    /// The number at `index`; 0 for what is neither a number nor the text of one.
    pub(in crate::script) fn number(&self, index: c_int) -> f64 {
        // SAFETY: reads, and parses text into a local.
        unsafe { ffi::lua_tonumber(self.l, index) }
    }

    /// Whether the value at `index` is a number or the text of one.
    pub(in crate::script) fn is_number(&self, index: c_int) -> bool {
        // SAFETY: as for `number`.
        unsafe { ffi::lua_isnumber(self.l, index) != 0 }
    }

    /// Whether the value at `index` is neither nil nor false.
    pub(in crate::script) fn truth(&self, index: c_int) -> bool {
        // SAFETY: reads.
        unsafe { ffi::lua_toboolean(self.l, index) != 0 }
    }

    /// The address of the light userdata at `index`, or null.
    pub(in crate::script) fn is_null(&self, index: c_int) -> bool {
        // SAFETY: reads.
        self.kind(index) == Kind::LightUserdata
            && unsafe { ffi::lua_touserdata(self.l, index).is_null() }
    }

    /// The bytes of the string at `index`; empty for other types.
    pub(in crate::script) fn bytes(&self, index: c_int) -> &[u8] {
        if self.kind(index) == Kind::String { self.raw_bytes(index) } else { &[] }
    }

    /// The bytes of the string or number at `index`; a number becomes a string in place, so never use this on a key
    /// during a traversal. Empty for other types.
    pub(in crate::script) fn text(&mut self, index: c_int) -> &[u8] {
        self.raw_bytes(index)
    }

    /// The bytes of the string at `index`; empty for other types.
    ///
    /// # Safety
    /// The string must stay on the stack, or an upvalue of the running function, for as long as its bytes are used.
    pub(in crate::script) unsafe fn pinned<'b>(&self, index: c_int) -> &'b [u8] {
        let bytes = self.bytes(index);
        // SAFETY: Lua moves no strings; this one lives by contract.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) }
    }

    fn raw_bytes(&self, index: c_int) -> &[u8] {
        let mut length = 0;
        // SAFETY: Lua owns the string, which stays put and alive while it is on the stack; taking values off needs `&mut self`.
        unsafe {
            let start = ffi::lua_tolstring(self.l, index, &mut length);
            if start.is_null() {
                return &[];
            }
            std::slice::from_raw_parts(start.cast(), length)
        }
    }

    /// The length of the string, or the border of the table, at `index`.
    pub(in crate::script) fn length(&self, index: c_int) -> usize {
        // SAFETY: for numbers this would convert in place, which cannot raise either.
        unsafe { ffi::lua_objlen(self.l, index) }
    }

    /// An address that identifies the table, function or userdata at `index`.
    pub(in crate::script) fn address(&self, index: c_int) -> usize {
        // SAFETY: reads.
        unsafe { ffi::lua_topointer(self.l, index) as usize }
    }
}
