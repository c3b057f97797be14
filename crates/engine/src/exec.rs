//! From the words a client sent to a handler's reply: the checks every command passes, in Redis' order.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{
    ctx::Ctx,
    fault,
    reply::{Error, Reply},
    session::{Queued, ReplyMode, Session},
    state::State,
    table::{self, Command, Flags},
    unwinding::PANICKED,
};

/// Runs what a client sent. Time is frozen by the caller.
pub(crate) fn process(state: &mut State, session: &mut Session, args: &[&[u8]]) -> Reply {
    state.stats.commands += 1;
    session.about.active_us = state.now_us();
    if session.reply_mode == ReplyMode::SkipNext {
        session.reply_mode = ReplyMode::Skip;
    }
    let last = session.about.last_command;
    let mut ctx = Ctx::new(state, session);
    let resolved = resolve(args, last);
    let reply = match resolved.and_then(|command| admit(&mut ctx, command).map(|()| command)) {
        Err(error) => Reply::Error(reject(&mut ctx, args, error)),
        Ok(command) => {
            ctx.state.is_time_fresh = command.is_brief();
            ctx.session.about.last_command = Some(command);
            if is_queued(ctx.session, command) {
                queue(ctx.session, command, args)
            } else {
                call(&mut ctx, command, args)
            }
        }
    };
    let is_silenced = matches!(session.reply_mode, ReplyMode::Off | ReplyMode::Skip);
    if session.reply_mode == ReplyMode::Skip {
        session.reply_mode = ReplyMode::On;
    }
    // Confirmations of subscriptions are messages, which CLIENT REPLY does not silence.
    if is_silenced && !matches!(reply, Reply::Several(_)) { Reply::None } else { reply }
}

/// The command that `args` name, with the right number of arguments. Clients tend to repeat their `last` command.
pub(crate) fn resolve(
    args: &[&[u8]],
    last: Option<&'static Command>,
) -> Result<&'static Command, Error> {
    let command = last
        .filter(|last| last.name.as_bytes().eq_ignore_ascii_case(args[0]))
        .or_else(|| table::find(args[0]))
        .ok_or_else(|| unknown_command(args))?;
    if command.subcommands.is_empty() || args.len() < 2 {
        return if command.takes(args.len()) { Ok(command) } else { Err(command.arity_error()) };
    }
    let sub = table::find_sub(command, args[1]).ok_or_else(|| unknown_subcommand(args))?;
    if sub.takes(args.len()) { Ok(sub) } else { Err(sub.arity_error()) }
}

/// Spoils the transaction that the refused command was for; a refused EXEC ends it.
fn reject(ctx: &mut Ctx<'_>, args: &[&[u8]], error: Error) -> Error {
    if args[0].eq_ignore_ascii_case(b"exec") {
        ctx.session.transaction = None;
        ctx.state.unwatch(ctx.session);
        return abort_error(&error);
    }
    if let Some(transaction) = &mut ctx.session.transaction {
        transaction.broken = true;
    }
    error
}

/// What EXEC answers where it may not run at all.
pub(crate) fn abort_error(reason: &Error) -> Error {
    let reason = reason.text();
    let reason = reason.strip_prefix("ERR ").unwrap_or(reason);
    Error::new(format!("EXECABORT Transaction discarded because of: {reason}"))
}

/// Whether the client may run the command now.
fn admit(ctx: &mut Ctx<'_>, command: &Command) -> Result<(), Error> {
    if !ctx.session.authenticated && !command.has(Flags::NO_AUTH) {
        return Err(Error::fixed("NOAUTH Authentication required."));
    }
    if ctx.session.transaction.is_some() && command.has(Flags::NO_MULTI) {
        return Err(Error::fixed("ERR Command not allowed inside a transaction"));
    }
    if command.has(Flags::WRITE) {
        writable(ctx.state)?;
    }
    let listening = ctx.session.resp == 2 && !ctx.session.subscriptions.is_empty();
    if listening && !is_allowed_while_subscribed(command) {
        let name = command.name;
        return Err(Error::new(format!(
            "ERR Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
        )));
    }
    Ok(())
}

/// Refuses writes while the disk does.
pub(crate) fn writable(state: &State) -> Result<(), Error> {
    match state.log.as_ref().and_then(|log| log.write_error()) {
        Some(reason) => {
            Err(Error::new(format!("MISCONF Errors writing to the AOF file: {reason}")))
        }
        None => Ok(()),
    }
}

fn is_allowed_while_subscribed(command: &Command) -> bool {
    const ALLOWED: [&str; 9] = [
        "ping",
        "subscribe",
        "unsubscribe",
        "psubscribe",
        "punsubscribe",
        "ssubscribe",
        "sunsubscribe",
        "quit",
        "reset",
    ];
    ALLOWED.contains(&command.name)
}

fn is_queued(session: &Session, command: &Command) -> bool {
    session.transaction.is_some() && !is_run_at_once(command)
}

/// Whether a command is not queued between MULTI and EXEC.
pub(crate) fn is_run_at_once(command: &Command) -> bool {
    const RUN_AT_ONCE: [&str; 6] = ["exec", "discard", "multi", "watch", "quit", "reset"];
    RUN_AT_ONCE.contains(&command.name)
}

fn queue(session: &mut Session, command: &'static Command, args: &[&[u8]]) -> Reply {
    if let Some(transaction) = &mut session.transaction {
        let args = args.iter().map(|arg| (*arg).into()).collect();
        transaction.queue.push(Queued { command, args });
    }
    Reply::Status("QUEUED".into())
}

/// Runs a command that has passed the checks, and logs what it did. One that panics has done what it has done, and
/// that is logged; see [`crate::unwinding`].
pub(crate) fn call(ctx: &mut Ctx<'_>, command: &'static Command, args: &[&[u8]]) -> Reply {
    // Scripts are shown before the commands they call, EXEC after those it runs, as Redis does.
    let is_shown_first = command.has(Flags::SKIP_MONITOR);
    show(ctx, command, args, is_shown_first);
    let db = ctx.session.db;
    let reply = match catch_unwind(AssertUnwindSafe(|| run(ctx, command, args))) {
        Ok(reply) => reply,
        Err(_) => {
            ctx.take_logged_instead();
            ctx.state.log_panicked(command, db, args);
            Reply::Error(PANICKED)
        }
    };
    show(ctx, command, args, !is_shown_first);
    reply
}

fn run(ctx: &mut Ctx<'_>, command: &'static Command, args: &[&[u8]]) -> Reply {
    fault::point();
    let dirty = ctx.state.dirty;
    let reply = (command.handler)(ctx, args).unwrap_or_else(Reply::Error);
    fault::point();
    let logged_instead = ctx.take_logged_instead();
    if ctx.state.dirty != dirty && command.has(Flags::WRITE) && !logged_instead {
        ctx.state.effects.push(ctx.session.db, args);
    }
    reply
}

#[inline]
fn show(ctx: &mut Ctx<'_>, command: &Command, args: &[&[u8]], now: bool) {
    if now && ctx.state.pubsub.has_monitors() && !command.has(Flags::ADMIN) {
        ctx.state.show_monitors(ctx.session, ctx.in_script, args);
    }
}

/// Runs a command for a script.
pub(crate) fn call_from_script(ctx: &mut Ctx<'_>, args: &[&[u8]], read_only: bool) -> Reply {
    match admit_from_script(ctx, args, read_only) {
        Ok(command) => call(ctx, command, args),
        Err(error) => Reply::Error(error),
    }
}

fn admit_from_script(
    ctx: &mut Ctx<'_>,
    args: &[&[u8]],
    read_only: bool,
) -> Result<&'static Command, Error> {
    let command =
        table::find(args[0]).ok_or(Error::fixed("ERR Unknown Redis command called from script"))?;
    let command = match args.get(1) {
        Some(name) if !command.subcommands.is_empty() => table::find_sub(command, name)
            .ok_or(Error::fixed("ERR Unknown Redis command called from script"))?,
        _ => command,
    };
    if !command.takes(args.len()) {
        return Err(Error::fixed("ERR Wrong number of args calling Redis command from script"));
    }
    if command.has(Flags::NOSCRIPT) {
        return Err(Error::fixed("ERR This Redis command is not allowed from script"));
    }
    if read_only && command.has(Flags::WRITE | Flags::MAY_REPLICATE) {
        return Err(Error::fixed("ERR Write commands are not allowed from read-only scripts."));
    }
    if command.has(Flags::WRITE) {
        // A disk that fails while the script runs must not leave half of its work.
        if !ctx.state.script_control.has_written() {
            writable(ctx.state)?;
        }
        ctx.state.script_control.note_write()?;
    }
    Ok(command)
}

/// The most of a word or of a list of words that an error shows.
const SHOWN_MAX: usize = 128;

fn unknown_command(args: &[&[u8]]) -> Error {
    let mut beginning = String::new();
    for arg in &args[1..] {
        if beginning.len() >= SHOWN_MAX {
            break;
        }
        beginning += &format!("'{}' ", shown(arg, SHOWN_MAX - beginning.len()));
    }
    let name = shown(args[0], SHOWN_MAX);
    Error::new(format!("ERR unknown command '{name}', with args beginning with: {beginning}"))
}

fn unknown_subcommand(args: &[&[u8]]) -> Error {
    let (sub, name) = (shown(args[1], SHOWN_MAX), shown(args[0], SHOWN_MAX).to_uppercase());
    Error::new(format!("ERR unknown subcommand '{sub}'. Try {name} HELP."))
}

/// The beginning of a word.
fn shown(word: &[u8], max: usize) -> String {
    Error::shown(&word[..word.len().min(max)]).into_owned()
}
