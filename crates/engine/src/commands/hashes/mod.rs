//! Hashes: fields and their values under one key.

mod number;
mod random;
mod read;
#[cfg(test)]
mod tests;
mod write;

use crate::table::{Command, Flags, Group, Keys};

const READ: Flags = Flags::READONLY;
const FAST_READ: Flags = Flags::READONLY.or(Flags::FAST);
const FAST_WRITE: Flags = Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST);

pub(super) static COMMANDS: &[Command] = &[
    Command::new("hdel", -3, Flags::WRITE.or(Flags::FAST), Keys::FIRST, write::hdel).doc(
        Group::Hash,
        "2.0.0",
        "Removes fields",
    ),
    Command::new("hexists", 3, FAST_READ, Keys::FIRST, read::hexists).doc(
        Group::Hash,
        "2.0.0",
        "Answers whether a field exists",
    ),
    Command::new("hget", 3, FAST_READ, Keys::FIRST, read::hget).doc(
        Group::Hash,
        "2.0.0",
        "Answers a field's value",
    ),
    Command::new("hgetall", 2, READ, Keys::FIRST, read::hgetall).doc(
        Group::Hash,
        "2.0.0",
        "Answers all fields with their values",
    ),
    Command::new("hincrby", 4, FAST_WRITE, Keys::FIRST, number::hincr_by).doc(
        Group::Hash,
        "2.0.0",
        "Adds a number to a field that is an integer",
    ),
    Command::new("hincrbyfloat", 4, FAST_WRITE, Keys::FIRST, number::hincr_by_float).doc(
        Group::Hash,
        "2.6.0",
        "Adds a number with decimals to a field that is a number",
    ),
    Command::new("hkeys", 2, READ, Keys::FIRST, read::hkeys).doc(
        Group::Hash,
        "2.0.0",
        "Answers the names of all fields",
    ),
    Command::new("hlen", 2, FAST_READ, Keys::FIRST, read::hlen).doc(
        Group::Hash,
        "2.0.0",
        "Answers how many fields there are",
    ),
    Command::new("hmget", -3, FAST_READ, Keys::FIRST, read::hmget).doc(
        Group::Hash,
        "2.0.0",
        "Answers several fields' values",
    ),
    Command::new("hmset", -4, FAST_WRITE, Keys::FIRST, write::hmset).doc(
        Group::Hash,
        "2.0.0",
        "Sets several fields, by HSET's old name",
    ),
    Command::new("hrandfield", -2, READ, Keys::FIRST, random::hrandfield).doc(
        Group::Hash,
        "6.2.0",
        "Answers one or more fields by chance",
    ),
    Command::new("hscan", -3, READ, Keys::FIRST, read::hscan).doc(
        Group::Hash,
        "2.8.0",
        "Answers the fields of a hash a few at a time",
    ),
    Command::new("hset", -4, FAST_WRITE, Keys::FIRST, write::hset).doc(
        Group::Hash,
        "2.0.0",
        "Sets fields and answers how many are new",
    ),
    Command::new("hsetnx", 4, FAST_WRITE, Keys::FIRST, write::hset_nx).doc(
        Group::Hash,
        "2.0.0",
        "Sets a field unless it exists",
    ),
    Command::new("hstrlen", 3, FAST_READ, Keys::FIRST, read::hstrlen).doc(
        Group::Hash,
        "3.2.0",
        "Answers how long a field's value is",
    ),
    Command::new("hvals", 2, READ, Keys::FIRST, read::hvals).doc(
        Group::Hash,
        "2.0.0",
        "Answers the values of all fields",
    ),
];
