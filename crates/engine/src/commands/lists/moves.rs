//! Moving an item from one list to another, at once or as soon as there is one.

use super::{add, end, end_name, lost_items, take};
use crate::{
    blocking::{End, Operation, Wait},
    commands::timeout,
    ctx::Ctx,
    reply::{Error, Reply},
};

/// From one end of a list to one end of another.
pub(super) struct Move<'a> {
    pub(super) source: &'a [u8],
    pub(super) dest: &'a [u8],
    pub(super) from: End,
    pub(super) to: End,
}

pub(super) fn lmove(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (from, to) = (end(args[3])?, end(args[4])?);
    Ok(Move { source: args[1], dest: args[2], from, to }.run(ctx)?.unwrap_or(Reply::Nil))
}

pub(super) fn rpoplpush(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let moved = Move { source: args[1], dest: args[2], from: End::Right, to: End::Left };
    Ok(moved.run(ctx)?.unwrap_or(Reply::Nil))
}

pub(super) fn blmove(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (from, to) = (end(args[3])?, end(args[4])?);
    move_or_wait(ctx, Move { source: args[1], dest: args[2], from, to }, args[5])
}

pub(super) fn brpoplpush(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let moved = Move { source: args[1], dest: args[2], from: End::Right, to: End::Left };
    move_or_wait(ctx, moved, args[3])
}

fn move_or_wait(ctx: &mut Ctx<'_>, moved: Move<'_>, seconds: &[u8]) -> Result<Reply, Error> {
    let deadline_ms = timeout(ctx, seconds)?;
    if let Some(reply) = moved.run(ctx)? {
        moved.log(ctx);
        return Ok(reply);
    }
    if !ctx.atomic {
        let Move { source, dest, from, to } = moved;
        let operation = Operation::MoveList { from, to, dest: dest.into() };
        ctx.block(Wait { db: ctx.session.db, keys: vec![source.into()], operation, deadline_ms });
    }
    Ok(Reply::Nil)
}

impl Move<'_> {
    /// Moves an item and answers it; `None` if the source is empty.
    pub(super) fn run(&self, ctx: &mut Ctx<'_>) -> Result<Option<Reply>, Error> {
        if ctx.list_mut(self.source)?.is_none() {
            return Ok(None);
        }
        // The destination must be fit before anything is taken.
        ctx.list_mut(self.dest)?;
        let Some(list) = ctx.list_mut(self.source)? else { return Ok(None) };
        let Some(item) = take(list, self.from) else { return Ok(None) };
        let reply = Reply::bulk(&item);
        if self.source == self.dest {
            add(list, self.to, item);
        } else {
            let is_empty = list.is_empty();
            lost_items(ctx, self.source, is_empty);
            add(ctx.list_or_new(self.dest)?, self.to, item);
        }
        ctx.changed(self.dest);
        Ok(Some(reply))
    }

    /// Logs the move as one that did not wait.
    pub(super) fn log(&self, ctx: &mut Ctx<'_>) {
        let (from, to) = (end_name(self.from), end_name(self.to));
        ctx.log_instead(&[b"LMOVE", self.source, self.dest, from, to]);
    }
}
