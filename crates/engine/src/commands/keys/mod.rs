//! Keys, whatever they hold, and the databases they are in.

mod database;
mod discard;
mod expiry;
mod listing;
mod object;
mod rename_copy;
#[cfg(test)]
mod tests;

use self::discard::discard;
use crate::{
    commands::no_subcommand,
    ctx::Ctx,
    reply::{Error, Reply},
    table::{Command, Flags, Group, Keys},
};

const READ: Flags = Flags::READONLY;
const FAST_READ: Flags = Flags::READONLY.or(Flags::FAST);
const WRITE: Flags = Flags::WRITE;
const FAST_WRITE: Flags = Flags::WRITE.or(Flags::FAST);
const TWO: Keys = Keys::Range { first: 1, last: 2, step: 1 };

pub(super) static COMMANDS: &[Command] = &[
    Command::new("copy", -3, WRITE.or(Flags::DENYOOM), TWO, rename_copy::copy).doc(
        Group::Generic,
        "6.2.0",
        "Copies a key's value to another key",
    ),
    Command::new("dbsize", 1, FAST_READ, Keys::None, database::db_size).doc(
        Group::Server,
        "1.0.0",
        "Answers how many keys the database has",
    ),
    Command::new("del", -2, WRITE, Keys::ALL, del).doc(Group::Generic, "1.0.0", "Removes keys"),
    Command::new("exists", -2, FAST_READ, Keys::ALL, exists).doc(
        Group::Generic,
        "1.0.0",
        "Answers how many of the keys exist",
    ),
    Command::new("expire", -3, FAST_WRITE, Keys::FIRST, expiry::expire).doc(
        Group::Generic,
        "1.0.0",
        "Makes a key expire after some seconds",
    ),
    Command::new("expireat", -3, FAST_WRITE, Keys::FIRST, expiry::expire_at).doc(
        Group::Generic,
        "1.2.0",
        "Makes a key expire at a moment given in seconds",
    ),
    Command::new("expiretime", 2, FAST_READ, Keys::FIRST, expiry::expire_time).doc(
        Group::Generic,
        "7.0.0",
        "Answers the moment a key expires at, in seconds",
    ),
    Command::new("flushall", -1, WRITE, Keys::None, database::flush_all).doc(
        Group::Server,
        "1.0.0",
        "Removes every key of every database",
    ),
    Command::new("flushdb", -1, WRITE, Keys::None, database::flush_db).doc(
        Group::Server,
        "1.0.0",
        "Removes every key of the database",
    ),
    Command::new("keys", 2, READ, Keys::None, listing::keys).doc(
        Group::Generic,
        "1.0.0",
        "Answers every key that matches a pattern",
    ),
    Command::new("memory", -2, Flags::NONE, Keys::None, no_subcommand)
        .doc(Group::Server, "4.0.0", "Tells what memory is used for")
        .with(object::MEMORY),
    Command::new("move", 3, FAST_WRITE, Keys::FIRST, rename_copy::move_to_db).doc(
        Group::Generic,
        "1.0.0",
        "Moves a key to another database",
    ),
    Command::new("object", -2, Flags::NONE, Keys::None, no_subcommand)
        .doc(Group::Generic, "2.2.3", "Tells how a value is stored")
        .with(object::OBJECT),
    Command::new("persist", 2, FAST_WRITE, Keys::FIRST, expiry::persist).doc(
        Group::Generic,
        "2.2.0",
        "Makes a key stay that would have expired",
    ),
    Command::new("pexpire", -3, FAST_WRITE, Keys::FIRST, expiry::pexpire).doc(
        Group::Generic,
        "2.6.0",
        "Makes a key expire after some milliseconds",
    ),
    Command::new("pexpireat", -3, FAST_WRITE, Keys::FIRST, expiry::pexpire_at).doc(
        Group::Generic,
        "2.6.0",
        "Makes a key expire at a moment given in milliseconds",
    ),
    Command::new("pexpiretime", 2, FAST_READ, Keys::FIRST, expiry::pexpire_time).doc(
        Group::Generic,
        "7.0.0",
        "Answers the moment a key expires at, in milliseconds",
    ),
    Command::new("pttl", 2, FAST_READ, Keys::FIRST, expiry::pttl).doc(
        Group::Generic,
        "2.6.0",
        "Answers how many milliseconds a key has left",
    ),
    Command::new("randomkey", 1, READ, Keys::None, listing::random_key).doc(
        Group::Generic,
        "1.0.0",
        "Answers any key of the database",
    ),
    Command::new("rename", 3, WRITE, TWO, rename_copy::rename).doc(
        Group::Generic,
        "1.0.0",
        "Gives a key another name, whatever had that name",
    ),
    Command::new("renamenx", 3, FAST_WRITE, TWO, rename_copy::rename_nx).doc(
        Group::Generic,
        "1.0.0",
        "Gives a key another name unless something has that name",
    ),
    Command::new("scan", -2, READ, Keys::None, listing::scan).doc(
        Group::Generic,
        "2.8.0",
        "Answers the keys of the database a few at a time",
    ),
    Command::new("swapdb", 3, FAST_WRITE, Keys::None, database::swap_db).doc(
        Group::Server,
        "4.0.0",
        "Swaps two databases",
    ),
    Command::new("touch", -2, FAST_READ, Keys::ALL, exists).doc(
        Group::Generic,
        "3.2.1",
        "Answers how many of the keys exist, as a use of them",
    ),
    Command::new("ttl", 2, FAST_READ, Keys::FIRST, expiry::ttl).doc(
        Group::Generic,
        "1.0.0",
        "Answers how many seconds a key has left",
    ),
    Command::new("type", 2, FAST_READ, Keys::FIRST, type_of).doc(
        Group::Generic,
        "1.0.0",
        "Answers the type of what a key holds",
    ),
    Command::new("unlink", -2, FAST_WRITE, Keys::ALL, unlink).doc(
        Group::Generic,
        "4.0.0",
        "Removes keys and frees what is large later",
    ),
];

fn del(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let mut n_removed = 0;
    for key in &args[1..] {
        if ctx.remove(key).is_some() {
            ctx.changed(key);
            n_removed += 1;
        }
    }
    Ok(Reply::Int(n_removed))
}

fn unlink(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let mut n_removed = 0;
    for key in &args[1..] {
        if let Some(value) = ctx.remove(key) {
            discard(value);
            ctx.changed(key);
            n_removed += 1;
        }
    }
    Ok(Reply::Int(n_removed))
}

/// Also TOUCH: no key is remembered by when it was last used.
fn exists(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::Int(args[1..].iter().filter(|key| ctx.exists(key)).count() as i64))
}

fn type_of(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let name = ctx.get(args[1]).map_or("none", |value| value.type_name());
    Ok(Reply::Status(name.into()))
}
