//! Setting and removing fields.

use crate::{
    commands::wrong_arity,
    ctx::Ctx,
    reply::{Error, Reply},
};

pub(super) fn hset(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    set_pairs(ctx, args, "hset").map(Reply::Int)
}

pub(super) fn hmset(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    set_pairs(ctx, args, "hmset").map(|_| Reply::OK)
}

/// Sets the fields after the key and says how many are new.
fn set_pairs(ctx: &mut Ctx<'_>, args: &[&[u8]], command: &str) -> Result<i64, Error> {
    let (key, seed) = (args[1], ctx.seed());
    let (pairs, []) = args[2..].as_chunks() else { return Err(wrong_arity(command)) };
    let n_new = ctx.hash_or_new(key)?.set_each(pairs, seed);
    ctx.changed(key);
    Ok(n_new as i64)
}

pub(super) fn hset_nx(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (key, field, seed) = (args[1], args[2], ctx.seed());
    let hash = ctx.hash_or_new(key)?;
    if hash.contains(field) {
        return Ok(Reply::Int(0));
    }
    hash.set(field, args[3], seed);
    ctx.changed(key);
    Ok(Reply::Int(1))
}

pub(super) fn hdel(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let key = args[1];
    let Some(hash) = ctx.hash_mut(key)? else { return Ok(Reply::Int(0)) };
    let n_removed = args[2..].iter().filter(|field| hash.remove(field)).count();
    if n_removed > 0 {
        ctx.remove_if_empty(key);
        ctx.changed(key);
    }
    Ok(Reply::Int(n_removed as i64))
}
