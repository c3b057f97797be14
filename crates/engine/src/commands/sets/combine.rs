//! Intersections, unions and differences of whole sets.

use std::cmp::Reverse;

use super::members::reply;
use crate::{
    commands::{int, is},
    ctx::Ctx,
    reply::{Error, Reply},
    types::{Set, Value},
};

pub(super) fn smembers(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(ctx.set(args[1])?.map_or_else(|| Reply::Set(Vec::new()), all))
}

pub(super) fn sinter(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let mut members = Vec::new();
    let sets = sources(ctx, &args[1..])?;
    intersect(&sets, |member| {
        members.push(reply(member));
        true
    });
    Ok(Reply::Set(members))
}

pub(super) fn sintercard(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    const NO_KEYS: Error = Error::fixed("ERR numkeys should be greater than 0");
    let n_keys = int(args[1]).ok().filter(|n| *n > 0).ok_or(NO_KEYS)?;
    let n_keys = usize::try_from(n_keys).unwrap_or(usize::MAX);
    let rest = &args[2..];
    if n_keys > rest.len() {
        return Err(Error::fixed("ERR Number of keys can't be greater than number of args"));
    }
    let (keys, options) = rest.split_at(n_keys);
    let limit = limit(options)?;
    let mut n = 0;
    intersect(&sources(ctx, keys)?, |_| {
        n += 1;
        n != limit
    });
    Ok(Reply::Int(n as i64))
}

/// `LIMIT n`, any number of times; 0 is no limit.
fn limit(options: &[&[u8]]) -> Result<usize, Error> {
    const NEGATIVE: Error = Error::fixed("ERR LIMIT can't be negative");
    let mut limit = 0;
    for option in options.chunks(2) {
        match option {
            [name, value] if is(name, "limit") => {
                let n = int(value).map_err(|_| NEGATIVE)?;
                limit = usize::try_from(n).map_err(|_| NEGATIVE)?;
            }
            _ => return Err(Error::SYNTAX),
        }
    }
    Ok(limit)
}

pub(super) fn sunion(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(all(&union(ctx, &args[1..])?))
}

pub(super) fn sdiff(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(all(&difference(ctx, &args[1..])?))
}

pub(super) fn sinterstore(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let seed = ctx.seed();
    let mut result = Set::new();
    let sets = sources(ctx, &args[2..])?;
    intersect(&sets, |member| {
        result.insert(&member, seed);
        true
    });
    Ok(store(ctx, args[1], result))
}

pub(super) fn sunionstore(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let result = union(ctx, &args[2..])?;
    Ok(store(ctx, args[1], result))
}

pub(super) fn sdiffstore(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let result = difference(ctx, &args[2..])?;
    Ok(store(ctx, args[1], result))
}

fn all(set: &Set) -> Reply {
    Reply::Set(set.iter().map(reply).collect())
}

/// The sets that `keys` hold, all at once; every key's type is checked first.
fn sources<'a>(ctx: &'a mut Ctx<'_>, keys: &[&[u8]]) -> Result<Vec<Option<&'a Set>>, Error> {
    for key in keys {
        ctx.set(key)?;
    }
    let db = &ctx.state.dbs[ctx.session.db];
    let set = |key: &&[u8]| match db.get(key) {
        Some(Value::Set(set)) => Some(set),
        _ => None,
    };
    Ok(keys.iter().map(set).collect())
}

/// Gives `visit` each member that all sets have, in the order of the smallest one, until it returns false.
fn intersect<'a>(
    sets: &[Option<&'a Set>],
    mut visit: impl FnMut(std::borrow::Cow<'a, [u8]>) -> bool,
) {
    let Some(mut sets) = sets.iter().copied().collect::<Option<Vec<&Set>>>() else { return };
    sets.sort_by_key(|set| set.len());
    let Some((smallest, others)) = sets.split_first() else { return };
    for member in smallest.iter() {
        if others.iter().all(|set| set.contains(&member)) && !visit(member) {
            return;
        }
    }
}

fn union(ctx: &mut Ctx<'_>, keys: &[&[u8]]) -> Result<Set, Error> {
    let seed = ctx.seed();
    let mut result = Set::new();
    for set in sources(ctx, keys)?.into_iter().flatten() {
        for member in set.iter() {
            result.insert(&member, seed);
        }
    }
    Ok(result)
}

fn difference(ctx: &mut Ctx<'_>, keys: &[&[u8]]) -> Result<Set, Error> {
    let seed = ctx.seed();
    let mut result = Set::new();
    let sets = sources(ctx, keys)?;
    let Some((Some(first), others)) = sets.split_first() else { return Ok(result) };
    // A large set is the likeliest to have a member, which ends the search for it.
    let mut others: Vec<&Set> = others.iter().copied().flatten().collect();
    others.sort_by_key(|set| Reverse(set.len()));
    for member in first.iter() {
        if !others.iter().any(|set| set.contains(&member)) {
            result.insert(&member, seed);
        }
    }
    Ok(result)
}

/// Makes `key` hold the result, or nothing where that is empty.
fn store(ctx: &mut Ctx<'_>, key: &[u8], result: Set) -> Reply {
    let n = result.len();
    if n > 0 {
        ctx.put(key, Value::Set(result));
        ctx.changed(key);
    } else if ctx.remove(key).is_some() {
        ctx.changed(key);
    }
    Reply::Int(n as i64)
}
