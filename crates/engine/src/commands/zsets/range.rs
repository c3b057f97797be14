//! Ranges by rank, score and member: reading, counting and storing them.

use super::{
    bounds::{By, Span},
    scored, store,
};
use crate::{
    commands::{int, is},
    ctx::Ctx,
    reply::{Error, Reply},
    types::ZSet,
};

pub(super) fn zrange(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    read(ctx, args[1], Query::parse(&args[2..], Fixed::default())?)
}

pub(super) fn zrevrange(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    read(ctx, args[1], Query::parse(&args[2..], Fixed::to(By::Rank, true))?)
}

pub(super) fn zrangebyscore(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    read(ctx, args[1], Query::parse(&args[2..], Fixed::to(By::Score, false))?)
}

pub(super) fn zrevrangebyscore(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    read(ctx, args[1], Query::parse(&args[2..], Fixed::to(By::Score, true))?)
}

pub(super) fn zrangebylex(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    read(ctx, args[1], Query::parse(&args[2..], Fixed::to(By::Member, false))?)
}

pub(super) fn zrevrangebylex(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    read(ctx, args[1], Query::parse(&args[2..], Fixed::to(By::Member, true))?)
}

pub(super) fn zrangestore(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let fixed = Fixed { storing: true, ..Fixed::default() };
    let query = Query::parse(&args[3..], fixed)?;
    let seed = ctx.seed();
    let items = ctx.zset(args[2])?.map(|zset| query.items(zset).collect()).unwrap_or_default();
    let result = ZSet::from_items::<&[u8]>(items, seed);
    Ok(store(ctx, args[1], result))
}

pub(super) fn zcount(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    n_in(ctx, args[1], Span::parse(By::Score, args[2], args[3])?)
}

pub(super) fn zlexcount(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    n_in(ctx, args[1], Span::parse(By::Member, args[2], args[3])?)
}

fn n_in(ctx: &mut Ctx<'_>, key: &[u8], span: Span<'_>) -> Result<Reply, Error> {
    let n = ctx.zset(key)?.map_or(0, |zset| span.ranks(zset, false, 0).len());
    Ok(Reply::Int(n as i64))
}

fn read(ctx: &mut Ctx<'_>, key: &[u8], query: Query<'_>) -> Result<Reply, Error> {
    let resp = ctx.session.resp;
    let Some(zset) = ctx.zset(key)? else { return Ok(Reply::Array(Vec::new())) };
    let items = query.items(zset);
    Ok(if query.with_scores {
        scored(resp, items)
    } else {
        Reply::bulks(items.map(|(member, _)| member))
    })
}

/// What a command's name decides already, so that no option may.
#[derive(Debug, Clone, Copy, Default)]
struct Fixed {
    by: Option<By>,
    reverse: Option<bool>,
    /// Scores are stored anyway, so asking for them is an error.
    storing: bool,
}

impl Fixed {
    fn to(by: By, reverse: bool) -> Fixed {
        Fixed { by: Some(by), reverse: Some(reverse), storing: false }
    }
}

/// A range and how to read it.
#[derive(Debug)]
struct Query<'a> {
    span: Span<'a>,
    reverse: bool,
    with_scores: bool,
    offset: i64,
    /// Negative for all.
    limit: i64,
}

impl<'a> Query<'a> {
    /// Reads the two ends of the range and the options behind them.
    fn parse(args: &[&'a [u8]], fixed: Fixed) -> Result<Query<'a>, Error> {
        let Fixed { mut by, mut reverse, storing } = fixed;
        let (mut with_scores, mut offset, mut limit) = (false, 0, -1);
        let mut options = args[2..].iter();
        while let Some(option) = options.next() {
            if !storing && is(option, "withscores") {
                with_scores = true;
            } else if is(option, "limit")
                && let [first, n, ..] = options.as_slice()
            {
                (offset, limit) = (int(first)?, int(n)?);
                options.nth(1);
            } else if reverse.is_none() && is(option, "rev") {
                reverse = Some(true);
            } else if by.is_none() && is(option, "bylex") {
                by = Some(By::Member);
            } else if by.is_none() && is(option, "byscore") {
                by = Some(By::Score);
            } else {
                return Err(Error::SYNTAX);
            }
        }
        let (by, reverse) = (by.unwrap_or(By::Rank), reverse.unwrap_or(false));
        if limit != -1 && by == By::Rank {
            return Err(Error::fixed(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
            ));
        }
        if with_scores && by == By::Member {
            return Err(Error::fixed(
                "ERR syntax error, WITHSCORES not supported in combination with BYLEX",
            ));
        }
        // LIMIT n -1 got this far with a range of ranks, which has no offset all the same.
        let offset = if by == By::Rank { 0 } else { offset };
        // Backwards, scores and members are given highest first, ranks still from the start of what is read.
        let (min, max) =
            if reverse && by != By::Rank { (args[1], args[0]) } else { (args[0], args[1]) };
        let span = Span::parse(by, min, max)?;
        Ok(Query { span, reverse, with_scores, offset, limit })
    }

    /// The members it asks for, in its order.
    fn items<'z>(&self, zset: &'z ZSet) -> Box<dyn Iterator<Item = (&'z [u8], f64)> + 'z> {
        let Ok(skipped) = usize::try_from(self.offset) else {
            return Box::new(std::iter::empty());
        };
        let ranks = self.span.ranks(zset, self.reverse, skipped);
        let n = ranks.len().min(usize::try_from(self.limit).unwrap_or(usize::MAX));
        if n == 0 {
            Box::new(std::iter::empty())
        } else if self.reverse {
            Box::new(zset.iter_back_from(ranks.end - 1).take(n))
        } else {
            Box::new(zset.iter_from(ranks.start).take(n))
        }
    }
}
