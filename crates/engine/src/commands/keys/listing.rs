//! Which keys there are.

use crate::{
    commands::scan::{self, ScanOptions, ScanTarget},
    ctx::Ctx,
    glob,
    host::SplitMix,
    reply::{Error, Reply},
};

pub(super) fn keys(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (db, pattern) = (ctx.session.db, args[1]);
    let matches = |key: &&[u8]| pattern == b"*" || glob::matches(pattern, key);
    let keys = ctx.state.dbs[db].keys().filter(matches);
    Ok(Reply::bulks(keys.filter(|key| !ctx.state.is_due(db, key))))
}

pub(super) fn scan(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let cursor = scan::cursor(args[1])?;
    let options = ScanOptions::parse(&args[2..], ScanTarget::Keys)?;
    let db = ctx.session.db;
    let mut keys: Vec<Vec<u8>> = Vec::new();
    let next = options.walk(cursor, |at, n_seen| {
        ctx.state.dbs[db].scan(at, |key, value| {
            *n_seen += 1;
            if options.accepts(key) && options.accepts_type(value.type_name()) {
                keys.push(key.to_vec());
            }
        })
    });
    keys.retain(|key| !ctx.state.expire_if_due(db, key));
    Ok(scan::reply(next, keys.into_iter().map(Reply::Bulk).collect()))
}

pub(super) fn random_key(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    let db = ctx.session.db;
    let mut chance = SplitMix(ctx.random());
    // Ends: a key that is due is removed, so it is not met again.
    loop {
        let Some(key) = ctx.state.dbs[db].random_key(|| chance.next()) else {
            return Ok(Reply::Nil);
        };
        let key = key.to_vec();
        if !ctx.state.expire_if_due(db, &key) {
            return Ok(Reply::Bulk(key));
        }
    }
}
