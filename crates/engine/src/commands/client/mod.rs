//! CLIENT: what a client says about itself and does to others.

mod kill;
mod list;

#[cfg(test)]
mod tests;

use super::{connection::check_name, help::help, int, is};
use crate::{
    ctx::Ctx,
    num::parse_int,
    reply::{Error, Reply},
    session::{Delivery, ReplyMode, Session},
    table::{Command, Flags, Group, Keys},
};

const ANY_TIME: Flags = Flags::LOADING.or(Flags::STALE);
const OWN: Flags = Flags::NOSCRIPT.or(ANY_TIME);
const OTHERS: Flags = Flags::ADMIN.or(OWN);

pub(super) static COMMANDS: &[Command] =
    &[Command::new("client", -2, Flags::NONE, Keys::None, help)
        .doc(Group::Connection, "2.4.0", "Shows and manages the connected clients")
        .with(SUBCOMMANDS)];

const fn sub(
    name: &'static str,
    arity: i32,
    flags: Flags,
    handler: crate::table::Handler,
    since: &'static str,
    summary: &'static str,
) -> Command {
    Command::new(name, arity, flags, Keys::None, handler).doc(Group::Connection, since, summary)
}

static SUBCOMMANDS: &[Command] = &[
    sub("client|id", 2, OWN, id, "5.0.0", "Tells the client's number"),
    sub("client|setname", 3, OWN, setname, "2.6.9", "Gives the client a name"),
    sub("client|getname", 2, OWN, getname, "2.6.9", "Tells the client's name"),
    sub("client|setinfo", 4, OWN, setinfo, "7.2.0", "Tells which library the client uses"),
    sub("client|info", 2, OWN, list::info, "6.2.0", "Describes the client"),
    sub("client|list", -2, OTHERS, list::list, "2.4.0", "Describes all clients"),
    sub("client|kill", -3, OTHERS, kill::kill, "2.4.0", "Closes connections"),
    sub("client|unblock", -3, OTHERS, unblock, "5.0.0", "Ends another client's wait"),
    sub("client|reply", 3, OWN, reply, "3.2.0", "Turns answers off and on"),
    sub("client|no-evict", 3, OTHERS, no_evict, "7.0.0", "Accepted, as clients are never evicted"),
    sub("client|getredir", 2, OWN, getredir, "6.0.0", "Tells that no tracking is redirected"),
    sub("client|tracking", -3, OWN, tracking, "6.0.0", "Turns tracking of keys off"),
    sub("client|trackinginfo", 2, OWN, trackinginfo, "6.2.0", "Tells that tracking is off"),
    sub("client|help", 2, ANY_TIME, help, "5.0.0", "Shows this help"),
];

fn id(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::Int(ctx.session.id as i64))
}

fn setname(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    check_name(args[2], "Client names")?;
    ctx.session.about.name = args[2].to_vec();
    Ok(Reply::OK)
}

fn getname(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    let name = &ctx.session.about.name;
    Ok(if name.is_empty() { Reply::Nil } else { Reply::bulk(name) })
}

/// Newer than Redis 7.0, but most client libraries send it and some mind the error.
fn setinfo(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (option, value) = (args[2], args[3]);
    let name = String::from_utf8_lossy(option).to_lowercase();
    let about = &mut ctx.session.about;
    let field = match &*name {
        "lib-name" => &mut about.lib_name,
        "lib-ver" => &mut about.lib_version,
        _ => {
            let option = Error::shown(option);
            return Err(Error::new(format!("ERR Unrecognized option '{option}'")));
        }
    };
    check_name(value, &name)?;
    *field = String::from_utf8_lossy(value).into_owned();
    Ok(Reply::OK)
}

fn unblock(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let reply = match args[3..] {
        [] => Reply::NilArray,
        [reason] if is(reason, "timeout") => Reply::NilArray,
        [reason] if is(reason, "error") => {
            Error::fixed("UNBLOCKED client unblocked via CLIENT UNBLOCK").into()
        }
        [..] => {
            return Err(Error::fixed("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"));
        }
    };
    let id = int(args[2])?;
    let waiting = ctx.state.clients.iter().find(|other| other.id as i64 == id);
    let waiting = waiting.filter(|other| other.wait.is_some()).map(|other| other.index);
    let Some(mut other) = waiting.and_then(|index| ctx.state.clients.take(index)) else {
        return Ok(Reply::Int(0));
    };
    ctx.state.unblock(&mut other);
    other.mailbox.send(Delivery::Served { reply, position: 0 });
    ctx.state.clients.put(other);
    Ok(Reply::Int(1))
}

fn reply(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let mode = args[2];
    if is(mode, "on") {
        ctx.session.reply_mode = ReplyMode::On;
        return Ok(Reply::OK);
    }
    if is(mode, "off") {
        ctx.session.reply_mode = ReplyMode::Off;
    } else if !is(mode, "skip") {
        return Err(Error::SYNTAX);
    } else if ctx.session.reply_mode != ReplyMode::Off {
        ctx.session.reply_mode = ReplyMode::SkipNext;
    }
    Ok(Reply::None)
}

fn no_evict(_ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    if is(args[2], "on") || is(args[2], "off") { Ok(Reply::OK) } else { Err(Error::SYNTAX) }
}

fn getredir(_ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::Int(-1))
}

fn tracking(_ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    if is(args[2], "off") {
        Ok(Reply::OK)
    } else if is(args[2], "on") {
        Err(Error::fixed("ERR CLIENT TRACKING is not supported by this engine"))
    } else {
        Err(Error::SYNTAX)
    }
}

fn trackinginfo(_ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::Map(vec![
        (Reply::bulk("flags"), Reply::Set(vec![Reply::bulk("off")])),
        (Reply::bulk("redirect"), Reply::Int(-1)),
        (Reply::bulk("prefixes"), Reply::Array(Vec::new())),
    ]))
}

/// The kinds of client that LIST and KILL choose by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    PubSub,
    /// Masters and replicas, of which there are none.
    Replication,
}

impl Kind {
    fn parse(arg: &[u8]) -> Result<Kind, Error> {
        match &*String::from_utf8_lossy(arg).to_lowercase() {
            "normal" => Ok(Kind::Normal),
            "pubsub" => Ok(Kind::PubSub),
            "master" | "replica" | "slave" => Ok(Kind::Replication),
            _ => {
                let kind = Error::shown(arg);
                Err(Error::new(format!("ERR Unknown client type '{kind}'")))
            }
        }
    }

    fn of(session: &Session) -> Kind {
        if session.subscriptions.is_empty() { Kind::Normal } else { Kind::PubSub }
    }
}

/// A client's number as KILL takes it.
fn client_id(arg: &[u8]) -> Option<u64> {
    parse_int(arg).and_then(|id| u64::try_from(id).ok()).filter(|id| *id > 0)
}
