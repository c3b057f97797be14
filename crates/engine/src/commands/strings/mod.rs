//! Strings: the values that are texts or numbers.

mod get;
mod number;
mod range;
mod set;
#[cfg(test)]
mod tests;

use crate::{
    reply::Error,
    table::{Command, Flags, Group, Keys},
};

const READ: Flags = Flags::READONLY;
const FAST_READ: Flags = Flags::READONLY.or(Flags::FAST);
const WRITE: Flags = Flags::WRITE.or(Flags::DENYOOM);
const FAST_WRITE: Flags = WRITE.or(Flags::FAST);
/// Changes what is there but makes nothing new.
const FAST_TRIM: Flags = Flags::WRITE.or(Flags::FAST);
const PAIRS: Keys = Keys::Range { first: 1, last: -1, step: 2 };

pub(super) static COMMANDS: &[Command] = &[
    Command::new("append", 3, FAST_WRITE, Keys::FIRST, range::append).doc(
        Group::String,
        "2.0.0",
        "Adds bytes to the end of a string",
    ),
    Command::new("decr", 2, FAST_WRITE, Keys::FIRST, number::decr).doc(
        Group::String,
        "1.0.0",
        "Takes 1 off an integer",
    ),
    Command::new("decrby", 3, FAST_WRITE, Keys::FIRST, number::decr_by).doc(
        Group::String,
        "1.0.0",
        "Takes a number off an integer",
    ),
    Command::new("get", 2, FAST_READ, Keys::FIRST, get::get).doc(
        Group::String,
        "1.0.0",
        "Answers a string",
    ),
    Command::new("getdel", 2, FAST_TRIM, Keys::FIRST, get::get_del).doc(
        Group::String,
        "6.2.0",
        "Answers a string and removes it",
    ),
    Command::new("getex", -2, FAST_TRIM, Keys::FIRST, get::get_ex).doc(
        Group::String,
        "6.2.0",
        "Answers a string and sets when it expires",
    ),
    Command::new("getrange", 4, READ, Keys::FIRST, range::get_range).doc(
        Group::String,
        "2.4.0",
        "Answers a part of a string",
    ),
    Command::new("getset", 3, FAST_WRITE, Keys::FIRST, set::get_set).doc(
        Group::String,
        "1.0.0",
        "Sets a string and answers the one before",
    ),
    Command::new("incr", 2, FAST_WRITE, Keys::FIRST, number::incr).doc(
        Group::String,
        "1.0.0",
        "Adds 1 to an integer",
    ),
    Command::new("incrby", 3, FAST_WRITE, Keys::FIRST, number::incr_by).doc(
        Group::String,
        "1.0.0",
        "Adds a number to an integer",
    ),
    Command::new("incrbyfloat", 3, FAST_WRITE, Keys::FIRST, number::incr_by_float).doc(
        Group::String,
        "2.6.0",
        "Adds a number with decimals to a number",
    ),
    Command::new("mget", -2, FAST_READ, Keys::ALL, get::mget).doc(
        Group::String,
        "1.0.0",
        "Answers several strings",
    ),
    Command::new("mset", -3, WRITE, PAIRS, set::mset).doc(
        Group::String,
        "1.0.1",
        "Sets several strings",
    ),
    Command::new("msetnx", -3, WRITE, PAIRS, set::mset_nx).doc(
        Group::String,
        "1.0.1",
        "Sets several strings unless one of the keys exists",
    ),
    Command::new("psetex", 4, WRITE, Keys::FIRST, set::pset_ex).doc(
        Group::String,
        "2.6.0",
        "Sets a string that expires after some milliseconds",
    ),
    Command::new("set", -3, WRITE, Keys::FIRST, set::set).doc(
        Group::String,
        "1.0.0",
        "Sets a string, whatever the key held",
    ),
    Command::new("setex", 4, WRITE, Keys::FIRST, set::set_ex).doc(
        Group::String,
        "2.0.0",
        "Sets a string that expires after some seconds",
    ),
    Command::new("setnx", 3, FAST_WRITE, Keys::FIRST, set::set_nx).doc(
        Group::String,
        "1.0.0",
        "Sets a string unless the key exists",
    ),
    Command::new("setrange", 4, WRITE, Keys::FIRST, range::set_range).doc(
        Group::String,
        "2.2.0",
        "Writes over a part of a string",
    ),
    Command::new("strlen", 2, FAST_READ, Keys::FIRST, range::strlen).doc(
        Group::String,
        "2.2.0",
        "Answers how long a string is",
    ),
    Command::new("substr", 4, READ, Keys::FIRST, range::get_range).doc(
        Group::String,
        "1.0.0",
        "Answers a part of a string, by GETRANGE's old name",
    ),
];

/// Refuses strings longer than a client could send (Redis' `proto-max-bulk-len`).
fn check_len(offset: u64, n_added: usize) -> Result<(), Error> {
    const LEN_MAX: u64 = 512 << 20;
    if offset.saturating_add(n_added as u64) > LEN_MAX {
        return Err(Error::fixed("ERR string exceeds maximum allowed size (proto-max-bulk-len)"));
    }
    Ok(())
}
