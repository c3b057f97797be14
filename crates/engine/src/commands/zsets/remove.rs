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
    // Where scores differ, what a range of members holds depends on how the set has grown, which a restart forgets.
    let by_name = matches!(span, Span::Members(_)) && n_removed > 0;
    if n_removed == zset.len() {
        ctx.remove(key);
        if by_name {
            ctx.log_instead(&[b"DEL", key]);
        }
    } else {
        let entries = zset.remove_ranks(ranks);
        if by_name {
            let members = entries.iter().map(|entry| entry.pair().0);
            let removal = [&b"ZREM"[..], key].into_iter().chain(members);
            ctx.log_instead(&removal.collect::<Vec<_>>());
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

#[cfg(test)]
mod tests {
    use crate::test_engine::TestEngine;

    #[test]
    fn a_range_of_members_is_logged_by_their_names() {
        let mut rig = TestEngine::new();
        rig.run("zadd z 0 a 0 b 0 c");
        assert_eq!(rig.logged("zremrangebylex z (c +"), "");
        assert_eq!(rig.logged("zremrangebylex z [b +"), "ZREM z b c");
        assert_eq!(rig.logged("zremrangebylex z - +"), "DEL z");
        assert_eq!(rig.logged("exists z"), "");
    }
}
