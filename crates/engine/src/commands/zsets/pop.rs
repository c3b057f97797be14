//! Taking the members with the lowest or highest scores, waiting for some where there are none.

use super::{count, positive, scored};
use crate::{
    blocking::{Operation, Wait},
    commands::{ServeOutcome, is, timeout},
    ctx::Ctx,
    num::format_int,
    reply::{Error, Reply},
};

pub(super) fn zpopmin(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    zpop(ctx, args, false)
}

pub(super) fn zpopmax(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    zpop(ctx, args, true)
}

fn zpop(ctx: &mut Ctx<'_>, args: &[&[u8]], max: bool) -> Result<Reply, Error> {
    // Without a count even the newer protocol gets the one pair flat.
    let (n, resp) = match args {
        [_, _] => (1, 2),
        [_, _, n] => (
            count(n, Error::fixed("ERR value is out of range, must be positive"))?,
            ctx.session.resp,
        ),
        _ => return Err(Error::SYNTAX),
    };
    let items = pop(ctx, args[1], max, n)?.unwrap_or_default();
    Ok(scored(resp, items.into_iter()))
}

pub(super) fn bzpopmin(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    bzpop(ctx, args, false)
}

pub(super) fn bzpopmax(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    bzpop(ctx, args, true)
}

fn bzpop(ctx: &mut Ctx<'_>, args: &[&[u8]], max: bool) -> Result<Reply, Error> {
    let (keys, time) = (&args[1..args.len() - 1], args[args.len() - 1]);
    pop_or_wait(ctx, keys, time, Operation::PopZSet { max }, |ctx, key| pop_one(ctx, key, max))
}

pub(super) fn zmpop(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let query = MultiPop::parse(&args[1..])?;
    for key in query.keys {
        if let Some(reply) = pop_several(ctx, key, query.max, query.n)? {
            return Ok(reply);
        }
    }
    Ok(Reply::NilArray)
}

pub(super) fn bzmpop(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let MultiPop { keys, max, n } = MultiPop::parse(&args[2..])?;
    let operation = Operation::PopZSets { max, count: n };
    pop_or_wait(ctx, keys, args[1], operation, |ctx, key| pop_several(ctx, key, max, n))
}

/// What ZMPOP and BZMPOP take: `numkeys key … MIN|MAX [COUNT n]`.
struct MultiPop<'a> {
    keys: &'a [&'a [u8]],
    max: bool,
    n: usize,
}

impl<'a> MultiPop<'a> {
    fn parse(args: &'a [&'a [u8]]) -> Result<MultiPop<'a>, Error> {
        let n_keys = positive(args[0], Error::fixed("ERR numkeys should be greater than 0"))?;
        let (keys, rest) = args[1..].split_at_checked(n_keys).ok_or(Error::SYNTAX)?;
        let (end, options) = rest.split_first().ok_or(Error::SYNTAX)?;
        let max = match *end {
            end if is(end, "min") => false,
            end if is(end, "max") => true,
            _ => return Err(Error::SYNTAX),
        };
        let n = match options {
            [] => 1,
            [option, n, rest @ ..] if is(option, "count") => {
                let n = positive(n, Error::fixed("ERR count should be greater than 0"))?;
                if !rest.is_empty() {
                    return Err(Error::SYNTAX);
                }
                n
            }
            _ => return Err(Error::SYNTAX),
        };
        Ok(MultiPop { keys, max, n })
    }
}

/// Serves the first key that `pop` finds something in, or makes the client wait for one.
fn pop_or_wait(
    ctx: &mut Ctx<'_>,
    keys: &[&[u8]],
    time: &[u8],
    operation: Operation,
    pop: impl Fn(&mut Ctx<'_>, &[u8]) -> Result<Option<Reply>, Error>,
) -> Result<Reply, Error> {
    let deadline_ms = timeout(ctx, time)?;
    for key in keys {
        if let Some(reply) = pop(ctx, key)? {
            return Ok(reply);
        }
    }
    if !ctx.atomic {
        let keys = keys.iter().map(|key| (*key).into()).collect();
        ctx.block(Wait { db: ctx.session.db, keys, operation, deadline_ms });
    }
    Ok(Reply::NilArray)
}

/// Pops a member for a client that waits in BZPOPMIN or BZPOPMAX.
pub(in crate::commands) fn serve(ctx: &mut Ctx<'_>, max: bool, key: &[u8]) -> ServeOutcome {
    served(pop_one(ctx, key, max))
}

/// Pops members for a client that waits in BZMPOP.
pub(in crate::commands) fn serve_several(
    ctx: &mut Ctx<'_>,
    max: bool,
    n: usize,
    key: &[u8],
) -> ServeOutcome {
    served(pop_several(ctx, key, max, n))
}

fn served(popped: Result<Option<Reply>, Error>) -> ServeOutcome {
    match popped {
        Ok(Some(reply)) => ServeOutcome::Reply(reply),
        Ok(None) => ServeOutcome::Empty,
        Err(_) => ServeOutcome::WrongKind,
    }
}

/// A key, its member and the score, in one array.
fn pop_one(ctx: &mut Ctx<'_>, key: &[u8], max: bool) -> Result<Option<Reply>, Error> {
    let Some(items) = pop(ctx, key, max, 1)? else { return Ok(None) };
    ctx.log_instead(&[command(max), key]);
    let mut reply = vec![Reply::bulk(key)];
    for (member, score) in items {
        reply.extend([Reply::Bulk(member), Reply::Double(score)]);
    }
    Ok(Some(Reply::Array(reply)))
}

/// A key, and an array of member and score pairs in both protocols.
fn pop_several(ctx: &mut Ctx<'_>, key: &[u8], max: bool, n: usize) -> Result<Option<Reply>, Error> {
    let Some(items) = pop(ctx, key, max, n)? else { return Ok(None) };
    ctx.log_instead(&[command(max), key, &format_int(items.len() as i64)]);
    Ok(Some(Reply::Array(vec![Reply::bulk(key), scored(3, items.into_iter())])))
}

fn command(max: bool) -> &'static [u8] {
    if max { b"ZPOPMAX" } else { b"ZPOPMIN" }
}

/// A member and its score.
type Popped = (Vec<u8>, f64);

/// Removes up to `n` members from an end of the set; `None` where there is no set.
fn pop(ctx: &mut Ctx<'_>, key: &[u8], max: bool, n: usize) -> Result<Option<Vec<Popped>>, Error> {
    let Some(zset) = ctx.zset_mut(key)? else { return Ok(None) };
    if n == 0 {
        return Ok(Some(Vec::new()));
    }
    let len = zset.len();
    let n = n.min(len);
    let mut entries = zset.remove_ranks(if max { len - n..len } else { 0..n });
    if max {
        entries.reverse();
    }
    let own = |(member, score): (&[u8], f64)| (member.to_vec(), score);
    let items = entries.iter().map(|entry| own(entry.pair())).collect();
    if n == len {
        ctx.remove(key);
    }
    ctx.changed(key);
    Ok(Some(items))
}
