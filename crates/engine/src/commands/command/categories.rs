//! The categories that COMMAND files commands under, which are those of Redis' access control.

use crate::table::{Command, Flags, Group};

/// Its categories without the `@`, in Redis' order.
pub(super) fn of(command: &Command) -> impl Iterator<Item = &'static str> {
    let is_in = |names: &[&str]| names.contains(&command.name);
    let is_container = !command.subcommands.is_empty() && command.name != "command";
    let in_group = |group: &str| command.group.name() == group && !is_container;
    let admin = command.has(Flags::ADMIN) || is_in(&ADMIN);
    let connection = in_group("connection")
        || is_in(&["command", "wait"])
        || command.name.starts_with("command|");
    let fast = command.has(Flags::FAST);
    let scripting = matches!(command.group, Group::Scripting) && !is_container;
    [
        ("keyspace", (in_group("generic") && !is_in(&NO_KEYSPACE)) || is_in(&KEYSPACE)),
        ("read", command.has(Flags::READONLY) && !scripting),
        ("write", command.has(Flags::WRITE)),
        ("set", in_group("set") || is_in(&SORTING)),
        ("sortedset", in_group("sorted-set") || is_in(&SORTING)),
        ("list", in_group("list") || is_in(&SORTING)),
        ("hash", in_group("hash")),
        ("string", in_group("string")),
        ("pubsub", command.has(Flags::PUBSUB)),
        ("admin", admin),
        ("fast", fast),
        ("slow", !fast),
        ("blocking", command.has(Flags::BLOCKING)),
        ("dangerous", admin || is_in(&DANGEROUS)),
        ("connection", connection),
        ("transaction", in_group("transactions")),
        ("scripting", scripting),
    ]
    .into_iter()
    .filter(|(_, is_of_it)| *is_of_it)
    .map(|(category, _)| category)
}

const ADMIN: [&str; 2] = ["lastsave", "role"];
const SORTING: [&str; 2] = ["sort", "sort_ro"];
const KEYSPACE: [&str; 4] = ["dbsize", "flushall", "flushdb", "swapdb"];
const NO_KEYSPACE: [&str; 3] = ["sort", "sort_ro", "wait"];
const DANGEROUS: [&str; 8] =
    ["flushall", "flushdb", "info", "keys", "restore", "sort", "sort_ro", "swapdb"];
