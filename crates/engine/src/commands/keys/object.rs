//! What values are made of: OBJECT and MEMORY USAGE.

use crate::{
    commands::{help::help, int, is},
    ctx::Ctx,
    reply::{Error, Reply},
    table::{Command, Flags, Group, Keys},
    types::{Str, Value, allocation},
};

const SECOND: Keys = Keys::Range { first: 2, last: 2, step: 1 };
const HELP: Flags = Flags::LOADING.or(Flags::STALE);

pub(super) static OBJECT: &[Command] = &[
    Command::new("object|encoding", 3, Flags::READONLY, SECOND, encoding).doc(
        Group::Generic,
        "2.2.3",
        "Names the form a value is stored in",
    ),
    Command::new("object|freq", 3, Flags::READONLY, SECOND, freq).doc(
        Group::Generic,
        "4.0.0",
        "Refuses, as nothing counts how often keys are used",
    ),
    Command::new("object|help", 2, HELP, Keys::None, help).doc(
        Group::Generic,
        "6.2.0",
        "Lists the subcommands",
    ),
    Command::new("object|idletime", 3, Flags::READONLY, SECOND, idle_time).doc(
        Group::Generic,
        "2.2.3",
        "Answers 0, as nothing remembers when keys were used",
    ),
    Command::new("object|refcount", 3, Flags::READONLY, SECOND, ref_count).doc(
        Group::Generic,
        "2.2.3",
        "Answers how many references to a value there are",
    ),
];

pub(super) static MEMORY: &[Command] = &[
    Command::new("memory|help", 2, HELP, Keys::None, help).doc(
        Group::Server,
        "4.0.0",
        "Lists the subcommands",
    ),
    Command::new("memory|usage", -3, Flags::READONLY, SECOND, usage).doc(
        Group::Server,
        "4.0.0",
        "Estimates the bytes that a key and its value take",
    ),
];

fn encoding(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::bulk_or_nil(ctx.get(args[2]).map(Value::encoding)))
}

fn freq(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    if !ctx.exists(args[2]) {
        return Ok(Reply::Nil);
    }
    Err(Error::fixed(
        "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
    ))
}

fn idle_time(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(if ctx.exists(args[2]) { Reply::Int(0) } else { Reply::Nil })
}

fn ref_count(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    /// What Redis shows for the small integers that all its strings share.
    const SHARED: i64 = i32::MAX as i64;
    Ok(match ctx.get(args[2]) {
        None => Reply::Nil,
        Some(Value::Str(Str::Int(0..10_000))) => Reply::Int(SHARED),
        Some(_) => Reply::Int(1),
    })
}

fn usage(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let key = args[2];
    for option in args[3..].chunks(2) {
        // Everything is counted, so how many samples to take makes no difference.
        match option {
            [name, samples] if is(name, "samples") && int(samples)? >= 0 => {}
            _ => return Err(Error::SYNTAX),
        }
    }
    // A table's node: the link to the next one, the key's place and length, the value, a mark, the hash.
    let node = allocation(size_of::<Value>() + 5 * size_of::<usize>());
    let Some(value) = ctx.get(key) else { return Ok(Reply::Nil) };
    let bytes = node + size_of::<usize>() + allocation(key.len()) + value.memory();
    Ok(Reply::Int(bytes as i64))
}
