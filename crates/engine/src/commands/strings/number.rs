//! Strings that count.

use crate::{
    commands::int,
    ctx::Ctx,
    longdouble::LongDouble,
    reply::{Error, Reply},
    types::{Str, Value},
};

pub(super) fn incr(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    add(ctx, args[1], 1)
}

pub(super) fn decr(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    add(ctx, args[1], -1)
}

pub(super) fn incr_by(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    add(ctx, args[1], int(args[2])?)
}

pub(super) fn decr_by(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let less = int(args[2])?.checked_neg();
    add(ctx, args[1], less.ok_or(Error::fixed("ERR decrement would overflow"))?)
}

fn add(ctx: &mut Ctx<'_>, key: &[u8], more: i64) -> Result<Reply, Error> {
    let sum = match ctx.string_mut(key)? {
        Some(string) => {
            let n = string.as_int().ok_or(Error::NOT_AN_INTEGER)?;
            let sum = n
                .checked_add(more)
                .ok_or(Error::fixed("ERR increment or decrement would overflow"))?;
            *string = Str::Int(sum);
            sum
        }
        None => {
            ctx.put(key, Value::Str(Str::Int(more)));
            more
        }
    };
    ctx.changed(key);
    Ok(Reply::Int(sum))
}

pub(super) fn incr_by_float(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let key = args[1];
    let number = match ctx.string_mut(key)? {
        Some(string) => LongDouble::parse(&string.as_bytes()).ok_or(Error::NOT_A_FLOAT)?,
        None => LongDouble::ZERO,
    };
    let more = LongDouble::parse(args[2]).ok_or(Error::NOT_A_FLOAT)?;
    let sum = number
        .add(&more)
        .map_err(|_| Error::fixed("ERR increment would produce NaN or Infinity"))?
        .format();
    // Kept as bytes even where it has no decimals, as in Redis.
    ctx.put_keeping_expiry(key, Value::Str(Str::Bytes(sum.as_slice().into())));
    ctx.changed(key);
    ctx.log_instead(&[b"SET", key, &sum, b"KEEPTTL"]);
    Ok(Reply::Bulk(sum))
}
