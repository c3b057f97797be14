//! Scores and ranks of single members, and walking all of them.

use crate::{
    commands::scan::{self, ScanOptions, ScanTarget},
    ctx::Ctx,
    num::{format_double, format_int},
    reply::{Error, Reply},
    types::ZSet,
};

pub(super) fn zcard(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::Int(ctx.zset(args[1])?.map_or(0, ZSet::len) as i64))
}

pub(super) fn zscore(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let zset = ctx.zset(args[1])?;
    Ok(score(zset, args[2]))
}

pub(super) fn zmscore(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let members = &args[2..];
    let Some(zset) = ctx.zset(args[1])? else {
        return Ok(Reply::Array(members.iter().map(|_| Reply::Nil).collect()));
    };
    let mut scores = Vec::with_capacity(members.len());
    zset.score_each(members, |score| scores.push(score.map_or(Reply::Nil, Reply::Double)));
    Ok(Reply::Array(scores))
}

fn score(zset: Option<&ZSet>, member: &[u8]) -> Reply {
    zset.and_then(|zset| zset.score(member)).map_or(Reply::Nil, Reply::Double)
}

pub(super) fn zrank(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let rank = ctx.zset(args[1])?.and_then(|zset| zset.rank(args[2]));
    Ok(rank.map_or(Reply::Nil, |rank| Reply::Int(rank as i64)))
}

pub(super) fn zrevrank(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let from_last = |zset: &ZSet| zset.rank(args[2]).map(|rank| zset.len() - 1 - rank);
    let rank = ctx.zset(args[1])?.and_then(from_last);
    Ok(rank.map_or(Reply::Nil, |rank| Reply::Int(rank as i64)))
}

pub(super) fn zscan(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let cursor = scan::cursor(args[2])?;
    let Some(zset) = ctx.zset(args[1])? else { return Ok(scan::empty()) };
    let options = ScanOptions::parse(&args[3..], ScanTarget::Value)?;
    let mut items = Vec::new();
    let next = options.walk(cursor, |at, n_seen| {
        zset.scan(at, |member, score| {
            *n_seen += 1;
            if options.accepts(member) {
                items.extend([Reply::bulk(member), scanned(zset, score)]);
            }
        })
    });
    Ok(scan::reply(next, items))
}

/// A score as ZSCAN shows it: a text in both protocols, unlike the scores of all other commands, and of a small set all
/// digits of an integer, which Redis keeps as one there.
fn scanned(zset: &ZSet, score: f64) -> Reply {
    const INTEGER_MAX: f64 = (i64::MAX / 2) as f64;
    let is_integer = score == score.trunc() && score.abs() <= INTEGER_MAX;
    Reply::Bulk(if is_integer && matches!(zset, ZSet::Small(_)) {
        format_int(score as i64)
    } else {
        format_double(score).into_bytes()
    })
}
