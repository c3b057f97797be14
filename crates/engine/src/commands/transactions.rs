//! Transactions: MULTI queues, EXEC runs the queue as one unit unless a watched key has changed.

use crate::{
    ctx::Ctx,
    exec,
    reply::{Error, Reply},
    session::{Queued, Transaction, Watch},
    table::{Command, Flags, Group, Keys},
};

const ANY_TIME: Flags = Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE);
const QUICK: Flags = ANY_TIME.or(Flags::FAST).or(Flags::ALLOW_BUSY);

pub(super) static COMMANDS: &[Command] = &[
    Command::new("multi", 1, QUICK, Keys::None, multi).doc(
        Group::Transactions,
        "1.2.0",
        "Starts a transaction: what follows is queued",
    ),
    Command::new("exec", 1, ANY_TIME.or(Flags::SKIP_SLOWLOG), Keys::None, exec).doc(
        Group::Transactions,
        "1.2.0",
        "Runs all queued commands at once",
    ),
    Command::new("discard", 1, QUICK, Keys::None, discard).doc(
        Group::Transactions,
        "2.0.0",
        "Forgets all queued commands",
    ),
    Command::new("watch", -2, QUICK, Keys::ALL, watch).doc(
        Group::Transactions,
        "2.2.0",
        "Makes the next transaction run only if these keys stay as they are",
    ),
    Command::new("unwatch", 1, QUICK, Keys::None, unwatch).doc(
        Group::Transactions,
        "2.2.0",
        "Ends all watches",
    ),
];

fn multi(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    if ctx.session.transaction.is_some() {
        return Err(Error::fixed("ERR MULTI calls can not be nested"));
    }
    ctx.session.transaction = Some(Transaction::default());
    Ok(Reply::OK)
}

fn discard(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    if ctx.session.transaction.take().is_none() {
        return Err(Error::fixed("ERR DISCARD without MULTI"));
    }
    ctx.state.unwatch(ctx.session);
    Ok(Reply::OK)
}

fn exec(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    let transaction =
        ctx.session.transaction.take().ok_or(Error::fixed("ERR EXEC without MULTI"))?;
    let outdated = has_watched_change(ctx);
    ctx.state.unwatch(ctx.session);
    if transaction.broken {
        return Err(Error::fixed("EXECABORT Transaction discarded because of previous errors."));
    }
    if outdated {
        return Ok(Reply::NilArray);
    }
    if transaction.queue.iter().any(|queued| queued.command.has(Flags::WRITE)) {
        exec::writable(ctx.state).map_err(|error| exec::abort_error(&error))?;
    }
    ctx.atomic = true;
    let replies = transaction.queue.iter().map(|queued| run(ctx, queued)).collect();
    ctx.atomic = false;
    Ok(Reply::Array(replies))
}

fn run(ctx: &mut Ctx<'_>, queued: &Queued) -> Reply {
    let args: Vec<&[u8]> = queued.args.iter().map(|arg| &**arg).collect();
    exec::call(ctx, queued.command, &args)
}

/// Whether a watched key was changed, or has come to its end without anybody having noticed yet.
fn has_watched_change(ctx: &Ctx<'_>) -> bool {
    ctx.state.watchers.is_touched(ctx.session.index)
        || ctx.session.watching.iter().any(|watch| ctx.state.is_due(watch.db, &watch.key))
}

fn watch(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    if ctx.session.transaction.is_some() {
        return Err(Error::fixed("ERR WATCH inside MULTI is not allowed"));
    }
    let db = ctx.session.db;
    for key in &args[1..] {
        // What has expired already is gone from the start: its removal later would look like a change.
        ctx.state.expire_if_due(db, key);
        ctx.state.watchers.add(ctx.session, Watch { db, key: (*key).into() });
    }
    Ok(Reply::OK)
}

fn unwatch(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    ctx.state.unwatch(ctx.session);
    Ok(Reply::OK)
}

#[cfg(test)]
mod tests {
    use crate::test_engine::TestEngine;

    #[test]
    fn exec_answers_for_every_queued_command() {
        TestEngine::new().check(
            "multi => +OK
             rpush l a => +QUEUED
             lset l 5 x => +QUEUED
             lpop l => +QUEUED
             blpop l 0 => +QUEUED
             blmove l l left left 0 => +QUEUED
             exec => *5 :1 -ERR index out of range $1 a *-1 $-1
             exec => -ERR EXEC without MULTI",
        );
    }

    #[test]
    fn exec_refuses_after_a_command_that_could_not_be_queued() {
        TestEngine::new().check(
            "multi => +OK
             rpush l a => +QUEUED
             rpush l => -ERR wrong number of arguments for 'rpush' command
             exec => -EXECABORT Transaction discarded because of previous errors.
             llen l => :0
             multi => +OK
             exec now => -EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command
             exec => -ERR EXEC without MULTI",
        );
    }

    #[test]
    fn a_misplaced_multi_or_watch_does_not_spoil_the_transaction() {
        TestEngine::new().check(
            "multi => +OK
             multi => -ERR MULTI calls can not be nested
             watch l => -ERR WATCH inside MULTI is not allowed
             rpush l a => +QUEUED
             exec => *1 :1
             multi => +OK
             rpush l b => +QUEUED
             discard => +OK
             discard => -ERR DISCARD without MULTI
             llen l => :1",
        );
    }

    #[test]
    fn exec_answers_nil_when_a_watched_key_has_changed() {
        let mut rig = TestEngine::new();
        let other = rig.connect();
        rig.check("watch l m => +OK");
        rig.run_as(other, "rpush m x");
        rig.check(
            "multi => +OK
             rpush l a => +QUEUED
             exec => *-1
             multi => +OK
             rpush l a => +QUEUED
             exec => *1 :1
             watch l => +OK
             rpush l b => :2
             unwatch => +OK
             multi => +OK
             exec => *0",
        );
    }

    #[test]
    fn a_watched_key_that_expires_counts_as_changed() {
        let mut rig = TestEngine::new();
        rig.check(
            "rpush l a => :1
             watch l => +OK",
        );
        rig.state.dbs[0].set_expires_at(b"l", rig.clock.now_ms() + 5);
        rig.clock.advance_ms(5);
        rig.check(
            "multi => +OK
             exec => *-1",
        );
    }

    #[test]
    fn a_key_that_had_expired_before_the_watch_does_not() {
        let mut rig = TestEngine::new();
        rig.check("rpush l a => :1");
        rig.state.dbs[0].set_expires_at(b"l", rig.clock.now_ms());
        rig.check(
            "watch l => +OK
             llen l => :0
             multi => +OK
             exec => *0",
        );
    }

    #[test]
    fn clients_that_wait_are_served_after_the_whole_transaction() {
        let mut rig = TestEngine::new();
        let waiter = rig.connect();
        assert_eq!(rig.run_as(waiter, "blpop l 0"), None);
        rig.check(
            "multi => +OK
             rpush l a b => +QUEUED
             lpop l => +QUEUED
             exec => *2 :2 $1 a",
        );
        assert_eq!(rig.delivered(waiter), [crate::reply::Reply::bulks(["l", "b"])]);
    }
}
