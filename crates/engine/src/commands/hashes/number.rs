//! Fields that count.
//!
//! Only a field that exists can be refused, so the hash is never left empty when it is made before the checks.

use crate::{
    commands::int,
    ctx::Ctx,
    longdouble::LongDouble,
    num::parse_int,
    reply::{Error, Reply},
};

pub(super) fn hincr_by(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (key, field, seed) = (args[1], args[2], ctx.seed());
    let more = int(args[3])?;
    let hash = ctx.hash_or_new(key)?;
    let n = match hash.get(field) {
        Some(value) => parse_int(value).ok_or(Error::fixed("ERR hash value is not an integer"))?,
        None => 0,
    };
    let sum =
        n.checked_add(more).ok_or(Error::fixed("ERR increment or decrement would overflow"))?;
    hash.set(field, itoa::Buffer::new().format(sum).as_bytes(), seed);
    ctx.changed(key);
    Ok(Reply::Int(sum))
}

pub(super) fn hincr_by_float(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (key, field, seed) = (args[1], args[2], ctx.seed());
    let more = LongDouble::parse(args[3]).ok_or(Error::NOT_A_FLOAT)?;
    if !more.is_finite() {
        return Err(Error::fixed("ERR value is NaN or Infinity"));
    }
    let hash = ctx.hash_or_new(key)?;
    let number = match hash.get(field) {
        Some(value) => {
            LongDouble::parse(value).ok_or(Error::fixed("ERR hash value is not a float"))?
        }
        None => LongDouble::ZERO,
    };
    let sum = number
        .add(&more)
        .map_err(|_| Error::fixed("ERR increment would produce NaN or Infinity"))?
        .format();
    hash.set(field, &sum, seed);
    ctx.changed(key);
    ctx.log_instead(&[b"HSET", key, field, &sum]);
    Ok(Reply::Bulk(sum))
}
