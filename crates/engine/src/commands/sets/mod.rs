//! Commands on sets.

mod combine;
mod members;
mod random;

use self::{
    combine::{sdiff, sdiffstore, sinter, sintercard, sinterstore, smembers, sunion, sunionstore},
    members::{sadd, scard, sismember, smismember, smove, srem, sscan},
    random::{spop, srandmember},
};
use crate::table::{Command, Flags, Group, Keys};

const READ: Flags = Flags::READONLY;
const FAST_READ: Flags = Flags::READONLY.or(Flags::FAST);
const FAST_WRITE: Flags = Flags::WRITE.or(Flags::FAST);
const STORE: Flags = Flags::WRITE.or(Flags::DENYOOM);

pub(super) static COMMANDS: &[Command] =
    &[
        Command::new("sadd", -3, STORE.or(Flags::FAST), Keys::FIRST, sadd).doc(
            Group::Set,
            "1.0.0",
            "Adds members to a set",
        ),
        Command::new("srem", -3, FAST_WRITE, Keys::FIRST, srem).doc(
            Group::Set,
            "1.0.0",
            "Removes members from a set",
        ),
        Command::new("sismember", 3, FAST_READ, Keys::FIRST, sismember).doc(
            Group::Set,
            "1.0.0",
            "Tells whether a set has a member",
        ),
        Command::new("smismember", -3, FAST_READ, Keys::FIRST, smismember).doc(
            Group::Set,
            "6.2.0",
            "Tells of each of several members whether a set has it",
        ),
        Command::new("smembers", 2, READ, Keys::FIRST, smembers).doc(
            Group::Set,
            "1.0.0",
            "Returns all members of a set",
        ),
        Command::new("scard", 2, FAST_READ, Keys::FIRST, scard).doc(
            Group::Set,
            "1.0.0",
            "Counts the members of a set",
        ),
        Command::new("spop", -2, FAST_WRITE, Keys::FIRST, spop).doc(
            Group::Set,
            "1.0.0",
            "Removes random members of a set and returns them",
        ),
        Command::new("srandmember", -2, READ, Keys::FIRST, srandmember).doc(
            Group::Set,
            "1.0.0",
            "Returns random members of a set",
        ),
        Command::new("smove", 4, FAST_WRITE, Keys::Range { first: 1, last: 2, step: 1 }, smove)
            .doc(Group::Set, "1.0.0", "Moves a member from one set to another"),
        Command::new("sinter", -2, READ, Keys::ALL, sinter).doc(
            Group::Set,
            "1.0.0",
            "Returns the members that all of several sets have",
        ),
        Command::new(
            "sintercard",
            -3,
            READ.or(Flags::MOVABLE_KEYS),
            Keys::Counted { at: 1, with_dest: false },
            sintercard,
        )
        .doc(Group::Set, "7.0.0", "Counts the members that all of several sets have"),
        Command::new("sinterstore", -3, STORE, Keys::ALL, sinterstore).doc(
            Group::Set,
            "1.0.0",
            "Stores the members that all of several sets have",
        ),
        Command::new("sunion", -2, READ, Keys::ALL, sunion).doc(
            Group::Set,
            "1.0.0",
            "Returns the members that any of several sets has",
        ),
        Command::new("sunionstore", -3, STORE, Keys::ALL, sunionstore).doc(
            Group::Set,
            "1.0.0",
            "Stores the members that any of several sets has",
        ),
        Command::new("sdiff", -2, READ, Keys::ALL, sdiff).doc(
            Group::Set,
            "1.0.0",
            "Returns the members of a set that no other of several sets has",
        ),
        Command::new("sdiffstore", -3, STORE, Keys::ALL, sdiffstore).doc(
            Group::Set,
            "1.0.0",
            "Stores the members of a set that no other of several sets has",
        ),
        Command::new("sscan", -3, READ, Keys::FIRST, sscan).doc(
            Group::Set,
            "2.8.0",
            "Walks the members of a set a few at a time",
        ),
    ];

#[cfg(test)]
mod tests;
