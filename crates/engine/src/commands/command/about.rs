//! One command as COMMAND INFO and COMMAND DOCS tell it.

use super::categories;
use crate::{
    reply::Reply,
    table::{Command, Flags, Keys},
};

/// Ten things, in the order client libraries expect.
pub(super) fn info_of(command: &'static Command) -> Reply {
    let (first, last, step) = range_of(&command.keys);
    let statuses = |names: &mut dyn Iterator<Item = String>| {
        Reply::Set(names.map(|name| Reply::Status(name.into())).collect())
    };
    Reply::Array(vec![
        Reply::bulk(command.name),
        Reply::Int(command.arity.into()),
        statuses(&mut command.flags.names().map(str::to_owned)),
        Reply::Int(first),
        Reply::Int(last),
        Reply::Int(step),
        statuses(&mut categories::of(command).map(|category| format!("@{category}"))),
        // Tips for proxies and clusters.
        Reply::Set(Vec::new()),
        Reply::Set(key_specs(command)),
        Reply::Array(command.subcommands.iter().map(info_of).collect()),
    ])
}

/// The first key, the last and the step between keys; zeroes where a fixed range cannot tell.
fn range_of(keys: &Keys) -> (i64, i64, i64) {
    match *keys {
        Keys::Range { first, last, step } => (first as i64, last as i64, step as i64),
        Keys::Counted { with_dest: true, .. } => (1, 1, 1),
        Keys::None | Keys::Counted { .. } => (0, 0, 0),
    }
}

/// Where the keys are, in the newer and more exact form.
fn key_specs(command: &Command) -> Vec<Reply> {
    let use_flags = if command.has(Flags::WRITE) { ["RW", "update"] } else { ["RO", "access"] };
    let spec = |begin: usize, find_keys: Reply| {
        map([
            ("flags", Reply::Set(use_flags.map(|flag| Reply::Status(flag.into())).to_vec())),
            ("begin_search", typed("index", map([("index", Reply::Int(begin as i64))]))),
            ("find_keys", find_keys),
        ])
    };
    let range = |last: i64, step: usize| {
        let spec = map([
            ("lastkey", Reply::Int(last)),
            ("keystep", Reply::Int(step as i64)),
            ("limit", Reply::Int(0)),
        ]);
        typed("range", spec)
    };
    match command.keys {
        Keys::None => Vec::new(),
        Keys::Range { first, last, step } => {
            // Counted from the first key, unless it is counted from the end.
            let last = if last < 0 { last as i64 } else { last as i64 - first as i64 };
            vec![spec(first, range(last, step))]
        }
        Keys::Counted { at, with_dest } => {
            let counted = map([
                ("keynumidx", Reply::Int(0)),
                ("firstkey", Reply::Int(1)),
                ("keystep", Reply::Int(1)),
            ]);
            let dest = with_dest.then(|| spec(1, range(0, 1)));
            dest.into_iter().chain([spec(at, typed("keynum", counted))]).collect()
        }
    }
}

fn typed(kind: &str, spec: Reply) -> Reply {
    map([("type", Reply::bulk(kind)), ("spec", spec)])
}

fn map<const N: usize>(pairs: [(&str, Reply); N]) -> Reply {
    Reply::Map(pairs.map(|(field, value)| (Reply::bulk(field), value)).to_vec())
}

/// What it does and since when.
pub(super) fn docs_of(command: &'static Command) -> Reply {
    let mut fields = vec![
        ("summary", Reply::bulk(command.summary)),
        ("since", Reply::bulk(command.since)),
        ("group", Reply::bulk(command.group.name())),
    ];
    if !command.subcommands.is_empty() {
        let subcommands = command.subcommands.iter();
        let docs = subcommands.map(|sub| (Reply::bulk(sub.name), docs_of(sub))).collect();
        fields.push(("subcommands", Reply::Map(docs)));
    }
    Reply::Map(fields.into_iter().map(|(field, value)| (Reply::bulk(field), value)).collect())
}
