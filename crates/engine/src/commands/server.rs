//! Looking after the server: time, the log, monitoring, and answers to questions about what the engine does not have.

use super::{help::help, int, is};
use crate::{
    ctx::Ctx,
    num::parse_int,
    reply::{Error, Reply},
    table::{Command, Flags, Group, Handler, Keys},
};

const ANY_TIME: Flags = Flags::LOADING.or(Flags::STALE);
const FAST: Flags = ANY_TIME.or(Flags::FAST);
const ADMIN: Flags = Flags::ADMIN.or(Flags::NOSCRIPT);
const DUMP: Flags = ADMIN.or(Flags::NO_ASYNC_LOADING);
const STOP: Flags = ADMIN.or(ANY_TIME).or(Flags::NO_MULTI).or(Flags::ALLOW_BUSY);

const fn row(
    name: &'static str,
    arity: i32,
    flags: Flags,
    handler: Handler,
    since: &'static str,
    summary: &'static str,
) -> Command {
    Command::new(name, arity, flags, Keys::None, handler).doc(Group::Server, since, summary)
}

pub(super) static COMMANDS: &[Command] = &[
    row("time", 1, FAST, time, "2.6.0", "Tells the time in seconds and microseconds"),
    row(
        "bgrewriteaof",
        1,
        DUMP,
        bgrewriteaof,
        "1.0.0",
        "Rewrites the log without what is outdated",
    ),
    row("shutdown", -1, STOP, shutdown, "1.0.0", "Asks the program to stop"),
    row("monitor", 1, ADMIN.or(ANY_TIME), monitor, "1.0.0", "Shows every command as it is run"),
    row(
        "save",
        1,
        DUMP.or(Flags::NO_MULTI),
        no_snapshots,
        "1.0.0",
        "Refused: there are no snapshots",
    ),
    row("bgsave", -1, DUMP, no_snapshots, "1.0.0", "Refused: there are no snapshots"),
    row("lastsave", 1, FAST, no_snapshots, "1.0.0", "Refused: there are no snapshots"),
    row("debug", -2, ADMIN.or(ANY_TIME), debug, "1.0.0", "Refused: there is nothing to debug with"),
    row("role", 1, Flags::NOSCRIPT.or(FAST), role, "2.8.12", "Tells that this is a master"),
    Command::new("wait", 3, Flags::NOSCRIPT, Keys::None, wait).doc(
        Group::Generic,
        "3.0.0",
        "Tells that no replica has the writes so far, there being none",
    ),
    row("latency", -2, Flags::NONE, help, "2.8.13", "Tells of delays, of which none are kept")
        .with(LATENCY),
    row(
        "slowlog",
        -2,
        Flags::NONE,
        help,
        "2.2.12",
        "Tells of slow commands, of which none are kept",
    )
    .with(SLOWLOG),
    row("acl", -2, Flags::NONE, help, "6.0.0", "Tells about users, of whom there is one").with(ACL),
];

static LATENCY: &[Command] = &[
    row("latency|latest", 2, ADMIN.or(ANY_TIME), nothing, "2.8.13", "Lists the latest delays"),
    row("latency|history", 3, ADMIN.or(ANY_TIME), nothing, "2.8.13", "Lists delays of one kind"),
    row("latency|reset", -2, ADMIN.or(ANY_TIME), zero, "2.8.13", "Forgets all delays"),
    row("latency|help", 2, ANY_TIME, help, "2.8.13", "Shows this help"),
];

static SLOWLOG: &[Command] = &[
    row("slowlog|get", -2, SLOW, slowlog_get, "2.2.12", "Lists the latest slow commands"),
    row("slowlog|len", 2, SLOW, zero, "2.2.12", "Counts slow commands"),
    row("slowlog|reset", 2, SLOW, ok, "2.2.12", "Forgets slow commands"),
    row("slowlog|help", 2, ANY_TIME, help, "6.2.0", "Shows this help"),
];

const SLOW: Flags = Flags::ADMIN.or(ANY_TIME);

static ACL: &[Command] = &[
    row("acl|whoami", 2, Flags::NOSCRIPT.or(ANY_TIME), whoami, "6.0.0", "Tells the user's name"),
    row("acl|help", 2, ANY_TIME, help, "6.0.0", "Shows this help"),
];

fn time(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    let now_us = ctx.state.now_us();
    Ok(Reply::bulks([(now_us / 1_000_000).to_string(), (now_us % 1_000_000).to_string()]))
}

fn bgrewriteaof(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    if ctx.state.log.is_none() {
        return Err(Error::fixed(
            "ERR the engine runs in memory only, so there is no log to rewrite",
        ));
    }
    if ctx.state.rewrite.is_running() || ctx.state.rewrite.wanted {
        return Err(Error::fixed("ERR Background append only file rewriting already in progress"));
    }
    // Begun by the housekeeper: inside a transaction this would be in the middle of a unit.
    ctx.state.rewrite.wanted = true;
    Ok(Reply::Status("Background append only file rewriting started".into()))
}

fn shutdown(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let has = |name: &str| args[1..].iter().any(|arg| is(arg, name));
    let known = ["save", "nosave", "now", "force", "abort"];
    let all_known = args[1..].iter().all(|arg| known.iter().any(|name| is(arg, name)));
    let (abort, alone) = (has("abort"), args.len() == 2);
    if !all_known || (has("save") && has("nosave")) || (abort && !alone) {
        return Err(Error::SYNTAX);
    }
    if abort {
        return Err(Error::fixed("ERR No shutdown in progress."));
    }
    ctx.state.shutdown.notify_one();
    // Redis hangs up without an answer.
    ctx.session.closing = true;
    Ok(Reply::None)
}

fn monitor(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    if ctx.atomic {
        return Err(Error::fixed("ERR MONITOR isn't allowed for DENY BLOCKING client"));
    }
    ctx.state.pubsub.start_monitor(ctx.session);
    Ok(Reply::OK)
}

fn no_snapshots(_ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Err(Error::fixed(
        "ERR there are no snapshots: every change goes to the log, which BGREWRITEAOF makes compact",
    ))
}

fn debug(_ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Err(Error::fixed("ERR DEBUG command not allowed: this engine has no debug commands"))
}

fn role(_ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::Array(vec![Reply::bulk("master"), Reply::Int(0), Reply::Array(Vec::new())]))
}

fn wait(_ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    int(args[1])?;
    let timeout =
        parse_int(args[2]).ok_or(Error::fixed("ERR timeout is not an integer or out of range"))?;
    if timeout < 0 {
        return Err(Error::fixed("ERR timeout is negative"));
    }
    Ok(Reply::Int(0))
}

fn slowlog_get(_ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    if args.get(2).is_some_and(|count| parse_int(count).is_none_or(|count| count < -1)) {
        return Err(Error::fixed("ERR count should be greater than or equal to -1"));
    }
    Ok(Reply::Array(Vec::new()))
}

fn whoami(_ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::bulk("default"))
}

fn nothing(_ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::Array(Vec::new()))
}

fn zero(_ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::Int(0))
}

fn ok(_ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::OK)
}

#[cfg(test)]
mod tests {
    use crate::{reply::Reply, test_engine::TestEngine};

    #[test]
    fn monitors_see_commands_without_their_secrets() {
        let mut rig = TestEngine::new();
        let monitor = rig.connect();
        assert_eq!(rig.run_as(monitor, "monitor"), Some(Reply::OK));
        for command in ["multi", "rpush l a\tb", "exec", "auth default secret", "config get x"] {
            rig.run(command);
        }
        rig.run("hello 2 auth default secret setname me");
        let shown: Vec<String> = rig
            .delivered(monitor)
            .into_iter()
            .map(|message| match message {
                Reply::Status(line) => line.into_owned(),
                other => panic!("{other:?} was delivered to a monitor"),
            })
            .collect();
        let expected = [
            r#"1700000000.000000 [0 ] "multi""#,
            r#"1700000000.000000 [0 ] "rpush" "l" "a\tb""#,
            r#"1700000000.000000 [0 ] "exec""#,
            r#"1700000000.000000 [0 ] "auth" "(redacted)" "(redacted)""#,
            r#"1700000000.000000 [0 ] "hello" "2" "auth" "(redacted)" "(redacted)" "setname" "me""#,
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn time_is_seconds_and_microseconds() {
        TestEngine::new().check("time => *2 $10 1700000000 $1 0");
    }

    #[test]
    fn shutdown_hangs_up_without_an_answer() {
        let mut rig = TestEngine::new();
        rig.check(
            "shutdown soon => -ERR syntax error
             shutdown save nosave => -ERR syntax error
             shutdown abort now => -ERR syntax error
             shutdown abort => -ERR No shutdown in progress.
             multi => +OK
             shutdown => -ERR Command not allowed inside a transaction
             discard => +OK",
        );
        let executed = rig.execute(0, "shutdown nosave");
        assert_eq!(executed.reply, Some(Reply::None));
        assert!(executed.close);
    }

    #[test]
    fn what_the_engine_lacks_is_said_in_redis_terms() {
        TestEngine::new().check(
            "wait 1 0 => :0
             wait x 0 => -ERR value is not an integer or out of range
             wait 1 -1 => -ERR timeout is negative
             wait 1 x => -ERR timeout is not an integer or out of range
             role => *3 $6 master :0 *0
             slowlog get 10 => *0
             slowlog get -2 => -ERR count should be greater than or equal to -1
             slowlog len => :0
             slowlog reset => +OK
             latency latest => *0
             acl whoami => $7 default
             acl users => -ERR unknown subcommand 'users'. Try ACL HELP.",
        );
    }
}
