//! CLIENT KILL: closing connections, by address or by what is known about them.

use super::{Kind, client_id};
use crate::{
    commands::is,
    ctx::Ctx,
    reply::{Error, Reply},
    session::{Delivery, Session},
};

pub(super) fn kill(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let filter = match args[2..] {
        [address] => Filter { address: Some(address), ..Filter::default() },
        _ => Filter::parse(&args[2..])?,
    };
    let others = ctx.state.clients.iter().filter(|session| filter.accepts(session));
    let others: Vec<_> = others.map(|session| session.index).collect();
    for index in &others {
        ctx.state.clients.with_mailbox(*index, |mailbox| mailbox.send(Delivery::Close));
    }
    let itself = !filter.skips_itself && filter.accepts(ctx.session);
    // It still gets its answer.
    ctx.session.closing |= itself;
    let n = others.len() + usize::from(itself);
    match args.len() {
        3 if n == 0 => Err(Error::fixed("ERR No such client")),
        3 => Ok(Reply::OK),
        _ => Ok(Reply::Int(n as i64)),
    }
}

/// Whom to close; a client has to fit everything that is given.
#[derive(Default)]
struct Filter<'a> {
    id: Option<u64>,
    kind: Option<Kind>,
    address: Option<&'a [u8]>,
    local_address: Option<&'a [u8]>,
    skips_itself: bool,
}

impl<'a> Filter<'a> {
    fn parse(args: &[&'a [u8]]) -> Result<Filter<'a>, Error> {
        let mut filter = Filter { skips_itself: true, ..Filter::default() };
        for option in args.chunks(2) {
            let &[option, value] = option else { return Err(Error::SYNTAX) };
            if is(option, "id") {
                let id = client_id(value);
                filter.id = Some(id.ok_or(Error::fixed("ERR client-id should be greater than 0"))?);
            } else if is(option, "type") {
                filter.kind = Some(Kind::parse(value)?);
            } else if is(option, "addr") {
                filter.address = Some(value);
            } else if is(option, "laddr") {
                filter.local_address = Some(value);
            } else if is(option, "user") {
                if value != b"default" {
                    let user = Error::shown(value);
                    return Err(Error::new(format!("ERR No such user '{user}'")));
                }
            } else if is(option, "skipme") {
                filter.skips_itself = match () {
                    () if is(value, "yes") => true,
                    () if is(value, "no") => false,
                    () => return Err(Error::SYNTAX),
                };
            } else {
                return Err(Error::SYNTAX);
            }
        }
        Ok(filter)
    }

    fn accepts(&self, session: &Session) -> bool {
        let about = &session.about;
        self.id.is_none_or(|id| id == session.id)
            && self.kind.is_none_or(|kind| kind == Kind::of(session))
            && self.address.is_none_or(|address| address == about.address.as_bytes())
            && self.local_address.is_none_or(|address| address == about.local_address.as_bytes())
    }
}
