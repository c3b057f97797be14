//! A client and its connection: PING, HELLO, AUTH, SELECT and their like.

use super::is;
use crate::{
    ctx::Ctx,
    num::parse_int,
    reply::{Error, Reply},
    session::{ReplyMode, Session},
    table::{Command, Flags, Group, Keys},
};

/// The Redis that this engine behaves like.
pub(super) const REDIS_VERSION: &str = "7.0.15";

const ANY_TIME: Flags = Flags::LOADING.or(Flags::STALE).or(Flags::FAST);
const BEFORE_AUTH: Flags = Flags::NOSCRIPT.or(ANY_TIME).or(Flags::NO_AUTH).or(Flags::ALLOW_BUSY);

pub(super) static COMMANDS: &[Command] = &[
    Command::new("ping", -1, Flags::FAST, Keys::None, ping).doc(
        Group::Connection,
        "1.0.0",
        "Answers, to show that somebody is there",
    ),
    Command::new("echo", 2, ANY_TIME, Keys::None, echo).doc(
        Group::Connection,
        "1.0.0",
        "Answers what it was given",
    ),
    Command::new("hello", -1, BEFORE_AUTH, Keys::None, hello).doc(
        Group::Connection,
        "6.0.0",
        "Chooses the protocol version and introduces the client",
    ),
    Command::new("auth", -2, BEFORE_AUTH, Keys::None, auth).doc(
        Group::Connection,
        "1.0.0",
        "Gives the password",
    ),
    Command::new("quit", -1, BEFORE_AUTH, Keys::None, quit).doc(
        Group::Connection,
        "1.0.0",
        "Closes the connection",
    ),
    Command::new("reset", 1, BEFORE_AUTH, Keys::None, reset).doc(
        Group::Connection,
        "6.2.0",
        "Makes the connection as good as new",
    ),
    Command::new("select", 2, ANY_TIME, Keys::None, select).doc(
        Group::Connection,
        "1.0.0",
        "Changes to another database",
    ),
];

fn ping(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    if args.len() > 2 {
        return Err(Error::fixed("ERR wrong number of arguments for 'ping' command"));
    }
    let message = args.get(1).copied();
    // To a RESP2 subscriber everything looks like a message, but its scripts are no subscribers.
    if ctx.session.resp == 2 && !ctx.in_script && !ctx.session.subscriptions.is_empty() {
        return Ok(Reply::bulks([b"pong", message.unwrap_or_default()]));
    }
    Ok(message.map_or(Reply::Status("PONG".into()), Reply::bulk))
}

fn echo(_ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::bulk(args[1]))
}

fn hello(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let greeting = Greeting::parse(&args[1..])?;
    if let Some((user, password)) = greeting.credentials {
        authenticate(ctx, user, password)?;
    }
    if !ctx.session.authenticated {
        return Err(Greeting::NOAUTH);
    }
    if let Some(name) = greeting.name {
        ctx.session.about.name = name.to_vec();
    }
    if let Some(resp) = greeting.resp {
        ctx.session.resp = resp;
    }
    Ok(welcome(ctx.session.resp, ctx.session.id))
}

/// What HELLO answers to client `id`.
pub(crate) fn welcome(resp: u8, id: u64) -> Reply {
    let about = [
        ("server", Reply::bulk("redis")),
        ("version", Reply::bulk(REDIS_VERSION)),
        ("proto", Reply::Int(i64::from(resp))),
        ("id", Reply::Int(id as i64)),
        ("mode", Reply::bulk("standalone")),
        ("role", Reply::bulk("master")),
        ("modules", Reply::Array(Vec::new())),
    ];
    Reply::Map(about.into_iter().map(|(field, value)| (Reply::bulk(field), value)).collect())
}

/// What HELLO was given.
#[derive(Default)]
pub(crate) struct Greeting<'a> {
    pub(crate) resp: Option<u8>,
    pub(crate) credentials: Option<(&'a [u8], &'a [u8])>,
    pub(crate) name: Option<&'a [u8]>,
}

impl<'a> Greeting<'a> {
    pub(crate) const NOAUTH: Error = Error::fixed(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
    );

    pub(crate) fn parse(args: &[&'a [u8]]) -> Result<Greeting<'a>, Error> {
        let mut greeting = Greeting::default();
        let Some((resp, mut options)) = args.split_first() else { return Ok(greeting) };
        greeting.resp = match parse_int(resp) {
            Some(2) => Some(2),
            Some(3) => Some(3),
            Some(_) => return Err(Error::fixed("NOPROTO unsupported protocol version")),
            None => {
                return Err(Error::fixed("ERR Protocol version is not an integer or out of range"));
            }
        };
        while let [option, rest @ ..] = options {
            options = match rest {
                [user, password, rest @ ..] if is(option, "auth") => {
                    greeting.credentials = Some((user, password));
                    rest
                }
                [name, rest @ ..] if is(option, "setname") => {
                    check_name(name, "Client names")?;
                    greeting.name = Some(name);
                    rest
                }
                _ => {
                    let option = Error::shown(option);
                    return Err(Error::new(format!("ERR Syntax error in HELLO option '{option}'")));
                }
            };
        }
        Ok(greeting)
    }
}

/// Names appear in space-separated lists, so they hold nothing that would break those.
pub(super) fn check_name(name: &[u8], what: &str) -> Result<(), Error> {
    if name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        return Ok(());
    }
    Err(Error::new(format!("ERR {what} cannot contain spaces, newlines or special characters.")))
}

fn auth(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    match args[1..] {
        [password] => {
            if ctx.state.config.password.is_none() {
                return Err(Error::fixed(
                    "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
                ));
            }
            authenticate(ctx, b"default", password)?;
        }
        [user, password] => authenticate(ctx, user, password)?,
        _ => return Err(Error::SYNTAX),
    }
    Ok(Reply::OK)
}

pub(crate) const WRONG_PASSWORD: Error =
    Error::fixed("WRONGPASS invalid username-password pair or user is disabled.");

/// There is one user, whom Redis calls "default" too.
fn authenticate(ctx: &mut Ctx<'_>, user: &[u8], password: &[u8]) -> Result<(), Error> {
    let known = match &ctx.state.config.password {
        Some(expected) => equal_in_constant_time(expected.as_bytes(), password),
        None => true,
    };
    if user != b"default" || !known {
        return Err(WRONG_PASSWORD);
    }
    ctx.session.authenticated = true;
    Ok(())
}

/// Takes as long wherever the first difference is, so that a password cannot be guessed byte by byte.
pub(crate) fn equal_in_constant_time(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}

fn quit(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    ctx.session.closing = true;
    Ok(Reply::OK)
}

fn reset(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    let needs_password = ctx.state.config.password.is_some() && !is_in_process(ctx.session);
    let session = &mut *ctx.session;
    session.transaction = None;
    ctx.state.unwatch(session);
    ctx.state.pubsub.remove_client(session);
    session.db = 0;
    session.resp = 2;
    session.authenticated = !needs_password;
    session.reply_mode = ReplyMode::On;
    session.about.name.clear();
    Ok(Reply::Status("RESET".into()))
}

/// Clients in the same process have no address, and are trusted.
fn is_in_process(session: &Session) -> bool {
    session.about.address.is_empty()
}

fn select(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let db = parse_int(args[1]).ok_or(Error::NOT_AN_INTEGER)?;
    let db = i32::try_from(db).map_err(|_| {
        Error::fixed("ERR value is out of range, value must between -2147483648 and 2147483647")
    })?;
    let db = usize::try_from(db).ok().filter(|db| *db < ctx.state.dbs.len());
    ctx.session.db = db.ok_or(Error::fixed("ERR DB index is out of range"))?;
    Ok(Reply::OK)
}

#[cfg(test)]
mod tests {
    use crate::{config::Config, reply::Reply, test_engine::TestEngine};

    #[test]
    fn hello_tells_about_the_engine() {
        TestEngine::new().check(
            "hello => *14 $6 server $5 redis $7 version $6 7.0.15 $5 proto :2 $2 id :1 $4 mode $10 standalone $4 role $6 master $7 modules *0
             hello 4 => -NOPROTO unsupported protocol version
             hello x => -ERR Protocol version is not an integer or out of range
             hello 2 setname => -ERR Syntax error in HELLO option 'setname'
             hello 2 auth default any => *14 $6 server $5 redis $7 version $6 7.0.15 $5 proto :2 $2 id :1 $4 mode $10 standalone $4 role $6 master $7 modules *0",
        );
    }

    #[test]
    fn a_password_is_asked_for_until_it_is_given() {
        let mut rig = TestEngine::new();
        rig.state.config = Config { password: Some("secret".into()), ..Config::default() };
        let client = rig.connect_untrusted();
        rig.check_as(
            client,
            "ping => -NOAUTH Authentication required.
             auth wrong => -WRONGPASS invalid username-password pair or user is disabled.
             auth other secret => -WRONGPASS invalid username-password pair or user is disabled.
             auth default secret more => -ERR syntax error
             auth default secret => +OK
             ping => +PONG
             reset => +RESET
             ping => -NOAUTH Authentication required.",
        );
        let refused = rig.run_as(client, "hello 3");
        assert!(matches!(refused, Some(Reply::Error(error)) if error.code() == "NOAUTH"));
        let greeted = rig.run_as(client, "hello 3 auth default secret setname me");
        assert!(matches!(greeted, Some(Reply::Map(_))));
        rig.check_as(client, "client getname => $2 me");
    }

    #[test]
    fn select_changes_the_database_of_one_client() {
        let mut rig = TestEngine::new();
        let other = rig.connect();
        rig.run_as(other, "select 1");
        rig.run_as(other, "rpush l a");
        rig.check(
            "llen l => :0
             select 1 => +OK
             llen l => :1
             select x => -ERR value is not an integer or out of range
             select -1 => -ERR DB index is out of range
             select 4294967296 => -ERR value is out of range, value must between -2147483648 and 2147483647",
        );
    }

    #[test]
    fn reset_ends_everything_a_client_had_going_on() {
        TestEngine::new().check(
            "select 3 => +OK
             client setname me => +OK
             multi => +OK
             ping => +QUEUED
             reset => +RESET
             exec => -ERR EXEC without MULTI
             client getname => $-1
             subscribe a => *3 $9 subscribe $1 a :1
             ping => *2 $4 pong $0 
             ping hi => *2 $4 pong $2 hi
             reset => +RESET
             ping => +PONG
             pubsub channels => *0",
        );
    }
}
