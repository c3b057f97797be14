//! Intersections, unions and differences of sorted sets and plain sets.

use std::{borrow::Cow, cmp::Ordering, collections::HashMap};

use foldhash::fast::FixedState;

use super::{count, score, scored, store};
use crate::{
    commands::{int, is},
    ctx::Ctx,
    reply::{Error, Reply},
    types::{Set, Value, ZSet},
};

pub(super) fn zunionstore(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    combine_into(ctx, args, "zunionstore", Operator::Union)
}

pub(super) fn zinterstore(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    combine_into(ctx, args, "zinterstore", Operator::Intersection)
}

pub(super) fn zdiffstore(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    combine_into(ctx, args, "zdiffstore", Operator::Difference)
}

pub(super) fn zunion(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    combine_and_read(ctx, args, "zunion", Operator::Union)
}

pub(super) fn zinter(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    combine_and_read(ctx, args, "zinter", Operator::Intersection)
}

pub(super) fn zdiff(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    combine_and_read(ctx, args, "zdiff", Operator::Difference)
}

pub(super) fn zintercard(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let query =
        Query::parse(ctx, &args[1..], "zintercard", Operator::Intersection, CombinePurpose::Count)?;
    let mut n = 0;
    intersect(&query, &query.sources(ctx), |_, _| {
        n += 1;
        n != query.limit
    });
    Ok(Reply::Int(n as i64))
}

fn combine_into(
    ctx: &mut Ctx<'_>,
    args: &[&[u8]],
    name: &str,
    operator: Operator,
) -> Result<Reply, Error> {
    let seed = ctx.seed();
    let query = Query::parse(ctx, &args[2..], name, operator, CombinePurpose::Store)?;
    let result = ZSet::from_items(combine(ctx, &query), seed);
    Ok(store(ctx, args[1], result))
}

fn combine_and_read(
    ctx: &mut Ctx<'_>,
    args: &[&[u8]],
    name: &str,
    operator: Operator,
) -> Result<Reply, Error> {
    let query = Query::parse(ctx, &args[1..], name, operator, CombinePurpose::Read)?;
    let mut items = combine(ctx, &query);
    items.sort_unstable_by(|(a, a_score), (b, b_score)| {
        // No score is NaN, and -0 equals 0.
        a_score.partial_cmp(b_score).unwrap_or(Ordering::Equal).then_with(|| a.cmp(b))
    });
    let items = items.into_iter();
    Ok(if query.with_scores {
        scored(ctx.session.resp, items)
    } else {
        Reply::Array(items.map(|(member, _)| Reply::Bulk(member.into_owned())).collect())
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Union,
    Intersection,
    Difference,
}

/// What the result is for, which decides the options there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CombinePurpose {
    Store,
    Read,
    Count,
}

/// What becomes of a member's scores in several sets.
#[derive(Debug, Clone, Copy)]
enum Aggregate {
    Sum,
    Min,
    Max,
}

impl Aggregate {
    fn parse(arg: &[u8]) -> Result<Aggregate, Error> {
        match arg {
            arg if is(arg, "sum") => Ok(Aggregate::Sum),
            arg if is(arg, "min") => Ok(Aggregate::Min),
            arg if is(arg, "max") => Ok(Aggregate::Max),
            _ => Err(Error::SYNTAX),
        }
    }

    /// Joins two scores; `other` may be NaN, the result is not.
    fn join(self, score: f64, other: f64) -> f64 {
        match self {
            Aggregate::Sum => or_zero(score + other),
            Aggregate::Min if other < score => other,
            Aggregate::Max if other > score => other,
            Aggregate::Min | Aggregate::Max => score,
        }
    }
}

/// Infinity times 0 and infinity minus infinity count as 0.
fn or_zero(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score }
}

/// The sources and what to do with them.
#[derive(Debug)]
struct Query<'a> {
    operator: Operator,
    keys: &'a [&'a [u8]],
    /// One for each key, or none where all are 1.
    weights: Vec<f64>,
    aggregate: Aggregate,
    with_scores: bool,
    /// How many members to count; 0 is all.
    limit: usize,
}

impl<'a> Query<'a> {
    /// Reads `numkeys key …` and the options behind them; the keys' types are checked in between, as Redis does.
    fn parse(
        ctx: &mut Ctx<'_>,
        args: &'a [&'a [u8]],
        name: &str,
        operator: Operator,
        goal: CombinePurpose,
    ) -> Result<Query<'a>, Error> {
        let n_keys = match int(args[0])? {
            n @ 1.. => usize::try_from(n).unwrap_or(usize::MAX),
            _ => {
                return Err(Error::new(format!(
                    "ERR at least 1 input key is needed for '{name}' command"
                )));
            }
        };
        let (keys, options) = args[1..].split_at_checked(n_keys).ok_or(Error::SYNTAX)?;
        for key in keys {
            if !matches!(ctx.get(key), None | Some(Value::Set(_) | Value::ZSet(_))) {
                return Err(Error::WRONG_TYPE);
            }
        }
        let mut query = Query {
            operator,
            keys,
            weights: Vec::new(),
            aggregate: Aggregate::Sum,
            with_scores: false,
            limit: 0,
        };
        query.parse_options(options, goal)?;
        Ok(query)
    }

    fn parse_options(&mut self, mut options: &[&[u8]], goal: CombinePurpose) -> Result<(), Error> {
        let joins_scores = self.operator != Operator::Difference && goal != CombinePurpose::Count;
        while let [option, rest @ ..] = options {
            options = if joins_scores && is(option, "weights") && rest.len() >= self.keys.len() {
                const NO_FLOAT: Error = Error::fixed("ERR weight value is not a float");
                let (weights, rest) = rest.split_at(self.keys.len());
                let weights = weights.iter().map(|arg| score(arg).ok_or(NO_FLOAT));
                self.weights = weights.collect::<Result<_, _>>()?;
                rest
            } else if joins_scores && is(option, "aggregate") && !rest.is_empty() {
                self.aggregate = Aggregate::parse(rest[0])?;
                &rest[1..]
            } else if goal == CombinePurpose::Read && is(option, "withscores") {
                self.with_scores = true;
                rest
            } else if goal == CombinePurpose::Count && is(option, "limit") && !rest.is_empty() {
                self.limit = count(rest[0], Error::fixed("ERR LIMIT can't be negative"))?;
                &rest[1..]
            } else {
                return Err(Error::SYNTAX);
            };
        }
        Ok(())
    }

    /// What the keys hold, in their order.
    fn sources<'c>(&self, ctx: &'c Ctx<'_>) -> Vec<Source<'c>> {
        let db = &ctx.state.dbs[ctx.session.db];
        let source = |(i, key): (usize, &&[u8])| {
            let items = match db.get(key) {
                Some(Value::Set(set)) => Items::Set(set),
                Some(Value::ZSet(zset)) => Items::ZSet(zset),
                _ => Items::None,
            };
            Source { items, weight: self.weights.get(i).copied().unwrap_or(1.0) }
        };
        self.keys.iter().enumerate().map(source).collect()
    }
}

/// One input.
#[derive(Clone, Copy)]
struct Source<'c> {
    items: Items<'c>,
    weight: f64,
}

/// What one key holds; a plain set's members all have the score 1.
#[derive(Clone, Copy)]
enum Items<'c> {
    None,
    Set(&'c Set),
    ZSet(&'c ZSet),
}

impl<'c> Items<'c> {
    fn len(&self) -> usize {
        match self {
            Items::None => 0,
            Items::Set(set) => set.len(),
            Items::ZSet(zset) => zset.len(),
        }
    }

    fn score(&self, member: &[u8]) -> Option<f64> {
        match self {
            Items::None => None,
            Items::Set(set) => set.contains(member).then_some(1.0),
            Items::ZSet(zset) => zset.score(member),
        }
    }

    fn iter(&self) -> Box<dyn Iterator<Item = Item<'c>> + 'c> {
        match self {
            Items::None => Box::new(std::iter::empty()),
            Items::Set(set) => Box::new(set.iter().map(|member| (member, 1.0))),
            Items::ZSet(zset) => {
                Box::new(zset.iter().map(|(member, score)| (Cow::Borrowed(member), score)))
            }
        }
    }
}

type Item<'c> = (Cow<'c, [u8]>, f64);

/// The result, in any order.
fn combine<'c>(ctx: &'c Ctx<'_>, query: &Query<'_>) -> Vec<Item<'c>> {
    let sources = query.sources(ctx);
    match query.operator {
        Operator::Union => union(query, sources, ctx.seed()),
        Operator::Difference => difference(&sources),
        Operator::Intersection => {
            let mut items = Vec::new();
            intersect(query, &sources, |member, score| {
                items.push((member, score));
                true
            });
            items
        }
    }
}

/// Gives `visit` each member that all sources have, until it returns false.
fn intersect<'c>(
    query: &Query<'_>,
    sources: &[Source<'c>],
    mut visit: impl FnMut(Cow<'c, [u8]>, f64) -> bool,
) {
    // By size, as sums of floats depend on their order.
    let mut sources = sources.to_vec();
    sources.sort_by_key(|source| source.items.len());
    let Some((smallest, others)) = sources.split_first() else { return };
    for (member, score) in smallest.items.iter() {
        let joined = others.iter().try_fold(or_zero(score * smallest.weight), |joined, source| {
            let score = source.items.score(&member)?;
            Some(query.aggregate.join(joined, score * source.weight))
        });
        if let Some(joined) = joined
            && !visit(member, joined)
        {
            return;
        }
    }
}

fn union<'c>(query: &Query<'_>, mut sources: Vec<Source<'c>>, seed: u64) -> Vec<Item<'c>> {
    sources.sort_by_key(|source| source.items.len());
    let n_max = sources.last().map_or(0, |source| source.items.len());
    let mut joined: HashMap<Cow<'c, [u8]>, f64, FixedState> =
        HashMap::with_capacity_and_hasher(n_max, FixedState::with_seed(seed));
    for source in &sources {
        for (member, score) in source.items.iter() {
            let score = or_zero(score * source.weight);
            joined
                .entry(member)
                .and_modify(|old| *old = query.aggregate.join(*old, score))
                .or_insert(score);
        }
    }
    joined.into_iter().collect()
}

fn difference<'c>(sources: &[Source<'c>]) -> Vec<Item<'c>> {
    let Some((first, others)) = sources.split_first() else { return Vec::new() };
    let in_none =
        |(member, _): &Item<'c>| !others.iter().any(|source| source.items.score(member).is_some());
    first.items.iter().filter(in_none).collect()
}
