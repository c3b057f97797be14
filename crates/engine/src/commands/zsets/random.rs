//! Members chosen at random.

use super::scored;
use crate::{
    commands::{
        is,
        sample::{self, SampleCount},
    },
    ctx::Ctx,
    reply::{Error, Reply},
    types::ZSet,
};

pub(super) fn zrandmember(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let mut random = sample::generator(ctx);
    let resp = ctx.session.resp;
    if args.len() == 2 {
        let member = ctx.zset(args[1])?.and_then(|zset| zset.random(random));
        return Ok(Reply::bulk_or_nil(member.map(|(member, _)| member)));
    }
    let wanted = SampleCount::parse(args[2])?;
    let with_scores = match &args[3..] {
        [] => false,
        [option] if is(option, "withscores") => true,
        _ => return Err(Error::SYNTAX),
    };
    // With scores there are two items for each member, and Redis counts those.
    if with_scores && matches!(wanted, SampleCount::Distinct(n) if n > (i64::MAX / 2) as usize) {
        return Err(Error::fixed("ERR value is out of range"));
    }
    let Some(zset) = ctx.zset(args[1])? else { return Ok(Reply::Array(Vec::new())) };
    let items: Vec<(&[u8], f64)> = match wanted {
        SampleCount::Repeated(n) => (0..n).filter_map(|_| zset.random(&mut random)).collect(),
        SampleCount::Distinct(n) => distinct(zset, n, random),
    };
    Ok(if with_scores {
        scored(resp, items.into_iter())
    } else {
        Reply::bulks(items.into_iter().map(|(member, _)| member))
    })
}

fn distinct(zset: &ZSet, n: usize, random: impl FnMut() -> u64) -> Vec<(&[u8], f64)> {
    if n >= zset.len() {
        return zset.iter_back_from(usize::MAX).collect();
    }
    sample::distinct(zset.len(), n, random).into_iter().filter_map(|rank| zset.at(rank)).collect()
}
