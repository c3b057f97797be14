//! What the virtual machine and the native functions share while they run: memory accounting, the caller, the kill switch.
//!
//! The context is the allocator's user data, so every C function and the hook find it from the bare `lua_State`.
//! All of it is reached through shared references and cells: a native function holds `&Context` while the allocator,
//! called from deep inside Lua, looks at the same value.
#![allow(unsafe_code, reason = "the allocator of a Lua state works on raw memory")]

use std::alloc::{self, Layout};
use std::any::Any;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

use mlua::ffi::{self, lua_State};

use super::Caller;
use super::blocks::Blocks;
use super::failure::Failure;
use super::guards::Originals;
use super::random::Rand48;
use super::readonly_tables::Sealed;
use super::watch::Watch;

/// State shared by everything that runs inside one virtual machine.
pub(super) struct Context {
    /// Where its memory comes from.
    blocks: Blocks,
    /// Bytes the machine holds now.
    used: Cell<usize>,
    /// Bytes the running script may not exceed.
    ceiling: Cell<usize>,
    /// Whether allocations above the ceiling fail. Only ever true while Lua's own code is on top of the stack:
    /// see [`super::stack`] for why.
    strict: Cell<bool>,
    /// Makes the next allocation fail whatever its size.
    refuse_next: Cell<bool>,
    /// The engine, present only while a script runs.
    caller: Cell<Option<NonNull<dyn Caller>>>,
    /// Whether the script has to stop; once set it stays set until the script is gone.
    stopped: Cell<bool>,
    /// Why it has to.
    verdict: Cell<Option<Failure>>,
    /// A panic caught at the border to C, to be resumed once Lua's frames are gone.
    panic: Cell<Option<Box<dyn Any + Send>>>,
    /// The protocol that `redis.setresp` asked for.
    pub(super) resp: Cell<u8>,
    /// The generator behind `math.random`.
    pub(super) random: Cell<Rand48>,
    /// A buffer that native functions take, fill and put back, so that they need not allocate.
    scratch: Cell<Vec<u8>>,
    /// How often the script is checked.
    pub(super) watch: Watch,
    /// The lowest address that native code may reach on the thread's stack.
    stack_floor: Cell<usize>,
    /// The read-only tables.
    pub(super) sealed: Sealed,
    /// Library functions that ours stand in front of.
    pub(super) originals: Originals,
}

/// Scratch buffers that grew beyond this are given back to the system.
const SCRATCH_KEPT: usize = 1 << 20;

impl Context {
    pub(super) fn new() -> Context {
        Context {
            blocks: Blocks::new(),
            used: Cell::new(0),
            ceiling: Cell::new(usize::MAX),
            strict: Cell::new(false),
            refuse_next: Cell::new(false),
            caller: Cell::new(None),
            stopped: Cell::new(false),
            verdict: Cell::new(None),
            panic: Cell::new(None),
            resp: Cell::new(2),
            random: Cell::new(Rand48::default()),
            scratch: Cell::new(Vec::new()),
            watch: Watch::new(),
            stack_floor: Cell::new(0),
            sealed: Sealed::default(),
            originals: Originals::default(),
        }
    }

    /// The context of a running machine.
    ///
    /// # Safety
    /// `l` must belong to a machine made with [`allocate`] and a boxed context that outlives the returned reference.
    pub(super) unsafe fn of<'a>(l: *mut lua_State) -> &'a Context {
        let mut data = ptr::null_mut::<c_void>();
        // SAFETY: `lua_getallocf` only reads the global state; the data is the context by this function's contract.
        unsafe {
            ffi::lua_getallocf(l, &mut data);
            &*data.cast::<Context>()
        }
    }

    /// Bytes the machine holds now.
    pub(super) fn used(&self) -> usize {
        self.used.get()
    }

    /// Lets a run add `budget` bytes to what is held now.
    pub(super) fn set_budget(&self, budget: usize) {
        self.ceiling.set(self.used.get().saturating_add(budget));
    }

    /// Whether the machine, with `held` bytes that native code holds besides, is over its budget. Native functions that
    /// build large values ask this as they go, since the allocator does not refuse them.
    #[inline]
    pub(super) fn over_budget(&self, held: usize) -> bool {
        self.used.get().saturating_add(held) > self.ceiling.get()
    }

    /// Says how far down the thread's stack native code may go.
    pub(super) fn set_stack_floor(&self, address: usize) {
        self.stack_floor.set(address);
    }

    /// Whether too little is left of the thread's stack to go deeper.
    #[inline]
    pub(super) fn is_deep(&self) -> bool {
        let here = 0u8;
        std::ptr::from_ref(std::hint::black_box(&here)).addr() < self.stack_floor.get()
    }

    /// Turns refusing allocations on or off and returns what it was.
    pub(super) fn set_strict(&self, strict: bool) -> bool {
        self.strict.replace(strict)
    }

    /// Makes the next allocation fail.
    pub(super) fn refuse_next(&self) {
        self.refuse_next.set(true);
    }

    /// Takes the scratch buffer, empty; give it back with [`Context::put_scratch`].
    pub(super) fn take_scratch(&self) -> Vec<u8> {
        let mut buffer = self.scratch.take();
        buffer.clear();
        buffer
    }

    /// Gives the scratch buffer back for the next taker.
    pub(super) fn put_scratch(&self, buffer: Vec<u8>) {
        if buffer.capacity() <= SCRATCH_KEPT {
            self.scratch.set(buffer);
        }
    }

    /// Lends the engine to `work`; `None` when no script runs.
    pub(super) fn with_caller<T>(&self, work: impl FnOnce(&mut dyn Caller) -> T) -> Option<T> {
        // Taken out for the time of the call, so that two mutable borrows cannot exist.
        let mut caller = self.caller.take()?;
        // SAFETY: the pointer is set by `lend` from a live `&mut dyn Caller`, and removed before that borrow ends. If `work`
        // panics it stays away: the script has to end.
        let result = work(unsafe { caller.as_mut() });
        self.caller.set(Some(caller));
        Some(result)
    }

    /// Makes `caller` reachable for native functions until the returned guard is dropped.
    pub(super) fn lend<'a>(&'a self, caller: &'a mut dyn Caller) -> EngineGuard<'a> {
        let pointer: NonNull<dyn Caller + 'a> = NonNull::from(caller);
        // SAFETY: only the lifetime changes; the guard, which cannot outlive `'a` and is never leaked by this module,
        // removes the pointer.
        let pointer: NonNull<dyn Caller> = unsafe { std::mem::transmute(pointer) };
        self.caller.set(Some(pointer));
        EngineGuard(self)
    }

    /// Whether the running script has to stop.
    #[inline]
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.get()
    }

    /// Decides that the running script has to stop, because of `verdict`.
    pub(super) fn condemn(&self, verdict: Failure) {
        self.stopped.set(true);
        self.watch.halt();
        self.verdict.set(Some(verdict));
    }

    /// Keeps a panic until it can go on; the script has to stop. Of several the first counts.
    pub(super) fn set_panic(&self, payload: Box<dyn Any + Send>) {
        self.stopped.set(true);
        self.watch.halt();
        let first = self.panic.take();
        if first.is_some() {
            // Not dropped: that might panic in turn, with C's frames around.
            std::mem::forget(payload);
            self.panic.set(first);
        } else {
            self.panic.set(Some(payload));
        }
    }

    /// The panic to resume, if native code panicked during the run.
    pub(super) fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        self.panic.take()
    }

    /// Why the script had to stop, if it had to; the next run starts afresh.
    pub(super) fn take_verdict(&self) -> Option<Failure> {
        self.stopped.set(false);
        self.verdict.take()
    }
}

/// Proof that the engine is reachable; dropping it takes the engine away from the script.
pub(super) struct EngineGuard<'a>(&'a Context);

impl Drop for EngineGuard<'_> {
    fn drop(&mut self) {
        self.0.caller.set(None);
    }
}

/// The allocator of the virtual machine: counts bytes and refuses what is over the limit.
///
/// # Safety
/// Called by Lua only, with `data` pointing at a [`Context`] and the sizes Lua's manual promises.
pub(super) unsafe extern "C" fn allocate(
    data: *mut c_void,
    block: *mut c_void,
    old_size: usize,
    new_size: usize,
) -> *mut c_void {
    // SAFETY: the context outlives the machine, and only shared references to it exist.
    let context = unsafe { &*data.cast::<Context>() };
    let held = context.used.get() - if block.is_null() { 0 } else { old_size };
    if new_size == 0 {
        if !block.is_null() {
            // SAFETY: the block came from this function with this size.
            unsafe { context.blocks.give(block.cast(), old_size) };
        }
        context.used.set(held);
        return ptr::null_mut();
    }
    let strict = context.strict.get();
    let grows = block.is_null() || new_size > old_size;
    if strict
        && grows
        && (context.refuse_next.replace(false) || held + new_size > context.ceiling.get())
    {
        return ptr::null_mut();
    }
    let fresh = if block.is_null() {
        context.blocks.take(new_size)
    } else {
        // SAFETY: the block came from this function with `old_size`, and `new_size` is not zero.
        unsafe { context.blocks.resize(block.cast(), old_size, new_size) }
    };
    if fresh.is_null() {
        // Lua takes for granted that a block can be made smaller.
        return refuse(strict && grows);
    }
    if grows {
        context.watch.note_block(new_size);
    }
    context.used.set(held + new_size);
    fresh.cast()
}

/// The system is out of memory: Lua can be told while its own code runs, Rust code cannot go on.
fn refuse(strict: bool) -> *mut c_void {
    if strict {
        return ptr::null_mut();
    }
    alloc::handle_alloc_error(Layout::new::<u128>())
}
