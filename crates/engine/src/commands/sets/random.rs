//! Members chosen at random.

use std::{borrow::Cow, collections::HashSet};

use foldhash::fast::FixedState;

use super::members::reply;
use crate::{
    commands::{
        int,
        sample::{self, SampleCount},
    },
    ctx::Ctx,
    reply::{Error, Reply},
    types::Set,
};

pub(super) fn srandmember(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let wanted = match args {
        [_, _] => None,
        [_, _, count] => Some(SampleCount::parse(count)?),
        _ => return Err(Error::SYNTAX),
    };
    let mut random = sample::generator(ctx);
    let set = ctx.set(args[1])?;
    let Some(wanted) = wanted else {
        return Ok(Reply::bulk_or_nil(set.and_then(|set| set.random(random))));
    };
    let Some(set) = set else { return Ok(Reply::Array(Vec::new())) };
    let members = match wanted {
        SampleCount::Repeated(n) => {
            (0..n).filter_map(|_| set.random(&mut random)).map(Reply::Bulk).collect()
        }
        SampleCount::Distinct(n) => distinct(set, n, random),
    };
    Ok(Reply::Array(members))
}

/// Up to `n` members, none twice.
fn distinct(set: &Set, n: usize, mut random: impl FnMut() -> u64) -> Vec<Reply> {
    /// Past this part of the set, drawing until something new comes up costs more than listing all members.
    const DRAWN_PART_MAX: usize = 3;
    if n >= set.len() {
        return set.iter().map(reply).collect();
    }
    if n.saturating_mul(DRAWN_PART_MAX) > set.len() {
        let mut members: Vec<Cow<'_, [u8]>> = set.iter().collect();
        let chosen = sample::distinct(members.len(), n, random);
        return chosen.into_iter().map(|at| reply(std::mem::take(&mut members[at]))).collect();
    }
    let mut chosen = HashSet::with_capacity_and_hasher(n, FixedState::default());
    while chosen.len() < n {
        chosen.extend(set.random(&mut random));
    }
    chosen.into_iter().map(Reply::Bulk).collect()
}

pub(super) fn spop(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let key = args[1];
    match args {
        [_, _] => {
            let mut members = pop(ctx, key, 1)?;
            Ok(members.pop().map_or(Reply::Nil, Reply::Bulk))
        }
        [_, _, count] => {
            const NEGATIVE: Error = Error::fixed("ERR value is out of range, must be positive");
            let count = int(count).map_err(|_| NEGATIVE)?;
            let count = usize::try_from(count).map_err(|_| NEGATIVE)?;
            Ok(Reply::Set(pop(ctx, key, count)?.into_iter().map(Reply::Bulk).collect()))
        }
        _ => Err(Error::SYNTAX),
    }
}

/// Removes up to `count` random members and logs which ones.
fn pop(ctx: &mut Ctx<'_>, key: &[u8], count: usize) -> Result<Vec<Vec<u8>>, Error> {
    let mut random = sample::generator(ctx);
    let Some(set) = ctx.set_mut(key)? else { return Ok(Vec::new()) };
    if count == 0 {
        return Ok(Vec::new());
    }
    if count >= set.len() {
        let members = set.iter().map(Cow::into_owned).collect();
        ctx.remove(key);
        ctx.changed(key);
        ctx.log_instead(&[b"DEL", key]);
        return Ok(members);
    }
    let mut members = Vec::with_capacity(count);
    for _ in 0..count {
        let member = set.random(&mut random).expect("more members than are popped");
        set.remove(&member);
        members.push(member);
    }
    ctx.changed(key);
    let mut removal: Vec<&[u8]> = vec![b"SREM", key];
    removal.extend(members.iter().map(Vec::as_slice));
    ctx.log_instead(&removal);
    Ok(members)
}
