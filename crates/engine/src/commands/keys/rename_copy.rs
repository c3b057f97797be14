//! Keys that change their name or their database, and copies of them.

use crate::{
    commands::{int, is},
    ctx::Ctx,
    reply::{Error, Reply},
    types::Value,
};

const SAME: Error = Error::fixed("ERR source and destination objects are the same");

pub(super) fn rename(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    rename_where(ctx, args, true)?;
    Ok(Reply::OK)
}

pub(super) fn rename_nx(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    rename_where(ctx, args, false).map(|renamed| Reply::Int(renamed.into()))
}

/// Says whether the key has changed its name.
fn rename_where(ctx: &mut Ctx<'_>, args: &[&[u8]], replace: bool) -> Result<bool, Error> {
    let (from, to) = (args[1], args[2]);
    if !ctx.holds(from) {
        return Err(Error::fixed("ERR no such key"));
    }
    if from == to || (!replace && ctx.holds(to)) {
        return Ok(false);
    }
    let expires_at = ctx.expires_at(from);
    if let Some(value) = ctx.remove(from) {
        place(ctx, to, value, expires_at);
        ctx.changed(from);
    }
    Ok(true)
}

pub(super) fn copy(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (from, to) = (args[1], args[2]);
    let (mut to_db, mut replace) = (ctx.session.db, false);
    let mut options = args[3..].iter();
    while let Some(option) = options.next() {
        if is(option, "replace") {
            replace = true;
        } else if is(option, "db") {
            to_db = db_index(ctx, options.next().ok_or(Error::SYNTAX)?)?;
        } else {
            return Err(Error::SYNTAX);
        }
    }
    if to_db == ctx.session.db && from == to {
        return Err(SAME);
    }
    let Some(value) = ctx.get(from) else { return Ok(Reply::Int(0)) };
    let value = value.clone();
    let expires_at = ctx.expires_at(from);
    let copied = in_db(ctx, to_db, |ctx| {
        let free = replace || !ctx.holds(to);
        if free {
            place(ctx, to, value, expires_at);
        }
        free
    });
    Ok(Reply::Int(copied.into()))
}

pub(super) fn move_to_db(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let key = args[1];
    let to_db = db_index(ctx, args[2])?;
    if to_db == ctx.session.db {
        return Err(SAME);
    }
    if !ctx.holds(key) || in_db(ctx, to_db, |ctx| ctx.holds(key)) {
        return Ok(Reply::Int(0));
    }
    let expires_at = ctx.expires_at(key);
    if let Some(value) = ctx.remove(key) {
        in_db(ctx, to_db, |ctx| place(ctx, key, value, expires_at));
        ctx.changed(key);
    }
    Ok(Reply::Int(1))
}

/// Sets a key and its expiry, whatever it held.
fn place(ctx: &mut Ctx<'_>, key: &[u8], value: Value, expires_at: Option<u64>) {
    ctx.remove(key);
    ctx.put(key, value);
    if let Some(at) = expires_at {
        ctx.set_expires_at(key, at);
    }
    ctx.changed(key);
}

/// Does something as if the client had selected another database.
fn in_db<T>(ctx: &mut Ctx<'_>, db: usize, act: impl FnOnce(&mut Ctx<'_>) -> T) -> T {
    let home = std::mem::replace(&mut ctx.session.db, db);
    let result = act(ctx);
    ctx.session.db = home;
    result
}

/// An argument that must be the number of a database.
fn db_index(ctx: &Ctx<'_>, arg: &[u8]) -> Result<usize, Error> {
    let index = int(arg)?;
    if i32::try_from(index).is_err() {
        return Err(Error::fixed(
            "ERR value is out of range, value must between -2147483648 and 2147483647",
        ));
    }
    super::database::existing(ctx, index)
}
