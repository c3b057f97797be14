//! FUNCTION for an engine that has no functions: what there is to tell and to clear away is nothing.
//!
//! Programs that want an empty server call FUNCTION FLUSH, Redis' own tests among them. Loading a function is refused
//! as an unknown subcommand, so that nobody believes it to be there.

use super::{help::help, is};
use crate::{
    ctx::Ctx,
    reply::{Error, Reply},
    table::{Command, Flags, Group, Keys},
};

const READ: Flags = Flags::NOSCRIPT;
const WRITE: Flags = Flags::NOSCRIPT.or(Flags::WRITE);
const ANY_TIME: Flags = Flags::LOADING.or(Flags::STALE);

pub(super) static COMMANDS: &[Command] =
    &[Command::new("function", -2, Flags::NONE, Keys::None, help)
        .doc(Group::Scripting, "7.0.0", "Tells about functions, of which there are none")
        .with(&[
            Command::new("function|delete", 3, WRITE, Keys::None, delete).doc(
                Group::Scripting,
                "7.0.0",
                "Deletes a library, of which there are none",
            ),
            Command::new("function|flush", -2, WRITE, Keys::None, flush).doc(
                Group::Scripting,
                "7.0.0",
                "Deletes all libraries, of which there are none",
            ),
            Command::new("function|list", -2, READ, Keys::None, list).doc(
                Group::Scripting,
                "7.0.0",
                "Lists the libraries, of which there are none",
            ),
            Command::new("function|stats", 2, READ, Keys::None, stats).doc(
                Group::Scripting,
                "7.0.0",
                "Counts libraries and functions",
            ),
            Command::new("function|help", 2, ANY_TIME, Keys::None, help).doc(
                Group::Scripting,
                "7.0.0",
                "Shows this help",
            ),
        ])];

fn delete(_ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Err(Error::fixed("ERR Library not found"))
}

fn flush(_ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    match &args[2..] {
        [] => Ok(Reply::OK),
        [option] if is(option, "sync") || is(option, "async") => Ok(Reply::OK),
        [_] => Err(Error::fixed("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")),
        _ => Err(Error::new(format!(
            "ERR unknown subcommand or wrong number of arguments for '{}'. Try FUNCTION HELP.",
            Error::shown(args[1])
        ))),
    }
}

fn list(_ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (mut with_code, mut name) = (false, false);
    let mut options = args[2..].iter();
    while let Some(option) = options.next() {
        if !with_code && is(option, "withcode") {
            with_code = true;
        } else if !name && is(option, "libraryname") {
            name = options
                .next()
                .is_some()
                .then_some(true)
                .ok_or(Error::fixed("ERR library name argument was not given"))?;
        } else {
            return Err(Error::new(format!("ERR Unknown argument {}", Error::shown(option))));
        }
    }
    Ok(Reply::Array(Vec::new()))
}

fn stats(_ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    let none = |name| (Reply::bulk(name), Reply::Int(0));
    let lua = Reply::Map(vec![none("libraries_count"), none("functions_count")]);
    Ok(Reply::Map(vec![
        (Reply::bulk("running_script"), Reply::Nil),
        (Reply::bulk("engines"), Reply::Map(vec![(Reply::bulk("LUA"), lua)])),
    ]))
}

#[cfg(test)]
mod tests {
    use crate::test_engine::TestEngine;

    #[test]
    fn no_functions_are_told_and_cleared_as_redis_does() {
        TestEngine::new().check(
            "function flush => +OK
             function FLUSH async => +OK
             function flush now => -ERR FUNCTION FLUSH only supports SYNC|ASYNC option
             function flush sync x => -ERR unknown subcommand or wrong number of arguments for 'flush'. Try FUNCTION HELP.
             function list => *0
             function list libraryname x withcode => *0
             function list libraryname => -ERR library name argument was not given
             function list x => -ERR Unknown argument x
             function delete x => -ERR Library not found
             function stats => *4 $14 running_script $-1 $7 engines *2 $3 LUA *4 $15 libraries_count :0 $15 functions_count :0
             function load x => -ERR unknown subcommand 'load'. Try FUNCTION HELP.",
        );
    }
}
