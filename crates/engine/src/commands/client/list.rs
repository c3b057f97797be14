//! CLIENT LIST and CLIENT INFO: a line for each client.

use std::fmt::Write;

use super::Kind;
use crate::{
    commands::is,
    ctx::Ctx,
    num::parse_int,
    reply::{Error, Reply},
    session::Session,
    state::State,
};

pub(super) fn info(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    let mut text = String::new();
    describe(&mut text, ctx.state, ctx.session);
    Ok(Reply::Verbatim(text))
}

pub(super) fn list(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let chosen = ClientFilter::parse(&args[2..])?;
    let own = std::iter::once(&*ctx.session);
    let mut sessions: Vec<&Session> =
        ctx.state.clients.iter().chain(own).filter(|session| chosen.accepts(session)).collect();
    sessions.sort_by_key(|session| session.id);
    let mut text = String::new();
    for session in sessions {
        describe(&mut text, ctx.state, session);
    }
    Ok(Reply::Verbatim(text))
}

/// Which clients to list.
enum ClientFilter {
    All,
    Of(Kind),
    Ids(Vec<i64>),
}

impl ClientFilter {
    fn parse(options: &[&[u8]]) -> Result<ClientFilter, Error> {
        match options {
            [] => Ok(ClientFilter::All),
            [option, kind] if is(option, "type") => Ok(ClientFilter::Of(Kind::parse(kind)?)),
            [option, ids @ ..] if is(option, "id") && !ids.is_empty() => {
                let ids: Option<_> = ids.iter().map(|id| parse_int(id)).collect();
                Ok(ClientFilter::Ids(ids.ok_or(Error::fixed("ERR Invalid client ID"))?))
            }
            _ => Err(Error::SYNTAX),
        }
    }

    fn accepts(&self, session: &Session) -> bool {
        match self {
            ClientFilter::All => true,
            ClientFilter::Of(kind) => *kind == Kind::of(session),
            ClientFilter::Ids(ids) => ids.contains(&(session.id as i64)),
        }
    }
}

/// One line. What Redis tells about its own buffers is 0 here.
fn describe(text: &mut String, state: &State, session: &Session) {
    let about = &session.about;
    let seconds_since = |at_us: u64| state.now_us().saturating_sub(at_us) / 1_000_000;
    let subscriptions = &session.subscriptions;
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "id={} addr={} laddr={} fd=0 name={} age={} idle={} flags={} db={} sub={} psub={} ssub={} multi={} ",
        session.id,
        about.address,
        about.local_address,
        String::from_utf8_lossy(&about.name),
        seconds_since(about.created_us),
        seconds_since(about.active_us),
        flags(state, session),
        session.db,
        subscriptions.channels.len(),
        subscriptions.patterns.len(),
        subscriptions.shard_channels.len(),
        session.transaction.as_ref().map_or(-1, |transaction| transaction.queue.len() as i64),
    );
    let _ = writeln!(
        text,
        "qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd={} user=default redir=-1 resp={} lib-name={} lib-ver={}",
        about.last_command.map_or("NULL", |command| command.name),
        session.resp,
        about.lib_name,
        about.lib_version,
    );
}

fn flags(state: &State, session: &Session) -> String {
    let flags = [
        ('O', session.is_monitor),
        ('P', !session.subscriptions.is_empty()),
        ('x', session.transaction.is_some()),
        ('b', session.wait.is_some()),
        ('d', state.watchers.is_touched(session.index)),
        ('c', session.closing),
    ];
    let set: String = flags.iter().filter(|(_, set)| *set).map(|(flag, _)| flag).collect();
    if set.is_empty() { "N".into() } else { set }
}
