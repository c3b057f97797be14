//! Lists: items in order, cheap at both ends; queues are made of them.

mod edit;
mod moves;
mod pop;
mod read;

#[cfg(test)]
mod tests;

use super::is;
use crate::{
    blocking::End,
    ctx::Ctx,
    reply::Error,
    table::{Command, Flags, Group, Keys},
    types::List,
};

pub(super) use self::pop::serve;

const READ: Flags = Flags::READONLY;
const WRITE: Flags = Flags::WRITE;
const GROW: Flags = WRITE.or(Flags::DENYOOM);
const BLOCK: Flags = Flags::NOSCRIPT.or(Flags::BLOCKING);
const FIRST_TWO: Keys = Keys::Range { first: 1, last: 2, step: 1 };
const ALL_BUT_LAST: Keys = Keys::Range { first: 1, last: -2, step: 1 };

pub(super) static COMMANDS: &[Command] = &[
    Command::new("lpush", -3, GROW.or(Flags::FAST), Keys::FIRST, edit::lpush).doc(
        Group::List,
        "1.0.0",
        "Adds items at the left end, making the list if need be",
    ),
    Command::new("rpush", -3, GROW.or(Flags::FAST), Keys::FIRST, edit::rpush).doc(
        Group::List,
        "1.0.0",
        "Adds items at the right end, making the list if need be",
    ),
    Command::new("lpushx", -3, GROW.or(Flags::FAST), Keys::FIRST, edit::lpushx).doc(
        Group::List,
        "2.2.0",
        "Adds items at the left end of a list that exists",
    ),
    Command::new("rpushx", -3, GROW.or(Flags::FAST), Keys::FIRST, edit::rpushx).doc(
        Group::List,
        "2.2.0",
        "Adds items at the right end of a list that exists",
    ),
    Command::new("lpop", -2, WRITE.or(Flags::FAST), Keys::FIRST, pop::lpop).doc(
        Group::List,
        "1.0.0",
        "Takes items from the left end",
    ),
    Command::new("rpop", -2, WRITE.or(Flags::FAST), Keys::FIRST, pop::rpop).doc(
        Group::List,
        "1.0.0",
        "Takes items from the right end",
    ),
    Command::new("lmpop", -4, WRITE.or(Flags::MOVABLE_KEYS), COUNTED_AT_1, pop::lmpop).doc(
        Group::List,
        "7.0.0",
        "Takes items from the first of several lists that has any",
    ),
    Command::new("llen", 2, READ.or(Flags::FAST), Keys::FIRST, read::llen).doc(
        Group::List,
        "1.0.0",
        "Counts the items",
    ),
    Command::new("lrange", 4, READ, Keys::FIRST, read::lrange).doc(
        Group::List,
        "1.0.0",
        "Shows the items between two positions",
    ),
    Command::new("lindex", 3, READ, Keys::FIRST, read::lindex).doc(
        Group::List,
        "1.0.0",
        "Shows the item at a position",
    ),
    Command::new("lpos", -3, READ, Keys::FIRST, read::lpos).doc(
        Group::List,
        "6.0.6",
        "Finds where an item stands",
    ),
    Command::new("lset", 4, GROW, Keys::FIRST, edit::lset).doc(
        Group::List,
        "1.0.0",
        "Replaces the item at a position",
    ),
    Command::new("linsert", 5, GROW, Keys::FIRST, edit::linsert).doc(
        Group::List,
        "2.2.0",
        "Adds an item before or after another",
    ),
    Command::new("lrem", 4, WRITE, Keys::FIRST, edit::lrem).doc(
        Group::List,
        "1.0.0",
        "Removes items equal to a value",
    ),
    Command::new("ltrim", 4, WRITE, Keys::FIRST, edit::ltrim).doc(
        Group::List,
        "1.0.0",
        "Removes all items but those between two positions",
    ),
    Command::new("lmove", 5, GROW, FIRST_TWO, moves::lmove).doc(
        Group::List,
        "6.2.0",
        "Takes an item from an end of one list and adds it to an end of another",
    ),
    Command::new("rpoplpush", 3, GROW, FIRST_TWO, moves::rpoplpush).doc(
        Group::List,
        "1.2.0",
        "Takes the rightmost item of one list and adds it to the left of another",
    ),
    Command::new("blpop", -3, WRITE.or(BLOCK), ALL_BUT_LAST, pop::blpop).doc(
        Group::List,
        "2.0.0",
        "Takes the leftmost item of the first list that has any, or waits for one",
    ),
    Command::new("brpop", -3, WRITE.or(BLOCK), ALL_BUT_LAST, pop::brpop).doc(
        Group::List,
        "2.0.0",
        "Takes the rightmost item of the first list that has any, or waits for one",
    ),
    Command::new("blmpop", -5, BLMPOP, Keys::Counted { at: 2, with_dest: false }, pop::blmpop).doc(
        Group::List,
        "7.0.0",
        "Takes items from the first of several lists that has any, or waits for some",
    ),
    Command::new("blmove", 6, GROW.or(BLOCK), FIRST_TWO, moves::blmove).doc(
        Group::List,
        "6.2.0",
        "Moves an item from one list to another, or waits for one",
    ),
    Command::new("brpoplpush", 4, GROW.or(BLOCK), FIRST_TWO, moves::brpoplpush).doc(
        Group::List,
        "2.2.0",
        "Moves an item from the right of one list to the left of another, or waits for one",
    ),
];

const COUNTED_AT_1: Keys = Keys::Counted { at: 1, with_dest: false };
const BLMPOP: Flags = WRITE.or(Flags::BLOCKING).or(Flags::MOVABLE_KEYS);

/// `LEFT` or `RIGHT`.
fn end(arg: &[u8]) -> Result<End, Error> {
    if is(arg, "left") {
        Ok(End::Left)
    } else if is(arg, "right") {
        Ok(End::Right)
    } else {
        Err(Error::SYNTAX)
    }
}

fn end_name(end: End) -> &'static [u8] {
    match end {
        End::Left => b"LEFT",
        End::Right => b"RIGHT",
    }
}

/// The command that takes from this end, as the log has it.
fn pop_name(end: End) -> &'static [u8] {
    match end {
        End::Left => b"LPOP",
        End::Right => b"RPOP",
    }
}

fn add(list: &mut List, end: End, item: Box<[u8]>) {
    match end {
        End::Left => list.push_front(item),
        End::Right => list.push_back(item),
    }
}

fn take(list: &mut List, end: End) -> Option<Box<[u8]>> {
    let item = match end {
        End::Left => list.pop_front(),
        End::Right => list.pop_back(),
    };
    give_back_room(list);
    item
}

/// A queue that had a burst does not keep its memory for as long as something is in it.
fn give_back_room(list: &mut List) {
    const KEPT_CAPACITY_MAX: usize = 1024;
    let capacity = list.capacity();
    if capacity > KEPT_CAPACITY_MAX && list.len() < capacity / 8 {
        list.shrink_to(capacity / 4);
    }
}

/// Reports that a list has lost items, and removes it if those were the last.
fn lost_items(ctx: &mut Ctx<'_>, key: &[u8], is_empty: bool) {
    if is_empty {
        ctx.remove_if_empty(key);
    }
    ctx.changed(key);
}

/// Positions, negative ones from the end, as a range of indices that are all in the list; `None` if there are none.
fn positions(start: i64, stop: i64, len: usize) -> Option<std::ops::RangeInclusive<usize>> {
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    let start = if start < 0 { start.saturating_add(len).max(0) } else { start };
    let stop = if stop < 0 { stop.saturating_add(len) } else { stop.min(len - 1) };
    (start <= stop && start < len).then_some(start as usize..=stop as usize)
}

/// A position, negative ones from the end, as an index.
fn index(position: i64, len: usize) -> Option<usize> {
    if position < 0 {
        len.checked_sub(usize::try_from(position.unsigned_abs()).ok()?)
    } else {
        usize::try_from(position).ok().filter(|index| *index < len)
    }
}
