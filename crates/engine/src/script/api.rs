//! The `redis` library: how a script reaches the engine.

use std::ffi::c_int;

use super::convert::{push_error_text, push_reply, push_wrapped};
use super::number;
use super::stack::{Kind, Outcome, Raised, Stack, c_function};
use crate::reply::{Error, Reply};

/// The version that scripts read.
const VERSION: &str = "7.0.15";
const VERSION_NUMBER: f64 = 0x0007_000F as f64;

/// Pushes the library's table.
pub(super) fn push_library(stack: &mut Stack<'_>) {
    stack.push_library(&[
        ("call", c_function(call)),
        ("pcall", c_function(pcall)),
        ("log", c_function(log)),
        ("setresp", c_function(setresp)),
        ("error_reply", c_function(error_reply)),
        ("status_reply", c_function(status_reply)),
        ("sha1hex", c_function(sha1hex)),
        ("set_repl", c_function(set_repl)),
        ("replicate_commands", c_function(replicate_commands)),
        ("breakpoint", c_function(breakpoint)),
        ("debug", c_function(debug)),
        ("acl_check_cmd", c_function(acl_check_cmd)),
    ]);
    let numbers = [
        ("LOG_DEBUG", 0.0),
        ("LOG_VERBOSE", 1.0),
        ("LOG_NOTICE", 2.0),
        ("LOG_WARNING", 3.0),
        ("REPL_NONE", 0.0),
        ("REPL_AOF", 1.0),
        ("REPL_SLAVE", 2.0),
        ("REPL_REPLICA", 2.0),
        ("REPL_ALL", 3.0),
        ("REDIS_VERSION_NUM", VERSION_NUMBER),
    ];
    for (name, value) in numbers {
        stack.push_number(value);
        stack.raw_set_field(-2, name);
    }
    stack.push_bytes(VERSION);
    stack.raw_set_field(-2, "REDIS_VERSION");
}

/// Raises the error table for `text`.
fn raise(stack: &mut Stack<'_>, text: &str) -> Raised {
    push_error_text(stack, text);
    stack.raise_top()
}

/// `redis.call`: runs a command and raises its error.
fn call(stack: &mut Stack<'_>) -> Outcome {
    let reply = run_command(stack)?;
    push_reply(stack, &reply)?;
    if reply.is_error() { Err(stack.raise_top()) } else { Ok(1) }
}

/// `redis.pcall`: runs a command and returns its error.
fn pcall(stack: &mut Stack<'_>) -> Outcome {
    let reply = run_command(stack)?;
    push_reply(stack, &reply)?;
    Ok(1)
}

/// Work that a command stands for: a command can take long, and the clock is not free.
const COMMAND_UNITS: usize = 4096;

fn run_command(stack: &mut Stack<'_>) -> Result<Reply, Raised> {
    let context = stack.context();
    let mut killed = false;
    let reply = with_arguments(stack, |arguments| {
        let reply = context.with_caller(|caller| {
            let reply = caller.call(arguments);
            killed = caller.is_killed();
            reply
        });
        reply.unwrap_or_else(|| NO_ENGINE.into())
    });
    if killed {
        stack.check()?;
    }
    stack.spend(COMMAND_UNITS, 0)?;
    Ok(reply.unwrap_or_else(Reply::Error))
}

const NO_ARGUMENTS: Error =
    Error::fixed("ERR Please specify at least one argument for this redis lib call");
const BAD_ARGUMENT: Error =
    Error::fixed("ERR Lua redis lib command arguments must be strings or integers");
/// Not reachable from a script: functions of this library run only while the engine is lent.
const NO_ENGINE: Error = Error::fixed("ERR no command can run here");

/// Arguments that need no allocation for the list of them.
const FEW: usize = 16;

/// Calls `work` with the arguments of the running function, numbers as text.
fn with_arguments<T>(stack: &mut Stack<'_>, work: impl FnOnce(&[&[u8]]) -> T) -> Result<T, Error> {
    let count = stack.top();
    if count == 0 {
        return Err(NO_ARGUMENTS);
    }
    // Numbers are written to the scratch buffer one after the other; 0 marks where the next one starts below.
    let mut texts = stack.context().take_scratch();
    for index in 1..=count {
        match stack.kind(index) {
            Kind::String => {}
            Kind::Number => append_counted(&mut texts, stack.number(index)),
            _ => {
                stack.context().put_scratch(texts);
                return Err(BAD_ARGUMENT);
            }
        }
    }
    let mut rest = texts.as_slice();
    let mut argument = |index: c_int| match stack.kind(index) {
        Kind::String => stack.bytes(index),
        _ => take_counted(&mut rest),
    };
    let result = if count as usize <= FEW {
        let mut arguments: [&[u8]; FEW] = [&[]; FEW];
        for (slot, index) in arguments.iter_mut().zip(1..=count) {
            *slot = argument(index);
        }
        work(&arguments[..count as usize])
    } else {
        let arguments: Vec<&[u8]> = (1..=count).map(argument).collect();
        work(&arguments)
    };
    stack.context().put_scratch(texts);
    Ok(result)
}

/// Appends the text of `value` with its length, which fits a byte, in front.
fn append_counted(texts: &mut Vec<u8>, value: f64) {
    let start = texts.len();
    texts.push(0);
    number::append_g(texts, value, number::EXACT);
    texts[start] = (texts.len() - start - 1) as u8;
}

/// Takes the text that [`append_counted`] wrote first.
fn take_counted<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let Some((&length, tail)) = rest.split_first() else { return &[] };
    let (text, tail) = tail.split_at(usize::from(length));
    *rest = tail;
    text
}

/// `redis.log(level, message, …)`.
fn log(stack: &mut Stack<'_>) -> Outcome {
    let count = stack.top();
    if count < 2 {
        return Err(raise(stack, "ERR redis.log() requires two arguments or more."));
    }
    if !stack.is_number(1) {
        return Err(raise(stack, "ERR First argument must be a number (log level)."));
    }
    let level = number::to_i64(stack.number(1)) as i32;
    let Some(level) = u8::try_from(level).ok().filter(|level| *level <= 3) else {
        return Err(raise(stack, "ERR Invalid debug level."));
    };
    let mut message = stack.context().take_scratch();
    for index in 2..=count {
        if matches!(stack.kind(index), Kind::String | Kind::Number) {
            if index > 2 {
                message.push(b' ');
            }
            let length = stack.text(index).len();
            stack.make_room(&mut message, length)?;
            message.extend_from_slice(stack.text(index));
        }
    }
    stack.context().with_caller(|caller| caller.log(level, &message));
    stack.context().put_scratch(message);
    Ok(0)
}

/// `redis.setresp(version)`.
fn setresp(stack: &mut Stack<'_>) -> Outcome {
    if stack.top() != 1 {
        return Err(raise(stack, "ERR redis.setresp() requires one argument."));
    }
    let version = number::to_i64(stack.number(1)) as i32;
    if version != 2 && version != 3 {
        return Err(raise(stack, "ERR RESP version must be 2 or 3."));
    }
    stack.context().resp.set(version as u8);
    stack.context().with_caller(|caller| caller.set_resp(version as u8));
    Ok(0)
}

/// `redis.error_reply(text)`: a text without a code gets `ERR`.
fn error_reply(stack: &mut Stack<'_>) -> Outcome {
    if stack.top() != 1 || stack.kind(1) != Kind::String {
        push_error_text(stack, "ERR wrong number or type of arguments");
        return Ok(1);
    }
    let length = stack.bytes(1).len();
    stack.spend(length, 2 * length)?;
    let text = stack.bytes(1);
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    let text = text[..end].strip_prefix(b"-").unwrap_or(&text[..end]);
    let trimmed = trim_line_end(text);
    let text = if text.contains(&b' ') {
        trimmed.to_vec()
    } else {
        [b"ERR ".as_slice(), trimmed].concat()
    };
    push_error_text(stack, text);
    Ok(1)
}

/// `redis.status_reply(text)`.
fn status_reply(stack: &mut Stack<'_>) -> Outcome {
    if stack.top() != 1 || stack.kind(1) != Kind::String {
        push_error_text(stack, "ERR wrong number or type of arguments");
        return Ok(1);
    }
    push_wrapped(stack, "ok", |stack| stack.push_copy(1));
    Ok(1)
}

/// `redis.sha1hex(text)`.
fn sha1hex(stack: &mut Stack<'_>) -> Outcome {
    if stack.top() != 1 {
        return Err(raise(stack, "ERR wrong number of arguments"));
    }
    let length = stack.text(1).len();
    stack.spend(length, 0)?;
    let digest = super::Sha::of(stack.text(1));
    stack.push_bytes(digest.as_str());
    Ok(1)
}

/// `redis.set_repl(flags)`: checked and otherwise without effect, since the log always gets the effects of a script.
fn set_repl(stack: &mut Stack<'_>) -> Outcome {
    if stack.top() != 1 {
        return Err(raise(stack, "ERR redis.set_repl() requires two arguments."));
    }
    let flags = number::to_i64(stack.number(1)) as i32;
    if !(0..=3).contains(&flags) {
        return Err(raise(
            stack,
            "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.",
        ));
    }
    Ok(0)
}

/// `redis.replicate_commands()`: effects are always what is logged.
fn replicate_commands(stack: &mut Stack<'_>) -> Outcome {
    stack.push_bool(true);
    Ok(1)
}

/// `redis.breakpoint()`: there is no debugger to stop in.
fn breakpoint(stack: &mut Stack<'_>) -> Outcome {
    stack.push_bool(false);
    Ok(1)
}

/// `redis.debug(…)`: there is no debugger to write to.
fn debug(_stack: &mut Stack<'_>) -> Outcome {
    Ok(0)
}

/// `redis.acl_check_cmd(command, …)`.
fn acl_check_cmd(stack: &mut Stack<'_>) -> Outcome {
    let context = stack.context();
    let allowed = with_arguments(stack, |arguments| {
        context.with_caller(|caller| caller.may_call(arguments)).flatten()
    });
    match allowed {
        Ok(Some(allowed)) => stack.push_bool(allowed),
        Ok(None) => {
            return Err(raise(stack, "ERR Invalid command passed to redis.acl_check_cmd()"));
        }
        Err(error) => return Err(raise(stack, error.text())),
    }
    Ok(1)
}

fn trim_line_end(text: &[u8]) -> &[u8] {
    let end =
        text.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |last| last + 1);
    &text[..end]
}
