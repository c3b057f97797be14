//! Taking items from lists, at once or as soon as there are some.

use super::{end, give_back_room, lost_items, moves::Move, pop_name, take};
use crate::{
    blocking::{End, Operation, Wait},
    commands::{ServeOutcome, is, timeout},
    ctx::Ctx,
    num::{format_int, parse_int},
    reply::{Error, Reply},
    types::List,
};

pub(super) fn lpop(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    pop(ctx, args, End::Left)
}

pub(super) fn rpop(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    pop(ctx, args, End::Right)
}

fn pop(ctx: &mut Ctx<'_>, args: &[&[u8]], from: End) -> Result<Reply, Error> {
    let key = args[1];
    match args[2..] {
        [] => Ok(pop_one(ctx, key, from)?.unwrap_or(Reply::Nil)),
        [count] => {
            let count = parse_int(count)
                .and_then(|count| usize::try_from(count).ok())
                .ok_or(Error::fixed("ERR value is out of range, must be positive"))?;
            Ok(pop_many(ctx, key, from, count)?.unwrap_or(Reply::NilArray))
        }
        _ => {
            let name = String::from_utf8_lossy(pop_name(from)).to_lowercase();
            Err(Error::new(format!("ERR wrong number of arguments for '{name}' command")))
        }
    }
}

/// Takes one item; `None` if there is no list.
fn pop_one(ctx: &mut Ctx<'_>, key: &[u8], from: End) -> Result<Option<Reply>, Error> {
    let Some(list) = ctx.list_mut(key)? else { return Ok(None) };
    let item = take(list, from);
    let is_empty = list.is_empty();
    lost_items(ctx, key, is_empty);
    Ok(item.map(|item| Reply::Bulk(item.into_vec())))
}

/// Takes up to `count` items; `None` if there is no list.
fn pop_many(
    ctx: &mut Ctx<'_>,
    key: &[u8],
    from: End,
    count: usize,
) -> Result<Option<Reply>, Error> {
    let Some(list) = ctx.list_mut(key)? else { return Ok(None) };
    if count == 0 {
        return Ok(Some(Reply::Array(Vec::new())));
    }
    let items = take_many(list, from, count);
    let is_empty = list.is_empty();
    lost_items(ctx, key, is_empty);
    Ok(Some(Reply::Array(items)))
}

fn take_many(list: &mut List, from: End, count: usize) -> Vec<Reply> {
    let count = count.min(list.len());
    let reply = |item: Box<[u8]>| Reply::Bulk(item.into_vec());
    let items = match from {
        End::Left => list.drain(..count).map(reply).collect(),
        End::Right => list.drain(list.len() - count..).rev().map(reply).collect(),
    };
    give_back_room(list);
    items
}

pub(super) fn blpop(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    pop_or_wait(ctx, args, End::Left)
}

pub(super) fn brpop(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    pop_or_wait(ctx, args, End::Right)
}

fn pop_or_wait(ctx: &mut Ctx<'_>, args: &[&[u8]], from: End) -> Result<Reply, Error> {
    let (keys, seconds) = (&args[1..args.len() - 1], args[args.len() - 1]);
    let deadline_ms = timeout(ctx, seconds)?;
    for key in keys {
        if let Some(reply) = pop_for_waiter(ctx, key, from)? {
            return Ok(reply);
        }
    }
    wait(ctx, keys, Operation::PopList { from }, deadline_ms);
    Ok(Reply::NilArray)
}

/// Takes one item the way BLPOP and BRPOP do: answered with its key, logged as a pop that did not wait.
fn pop_for_waiter(ctx: &mut Ctx<'_>, key: &[u8], from: End) -> Result<Option<Reply>, Error> {
    let Some(item) = pop_one(ctx, key, from)? else { return Ok(None) };
    ctx.log_instead(&[pop_name(from), key]);
    Ok(Some(Reply::Array(vec![Reply::bulk(key), item])))
}

fn wait(ctx: &mut Ctx<'_>, keys: &[&[u8]], operation: Operation, deadline_ms: Option<u64>) {
    if !ctx.atomic {
        let keys = keys.iter().map(|key| (*key).into()).collect();
        ctx.block(Wait { db: ctx.session.db, keys, operation, deadline_ms });
    }
}

/// `numkeys key … LEFT|RIGHT [COUNT n]`.
struct Batch<'a> {
    keys: &'a [&'a [u8]],
    from: End,
    count: usize,
}

impl<'a> Batch<'a> {
    fn parse(args: &'a [&'a [u8]]) -> Result<Batch<'a>, Error> {
        let positive = |arg: &[u8]| {
            parse_int(arg).filter(|n| *n > 0).map(|n| usize::try_from(n).unwrap_or(usize::MAX))
        };
        let n_keys =
            positive(args[0]).ok_or(Error::fixed("ERR numkeys should be greater than 0"))?;
        let (keys, options) = args[1..].split_at_checked(n_keys).ok_or(Error::SYNTAX)?;
        let (from, options) = options.split_first().ok_or(Error::SYNTAX)?;
        let from = end(from)?;
        let count = match options {
            [] => 1,
            [option, count, rest @ ..] if is(option, "count") => {
                let count =
                    positive(count).ok_or(Error::fixed("ERR count should be greater than 0"))?;
                if !rest.is_empty() {
                    return Err(Error::SYNTAX);
                }
                count
            }
            _ => return Err(Error::SYNTAX),
        };
        Ok(Batch { keys, from, count })
    }

    /// Takes items from the first list that has any.
    fn run(&self, ctx: &mut Ctx<'_>) -> Result<Option<Reply>, Error> {
        for key in self.keys {
            if let Some(reply) = pop_batch(ctx, key, self.from, self.count)? {
                return Ok(Some(reply));
            }
        }
        Ok(None)
    }
}

/// Takes items the way LMPOP does: answered with their key, logged as a pop from the one list it was.
fn pop_batch(
    ctx: &mut Ctx<'_>,
    key: &[u8],
    from: End,
    count: usize,
) -> Result<Option<Reply>, Error> {
    let Some(items) = pop_many(ctx, key, from, count)? else { return Ok(None) };
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    ctx.log_instead(&[pop_name(from), key, &format_int(count)]);
    Ok(Some(Reply::Array(vec![Reply::bulk(key), items])))
}

pub(super) fn lmpop(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Batch::parse(&args[1..])?.run(ctx)?.unwrap_or(Reply::NilArray))
}

pub(super) fn blmpop(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let batch = Batch::parse(&args[2..])?;
    let deadline_ms = timeout(ctx, args[1])?;
    if let Some(reply) = batch.run(ctx)? {
        return Ok(reply);
    }
    let operation = Operation::PopLists { from: batch.from, count: batch.count };
    wait(ctx, batch.keys, operation, deadline_ms);
    Ok(Reply::NilArray)
}

/// Does what a waiting client's command could not do: `key` has come to hold something.
pub(in crate::commands) fn serve(
    ctx: &mut Ctx<'_>,
    operation: &Operation,
    key: &[u8],
) -> ServeOutcome {
    // Only after this is an error about the destination of a move, which is the client's answer.
    let Ok(list) = ctx.list_mut(key) else { return ServeOutcome::WrongKind };
    if list.is_none() {
        return ServeOutcome::Empty;
    }
    let served = match operation {
        Operation::PopList { from } => pop_for_waiter(ctx, key, *from),
        Operation::PopLists { from, count } => pop_batch(ctx, key, *from, *count),
        Operation::MoveList { from, to, dest } => {
            let moved = Move { source: key, dest, from: *from, to: *to };
            let reply = moved.run(ctx);
            if let Ok(Some(_)) = reply {
                moved.log(ctx);
            }
            reply
        }
        Operation::PopZSet { .. } | Operation::PopZSets { .. } => return ServeOutcome::WrongKind,
    };
    match served {
        Ok(Some(reply)) => ServeOutcome::Reply(reply),
        Ok(None) => ServeOutcome::Empty,
        Err(error) => ServeOutcome::Reply(Reply::Error(error)),
    }
}
