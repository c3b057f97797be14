//! Reading fields.

use crate::{
    commands::scan::{self, ScanOptions, ScanTarget},
    ctx::Ctx,
    reply::{Error, Reply},
    types::Hash,
};

pub(super) fn hget(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let hash = ctx.hash(args[1])?;
    Ok(Reply::bulk_or_nil(hash.and_then(|hash| hash.get(args[2]))))
}

pub(super) fn hmget(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let fields = &args[2..];
    let mut values: Vec<Reply> = fields.iter().map(|_| Reply::Nil).collect();
    if let Some(hash) = ctx.hash(args[1])? {
        // Only what is there is written: made and then moved, a reply is read before it has reached memory in one piece,
        // and those waits took as long as all the rest.
        let mut places = values.iter_mut();
        hash.get_each(fields, |value| {
            if let (Some(place), Some(value)) = (places.next(), value) {
                *place = Reply::bulk(value);
            }
        });
    }
    Ok(Reply::Array(values))
}

pub(super) fn hexists(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let exists = ctx.hash(args[1])?.is_some_and(|hash| hash.contains(args[2]));
    Ok(Reply::Int(exists.into()))
}

pub(super) fn hstrlen(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let value = ctx.hash(args[1])?.and_then(|hash| hash.get(args[2]));
    Ok(Reply::Int(value.map_or(0, <[u8]>::len) as i64))
}

pub(super) fn hlen(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::Int(ctx.hash(args[1])?.map_or(0, Hash::len) as i64))
}

pub(super) fn hgetall(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let pairs = ctx.hash(args[1])?.into_iter().flat_map(Hash::iter);
    Ok(Reply::Map(pairs.map(|(field, value)| (Reply::bulk(field), Reply::bulk(value))).collect()))
}

pub(super) fn hkeys(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let pairs = ctx.hash(args[1])?.into_iter().flat_map(Hash::iter);
    Ok(Reply::bulks(pairs.map(|(field, _)| field)))
}

pub(super) fn hvals(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let pairs = ctx.hash(args[1])?.into_iter().flat_map(Hash::iter);
    Ok(Reply::bulks(pairs.map(|(_, value)| value)))
}

pub(super) fn hscan(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let cursor = scan::cursor(args[2])?;
    let Some(hash) = ctx.hash(args[1])? else { return Ok(scan::empty()) };
    let options = ScanOptions::parse(&args[3..], ScanTarget::Value)?;
    let mut items = Vec::new();
    let next = options.walk(cursor, |at, n_seen| {
        hash.scan(at, |field, value| {
            *n_seen += 1;
            if options.accepts(field) {
                items.extend([Reply::bulk(field), Reply::bulk(value)]);
            }
        })
    });
    Ok(scan::reply(next, items))
}
