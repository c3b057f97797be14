//! The boundary between Lua and native functions, where panics and errors are caught; the argument is in the [module](super).
#![allow(
    unsafe_code,
    reason = "the Lua stack is a C API; this module is part of the safe layer over it"
)]

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use mlua::ffi::{self, lua_CFunction, lua_State};

use super::{ALWAYS_FREE, Outcome, Raised, Stack};
use crate::script::context::Context;

/// What unwinds a native function that needs more of the Lua stack than there is; [`protect`] turns it into an error.
pub(super) struct StackFull;

/// Runs `work` with the allocator set not to refuse, and stops panics; does nothing if the script has to stop.
/// Returns the number of results, or a negative number for [`leave`].
///
/// # Safety
/// `l` must be a live state of a machine made by [`crate::script::sandbox`].
pub(in crate::script) unsafe fn protect(
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
pub(in crate::script) unsafe fn protect_at_any_depth(
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
        crate::script::tests::faults::strike();
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
pub(in crate::script) unsafe fn leave(l: *mut lua_State, count: c_int) -> c_int {
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
pub(in crate::script) unsafe fn raise(
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
pub(in crate::script) unsafe fn stop(l: *mut lua_State) -> ! {
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
pub(in crate::script) fn c_function<F>(_native: F) -> lua_CFunction
where
    F: Fn(&mut Stack<'_>) -> Outcome + Copy + 'static,
{
    enter::<F>
}
