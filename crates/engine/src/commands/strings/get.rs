//! Reading strings, and what can be done to a key in passing.

use super::set::{OptionSet, Options, log_expiry};
use crate::{
    ctx::Ctx,
    reply::{Error, Reply},
    types::Value,
};

pub(super) fn get(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    string_reply(ctx, args[1])
}

pub(super) fn mget(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let value = |key: &&[u8]| match ctx.get(key) {
        Some(Value::Str(string)) => Reply::Bulk(string.as_bytes().into_owned()),
        _ => Reply::Nil,
    };
    Ok(Reply::Array(args[1..].iter().map(value).collect()))
}

pub(super) fn get_del(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let key = args[1];
    let value = string_reply(ctx, key)?;
    if ctx.remove(key).is_some() {
        ctx.changed(key);
        ctx.log_instead(&[b"DEL", key]);
    }
    Ok(value)
}

pub(super) fn get_ex(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let key = args[1];
    let options = Options::parse(&args[2..], OptionSet::GetEx)?;
    let value = string_reply(ctx, key)?;
    if value == Reply::Nil {
        return Ok(value);
    }
    match options.expires_at(ctx, "getex")? {
        Some(at) if options.is_absolute() && at <= ctx.now_ms() && !ctx.state.loading => {
            ctx.remove(key);
            ctx.changed(key);
            ctx.log_instead(&[b"DEL", key]);
        }
        Some(at) => {
            ctx.set_expires_at(key, at);
            ctx.changed(key);
            log_expiry(ctx, key, at);
        }
        None => {
            if options.persists() && ctx.clear_expiry(key) {
                ctx.changed(key);
                ctx.log_instead(&[b"PERSIST", key]);
            }
        }
    }
    Ok(value)
}

/// What GET answers.
pub(super) fn string_reply(ctx: &mut Ctx<'_>, key: &[u8]) -> Result<Reply, Error> {
    let string = ctx.string(key)?;
    Ok(string.map_or(Reply::Nil, |string| Reply::Bulk(string.as_bytes().into_owned())))
}
