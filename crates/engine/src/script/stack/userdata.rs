//! Blocks of bytes and plain data in userdata of Lua, which the collector frees.
#![allow(
    unsafe_code,
    reason = "the Lua stack is a C API; this module is part of the safe layer over it"
)]

use std::ffi::c_int;
use std::marker::PhantomData;

use mlua::ffi;

use super::Stack;

impl Stack<'_> {
    /// Pushes a block of `size` bytes, whose content is undefined.
    pub(in crate::script) fn push_block(&mut self, size: usize) {
        self.room();
        // SAFETY: there is room, and the allocator does not refuse.
        unsafe { ffi::lua_newuserdata(self.l, size) };
    }

    /// The first `length` bytes of the block at `index`.
    ///
    /// # Safety
    /// So many bytes of the block must have been written, and it must stay on the stack while they are used.
    pub(in crate::script) unsafe fn block<'b>(&self, index: c_int, length: usize) -> &'b [u8] {
        // SAFETY: by contract.
        unsafe {
            let start = ffi::lua_touserdata(self.l, index).cast::<u8>();
            std::slice::from_raw_parts(start, length)
        }
    }

    /// Writes `bytes` to the block at `index` from `offset` on.
    ///
    /// # Safety
    /// The block must have room for them, and they must lie elsewhere.
    pub(in crate::script) unsafe fn write_block(
        &mut self,
        index: c_int,
        offset: usize,
        bytes: &[u8],
    ) {
        // SAFETY: by contract.
        unsafe {
            let start = ffi::lua_touserdata(self.l, index).cast::<u8>().add(offset);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len());
        }
    }

    /// The plain data that [`Stack::push_data`] stored at `index`, which may be that of an upvalue.
    pub(in crate::script) fn data<T: Copy + 'static>(&self, index: c_int) -> Option<Data<'_, T>> {
        // SAFETY: the size says that `push_data::<T>` made it: scripts get no userdata into their hands, and no two types that
        // are used at the same index have the same size.
        unsafe {
            let block = ffi::lua_touserdata(self.l, index);
            let fits = ffi::lua_type(self.l, index) == ffi::LUA_TUSERDATA
                && ffi::lua_objlen(self.l, index) == size_of::<T>();
            fits.then(|| Data { block: block.cast(), lifetime: PhantomData })
        }
    }

    /// Pushes a userdata that holds `value`.
    pub(in crate::script) fn push_data<T: Copy + 'static>(&mut self, value: T) {
        const { assert!(align_of::<T>() <= 8 && size_of::<T>() > 0) };
        self.room();
        // SAFETY: userdata is aligned for doubles and pointers and has the size asked for.
        unsafe { ffi::lua_newuserdata(self.l, size_of::<T>()).cast::<T>().write(value) }
    }
}

/// Plain data inside a userdata.
pub(in crate::script) struct Data<'a, T> {
    block: *mut T,
    lifetime: PhantomData<&'a T>,
}

impl<T: Copy> Data<'_, T> {
    /// The value now.
    pub(in crate::script) fn get(&self) -> T {
        // SAFETY: the block holds a `T` and lives as long as the function whose upvalue it is.
        unsafe { self.block.read() }
    }

    /// Stores another value.
    pub(in crate::script) fn set(&self, value: T) {
        // SAFETY: as for `get`; no reference into the block exists.
        unsafe { self.block.write(value) }
    }
}
