//! Changing lists: pushes, LSET, LINSERT, LREM and LTRIM.

use super::{add, give_back_room, index, lost_items, positions};
use crate::{
    blocking::End,
    commands::{int, is},
    ctx::Ctx,
    reply::{Error, Reply},
    types::List,
};

pub(super) fn lpush(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    push(ctx, args, End::Left)
}

pub(super) fn rpush(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    push(ctx, args, End::Right)
}

pub(super) fn lpushx(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    push_to_existing(ctx, args, End::Left)
}

pub(super) fn rpushx(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    push_to_existing(ctx, args, End::Right)
}

fn push(ctx: &mut Ctx<'_>, args: &[&[u8]], end: End) -> Result<Reply, Error> {
    let len = add_all(ctx.list_or_new(args[1])?, &args[2..], end);
    ctx.changed(args[1]);
    Ok(len)
}

fn push_to_existing(ctx: &mut Ctx<'_>, args: &[&[u8]], end: End) -> Result<Reply, Error> {
    let Some(list) = ctx.list_mut(args[1])? else { return Ok(Reply::Int(0)) };
    let len = add_all(list, &args[2..], end);
    ctx.changed(args[1]);
    Ok(len)
}

/// Adds one item after the other and answers how many there are now.
fn add_all(list: &mut List, items: &[&[u8]], end: End) -> Reply {
    for item in items {
        add(list, end, (*item).into());
    }
    Reply::Int(list.len() as i64)
}

pub(super) fn lset(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let key = args[1];
    let list = ctx.list_mut(key)?.ok_or(Error::fixed("ERR no such key"))?;
    let index = index(int(args[2])?, list.len());
    let item = index
        .and_then(|index| list.get_mut(index))
        .ok_or(Error::fixed("ERR index out of range"))?;
    *item = args[3].into();
    ctx.changed(key);
    Ok(Reply::OK)
}

pub(super) fn linsert(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (key, place, pivot, item) = (args[1], args[2], args[3], args[4]);
    let offset = if is(place, "after") {
        1
    } else if is(place, "before") {
        0
    } else {
        return Err(Error::SYNTAX);
    };
    let Some(list) = ctx.list_mut(key)? else { return Ok(Reply::Int(0)) };
    let Some(at) = list.iter().position(|other| **other == *pivot) else {
        return Ok(Reply::Int(-1));
    };
    list.insert(at + offset, item.into());
    let len = list.len() as i64;
    ctx.changed(key);
    Ok(Reply::Int(len))
}

pub(super) fn lrem(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (key, item) = (args[1], args[3]);
    let count = int(args[2])?;
    let Some(list) = ctx.list_mut(key)? else { return Ok(Reply::Int(0)) };
    let n = remove_equal(list, item, count);
    if n > 0 {
        give_back_room(list);
        let is_empty = list.is_empty();
        lost_items(ctx, key, is_empty);
    }
    Ok(Reply::Int(n as i64))
}

/// Removes the first `count` items equal to `item`, the last ones for a negative count, all for 0.
fn remove_equal(list: &mut List, item: &[u8], count: i64) -> usize {
    let equal = |other: &[u8]| other == item;
    // The usual case, taking back one item, moves only what is on the shorter side of it.
    if let 1 | -1 = count {
        let at = if count > 0 {
            list.iter().position(|other| equal(other))
        } else {
            list.iter().rposition(|other| equal(other))
        };
        return usize::from(at.and_then(|at| list.remove(at)).is_some());
    }
    let n_max = match count {
        0 => usize::MAX,
        _ => usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX),
    };
    let n_equal = list.iter().filter(|other| equal(other)).count();
    let n_spared = if count < 0 { n_equal.saturating_sub(n_max) } else { 0 };
    let removed = n_spared..n_spared.saturating_add(n_max);
    let mut nth = 0;
    list.retain(|other| {
        let is_equal = equal(other);
        let keep = !is_equal || !removed.contains(&nth);
        nth += usize::from(is_equal);
        keep
    });
    n_equal.min(n_max)
}

pub(super) fn ltrim(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let key = args[1];
    let (start, stop) = (int(args[2])?, int(args[3])?);
    let Some(list) = ctx.list_mut(key)? else { return Ok(Reply::OK) };
    let len = list.len();
    match positions(start, stop, len) {
        Some(kept) => {
            list.truncate(kept.end() + 1);
            list.drain(..kept.start());
        }
        None => list.clear(),
    }
    if list.len() == len {
        // Nothing to log, though Redis tells those who watch the key.
        ctx.state.touch(ctx.session.db, key);
        return Ok(Reply::OK);
    }
    give_back_room(list);
    let is_empty = list.is_empty();
    lost_items(ctx, key, is_empty);
    Ok(Reply::OK)
}
