//! COMMAND: the command table, for clients that want to know.

mod about;
mod categories;

#[cfg(test)]
mod tests;

use self::about::{docs_of, info_of};
use super::{help::help, is};
use crate::{
    ctx::Ctx,
    glob,
    num::parse_int,
    reply::{Error, Reply},
    table::{self, Command, Flags, Group, Keys},
};

const ANY_TIME: Flags = Flags::LOADING.or(Flags::STALE);

pub(super) static COMMANDS: &[Command] =
    &[Command::new("command", -1, ANY_TIME, Keys::None, command)
        .doc(Group::Server, "2.8.13", "Describes all commands to client libraries")
        .with(SUBCOMMANDS)];

static SUBCOMMANDS: &[Command] = &[
    Command::new("command|count", 2, ANY_TIME, Keys::None, count).doc(
        Group::Server,
        "2.8.13",
        "Counts the commands",
    ),
    Command::new("command|docs", -2, ANY_TIME, Keys::None, docs).doc(
        Group::Server,
        "7.0.0",
        "Says what the given commands do, or all",
    ),
    Command::new("command|getkeys", -4, ANY_TIME, Keys::None, getkeys).doc(
        Group::Server,
        "2.8.13",
        "Finds the keys in a whole command",
    ),
    Command::new("command|info", -2, ANY_TIME, Keys::None, info).doc(
        Group::Server,
        "2.8.13",
        "Describes the given commands to client libraries, or all",
    ),
    Command::new("command|list", -2, ANY_TIME, Keys::None, list).doc(
        Group::Server,
        "7.0.0",
        "Lists the names of commands",
    ),
    Command::new("command|help", 2, ANY_TIME, Keys::None, help).doc(
        Group::Server,
        "5.0.0",
        "Shows this help",
    ),
];

fn command(_ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::Array(table::all().map(info_of).collect()))
}

fn count(_ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::Int(table::all().count() as i64))
}

fn info(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    if args.len() == 2 {
        return command(ctx, args);
    }
    let named = args[2..].iter().map(|name| find(name).map_or(Reply::Nil, info_of));
    Ok(Reply::Array(named.collect()))
}

fn docs(_ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let described = |command: &'static Command| (Reply::bulk(command.name), docs_of(command));
    let described = match &args[2..] {
        [] => table::all().map(described).collect(),
        names => names.iter().filter_map(|name| find(name)).map(described).collect(),
    };
    Ok(Reply::Map(described))
}

/// The command of a name that may have a `|` before its subcommand.
fn find(name: &[u8]) -> Option<&'static Command> {
    match name.iter().position(|byte| *byte == b'|') {
        None => table::find(name),
        Some(at) => table::find_sub(table::find(&name[..at])?, &name[at + 1..]),
    }
}

fn list(_ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let with_subcommands =
        table::all().flat_map(|command| std::iter::once(command).chain(command.subcommands));
    let accepts: Filter<'_> = match args[2..] {
        [] => Box::new(|_| true),
        [filter, kind, value] if is(filter, "filterby") => by(kind, value)?,
        _ => return Err(Error::SYNTAX),
    };
    let names = with_subcommands.filter(|command| accepts(command)).map(|command| command.name);
    Ok(Reply::bulks(names))
}

/// Which commands LIST names.
type Filter<'a> = Box<dyn Fn(&Command) -> bool + 'a>;

fn by<'a>(kind: &[u8], value: &'a [u8]) -> Result<Filter<'a>, Error> {
    if is(kind, "module") {
        Ok(Box::new(|_| false))
    } else if is(kind, "aclcat") {
        Ok(Box::new(|command| categories::of(command).any(|category| is(value, category))))
    } else if is(kind, "pattern") {
        let pattern = value.to_ascii_lowercase();
        Ok(Box::new(move |command| glob::matches(&pattern, command.name.as_bytes())))
    } else {
        Err(Error::SYNTAX)
    }
}

fn getkeys(_ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let args = &args[2..];
    let command = table::find(args[0]).ok_or(Error::fixed("ERR Invalid command specified"))?;
    let command = args.get(1).and_then(|sub| table::find_sub(command, sub)).unwrap_or(command);
    if matches!(command.keys, Keys::None) {
        return Err(Error::fixed("ERR The command has no key arguments"));
    }
    if !command.takes(args.len()) {
        return Err(Error::fixed("ERR Invalid number of arguments specified for command"));
    }
    if let Keys::Counted { at, with_dest } = command.keys {
        let count = args.get(at).copied().unwrap_or_default();
        let fits = |n: i64| (1..(args.len() - at) as i64).contains(&n);
        if !parse_int(count).is_some_and(fits) {
            let n = i64::from(atoi(count));
            return match command.group {
                _ if fits(n) => {
                    // What Redis reads leniently it also lists in another order.
                    let dest = with_dest.then_some(args[1]);
                    Ok(Reply::bulks(args[at + 1..][..n as usize].iter().copied().chain(dest)))
                }
                // A script may have no keys at all.
                Group::Scripting => Ok(Reply::Array(Vec::new())),
                _ => Err(Error::fixed("ERR Invalid arguments specified for command")),
            };
        }
    }
    Ok(Reply::bulks(command.keys.of(args)))
}

/// The number at the start of a text as C's `atoi` reads it, which Redis uses here: cut to 32 bits, and 0 for no number.
fn atoi(text: &[u8]) -> i32 {
    let text = text.trim_ascii_start();
    let (sign, digits) = match text.split_first() {
        Some((b'-', rest)) => (-1, rest),
        Some((b'+', rest)) => (1, rest),
        _ => (1, text),
    };
    let digits = digits.iter().take_while(|digit| digit.is_ascii_digit());
    // Both limits of 64 bits are reached before the number is cut.
    let add =
        |n: i64, digit: &u8| n.saturating_mul(10).saturating_add(sign * i64::from(digit - b'0'));
    digits.fold(0, add) as i32
}
