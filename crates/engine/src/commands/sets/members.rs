//! Adding, removing and finding single members.

use std::borrow::Cow;

use crate::{
    commands::scan::{self, ScanOptions, ScanTarget},
    ctx::Ctx,
    reply::{Error, Reply},
    types::Set,
};

pub(super) fn sadd(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (key, seed) = (args[1], ctx.seed());
    let set = ctx.set_or_new(key)?;
    let n_added = args[2..].iter().filter(|member| set.insert(member, seed)).count();
    if n_added > 0 {
        ctx.changed(key);
    }
    Ok(Reply::Int(n_added as i64))
}

pub(super) fn srem(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let key = args[1];
    let Some(set) = ctx.set_mut(key)? else { return Ok(Reply::Int(0)) };
    let n_removed = args[2..].iter().filter(|member| set.remove(member)).count();
    if n_removed > 0 {
        ctx.remove_if_empty(key);
        ctx.changed(key);
    }
    Ok(Reply::Int(n_removed as i64))
}

pub(super) fn sismember(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let is_member = ctx.set(args[1])?.is_some_and(|set| set.contains(args[2]));
    Ok(Reply::Int(i64::from(is_member)))
}

pub(super) fn smismember(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let set = ctx.set(args[1])?;
    let has = |member: &&[u8]| Reply::Int(i64::from(set.is_some_and(|set| set.contains(member))));
    Ok(Reply::Array(args[2..].iter().map(has).collect()))
}

pub(super) fn scard(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::Int(ctx.set(args[1])?.map_or(0, Set::len) as i64))
}

pub(super) fn smove(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (source, dest, member, seed) = (args[1], args[2], args[3], ctx.seed());
    // A missing source ends it before the destination's type is looked at.
    let Some(set) = ctx.set(source)? else { return Ok(Reply::Int(0)) };
    let is_member = set.contains(member);
    ctx.set(dest)?;
    if !is_member || source == dest {
        return Ok(Reply::Int(i64::from(is_member)));
    }
    if let Some(set) = ctx.set_mut(source)? {
        set.remove(member);
    }
    ctx.remove_if_empty(source);
    ctx.changed(source);
    if ctx.set_or_new(dest)?.insert(member, seed) {
        ctx.changed(dest);
    }
    Ok(Reply::Int(1))
}

pub(super) fn sscan(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let cursor = scan::cursor(args[2])?;
    let Some(set) = ctx.set(args[1])? else { return Ok(scan::empty()) };
    let options = ScanOptions::parse(&args[3..], ScanTarget::Value)?;
    let mut members = Vec::new();
    let next = options.walk(cursor, |at, n_seen| {
        set.scan(at, |member| {
            *n_seen += 1;
            if options.accepts(member) {
                members.push(Reply::bulk(member));
            }
        })
    });
    Ok(scan::reply(next, members))
}

/// A member as a reply, without a copy where it is a text of its own already.
pub(super) fn reply(member: Cow<'_, [u8]>) -> Reply {
    Reply::Bulk(member.into_owned())
}
