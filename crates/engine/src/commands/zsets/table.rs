//! The table of sorted set commands.

use super::{
    add::{zadd, zincrby},
    combine::{zdiff, zdiffstore, zinter, zintercard, zinterstore, zunion, zunionstore},
    members::{zcard, zmscore, zrank, zrevrank, zscan, zscore},
    pop::{bzmpop, bzpopmax, bzpopmin, zmpop, zpopmax, zpopmin},
    random::zrandmember,
    range::{
        zcount, zlexcount, zrange, zrangebylex, zrangebyscore, zrangestore, zrevrange,
        zrevrangebylex, zrevrangebyscore,
    },
    remove::{zrem, zremrangebylex, zremrangebyrank, zremrangebyscore},
};
use crate::table::{Command, Flags, Group, Handler, Keys};

const READ: Flags = Flags::READONLY;
const FAST_READ: Flags = READ.or(Flags::FAST);
const MANY_READ: Flags = READ.or(Flags::MOVABLE_KEYS);
const WRITE: Flags = Flags::WRITE;
const FAST_WRITE: Flags = WRITE.or(Flags::FAST);
const MANY_WRITE: Flags = WRITE.or(Flags::MOVABLE_KEYS);
const STORE: Flags = WRITE.or(Flags::DENYOOM);
const MANY_STORE: Flags = STORE.or(Flags::MOVABLE_KEYS);
const WAITING: Flags = WRITE.or(Flags::BLOCKING);

const ALL_BUT_LAST: Keys = Keys::Range { first: 1, last: -2, step: 1 };
const COUNTED: Keys = Keys::Counted { at: 1, with_dest: false };
const DEST_AND_COUNTED: Keys = Keys::Counted { at: 2, with_dest: true };

#[rustfmt::skip]
pub(in crate::commands) static COMMANDS: &[Command] = &[
    row("zadd", -4, STORE.or(Flags::FAST), Keys::FIRST, zadd, "1.2.0", "Adds members to a sorted set or changes their scores"),
    row("zincrby", 4, STORE.or(Flags::FAST), Keys::FIRST, zincrby, "1.2.0", "Adds to the score of a member"),
    row("zrem", -3, FAST_WRITE, Keys::FIRST, zrem, "1.2.0", "Removes members from a sorted set"),
    row("zcard", 2, FAST_READ, Keys::FIRST, zcard, "1.2.0", "Counts the members of a sorted set"),
    row("zcount", 4, FAST_READ, Keys::FIRST, zcount, "2.0.0", "Counts the members in a range of scores"),
    row("zlexcount", 4, FAST_READ, Keys::FIRST, zlexcount, "2.8.9", "Counts the members in a range of members of one score"),
    row("zscore", 3, FAST_READ, Keys::FIRST, zscore, "1.2.0", "Returns the score of a member"),
    row("zmscore", -3, FAST_READ, Keys::FIRST, zmscore, "6.2.0", "Returns the scores of several members"),
    row("zrank", 3, FAST_READ, Keys::FIRST, zrank, "2.0.0", "Returns how many members come before one"),
    row("zrevrank", 3, FAST_READ, Keys::FIRST, zrevrank, "2.0.0", "Returns how many members come after one"),
    row("zrange", -4, READ, Keys::FIRST, zrange, "1.2.0", "Returns a range by rank, score or member"),
    row("zrevrange", -4, READ, Keys::FIRST, zrevrange, "1.2.0", "Returns a range by rank, counted from the highest score"),
    row("zrangebyscore", -4, READ, Keys::FIRST, zrangebyscore, "1.0.5", "Returns a range of scores"),
    row("zrevrangebyscore", -4, READ, Keys::FIRST, zrevrangebyscore, "2.2.0", "Returns a range of scores, highest first"),
    row("zrangebylex", -4, READ, Keys::FIRST, zrangebylex, "2.8.9", "Returns a range of members of one score"),
    row("zrevrangebylex", -4, READ, Keys::FIRST, zrevrangebylex, "2.8.9", "Returns a range of members of one score, last first"),
    row("zrangestore", -5, STORE, Keys::Range { first: 1, last: 2, step: 1 }, zrangestore, "6.2.0", "Stores a range by rank, score or member"),
    row("zremrangebyrank", 4, WRITE, Keys::FIRST, zremrangebyrank, "2.0.0", "Removes a range of ranks"),
    row("zremrangebyscore", 4, WRITE, Keys::FIRST, zremrangebyscore, "1.2.0", "Removes a range of scores"),
    row("zremrangebylex", 4, WRITE, Keys::FIRST, zremrangebylex, "2.8.9", "Removes a range of members of one score"),
    row("zpopmin", -2, FAST_WRITE, Keys::FIRST, zpopmin, "5.0.0", "Removes the members with the lowest scores and returns them"),
    row("zpopmax", -2, FAST_WRITE, Keys::FIRST, zpopmax, "5.0.0", "Removes the members with the highest scores and returns them"),
    row("bzpopmin", -3, WAITING.or(Flags::NOSCRIPT).or(Flags::FAST), ALL_BUT_LAST, bzpopmin, "5.0.0", "Removes the member with the lowest score, waiting for one if need be"),
    row("bzpopmax", -3, WAITING.or(Flags::NOSCRIPT).or(Flags::FAST), ALL_BUT_LAST, bzpopmax, "5.0.0", "Removes the member with the highest score, waiting for one if need be"),
    row("zmpop", -4, MANY_WRITE, COUNTED, zmpop, "7.0.0", "Removes members from the first of several sorted sets that has any"),
    row("bzmpop", -5, WAITING.or(Flags::MOVABLE_KEYS), Keys::Counted { at: 2, with_dest: false }, bzmpop, "7.0.0", "Removes members from the first of several sorted sets that has any, waiting if need be"),
    row("zunion", -3, MANY_READ, COUNTED, zunion, "6.2.0", "Returns the members that any of several sorted sets has"),
    row("zunionstore", -4, MANY_STORE, DEST_AND_COUNTED, zunionstore, "2.0.0", "Stores the members that any of several sorted sets has"),
    row("zinter", -3, MANY_READ, COUNTED, zinter, "6.2.0", "Returns the members that all of several sorted sets have"),
    row("zinterstore", -4, MANY_STORE, DEST_AND_COUNTED, zinterstore, "2.0.0", "Stores the members that all of several sorted sets have"),
    row("zintercard", -3, MANY_READ, COUNTED, zintercard, "7.0.0", "Counts the members that all of several sorted sets have"),
    row("zdiff", -3, MANY_READ, COUNTED, zdiff, "6.2.0", "Returns the members of a sorted set that no other of several has"),
    row("zdiffstore", -4, MANY_STORE, DEST_AND_COUNTED, zdiffstore, "6.2.0", "Stores the members of a sorted set that no other of several has"),
    row("zrandmember", -2, READ, Keys::FIRST, zrandmember, "6.2.0", "Returns random members of a sorted set"),
    row("zscan", -3, READ, Keys::FIRST, zscan, "2.8.0", "Walks the members of a sorted set a few at a time"),
];

const fn row(
    name: &'static str,
    arity: i32,
    flags: Flags,
    keys: Keys,
    handler: Handler,
    since: &'static str,
    summary: &'static str,
) -> Command {
    Command::new(name, arity, flags, keys, handler).doc(Group::SortedSet, since, summary)
}
