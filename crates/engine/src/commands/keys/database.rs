//! Whole databases: counting, emptying and swapping them.

use super::discard::discard_later;
use crate::{
    commands::is,
    ctx::Ctx,
    db::Db,
    num::parse_int,
    reply::{Error, Reply},
};

pub(super) fn db_size(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::Int(ctx.state.dbs[ctx.session.db].len() as i64))
}

pub(super) fn flush_db(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let later = is_async(args)?;
    empty(ctx, ctx.session.db, later);
    Ok(Reply::OK)
}

pub(super) fn flush_all(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let later = is_async(args)?;
    (0..ctx.state.dbs.len()).for_each(|db| empty(ctx, db, later));
    Ok(Reply::OK)
}

fn is_async(args: &[&[u8]]) -> Result<bool, Error> {
    match args[1..] {
        [] => Ok(false),
        [option] if is(option, "sync") => Ok(false),
        [option] if is(option, "async") => Ok(true),
        _ => Err(Error::SYNTAX),
    }
}

fn empty(ctx: &mut Ctx<'_>, db: usize, later: bool) {
    let state = &mut *ctx.state;
    if state.dbs[db].is_empty() {
        return;
    }
    // A rewrite would first have to save every key that is about to go.
    state.restart_rewrite();
    state.watchers.touch_all(db, |key| state.dbs[db].contains(key));
    let emptied = std::mem::replace(&mut state.dbs[db], Db::new(state.seed));
    state.dirty += 1;
    if later {
        discard_later(emptied);
    }
}

pub(super) fn swap_db(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let number = |arg: &[u8], error: &'static str| {
        let number = parse_int(arg).filter(|n| i32::try_from(*n).is_ok());
        number.ok_or(Error::fixed(error))
    };
    let a = number(args[1], "ERR invalid first DB index")?;
    let b = number(args[2], "ERR invalid second DB index")?;
    let (a, b) = (existing(ctx, a)?, existing(ctx, b)?);
    let state = &mut *ctx.state;
    state.dirty += 1;
    if a == b {
        return Ok(Reply::OK);
    }
    // Its walk goes by database and would miss keys or meet them twice.
    state.restart_rewrite();
    for db in [a, b] {
        let dbs = &state.dbs;
        state.watchers.touch_all(db, |key| dbs[a].contains(key) || dbs[b].contains(key));
    }
    state.dbs.swap(a, b);
    for db in [a, b] {
        let dbs = &state.dbs;
        state.waiting.signal_all(db, |key| dbs[db].contains(key));
    }
    Ok(Reply::OK)
}

/// The database with this number.
pub(super) fn existing(ctx: &Ctx<'_>, index: i64) -> Result<usize, Error> {
    usize::try_from(index)
        .ok()
        .filter(|index| *index < ctx.state.dbs.len())
        .ok_or(Error::fixed("ERR DB index is out of range"))
}
