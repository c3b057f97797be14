//! Read-only tables: what scripts see as `_G`, `redis`, `string` and the other libraries.
//!
//! Lua 5.1 has no read-only tables. A sealed table is an empty table whose metatable reads from the real one and refuses
//! every write; since it stays empty, no write gets past the metatable. The few library functions that look into tables
//! without metatables (`next`, `rawget`, …) are guarded ([`super::guards`]) so that a sealed table looks full to them, too.
#![allow(unsafe_code, reason = "works on values below the safe stack, inside C functions")]

use std::cell::Cell;
use std::ffi::c_int;

use mlua::ffi::{self, lua_State};

use super::stack::{Outcome, Raised, Stack};

/// What every attempt to write gets, word for word as from Redis.
pub(super) const READ_ONLY: &str = "Attempt to modify a readonly table";

/// More than there are libraries.
const MOST: usize = 16;

/// The sealed tables of one machine.
#[derive(Default)]
pub(super) struct Sealed {
    /// Address of each sealed table, and the registry reference of the table behind it.
    tables: Cell<[(usize, c_int); MOST]>,
    count: Cell<usize>,
    /// The lowest and highest address: one comparison rules out nearly every other table.
    span: Cell<(usize, usize)>,
}

impl Sealed {
    fn find(&self, address: usize) -> Option<c_int> {
        let (low, high) = self.span.get();
        if address < low || address > high {
            return None;
        }
        let tables = self.tables.get();
        tables[..self.count.get()]
            .iter()
            .find(|(sealed, _)| *sealed == address)
            .map(|(_, real)| *real)
    }

    fn add(&self, address: usize, real: c_int) {
        let mut tables = self.tables.get();
        let count = self.count.get();
        tables[count] = (address, real);
        self.tables.set(tables);
        self.count.set(count + 1);
        let (low, high) = self.span.get();
        self.span.set((if count == 0 { address } else { low.min(address) }, high.max(address)));
    }

    /// Whether the value at `index` is a sealed table.
    ///
    /// # Safety
    /// `l` must be a live state of this machine.
    #[inline]
    pub(super) unsafe fn holds(&self, l: *mut lua_State, index: c_int) -> bool {
        // SAFETY: reads the address of the value.
        self.find(unsafe { ffi::lua_topointer(l, index) } as usize).is_some()
    }

    /// Replaces a sealed table at `index` by the table behind it; leaves other values alone.
    ///
    /// # Safety
    /// `l` must be a live state of this machine with a value at `index` and one free slot.
    #[inline]
    pub(super) unsafe fn open(&self, l: *mut lua_State, index: c_int) {
        // SAFETY: by contract; neither reading the registry nor replacing allocates.
        unsafe {
            let Some(real) = self.find(ffi::lua_topointer(l, index) as usize) else { return };
            let index = if index < 0 { ffi::lua_gettop(l) + index + 1 } else { index };
            ffi::lua_rawgeti_(l, ffi::LUA_REGISTRYINDEX, real);
            ffi::lua_replace(l, index);
        }
    }
}

impl Stack<'_> {
    /// Replaces the table on top by a sealed table that shows it; what `getmetatable` answers for it is on the stack above
    /// when `with_metatable` is set, and nil otherwise.
    pub(super) fn seal_top(&mut self, with_metatable: bool) {
        let shown = with_metatable.then(|| self.top());
        let real = self.absolute(if with_metatable { -2 } else { -1 });
        self.push_table(0, 0);
        let sealed = self.top();
        self.push_table(0, 3);
        self.push_copy(real);
        self.raw_set_field(-2, "__index");
        self.push_function(super::stack::c_function(refuse_write), 0);
        self.raw_set_field(-2, "__newindex");
        if let Some(shown) = shown {
            self.push_copy(shown);
            self.raw_set_field(-2, "__metatable");
        }
        let address = self.address(sealed);
        // SAFETY: the stack holds the sealed table and its metatable on top; the real table is referenced for the life of
        // the machine, as is the sealed one by whoever shows it to scripts.
        unsafe {
            let l = self.raw();
            ffi::lua_setmetatable(l, sealed);
            ffi::lua_pushvalue(l, real);
            let reference = ffi::luaL_ref(l, ffi::LUA_REGISTRYINDEX);
            self.context().sealed.add(address, reference);
            ffi::lua_replace(l, real);
            ffi::lua_settop(l, real);
        }
    }
}

/// `__newindex` of every sealed table.
fn refuse_write(stack: &mut Stack<'_>) -> Outcome {
    Err(stack.error(READ_ONLY))
}

/// The error of C functions that write without metatables.
pub(super) fn refuse_raw_write(stack: &mut Stack<'_>) -> Raised {
    stack.error_bare(READ_ONLY)
}
