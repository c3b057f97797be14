//! Strings as bytes: their length, their ends and their middles.

use super::check_len;
use crate::{
    commands::int,
    ctx::Ctx,
    reply::{Error, Reply},
    types::{Str, Value},
};

pub(super) fn strlen(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(len_reply(ctx.string(args[1])?.map_or(0, Str::len)))
}

pub(super) fn append(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (key, tail) = (args[1], args[2]);
    let len = match ctx.string_mut(key)? {
        Some(string) => {
            check_len(string.len() as u64, tail.len())?;
            string.append(tail);
            string.len()
        }
        None => {
            ctx.put(key, Value::Str(Str::new(tail)));
            tail.len()
        }
    };
    ctx.changed(key);
    Ok(len_reply(len))
}

pub(super) fn get_range(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (start, end) = (int(args[2])?, int(args[3])?);
    let Some(string) = ctx.string(args[1])? else { return Ok(Reply::bulk("")) };
    let bytes = string.as_bytes();
    Ok(Reply::bulk(slice(&bytes, start, end)))
}

/// The bytes from `start` to `end`, both included; negative ones count from the end, and are held to be the first byte
/// where they lie before it.
fn slice(bytes: &[u8], start: i64, end: i64) -> &[u8] {
    if start < 0 && end < 0 && start > end {
        return &[];
    }
    let len = bytes.len() as i64;
    let from_front = |i: i64| if i < 0 { (len + i).max(0) } else { i };
    let (start, end) = (from_front(start), from_front(end).min(len - 1));
    if start > end { &[] } else { &bytes[start as usize..=end as usize] }
}

pub(super) fn set_range(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (key, patch) = (args[1], args[3]);
    let offset =
        u64::try_from(int(args[2])?).map_err(|_| Error::fixed("ERR offset is out of range"))?;
    let len_before = ctx.string_mut(key)?.map_or(0, |string| string.len());
    if patch.is_empty() {
        return Ok(len_reply(len_before));
    }
    check_len(offset, patch.len())?;
    let string = ctx.string_or_new(key)?;
    string.overwrite(offset as usize, patch);
    let len = string.len();
    ctx.changed(key);
    Ok(len_reply(len))
}

fn len_reply(len: usize) -> Reply {
    Reply::Int(len as i64)
}
