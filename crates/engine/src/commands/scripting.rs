//! EVAL and its relatives: scripts run inside the command, with everything else standing still.

use std::time::Duration;

use super::{int, is};
use crate::{
    ctx::Ctx,
    exec, fault,
    reply::{Error, Reply},
    script::{Caller, Interrupt, Scripts, Sha},
    script_control::{self, ScriptControl},
    table::{self, Command, Flags, Group, Keys},
};

const EVAL: Flags = Flags::NOSCRIPT
    .or(Flags::STALE)
    .or(Flags::SKIP_MONITOR)
    .or(Flags::MAY_REPLICATE)
    .or(Flags::NO_MANDATORY_KEYS)
    .or(Flags::MOVABLE_KEYS);
const EVAL_RO: Flags = Flags::NOSCRIPT
    .or(Flags::STALE)
    .or(Flags::SKIP_MONITOR)
    .or(Flags::NO_MANDATORY_KEYS)
    .or(Flags::MOVABLE_KEYS)
    .or(Flags::READONLY);
const KEYS: Keys = Keys::Counted { at: 2, with_dest: false };

pub(super) static COMMANDS: &[Command] = &[
    Command::new("eval", -3, EVAL, KEYS, eval).doc(Group::Scripting, "2.6.0", "Runs a Lua script"),
    Command::new("evalsha", -3, EVAL, KEYS, evalsha).doc(
        Group::Scripting,
        "2.6.0",
        "Runs a Lua script that is loaded already, by its SHA-1",
    ),
    Command::new("eval_ro", -3, EVAL_RO, KEYS, eval_ro).doc(
        Group::Scripting,
        "7.0.0",
        "Runs a Lua script that must not write",
    ),
    Command::new("evalsha_ro", -3, EVAL_RO, KEYS, evalsha_ro).doc(
        Group::Scripting,
        "7.0.0",
        "Runs a loaded Lua script that must not write",
    ),
    Command::new("script", -2, Flags::NONE, Keys::None, super::no_subcommand)
        .doc(Group::Scripting, "2.6.0", "Looks after the loaded scripts")
        .with(&[
            Command::new("script|load", 3, Flags::NOSCRIPT.or(Flags::STALE), Keys::None, load).doc(
                Group::Scripting,
                "2.6.0",
                "Loads a script without running it",
            ),
            Command::new("script|exists", -3, Flags::NOSCRIPT, Keys::None, exists).doc(
                Group::Scripting,
                "2.6.0",
                "Tells which scripts are loaded",
            ),
            Command::new("script|flush", -2, Flags::NOSCRIPT, Keys::None, flush).doc(
                Group::Scripting,
                "2.6.0",
                "Forgets all loaded scripts",
            ),
            Command::new("script|kill", 2, Flags::NOSCRIPT.or(Flags::ALLOW_BUSY), Keys::None, kill)
                .doc(Group::Scripting, "2.6.0", "Ends the script that is running"),
        ]),
];

const NOSCRIPT: Error = Error::fixed("NOSCRIPT No matching script. Please use EVAL.");

fn eval(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    eval_body(ctx, args, false)
}

fn eval_ro(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    eval_body(ctx, args, true)
}

fn evalsha(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    eval_loaded(ctx, args, false)
}

fn evalsha_ro(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    eval_loaded(ctx, args, true)
}

fn eval_body(ctx: &mut Ctx<'_>, args: &[&[u8]], read_only: bool) -> Result<Reply, Error> {
    let n_keys = count_keys(args)?;
    let sha = ctx.state.scripts_mut()?.load(args[1])?;
    run(ctx, &sha, &args[3..], n_keys, read_only)
}

fn eval_loaded(ctx: &mut Ctx<'_>, args: &[&[u8]], read_only: bool) -> Result<Reply, Error> {
    let sha = Sha::parse(args[1]).ok_or(NOSCRIPT)?;
    let n_keys = count_keys(args)?;
    run(ctx, &sha, &args[3..], n_keys, read_only)
}

fn count_keys(args: &[&[u8]]) -> Result<usize, Error> {
    let n = int(args[2])?;
    let n = usize::try_from(n).map_err(|_| Error::fixed("ERR Number of keys can't be negative"))?;
    if n > args.len() - 3 {
        return Err(Error::fixed("ERR Number of keys can't be greater than number of args"));
    }
    Ok(n)
}

/// Runs a loaded script. The virtual machine is out of the state meanwhile, so that the script can use the rest of it.
fn run(
    ctx: &mut Ctx<'_>,
    sha: &Sha,
    args: &[&[u8]],
    n_keys: usize,
    read_only: bool,
) -> Result<Reply, Error> {
    let script = ctx.state.scripts_mut()?.find(sha).ok_or(NOSCRIPT)?;
    let flags = script.flags();
    if read_only && flags.declared && !flags.no_writes {
        return Err(Error::fixed(
            "ERR Can not execute a script with write flag using *_ro command.",
        ));
    }
    let Some(scripts) = ctx.state.scripts.take() else { return Err(NESTED) };
    let (keys, args) = args.split_at(n_keys);
    let mut run = Run::start(ctx, scripts, read_only || flags.no_writes);
    let Some(scripts) = &mut run.scripts else { return Err(NESTED) };
    Ok(scripts.run(script, sha, keys, args, &mut run.running))
}

const NESTED: Error = Error::fixed("ERR a script cannot run another script");

/// A script under way. However it ends, with a panic too, the engine is afterwards as it was before.
struct Run<'a, 'b> {
    /// The machine, which goes back into the state.
    scripts: Option<Box<Scripts>>,
    running: Running<'a, 'b>,
    /// What scripts can change of the session and of the context.
    db: usize,
    resp: u8,
    atomic: bool,
    in_script: bool,
}

impl<'a, 'b> Run<'a, 'b> {
    fn start(ctx: &'a mut Ctx<'b>, scripts: Box<Scripts>, read_only: bool) -> Run<'a, 'b> {
        let (db, resp) = (ctx.session.db, std::mem::replace(&mut ctx.session.resp, 2));
        let atomic = std::mem::replace(&mut ctx.atomic, true);
        let in_script = std::mem::replace(&mut ctx.in_script, true);
        ctx.state.script_control.start(Duration::from_millis(ctx.state.config.busy_reply_ms));
        let running = Running { ctx, read_only, has_stepped_aside: false };
        Run { scripts: Some(scripts), running, db, resp, atomic, in_script }
    }
}

impl Drop for Run<'_, '_> {
    fn drop(&mut self) {
        let ctx = &mut *self.running.ctx;
        ctx.state.script_control.stop();
        (ctx.session.db, ctx.session.resp) = (self.db, self.resp);
        (ctx.atomic, ctx.in_script) = (self.atomic, self.in_script);
        ctx.state.scripts = self.scripts.take();
    }
}

/// A script that has run for this long is no longer a matter of course, and its thread's other tasks have waited enough.
const STEP_ASIDE_AFTER: Duration = Duration::from_millis(20);

/// The engine as a running script reaches it.
struct Running<'a, 'b> {
    ctx: &'a mut Ctx<'b>,
    read_only: bool,
    /// Another thread goes on with what this one would do otherwise.
    has_stepped_aside: bool,
}

impl Caller for Running<'_, '_> {
    fn call(&mut self, args: &[&[u8]]) -> Reply {
        fault::point();
        exec::call_from_script(self.ctx, args, self.read_only)
    }

    fn interrupt(&mut self) -> Interrupt {
        fault::point();
        let control = self.ctx.state.script_control.clone();
        if control.is_killed() {
            return Interrupt::Stop(ScriptControl::KILLED);
        }
        if !self.has_stepped_aside && control.has_run_for(STEP_ASIDE_AFTER) {
            self.has_stepped_aside = true;
            script_control::step_aside();
        }
        if control.is_busy() {
            self.ctx.state.call_queue.refuse_all();
        }
        Interrupt::Continue
    }

    fn is_killed(&self) -> bool {
        self.ctx.state.script_control.is_killed()
    }

    fn set_resp(&mut self, version: u8) {
        fault::point();
        self.ctx.session.resp = version;
    }

    fn log(&mut self, level: u8, message: &[u8]) {
        fault::point();
        self.ctx.state.host_log(level, message);
    }

    fn may_call(&mut self, args: &[&[u8]]) -> Option<bool> {
        fault::point();
        args.first().and_then(|name| table::find(name)).map(|_| true)
    }
}

fn load(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let sha = ctx.state.scripts_mut()?.load(args[2])?;
    Ok(Reply::bulk(sha.as_str()))
}

fn exists(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let scripts = ctx.state.scripts_mut()?;
    Ok(Reply::Array(args[2..].iter().map(|sha| Reply::Int(scripts.exists(sha).into())).collect()))
}

fn flush(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let known =
        args.len() == 2 || (args.len() == 3 && (is(args[2], "async") || is(args[2], "sync")));
    if !known {
        return Err(Error::fixed("ERR SCRIPT FLUSH only support SYNC|ASYNC option"));
    }
    ctx.state.scripts_mut()?.flush();
    Ok(Reply::OK)
}

/// Reached only while no script runs: otherwise the state is locked, and the doors answer.
fn kill(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    ctx.state.script_control.kill()
}
