//! The commands, by type.

mod client;
mod command;
mod config;
mod connection;
mod functions;
mod hashes;
mod help;
mod info;
mod keys;
mod lists;
mod pubsub;
mod sample;
mod scan;
mod scripting;
mod server;
mod sets;
mod strings;
mod transactions;
mod zsets;

pub(crate) use self::connection::{Greeting, WRONG_PASSWORD, equal_in_constant_time, welcome};
use crate::{
    blocking::Operation,
    ctx::Ctx,
    reply::{Error, Reply},
    table::Command,
};

/// Every command, a table per file.
pub(crate) static TABLES: &[&[Command]] = &[
    strings::COMMANDS,
    keys::COMMANDS,
    hashes::COMMANDS,
    sets::COMMANDS,
    zsets::COMMANDS,
    lists::COMMANDS,
    pubsub::COMMANDS,
    transactions::COMMANDS,
    scripting::COMMANDS,
    functions::COMMANDS,
    connection::COMMANDS,
    client::COMMANDS,
    config::COMMANDS,
    info::COMMANDS,
    command::COMMANDS,
    server::COMMANDS,
];

/// What serving a blocked client came to.
pub(crate) enum ServeOutcome {
    Reply(Reply),
    /// The key holds another type than this client waits for; the next one may want it.
    WrongKind,
    /// Nothing is left in the key.
    Empty,
}

/// Does for a blocked client what its command could not do at once.
pub(crate) fn serve(ctx: &mut Ctx<'_>, operation: &Operation, key: &[u8]) -> ServeOutcome {
    match operation {
        Operation::PopZSet { max } => zsets::serve(ctx, *max, key),
        Operation::PopZSets { max, count } => zsets::serve_several(ctx, *max, *count, key),
        _ => lists::serve(ctx, operation, key),
    }
}

/// Whether an option is spelled `name`, in any case.
fn is(arg: &[u8], name: &str) -> bool {
    arg.eq_ignore_ascii_case(name.as_bytes())
}

/// An argument that must be an integer.
fn int(arg: &[u8]) -> Result<i64, Error> {
    crate::num::parse_int(arg).ok_or(Error::NOT_AN_INTEGER)
}

/// A blocking command's timeout, in seconds, as the moment in ms since the Unix epoch at which it ends; 0 is forever.
fn timeout(ctx: &Ctx<'_>, arg: &[u8]) -> Result<Option<u64>, Error> {
    let seconds = crate::num::parse_float(arg)
        .ok_or(Error::fixed("ERR timeout is not a float or out of range"))?;
    let ms = (seconds * 1000.0).ceil();
    // Redis' own conversion to 64 bits makes what is too large for them negative.
    if ms < 0.0 || ms >= i64::MAX as f64 {
        return Err(Error::fixed("ERR timeout is negative"));
    }
    Ok((ms > 0.0).then(|| ctx.now_ms().saturating_add(ms as u64)))
}

/// The handler of commands that are nothing without a subcommand; arity keeps it from being reached.
fn no_subcommand(_ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Err(Error::SYNTAX)
}

/// `wrong number of arguments` for commands whose arguments come in pairs, which the table cannot express.
fn wrong_arity(name: &str) -> Error {
    Error::new(format!("ERR wrong number of arguments for '{name}' command"))
}
