//! Lua scripts as Redis 7.0 runs them: one long-lived virtual machine, functions cached by the SHA-1 of their text.
//!
//! Reading order: [`stack`] says how Rust functions and Lua's errors get along, [`sandbox`] what scripts can reach,
//! [`api`] the `redis` library, [`convert`] the rules between replies and Lua values, [`failure`] the texts of errors.
//! This module does not know commands: it reaches the engine through [`Caller`].
//!
//! # Limits
//! - Memory: a run may add [`Limits::memory`] bytes to the machine, including what native functions and the reply hold;
//!   beyond that it fails with `not enough memory`.
//! - Time: the engine is asked again and again whether the script may go on ([`watch`]); a script that may not is ended
//!   and cannot prevent it.
//! - Depth: scripts run on a stack of their own ([`STACK_SIZE`]), so that it does not matter which thread runs them. Lua
//!   allows 200 nested C calls, and native functions that recurse stop before the rest of that stack is used up.
//!
//! # Defects of Lua 5.1.5 and of Redis' libraries
//! `src/docs/lua.md` lists the published ones and what keeps each of them out, with the test that shows it.
#![allow(unsafe_code, reason = "calls compiled functions through Lua's C API")]

mod api;
mod arguments;
mod bit;
mod blocks;
mod cjson;
mod cmsgpack;
mod context;
mod convert;
mod failure;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod generate;
mod guards;
mod number;
mod pattern;
mod random;
mod readonly_tables;
mod sandbox;
mod shebang;
mod stack;
mod strings;
mod structlib;
mod tables;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::HashMap;
use std::ffi::c_int;
use std::panic::resume_unwind;

use corosensei::on_stack;
use corosensei::stack::{DefaultStack, Stack as _};
use mlua::ffi;

use crate::reply::{Error, Reply};
use context::Context;
use failure::Failure;
use sandbox::Machine;
pub(crate) use shebang::Flags;
use stack::Stack;

/// What a running script can reach of the engine.
pub(crate) trait Caller {
    /// Runs one command on behalf of the script; errors come back as [`Reply::Error`].
    fn call(&mut self, args: &[&[u8]]) -> Reply;

    /// Asked again and again: whether the script may go on.
    fn interrupt(&mut self) -> Interrupt;

    /// Whether somebody wants the script to end; asked after every command, so it must be cheap.
    fn is_killed(&self) -> bool {
        false
    }

    /// The script chose the protocol its replies come in.
    fn set_resp(&mut self, version: u8);

    /// The script writes to the log; `level` is 0 (debug) to 3 (warning).
    fn log(&mut self, level: u8, message: &[u8]);

    /// Whether the user may run the command, `None` if there is no such command.
    fn may_call(&mut self, args: &[&[u8]]) -> Option<bool>;
}

/// Whether a running script may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// It may.
    Continue,
    /// It has to end, and this is why.
    Stop(Error),
}

/// What a single run may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Bytes a run may add to what the machine holds.
    pub(crate) memory: usize,
    /// Most instructions between two calls of [`Caller::interrupt`].
    pub(crate) instructions: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { memory: 256 << 20, instructions: 1000 }
    }
}

/// The name of a script: the SHA-1 of its text in lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Sha([u8; 40]);

impl Sha {
    /// The name of the script with this text.
    pub(crate) fn of(body: &[u8]) -> Sha {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digest = sha1_smol::Sha1::from(body).digest().bytes();
        let mut name = [0; 40];
        for (pair, byte) in name.chunks_exact_mut(2).zip(digest) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        Sha(name)
    }

    /// The name as clients write it, in either case; `None` if it has another length.
    pub(crate) fn parse(text: &[u8]) -> Option<Sha> {
        let mut name: [u8; 40] = text.try_into().ok()?;
        name.make_ascii_lowercase();
        Some(Sha(name))
    }

    /// The digits.
    pub(crate) fn as_str(&self) -> &str {
        // A parsed name may hold anything; it then names no script and is never shown.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// A compiled script.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Script {
    /// Registry reference of its function.
    function: c_int,
    flags: Flags,
}

impl Script {
    /// What the script declares about itself.
    pub(crate) fn flags(&self) -> Flags {
        self.flags
    }
}

/// The stack that scripts run on. Only the pages that a script has reached take memory.
const STACK_SIZE: usize = 8 << 20;

/// What native functions leave of that stack when they stop going deeper: enough for 200 nested C calls of Lua, and a
/// command at the end of them.
const STACK_RESERVE: usize = 2 << 20;

/// Whether this is a build for a sanitizer (`cargo xtask fuzz --memory`).
const SANITIZED: bool = option_env!("KEYRACK_SANITIZED").is_some();

/// The scripts of one engine and the machine they run in.
pub(crate) struct Scripts {
    machine: Machine,
    stack: DefaultStack,
    scripts: HashMap<Sha, Script, foldhash::fast::RandomState>,
    limits: Limits,
}

/// The name of every script in Lua's messages.
const CHUNK: &std::ffi::CStr = c"@user_script";

/// Garbage that a run may leave behind for the collector's own pace, as a share of the memory limit.
const GARBAGE_SHARE: usize = 4;

impl Scripts {
    /// No scripts yet, and a fresh machine.
    pub(crate) fn new(limits: Limits) -> Scripts {
        let stack = DefaultStack::new(STACK_SIZE).expect("the system has memory for a stack");
        let machine = Machine::new();
        Scripts { machine, stack, scripts: HashMap::default(), limits }
    }

    /// Compiles `body`, unless it is known already, and returns its name.
    pub(crate) fn load(&mut self, body: &[u8]) -> Result<Sha, Error> {
        let sha = Sha::of(body);
        if !self.scripts.contains_key(&sha) {
            let (flags, code) = shebang::parse(body)?;
            let function = self.on_own_stack(|machine, limits| compile(machine, limits, code))?;
            self.scripts.insert(sha, Script { function, flags });
        }
        Ok(sha)
    }

    /// Whether a script with this name is loaded, in either case.
    pub(crate) fn exists(&self, sha: &[u8]) -> bool {
        Sha::parse(sha).is_some_and(|sha| self.scripts.contains_key(&sha))
    }

    /// The script with this name, `None` if it is not loaded.
    pub(crate) fn find(&self, sha: &Sha) -> Option<Script> {
        self.scripts.get(sha).copied()
    }

    /// Forgets all scripts and starts with a fresh machine.
    pub(crate) fn flush(&mut self) {
        let random = self.machine.context().random.get();
        self.scripts = HashMap::default();
        self.machine = Machine::new();
        self.machine.context().random.set(random);
    }

    /// The number of scripts loaded.
    pub(crate) fn len(&self) -> usize {
        self.scripts.len()
    }

    /// Bytes the machine holds.
    pub(crate) fn memory_used(&self) -> usize {
        self.machine.used()
    }

    /// Runs a script that [`Scripts::find`] gave, since when none was forgotten, with these KEYS and ARGV. Errors of every
    /// kind are replies.
    pub(crate) fn run(
        &mut self,
        script: Script,
        sha: &Sha,
        keys: &[&[u8]],
        args: &[&[u8]],
        caller: &mut dyn Caller,
    ) -> Reply {
        let before = self.machine.used();
        let outcome = self
            .on_own_stack(|machine, limits| execute(machine, limits, script, (keys, args), caller));
        let context = self.machine.context();
        let verdict = context.take_verdict();
        if let Some(panic) = context.take_panic() {
            resume_unwind(panic);
        }
        if self.machine.used().saturating_sub(before) > self.limits.memory / GARBAGE_SHARE {
            // SAFETY: no script runs; a collection calls no code of scripts, which cannot have finalizers.
            unsafe { ffi::lua_gc(self.machine.state(), ffi::LUA_GCCOLLECT, 0) };
        }
        match verdict.map_or(outcome, Err) {
            Ok(reply) => reply,
            Err(failure) => failure.into_error(sha.as_str()).into(),
        }
    }

    /// Instructions between two calls of the main thread's hook.
    #[cfg(test)]
    fn hook_count(&mut self) -> c_int {
        // SAFETY: reads a field of a live state.
        unsafe { ffi::lua_gethookcount(self.machine.state()) }
    }

    /// Runs `work` on the stack for scripts.
    fn on_own_stack<T>(&mut self, work: impl FnOnce(&mut Machine, Limits) -> T) -> T {
        let Scripts { machine, stack, limits, .. } = self;
        // A sanitizer has to be told of every change of the stack, and nobody does; `src/docs/lua.md` says what that leaves out.
        if SANITIZED {
            let here = 0u8;
            let top = std::ptr::from_ref(std::hint::black_box(&here)).addr();
            machine.context().set_stack_floor(top - (STACK_SIZE - STACK_RESERVE - STACK_RESERVE));
            return work(machine, *limits);
        }
        machine.context().set_stack_floor(stack.limit().get() + STACK_RESERVE);
        on_stack(stack, || work(machine, *limits))
    }
}

/// Compiles `code` and returns the registry reference of its function.
fn compile(machine: &mut Machine, limits: Limits, code: &[u8]) -> Result<c_int, Error> {
    if code.len() > guards::SOURCE_MAX {
        return Err(not_compiled(guards::SOURCE_TOO_LONG));
    }
    let l = machine.state();
    let mut stack = machine.stack();
    stack.push_bytes(code);
    // SAFETY: the state is live and its stack empty but for the code, which keeps its bytes alive while they are read;
    // `luaL_loadbuffer` reports errors as a status, also those for lack of memory.
    unsafe {
        if guards::is_bytecode(l, -1) {
            stack.pop(1);
            stack.push_bytes([b" ", code].concat());
        }
        stack.context().set_budget(limits.memory);
        let mut length = 0;
        let start = ffi::lua_tolstring(l, -1, &mut length);
        stack.context().set_strict(true);
        let status = ffi::luaL_loadbuffer(l, start, length, CHUNK.as_ptr());
        stack.context().set_strict(false);
        if status == ffi::LUA_OK {
            let function = ffi::luaL_ref(l, ffi::LUA_REGISTRYINDEX);
            stack.truncate(0);
            return Ok(function);
        }
    }
    let problem = failure::c_text(stack.bytes(-1));
    stack.truncate(0);
    Err(not_compiled(&problem))
}

fn not_compiled(problem: &str) -> Error {
    Error::new(format!("ERR Error compiling script (new function): {problem}"))
}

/// Runs `script` in `machine` with these KEYS and ARGV.
fn execute(
    machine: &mut Machine,
    limits: Limits,
    script: Script,
    (keys, args): (&[&[u8]], &[&[u8]]),
    caller: &mut dyn Caller,
) -> Result<Reply, Failure> {
    let (globals, handler) = (machine.globals(), machine.handler());
    let l = machine.state();
    let mut stack = machine.stack();
    let context = stack.context();
    let _finish = Finish { l, context };
    context.resp.set(2);
    stack.raw_get_at(ffi::LUA_REGISTRYINDEX, globals);
    push_list(&mut stack, "KEYS", keys);
    push_list(&mut stack, "ARGV", args);
    stack.pop(1);
    stack.raw_get_at(ffi::LUA_REGISTRYINDEX, handler);
    stack.raw_get_at(ffi::LUA_REGISTRYINDEX, script.function);
    let lent = context.lend(caller);
    context.set_budget(limits.memory);
    // SAFETY: the state lives as long as the machine. The stack holds the handler and the function. Errors end in
    // `lua_pcall`, and this frame is below it.
    let status = unsafe {
        context.watch.begin(l, limits.instructions);
        context.set_strict(true);
        let status = ffi::lua_pcall(l, 0, 1, 1);
        context.set_strict(false);
        context.watch.go_on(l);
        status
    };
    let outcome = match status {
        ffi::LUA_OK => convert::pop_reply(&mut stack).map_err(|_| Failure::from_top(&mut stack)),
        _ => Err(Failure::from_top(&mut stack)),
    };
    drop(lent);
    outcome
}

/// What a run leaves as it found it, also when a panic of the engine ends it while no frame of Lua's is there to stop it:
/// making the reply asks the engine, too, whether the script may go on.
struct Finish<'a> {
    l: *mut ffi::lua_State,
    context: &'a Context,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.context.watch.end();
        if std::thread::panicking() {
            self.context.take_verdict();
        }
        // SAFETY: the state is live, and no code of Lua's runs; this only lowers the top.
        unsafe { ffi::lua_settop(self.l, 0) };
    }
}

/// Sets the global `name`, in the table of globals on top, to a list of strings.
fn push_list(stack: &mut Stack<'_>, name: &str, items: &[&[u8]]) {
    stack.push_table(items.len(), 0);
    for (position, item) in (1..).zip(items) {
        stack.push_bytes(item);
        stack.raw_set_at(-2, position);
    }
    stack.raw_set_field(-2, name);
}
