//! The virtual machine that scripts run in: which globals exist, and that none of them can be changed.
#![allow(unsafe_code, reason = "creates and fills a Lua state through its C API")]

use std::ffi::c_int;
use std::ptr::NonNull;

use mlua::ffi::{self, lua_CFunction, lua_State};

use super::context::{Context, allocate};
use super::stack::{Outcome, Stack, c_function};
use super::{api, bit, cjson, cmsgpack, failure, guards, random, strings, structlib};

/// Functions of the base library that stay out of reach: files, environments, and ways round the guards.
const REMOVED: [&str; 6] = ["dofile", "loadfile", "print", "newproxy", "getfenv", "setfenv"];

/// The libraries, each a read-only table.
const LIBRARIES: [&str; 9] =
    ["string", "table", "math", "coroutine", "redis", "cjson", "cmsgpack", "struct", "bit"];

/// A virtual machine with its context.
pub(super) struct Machine {
    state: NonNull<lua_State>,
    /// Registry reference of the table behind `_G`, where KEYS and ARGV go.
    globals: c_int,
    /// Registry reference of the message handler.
    handler: c_int,
    /// Made of a box, which ends after the state is closed. A pointer, because the allocator keeps it, too.
    context: NonNull<Context>,
}

// SAFETY: a Lua state is not tied to a thread, and `Machine` gives no access to it except through `&mut self`.
unsafe impl Send for Machine {}
impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: the state is live and no script runs; closing frees memory and calls nothing of ours but the allocator.
        // Then nobody has the context any more, which `new` took out of a box.
        unsafe {
            ffi::lua_close(self.state.as_ptr());
            drop(Box::from_raw(self.context.as_ptr()));
        }
    }
}

impl Machine {
    /// A fresh machine with the whole sandbox in place.
    pub(super) fn new() -> Machine {
        let context = NonNull::from(Box::leak(Box::new(Context::new())));
        // SAFETY: the context outlives the state (see `Drop`); nobody makes anything but shared references of the pointer.
        let state = unsafe { ffi::lua_newstate(allocate, context.as_ptr().cast()) };
        let state = NonNull::new(state).expect("the allocator does not refuse outside of scripts");
        let mut machine = Machine { state, globals: 0, handler: 0, context };
        machine.furnish();
        machine
    }

    /// Bytes the machine holds.
    pub(super) fn used(&self) -> usize {
        self.context().used()
    }

    /// What the machine shares with its native functions.
    pub(super) fn context(&self) -> &Context {
        // SAFETY: it lives as long as the machine, and is never borrowed mutably.
        unsafe { self.context.as_ref() }
    }

    /// The state; valid as long as the machine.
    pub(super) fn state(&mut self) -> *mut lua_State {
        self.state.as_ptr()
    }

    /// A view of the stack between runs.
    pub(super) fn stack(&mut self) -> Stack<'_> {
        // SAFETY: no script runs, so strictness is off, and the state belongs to this context.
        unsafe { Stack::outside(self.state.as_ptr(), self.context.as_ref()) }
    }

    /// Registry reference of the table behind `_G`.
    pub(super) fn globals(&self) -> c_int {
        self.globals
    }

    /// Registry reference of the message handler.
    pub(super) fn handler(&self) -> c_int {
        self.handler
    }

    fn furnish(&mut self) {
        let l = self.state();
        // SAFETY: a fresh state; none of these can raise while the allocator does not refuse.
        unsafe {
            for open in [
                ffi::luaopen_base as lua_CFunction,
                ffi::luaopen_table,
                ffi::luaopen_string,
                ffi::luaopen_math,
            ] {
                ffi::lua_pushcclosure(l, open, 0);
                ffi::lua_call(l, 0, 0);
            }
            ffi::lua_pushvalue(l, ffi::LUA_GLOBALSINDEX);
        }
        let mut stack = self.stack();
        let globals = stack.top();
        add_libraries(&mut stack, globals);
        add_guards(&mut stack, globals);
        seal_libraries(&mut stack, globals);
        stack.push_function(c_function(failure::describe), 0);
        stack.raw_set_field(globals, "__redis__err__handler");
        seal_globals(&mut stack, globals);
        // SAFETY: the stack holds the real globals, then the sealed ones on top.
        unsafe {
            ffi::lua_replace(l, ffi::LUA_GLOBALSINDEX);
            ffi::lua_pushlstring_(l, c"__redis__err__handler".as_ptr(), 21);
            ffi::lua_rawget_(l, globals);
            self.handler = ffi::luaL_ref(l, ffi::LUA_REGISTRYINDEX);
            ffi::lua_pushvalue(l, globals);
            self.globals = ffi::luaL_ref(l, ffi::LUA_REGISTRYINDEX);
            ffi::lua_pushthread(l);
            self.context().watch.set_slot(ffi::luaL_ref(l, ffi::LUA_REGISTRYINDEX));
            ffi::lua_settop(l, 0);
        }
    }
}

fn add_libraries(stack: &mut Stack<'_>, globals: c_int) {
    for name in REMOVED {
        stack.push_nil();
        stack.raw_set_field(globals, name);
    }
    cjson::push_library(stack);
    stack.raw_set_field(globals, "cjson");
    structlib::push_library(stack);
    stack.raw_set_field(globals, "struct");
    cmsgpack::push_library(stack);
    stack.raw_set_field(globals, "cmsgpack");
    bit::push_library(stack);
    stack.raw_set_field(globals, "bit");
    api::push_library(stack);
    stack.raw_set_field(globals, "redis");
    let replaced = [
        ("math", "random", c_function(random::random)),
        ("math", "randomseed", c_function(random::randomseed)),
        ("string", "find", c_function(strings::find)),
        ("string", "match", c_function(strings::find_captures)),
        ("string", "gmatch", c_function(strings::gmatch)),
        // Its older name.
        ("string", "gfind", c_function(strings::gmatch)),
    ];
    for (library, name, function) in replaced {
        stack.raw_field(globals, library);
        stack.push_function(function, 0);
        stack.raw_set_field(-2, name);
        stack.pop(1);
    }
}

/// Puts the guards in the places of what they guard.
fn add_guards(stack: &mut Stack<'_>, globals: c_int) {
    for (index, (library, name, guard)) in guards::GUARDED.into_iter().enumerate() {
        if library.is_empty() {
            stack.push_copy(globals);
        } else {
            stack.raw_field(globals, library);
        }
        stack.raw_field(-1, name);
        // SAFETY: reads the C function on top.
        if let Some(original) = unsafe { ffi::lua_tocfunction(stack.raw(), -1) } {
            stack.context().originals.set(index, original);
        }
        stack.pop(1);
        stack.push_function(guard, 0);
        stack.raw_set_field(-2, name);
        stack.pop(1);
    }
    // `pairs` hands out the `next` it keeps as its upvalue: give it the guarded one.
    stack.raw_field(globals, "pairs");
    stack.raw_field(globals, "next");
    // SAFETY: `pairs` is on the stack below the new upvalue; the upvalue exists, and if not nothing is popped but below.
    unsafe { ffi::lua_setupvalue(stack.raw(), -2, 1) };
    stack.truncate(globals);
}

fn seal_libraries(stack: &mut Stack<'_>, globals: c_int) {
    for name in LIBRARIES {
        stack.raw_field(globals, name);
        stack.seal_top(false);
        stack.raw_set_field(globals, name);
    }
    // What `getmetatable("")` answers; the machine itself goes on using the real metatable.
    stack.push_bytes("");
    // SAFETY: strings have a metatable since the string library was opened.
    unsafe { ffi::lua_getmetatable(stack.raw(), -1) };
    let metatable = stack.top();
    stack.push_table(0, 1);
    stack.raw_field(globals, "string");
    stack.raw_set_field(-2, "__index");
    stack.seal_top(false);
    stack.raw_set_field(metatable, "__metatable");
    stack.truncate(globals);
}

/// Pushes the `_G` that scripts see.
fn seal_globals(stack: &mut Stack<'_>, globals: c_int) {
    stack.push_table(0, 1);
    stack.push_function(c_function(undefined_global), 0);
    stack.raw_set_field(-2, "__index");
    let metatable = stack.top();
    stack.push_copy(globals);
    stack.push_copy(metatable);
    stack.seal_top(false);
    stack.seal_top(true);
    stack.push_copy(-1);
    stack.raw_set_field(globals, "_G");
    // SAFETY: the real globals are a table, and the metatable lies below the sealed globals.
    unsafe {
        ffi::lua_pushvalue(stack.raw(), metatable);
        ffi::lua_setmetatable(stack.raw(), globals);
    }
}

/// `__index` of the real globals: the name is not there.
fn undefined_global(stack: &mut Stack<'_>) -> Outcome {
    let name = failure::short_text(stack.text(2));
    let name = if name.is_empty() && stack.kind(2) != super::stack::Kind::String {
        "(null)"
    } else {
        &name
    };
    Err(stack.error(format!("Script attempted to access nonexistent global variable '{name}'")))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// The C functions in the table on top, by name.
    ///
    /// # Safety
    /// There must be a table on top of a live state, and room for a few values.
    unsafe fn functions(l: *mut lua_State) -> BTreeMap<String, usize> {
        let mut found = BTreeMap::new();
        // SAFETY: by contract; keys go back as they came.
        unsafe {
            ffi::lua_pushnil(l);
            while ffi::lua_next(l, -2) != 0 {
                if let Some(function) = ffi::lua_tocfunction(l, -1) {
                    let name = std::ffi::CStr::from_ptr(ffi::lua_tolstring(l, -2, &mut 0));
                    found.insert(name.to_string_lossy().into_owned(), function as usize);
                }
                ffi::lua_settop(l, -2);
            }
        }
        found
    }

    /// The addresses of all functions that plain Lua brings.
    fn plain() -> BTreeSet<usize> {
        // SAFETY: a state of its own, closed in the end; nothing is refused to it.
        unsafe {
            let l = ffi::luaL_newstate();
            let mut found = BTreeSet::new();
            for (name, open) in [
                (c"_G", ffi::luaopen_base as lua_CFunction),
                (c"table", ffi::luaopen_table),
                (c"string", ffi::luaopen_string),
                (c"math", ffi::luaopen_math),
            ] {
                ffi::lua_pushcclosure(l, open, 0);
                ffi::lua_pushstring_(l, name.as_ptr());
                ffi::lua_call(l, 1, 0);
            }
            for name in [c"_G", c"table", c"string", c"math", c"coroutine"] {
                ffi::lua_getfield_(l, ffi::LUA_GLOBALSINDEX, name.as_ptr());
                found.extend(functions(l).into_values());
                ffi::lua_settop(l, 0);
            }
            ffi::lua_close(l);
            found
        }
    }

    #[test]
    fn the_page_on_lua_names_every_function_that_is_lua_s_own() {
        let page = include_str!("../docs/lua.md");
        let section = page.split("## What is still Lua's own").nth(1).expect("a section");
        let mut machine = Machine::new();
        let (globals, plain) = (machine.globals(), plain());
        let mut stack = machine.stack();
        for library in ["base", "table", "string", "coroutine"] {
            stack.raw_get_at(ffi::LUA_REGISTRYINDEX, globals);
            if library != "base" {
                stack.raw_field(-1, library);
                stack.push_unsealed(-1);
            }
            // SAFETY: a table is on top, and there is room.
            let ours = unsafe { functions(stack.raw()) };
            stack.truncate(0);
            let untouched: BTreeSet<&str> = ours
                .iter()
                .filter(|(_, address)| plain.contains(address))
                .map(|(name, _)| name.as_str())
                .collect();
            let row = section.lines().find(|line| {
                line.starts_with(&format!("| {library} |"))
                    || line.starts_with(&format!("| `{library}` |"))
            });
            let names = row.and_then(|row| row.split('|').nth(2)).expect("a row");
            let named: BTreeSet<&str> = names.split('`').skip(1).step_by(2).collect();
            assert_eq!(named, untouched, "{library}");
        }
    }
}
