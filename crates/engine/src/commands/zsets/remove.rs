//! Removing members, by name or a range at a time.

use super::bounds::{By, Span};
use crate::{
    ctx::Ctx,
    reply::{Error, Reply},
};

pub(super) fn zrem(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let key = args[1];
    let Some(zset) = ctx.zset_mut(key)? else { return Ok(Reply::Int(0)) };
    let n_removed = args[2..].iter().filter(|member| zset.remove(member).is_some()).count();
    Ok(removed(ctx, key, n_removed))
}

pub(super) fn zremrangebyrank(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    remove_range(ctx, args[1], Span::parse(By::Rank, args[2], args[3])?)
}

pub(super) fn zremrangebyscore(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    remove_range(ctx, args[1], Span::parse(By::Score, args[2], args[3])?)
}

pub(super) fn zremrangebylex(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    remove_range(ctx, args[1], Span::parse(By::Member, args[2], args[3])?)
}

fn remove_range(ctx: &mut Ctx<'_>, key: &[u8], span: Span<'_>) -> Result<Reply, Error> {
    let Some(zset) = ctx.zset_mut(key)? else { return Ok(Reply::Int(0)) };
    let ranks = span.ranks(zset, false, 0);
    let n_removed = ranks.len();
    if n_removed == zset.len() {
        ctx.remove(key);
    } else {
        let members = zset.iter_from(ranks.start).take(n_removed);
        let members: Vec<Vec<u8>> = members.map(|(member, _)| member.to_vec()).collect();
        for member in &members {
            zset.remove(member);
        }
    }
    Ok(removed(ctx, key, n_removed))
}

fn removed(ctx: &mut Ctx<'_>, key: &[u8], n_removed: usize) -> Reply {
    if n_removed > 0 {
        ctx.remove_if_empty(key);
        ctx.changed(key);
    }
    Reply::Int(n_removed as i64)
}
