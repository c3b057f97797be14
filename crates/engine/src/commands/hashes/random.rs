//! HRANDFIELD: fields by chance.

use std::collections::HashSet;

use foldhash::fast::FixedState;

use crate::{
    commands::{int, is},
    ctx::Ctx,
    host::SplitMix,
    reply::{Error, Reply},
    types::Hash,
};

type Pair<'a> = (&'a [u8], &'a [u8]);

pub(super) fn hrandfield(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let mut chance = SplitMix(ctx.random());
    let nested = ctx.session.resp >= 3;
    let Some((count, with_values)) = parse(&args[2..])? else {
        let pair = ctx.hash(args[1])?.and_then(|hash| hash.random(|| chance.next()));
        return Ok(Reply::bulk_or_nil(pair.map(|(field, _)| field)));
    };
    let Some(hash) = ctx.hash(args[1])? else { return Ok(Reply::Array(Vec::new())) };
    let n = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let pairs = if count < 0 { repeated(hash, n, chance)? } else { distinct(hash, n, chance) };
    Ok(pairs_reply(pairs, with_values, nested))
}

/// The count and whether values are wanted; `None` for the form that answers one field.
fn parse(args: &[&[u8]]) -> Result<Option<(i64, bool)>, Error> {
    let Some((count, options)) = args.split_first() else { return Ok(None) };
    let count = int(count)?;
    if count == i64::MIN {
        return Err(Error::fixed(
            "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
        ));
    }
    match options {
        [] => Ok(Some((count, false))),
        [option] if is(option, "withvalues") => {
            if count.abs() > i64::MAX / 2 {
                return Err(Error::fixed("ERR value is out of range"));
            }
            Ok(Some((count, true)))
        }
        _ => Err(Error::SYNTAX),
    }
}

/// `n` fields, any of them more than once.
fn repeated(hash: &Hash, n: usize, mut chance: SplitMix) -> Result<Vec<Pair<'_>>, Error> {
    // Redis would fill its memory with the reply.
    const N_MAX: usize = 1 << 24;
    if n > N_MAX {
        return Err(Error::fixed("ERR value is out of range"));
    }
    let mut random = || chance.next();
    if !matches!(hash, Hash::Large(_)) {
        let all: Vec<_> = hash.iter().collect();
        return Ok((0..n).map(|_| all[(random() % all.len() as u64) as usize]).collect());
    }
    Ok((0..n).filter_map(|_| hash.random(&mut random)).collect())
}

/// `n` fields, each at most once; all of them where there are no more than `n`.
fn distinct(hash: &Hash, n: usize, mut chance: SplitMix) -> Vec<Pair<'_>> {
    // With few to choose among many, choosing again what was chosen already is rare.
    const CHOICE_MIN: usize = 3;
    let few = n.checked_mul(CHOICE_MIN).is_some_and(|n| n < hash.len());
    if few && matches!(hash, Hash::Large(_)) {
        let mut seen: HashSet<&[u8], FixedState> = HashSet::default();
        let mut pairs = Vec::with_capacity(n);
        while pairs.len() < n
            && let Some(pair) = hash.random(|| chance.next())
        {
            if seen.insert(pair.0) {
                pairs.push(pair);
            }
        }
        return pairs;
    }
    let mut pairs: Vec<_> = hash.iter().collect();
    if n < pairs.len() {
        for i in 0..n {
            let other = i + (chance.next() % (pairs.len() - i) as u64) as usize;
            pairs.swap(i, other);
        }
        pairs.truncate(n);
    }
    pairs
}

/// Fields, or fields and values: side by side, or in pairs of their own for clients that speak RESP3.
fn pairs_reply(pairs: Vec<Pair<'_>>, with_values: bool, nested: bool) -> Reply {
    if !with_values {
        return Reply::bulks(pairs.into_iter().map(|(field, _)| field));
    }
    let both = pairs.into_iter().map(|(field, value)| [Reply::bulk(field), Reply::bulk(value)]);
    Reply::Array(if nested {
        both.map(|pair| Reply::Array(pair.into())).collect()
    } else {
        both.flatten().collect()
    })
}
