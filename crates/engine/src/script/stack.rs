//! A safe view of the Lua stack for functions written in Rust, and the border between them and C.
//!
//! Lua reports errors with `longjmp`, which skips destructors, and knows nothing of unwinding. The argument why this is
//! sound has six parts.
//!
//! 1. **No call made through [`Stack`] raises.** It uses only calls of the C API that raise for lack of memory or not at
//!    all: raw table access, no metamethods, no calls into Lua, `next` with the key it gave. So no `longjmp` passes a Rust
//!    frame that owns something.
//! 2. **Errors are values until every Rust frame is gone.** A native function returns `Err(Raised)` with the error value on
//!    top of the stack; [`enter`], which owns nothing at that point, calls `lua_error`. C functions written in Rust that call
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

use std::ffi::c_int;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

use mlua::ffi::{self, lua_CFunction, lua_State};

use super::context::Context;
use super::guards;

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

/// Work that a call of a native function stands for.
const CALL_UNITS: usize = 16;

/// What unwinds a native function that needs more of the Lua stack than there is; [`protect`] turns it into an error.
struct StackFull;

/// Runs `work` with the allocator set not to refuse, and stops panics; does nothing if the script has to stop.
/// Returns the number of results, or a negative number for [`leave`].
///
/// # Safety
/// `l` must be a live state of a machine made by [`super::sandbox`].
pub(super) unsafe fn protect(
    l: *mut lua_State,
    work: impl FnOnce(&mut Stack<'_>) -> Outcome,
) -> c_int {
    let work = |stack: &mut Stack<'_>| {
        if stack.context.is_deep() { Err(stack.error("C stack overflow")) } else { work(stack) }
    };
    // SAFETY: by contract.
    unsafe { protect_at_any_depth(l, work) }
}

/// As [`protect`], for work that has to be done even where nothing may go deeper, and does not go deep itself.
///
/// # Safety
/// As for [`protect`].
pub(super) unsafe fn protect_at_any_depth(
    l: *mut lua_State,
    work: impl FnOnce(&mut Stack<'_>) -> Outcome,
) -> c_int {
    // SAFETY: by contract the machine has a context that outlives this call.
    let context = unsafe { Context::of(l) };
    if context.is_stopped() {
        return STOPPED;
    }
    let strict = context.set_strict(false);
    // SAFETY: reads two pointers.
    let top = unsafe { ffi::lua_gettop(l) };
    let mut stack = Stack { l, context, roomy: top + ALWAYS_FREE };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        #[cfg(test)]
        super::tests::faults::strike();
        work(&mut stack)
    }));
    let outcome = match outcome {
        Err(payload) if payload.is::<StackFull>() => {
            stack.truncate(top);
            Ok(Err(stack.error("stack overflow")))
        }
        outcome => outcome,
    };
    context.set_strict(strict);
    match outcome {
        Ok(Ok(count)) if !context.is_stopped() => count,
        Ok(Err(Raised(()))) if !context.is_stopped() => RAISED,
        Ok(_) => STOPPED,
        Err(payload) => {
            context.set_panic(payload);
            STOPPED
        }
    }
}

const RAISED: c_int = -1;
const STOPPED: c_int = -2;

/// Finishes what [`protect`] began: returns the number of results, or raises.
///
/// # Safety
/// As for [`protect`]; besides, no frame between here and the enclosing `lua_pcall` may own anything.
#[inline]
pub(super) unsafe fn leave(l: *mut lua_State, count: c_int) -> c_int {
    // SAFETY: by contract.
    unsafe {
        match count {
            RAISED => ffi::lua_error(l),
            STOPPED => stop(l),
            count => count,
        }
    }
}

/// Raises what `work` returns.
///
/// # Safety
/// As for [`leave`].
pub(super) unsafe fn raise(
    l: *mut lua_State,
    work: impl FnOnce(&mut Stack<'_>) -> Raised,
) -> c_int {
    // SAFETY: by contract; `work` is consumed before anything is raised.
    unsafe {
        let count = protect(l, |stack| Err(work(stack)));
        leave(l, count)
    }
}

/// Ends the running script in a way it can neither catch for long nor answer with a message handler: a memory error,
/// the only one that Lua raises without calling handlers. Whoever catches it meets it again at the next instruction, or
/// at the next native function.
///
/// # Safety
/// As for [`leave`].
pub(super) unsafe fn stop(l: *mut lua_State) -> ! {
    // SAFETY: the refused allocation makes `lua_newuserdata` raise; nothing is alive in this frame.
    unsafe {
        let context = Context::of(l);
        context.watch.halt_thread(l);
        context.refuse_next();
        ffi::lua_newuserdata(l, 1);
        ffi::lua_error(l)
    }
}

/// The C function for a native one; `F` is the type of a function item, so its value needs no storage.
unsafe extern "C-unwind" fn enter<F>(l: *mut lua_State) -> c_int
where
    F: Fn(&mut Stack<'_>) -> Outcome + Copy + 'static,
{
    const { assert!(size_of::<F>() == 0, "a native function must not capture anything") };
    // SAFETY: a type of size zero has one value, readable from any aligned address. Nothing is alive when `leave` raises.
    unsafe {
        let count = protect(l, |stack| {
            stack.count_call()?;
            (*NonNull::<F>::dangling().as_ptr())(stack)
        });
        leave(l, count)
    }
}

/// The C function that runs `native`.
pub(super) fn c_function<F>(_native: F) -> lua_CFunction
where
    F: Fn(&mut Stack<'_>) -> Outcome + Copy + 'static,
{
    enter::<F>
}

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

    /// Counts `units` of work (about the bytes copied) of a native function that holds `held` bytes outside of the machine:
    /// fails where that is too much memory, and checks now and then whether the script may go on.
    #[inline]
    pub(super) fn spend(&mut self, units: usize, held: usize) -> Result<(), Raised> {
        if self.context.over_budget(held) {
            return Err(self.error_memory());
        }
        if self.context.watch.spend(units) { self.check() } else { Ok(()) }
    }

    /// Counts a call of a native function: what calls it may be a loop in C, which the hook does not interrupt.
    #[inline]
    fn count_call(&mut self) -> Result<(), Raised> {
        if self.context.watch.spend(CALL_UNITS) { self.check() } else { Ok(()) }
    }

    /// Makes room for `more` bytes in a buffer outside of the machine, and counts them as [`Stack::spend`] does. A buffer that
    /// grows exists twice for a moment.
    #[inline]
    pub(super) fn make_room(&mut self, out: &mut Vec<u8>, more: usize) -> Result<(), Raised> {
        let needed = out.len() + more;
        if needed <= out.capacity() {
            return self.spend(more, out.capacity());
        }
        let grown = needed.max(2 * out.capacity());
        self.spend(more, out.capacity() + grown)?;
        out.reserve(more);
        Ok(())
    }

    /// Pushes what was built in a buffer outside of the machine, which exists twice then.
    pub(super) fn push_built(&mut self, out: &Vec<u8>) -> Result<(), Raised> {
        self.spend(out.len(), out.capacity() + out.len())?;
        self.push_bytes(out);
        Ok(())
    }

    /// Asks the engine whether the script may go on.
    #[cold]
    pub(super) fn check(&mut self) -> Result<(), Raised> {
        guards::check(self);
        // Whoever sees the mark finds the script stopped; there is no error value then.
        if self.context.is_stopped() { Err(Raised(())) } else { Ok(()) }
    }

    /// The type of the value at `index`.
    pub(super) fn kind(&self, index: c_int) -> Kind {
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
    pub(super) fn number(&self, index: c_int) -> f64 {
        // SAFETY: reads, and parses text into a local.
        unsafe { ffi::lua_tonumber(self.l, index) }
    }

    /// Whether the value at `index` is a number or the text of one.
    pub(super) fn is_number(&self, index: c_int) -> bool {
        // SAFETY: as for `number`.
        unsafe { ffi::lua_isnumber(self.l, index) != 0 }
    }

    /// Whether the value at `index` is neither nil nor false.
    pub(super) fn truth(&self, index: c_int) -> bool {
        // SAFETY: reads.
        unsafe { ffi::lua_toboolean(self.l, index) != 0 }
    }

    /// The address of the light userdata at `index`, or null.
    pub(super) fn is_null(&self, index: c_int) -> bool {
        // SAFETY: reads.
        self.kind(index) == Kind::LightUserdata
            && unsafe { ffi::lua_touserdata(self.l, index).is_null() }
    }

    /// The bytes of the string at `index`; empty for other types.
    pub(super) fn bytes(&self, index: c_int) -> &[u8] {
        if self.kind(index) == Kind::String { self.raw_bytes(index) } else { &[] }
    }

    /// The bytes of the string or number at `index`; a number becomes a string in place, so never use this on a key
    /// during a traversal. Empty for other types.
    pub(super) fn text(&mut self, index: c_int) -> &[u8] {
        self.raw_bytes(index)
    }

    /// The bytes of the string at `index`; empty for other types.
    ///
    /// # Safety
    /// The string must stay on the stack, or an upvalue of the running function, for as long as its bytes are used.
    pub(super) unsafe fn pinned<'b>(&self, index: c_int) -> &'b [u8] {
        let bytes = self.bytes(index);
        // SAFETY: Lua moves no strings; this one lives by contract.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) }
    }

    /// Pushes a block of `size` bytes, whose content is undefined.
    pub(super) fn push_block(&mut self, size: usize) {
        self.room();
        // SAFETY: there is room, and the allocator does not refuse.
        unsafe { ffi::lua_newuserdata(self.l, size) };
    }

    /// The first `length` bytes of the block at `index`.
    ///
    /// # Safety
    /// So many bytes of the block must have been written, and it must stay on the stack while they are used.
    pub(super) unsafe fn block<'b>(&self, index: c_int, length: usize) -> &'b [u8] {
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
    pub(super) unsafe fn write_block(&mut self, index: c_int, offset: usize, bytes: &[u8]) {
        // SAFETY: by contract.
        unsafe {
            let start = ffi::lua_touserdata(self.l, index).cast::<u8>().add(offset);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len());
        }
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
    pub(super) fn length(&self, index: c_int) -> usize {
        // SAFETY: for numbers this would convert in place, which cannot raise either.
        unsafe { ffi::lua_objlen(self.l, index) }
    }

    /// An address that identifies the table, function or userdata at `index`.
    pub(super) fn address(&self, index: c_int) -> usize {
        // SAFETY: reads.
        unsafe { ffi::lua_topointer(self.l, index) as usize }
    }

    /// Pushes nil.
    pub(super) fn push_nil(&mut self) {
        self.room();
        // SAFETY: there is room.
        unsafe { ffi::lua_pushnil(self.l) }
    }

    /// Pushes a boolean.
    pub(super) fn push_bool(&mut self, value: bool) {
        self.room();
        // SAFETY: there is room.
        unsafe { ffi::lua_pushboolean(self.l, c_int::from(value)) }
    }

    /// Pushes a number.
    pub(super) fn push_number(&mut self, value: f64) {
        self.room();
        // SAFETY: there is room.
        unsafe { ffi::lua_pushnumber(self.l, value) }
    }

    /// Pushes the null pointer that stands for JSON's null.
    pub(super) fn push_null(&mut self) {
        self.room();
        // SAFETY: there is room.
        unsafe { ffi::lua_pushlightuserdata(self.l, std::ptr::null_mut()) }
    }

    /// Pushes a string.
    pub(super) fn push_bytes(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        self.room();
        // SAFETY: there is room; Lua copies the bytes.
        unsafe { ffi::lua_pushlstring_(self.l, bytes.as_ptr().cast(), bytes.len()) }
    }

    /// Pushes a copy of the value at `index`.
    pub(super) fn push_copy(&mut self, index: c_int) {
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
    pub(super) fn push_table(&mut self, items: usize, fields: usize) {
        // More than this is allocated as the items come, so that a lying header costs nothing.
        const MOST: usize = 1 << 16;
        self.room();
        // SAFETY: there is room, and the allocator does not refuse.
        unsafe { ffi::lua_createtable(self.l, items.min(MOST) as c_int, fields.min(MOST) as c_int) }
    }

    /// Pushes a native function; the topmost `upvalues` values become its upvalues.
    pub(super) fn push_function(&mut self, function: lua_CFunction, upvalues: c_int) {
        self.room();
        assert!(upvalues <= self.top(), "a closure needs its upvalues on the stack");
        // SAFETY: there is room, the upvalues exist, and `function` is a C function for Lua.
        unsafe { ffi::lua_pushcclosure(self.l, function, upvalues) }
    }

    /// Pushes a table of native functions.
    pub(super) fn push_library(&mut self, functions: &[(&str, lua_CFunction)]) {
        // Not sized beforehand: the order in which `pairs` finds fields depends on how the table grew.
        self.push_table(0, 0);
        for (name, function) in functions {
            self.push_function(*function, 0);
            self.raw_set_field(-2, name);
        }
    }

    /// Moves the value on top to `index`.
    pub(super) fn replace(&mut self, index: c_int) {
        assert!(index > 0 && index <= self.top(), "there is no value to replace");
        // SAFETY: both values exist.
        unsafe { ffi::lua_replace(self.l, index) }
    }

    /// Pushes the value that the table at `table` holds for the key on top, which it replaces.
    pub(super) fn raw_get(&mut self, table: c_int) {
        self.assert_table(table);
        // SAFETY: it is a table; raw access calls no metamethod.
        unsafe { ffi::lua_rawget_(self.l, table) }
    }

    /// Pushes item `position` of the table at `table`.
    pub(super) fn raw_get_at(&mut self, table: c_int, position: c_int) {
        self.assert_table(table);
        self.room();
        // SAFETY: it is a table, and there is room.
        unsafe { ffi::lua_rawgeti_(self.l, table, position) }
    }

    /// Pushes the field `name` of the table at `table` and returns its type.
    pub(super) fn raw_field(&mut self, table: c_int, name: &str) -> Kind {
        let table = self.absolute(table);
        self.push_bytes(name);
        self.raw_get(table);
        self.kind(-1)
    }

    /// Sets the key below the top to the value on top in the table at `table`; pops both. A key of nil or NaN sets nothing.
    pub(super) fn raw_set(&mut self, table: c_int) {
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
    pub(super) fn raw_set_at(&mut self, table: c_int, position: c_int) {
        self.assert_table(table);
        // SAFETY: it is a table.
        unsafe { ffi::lua_rawseti_(self.l, table, position) }
    }

    /// Sets the field `name` of the table at `table` to the value on top and pops it.
    pub(super) fn raw_set_field(&mut self, table: c_int, name: &str) {
        let table = self.absolute(table);
        self.push_bytes(name);
        // SAFETY: swaps key and value, which are both above the table.
        unsafe { ffi::lua_insert(self.l, -2) };
        self.raw_set(table);
    }

    /// Replaces the key on top by the next key and value of the table at `table`; pops the key at the end and returns false.
    ///
    /// Start with nil. The key must be left as this function pushed it: Lua raises on a key it does not know.
    pub(super) fn next(&mut self, table: c_int) -> bool {
        self.assert_table(table);
        self.room();
        // SAFETY: it is a table, there is room, and callers pass the key back unchanged.
        unsafe { ffi::lua_next(self.l, table) != 0 }
    }

    /// Pushes the table that the read-only table at `index` stands for, or a copy of the value at `index`.
    pub(super) fn push_unsealed(&mut self, index: c_int) {
        let index = self.absolute(index);
        self.need(2);
        self.push_copy(index);
        // SAFETY: there is a value on top and room for the one that replaces it.
        unsafe { self.context.sealed.open(self.l, -1) };
    }

    /// Whether fields of the table at `index` can be set: it is not sealed and has no say of its own about it.
    pub(super) fn is_writable(&mut self, index: c_int) -> bool {
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

    /// The index counted from the bottom, which pushes do not change.
    pub(super) fn absolute(&self, index: c_int) -> c_int {
        if index < 0 && index > ffi::LUA_REGISTRYINDEX { self.top() + index + 1 } else { index }
    }

    fn assert_table(&self, index: c_int) {
        assert!(self.kind(index) == Kind::Table, "the value at {index} is no table");
    }

    /// The plain data that [`Stack::push_data`] stored at `index`, which may be that of an upvalue.
    pub(super) fn data<T: Copy + 'static>(&self, index: c_int) -> Option<Data<'_, T>> {
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
    pub(super) fn push_data<T: Copy + 'static>(&mut self, value: T) {
        const { assert!(align_of::<T>() <= 8 && size_of::<T>() > 0) };
        self.room();
        // SAFETY: userdata is aligned for doubles and pointers and has the size asked for.
        unsafe { ffi::lua_newuserdata(self.l, size_of::<T>()).cast::<T>().write(value) }
    }

    /// The state itself, for the modules that must go below this one.
    pub(super) fn raw(&self) -> *mut lua_State {
        self.l
    }
}

/// Plain data inside a userdata.
pub(super) struct Data<'a, T> {
    block: *mut T,
    lifetime: PhantomData<&'a T>,
}

impl<T: Copy> Data<'_, T> {
    /// The value now.
    pub(super) fn get(&self) -> T {
        // SAFETY: the block holds a `T` and lives as long as the function whose upvalue it is.
        unsafe { self.block.read() }
    }

    /// Stores another value.
    pub(super) fn set(&self, value: T) {
        // SAFETY: as for `get`; no reference into the block exists.
        unsafe { self.block.write(value) }
    }
}
