//! Adding members and changing their scores.

use super::score;
use crate::{
    commands::is,
    ctx::Ctx,
    reply::{Error, Reply},
    types::ZSet,
};

pub(super) fn zadd(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    add(ctx, args, Options::default())
}

pub(super) fn zincrby(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    add(ctx, args, Options { incr: true, ..Options::default() })
}

/// What may stand between the key and the scores.
#[derive(Debug, Clone, Copy, Default)]
struct Options {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
    ch: bool,
    incr: bool,
}

impl Options {
    /// Takes one option; false when `arg` is none.
    fn take(&mut self, arg: &[u8]) -> bool {
        let known: [(&str, &mut bool); 6] = [
            ("nx", &mut self.nx),
            ("xx", &mut self.xx),
            ("gt", &mut self.gt),
            ("lt", &mut self.lt),
            ("ch", &mut self.ch),
            ("incr", &mut self.incr),
        ];
        let found = known.into_iter().find(|(name, _)| is(arg, name));
        found.map(|(_, set)| *set = true).is_some()
    }

    fn check(&self, n_pairs: usize) -> Result<(), Error> {
        if self.nx && self.xx {
            return Err(Error::fixed("ERR XX and NX options at the same time are not compatible"));
        }
        if [self.gt, self.lt, self.nx].into_iter().filter(|set| *set).count() > 1 {
            return Err(Error::fixed(
                "ERR GT, LT, and/or NX options at the same time are not compatible",
            ));
        }
        if self.incr && n_pairs > 1 {
            return Err(Error::fixed("ERR INCR option supports a single increment-element pair"));
        }
        Ok(())
    }

    /// Whether a score is set no matter what was there.
    fn are_plain(&self) -> bool {
        !(self.nx || self.xx || self.gt || self.lt || self.incr)
    }
}

/// What became of one member.
enum Outcome {
    Added(f64),
    Updated(f64),
    /// The score was that already.
    Same(f64),
    /// An option forbade it.
    Skipped,
}

impl Outcome {
    /// When a score is set no matter what was there.
    fn of(old: Option<f64>, score: f64) -> Outcome {
        match old {
            None => Outcome::Added(score),
            Some(old) if old != score => Outcome::Updated(score),
            Some(_) => Outcome::Same(score),
        }
    }
}

fn add(ctx: &mut Ctx<'_>, args: &[&[u8]], mut options: Options) -> Result<Reply, Error> {
    let key = args[1];
    let n_options = args[2..].iter().take_while(|arg| options.take(arg)).count();
    let (pairs, []) = args[2 + n_options..].as_chunks() else { return Err(Error::SYNTAX) };
    if pairs.is_empty() {
        return Err(Error::SYNTAX);
    }
    options.check(pairs.len())?;
    let items = pairs.iter().map(|[number, member]| Some((*member, score(number)?)));
    let items = items.collect::<Option<Vec<_>>>().ok_or(Error::NOT_A_FLOAT)?;

    let seed = ctx.seed();
    let zset = if options.xx { ctx.zset_mut(key)? } else { Some(ctx.zset_or_new(key)?) };
    let (mut n_added, mut n_updated, mut last) = (0, 0, None);
    let mut count = |outcome| match outcome {
        Outcome::Added(score) => {
            n_added += 1;
            Some(score)
        }
        Outcome::Updated(score) => {
            n_updated += 1;
            Some(score)
        }
        Outcome::Same(score) => Some(score),
        Outcome::Skipped => None,
    };
    match zset {
        None => {}
        Some(zset) if options.are_plain() => {
            zset.insert_each(&items, seed, |old, score| last = count(Outcome::of(old, score)));
        }
        Some(zset) => {
            for (member, score) in items {
                last = count(set(zset, member, score, options, seed)?);
            }
        }
    }
    if n_added + n_updated > 0 {
        ctx.changed(key);
    }
    Ok(match (options.incr, options.ch) {
        (true, _) => last.map_or(Reply::Nil, Reply::Double),
        (false, true) => Reply::Int(n_added + n_updated),
        (false, false) => Reply::Int(n_added),
    })
}

/// Sets the score of one member, if the options let it.
fn set(
    zset: &mut ZSet,
    member: &[u8],
    score: f64,
    options: Options,
    seed: u64,
) -> Result<Outcome, Error> {
    let Some(old) = zset.score(member) else {
        if options.xx {
            return Ok(Outcome::Skipped);
        }
        zset.insert(member, score, seed);
        return Ok(Outcome::Added(score));
    };
    if options.nx {
        return Ok(Outcome::Skipped);
    }
    let score = if options.incr { old + score } else { score };
    if score.is_nan() {
        return Err(Error::fixed("ERR resulting score is not a number (NaN)"));
    }
    if (options.gt && score <= old) || (options.lt && score >= old) {
        return Ok(Outcome::Skipped);
    }
    if score == old {
        return Ok(Outcome::Same(score));
    }
    zset.insert(member, score, seed);
    Ok(Outcome::Updated(score))
}
