//! The rights of a program that keys files name: what it writes, what it reads, and nothing else.

use std::collections::BTreeSet;

use keyrack_contract::registry;
use keyrack_keys::{Content, Family, Layout};
use keyrack_store::acl_password;

use super::Args;
use crate::{Exit, Failure};

/// What every client sends, whatever its keys.
const CONNECTION: &[&str] = &[
    "auth",
    "hello",
    "ping",
    "echo",
    "quit",
    "select",
    "reset",
    "client|setname",
    "client|id",
    "client|no-evict",
    "multi",
    "exec",
    "discard",
    "watch",
    "unwatch",
    "wait",
    "command",
];
/// What reads a key whatever its type.
const READING: &[&str] =
    &["exists", "type", "ttl", "pttl", "expiretime", "pexpiretime", "touch", "object|encoding"];
/// What changes a key whatever its type. Scripts are held to the same keys.
const WRITING: &[&str] = &[
    "del",
    "unlink",
    "expire",
    "pexpire",
    "expireat",
    "pexpireat",
    "persist",
    "eval",
    "evalsha",
    "script|load",
    "script|exists",
];

/// What listens to channels.
const LISTENING: &[&str] =
    &["subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe"];

/// What sends to channels.
const PUBLISHING: [&str; 2] = ["publish", "spublish"];

/// The line of an ACL file.
pub(super) fn line(program: &str, args: &Args) -> Result<String, Failure> {
    let layout = if args.cluster { Layout::Cluster } else { Layout::Documented };
    let has = |programs: &[&str]| programs.contains(&program);
    let written: Vec<&Family> = registry().all().filter(|family| has(family.writers)).collect();
    let read: Vec<&Family> =
        registry().all().filter(|family| has(family.readers) && !has(family.writers)).collect();
    if written.is_empty() && read.is_empty() {
        return Err(unknown(program));
    }
    let mut words = vec!["user".to_owned(), user(program, args), "reset".into(), "on".into()];
    words.extend(args.password.as_deref().map(acl_password));
    for (families, rights) in [(&written, "~"), (&read, "%R~")] {
        for family in families.iter().filter(|family| !family.is_channel()) {
            words.push(format!("{rights}{}", family.narrow_pattern(layout, &[])));
        }
    }
    for family in written.iter().chain(&read).filter(|family| family.is_channel()) {
        words.push(format!("&{}", family.narrow_pattern(layout, &[])));
    }
    words.extend(commands(&written, &read).into_iter().map(|command| format!("+{command}")));
    words.extend(publishing(&written, &read, layout));
    Ok(words.join(" "))
}

/// The program's own name, unless another was given.
fn user(program: &str, args: &Args) -> String {
    if args.user == "keyrack" { program.to_owned() } else { args.user.clone() }
}

fn commands(written: &[&Family], read: &[&Family]) -> BTreeSet<String> {
    let mut commands: BTreeSet<String> =
        CONNECTION.iter().chain(READING).map(|name| (*name).to_owned()).collect();
    for family in written.iter().chain(read) {
        commands.extend(categories(&family.content).iter().map(|name| format!("@{name}")));
    }
    if written.iter().any(|family| !family.is_channel()) {
        commands.extend(WRITING.iter().map(|name| (*name).to_owned()));
    }
    if written.iter().chain(read).any(|family| family.is_channel()) {
        commands.extend(LISTENING.iter().map(|name| (*name).to_owned()));
    }
    if written.iter().any(|family| family.is_channel())
        && !read.iter().any(|family| family.is_channel())
    {
        commands.extend(PUBLISHING.map(str::to_owned));
    }
    commands
}

/// The right to send to the channels that the program writes and not to those that it only reads: a selector of its own,
/// because channels have no rights like those to keys.
fn publishing(written: &[&Family], read: &[&Family], layout: Layout) -> Option<String> {
    let channels: Vec<String> = written
        .iter()
        .filter(|family| family.is_channel())
        .map(|family| format!("&{}", family.narrow_pattern(layout, &[])))
        .collect();
    let is_needed = !channels.is_empty() && read.iter().any(|family| family.is_channel());
    let [publish, spublish] = PUBLISHING;
    is_needed.then(|| format!("(+{publish} +{spublish} {})", channels.join(" ")))
}

/// The categories of commands for a type. Rights to keys keep readers from those that write.
fn categories(content: &Content) -> &'static [&'static str] {
    match content {
        Content::String(_) => &["string"],
        Content::Bitmap(_) => &["string", "bitmap"],
        Content::HyperLogLog(_) => &["hyperloglog"],
        Content::List(_) => &["list"],
        Content::Set(_) => &["set"],
        Content::SortedSet { .. } => &["sortedset"],
        Content::Hash(_) | Content::Map { .. } => &["hash"],
        Content::Stream(_) => &["stream"],
        // Its category has PUBLISH too.
        Content::Channel(_) => &[],
    }
}

fn unknown(program: &str) -> Failure {
    let named: BTreeSet<&str> = registry()
        .all()
        .flat_map(|family| family.writers.iter().chain(family.readers))
        .copied()
        .collect();
    let message = format!("no key names the program \"{program}\" as writer or reader");
    let failure = Failure::new(Exit::NotFound, message);
    if named.is_empty() {
        failure.hint(
            "name programs in \"writers\" and \"readers\" of a keys file, and give it with --keys",
        )
    } else {
        let named: Vec<&str> = named.into_iter().collect();
        failure.hint(format!("programs are {}", named.join(", ")))
    }
}
