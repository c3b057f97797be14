//! Commands on sorted sets.

mod add;
mod bounds;
mod combine;
mod members;
mod pop;
mod random;
mod range;
mod remove;
mod table;

pub(super) use self::{
    pop::{serve, serve_several},
    table::COMMANDS,
};
use crate::{
    ctx::Ctx,
    reply::{Error, Reply},
    types::{Value, ZSet},
};

/// An argument that is a score or a weight; what is too small to tell from 0 is refused like what is too large.
fn score(arg: &[u8]) -> Option<f64> {
    let score = crate::num::parse_float(arg)?;
    let is_zero = || {
        let digits = arg.split(|byte| matches!(byte, b'e' | b'E' | b'p' | b'P')).next();
        !digits.unwrap_or_default().iter().any(|byte| matches!(byte, b'1'..=b'9'))
    };
    (score != 0.0 || is_zero()).then_some(score)
}

/// An argument that counts something, with the error for anything but 0 and up.
fn count(arg: &[u8], error: Error) -> Result<usize, Error> {
    let n = crate::num::parse_int(arg).ok_or_else(|| error.clone())?;
    usize::try_from(n).map_err(|_| error)
}

/// An argument that must be at least 1, with the error for anything else.
fn positive(arg: &[u8], error: Error) -> Result<usize, Error> {
    match count(arg, error.clone())? {
        0 => Err(error),
        n => Ok(n),
    }
}

/// The members with their scores: one flat array, or a pair each where the protocol has doubles.
fn scored<T: AsRef<[u8]>>(resp: u8, items: impl Iterator<Item = (T, f64)>) -> Reply {
    if resp < 3 {
        let flat = |(member, score): (T, f64)| [Reply::bulk(member), Reply::Double(score)];
        return Reply::Array(items.flat_map(flat).collect());
    }
    let pair =
        |(member, score): (T, f64)| Reply::Array(vec![Reply::bulk(member), Reply::Double(score)]);
    Reply::Array(items.map(pair).collect())
}

/// Makes `key` hold the result, or nothing where that is empty.
fn store(ctx: &mut Ctx<'_>, key: &[u8], result: ZSet) -> Reply {
    let n = result.len();
    if n > 0 {
        ctx.put(key, Value::ZSet(result));
        ctx.changed(key);
    } else if ctx.remove(key).is_some() {
        ctx.changed(key);
    }
    Reply::Int(n as i64)
}

#[cfg(test)]
mod tests;
