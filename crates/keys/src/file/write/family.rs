//! `[keys.…]` and `[channels.…]` from a declaration.

use std::fmt::Write as _;

use super::super::life::UNITS;
use super::encoding::value;
use super::parts::Names;
use super::{Heading, key, name_in, prose, text, texts};
use crate::family::{Content, Database, Family, Field, KnownBy, Listed, Origin, Shard, Ttl, Value};

pub(super) fn write(out: &mut String, family: &Family, heading: Heading<'_>, names: &Names) {
    let section = if family.is_channel() { "channels" } else { "keys" };
    let name = key(&name_in(heading.name, family));
    let _ = writeln!(out, "[{section}.{name}]");
    for (name, value) in entries(family, heading, names) {
        let _ = writeln!(out, "{name} = {value}");
    }
    if let Content::Hash(fields) | Content::Stream(fields) = family.content {
        let _ = writeln!(out, "\n[{section}.{name}.fields]");
        for Field { name, prose, encoding } in fields {
            let _ =
                writeln!(out, "{} = {}", key(name), value(encoding, prose, heading.name, names));
        }
    }
}

fn entries(family: &Family, heading: Heading<'_>, names: &Names) -> Vec<(&'static str, String)> {
    let mut lines = vec![("template", text(family.template))];
    let mut add = |name, value: Option<String>| lines.extend(value.map(|value| (name, value)));
    add("parts", parts(family, names));
    let held = |value: &Value| Some(self::value(&value.encoding, value.prose, heading.name, names));
    if !family.is_channel() {
        add("type", Some(text(type_word(&family.content))));
    }
    let filled = |value: &str| (!value.trim().is_empty()).then(|| prose(value));
    add("text", filled(family.prose));
    match &family.content {
        Content::String(value) => add("value", held(value)),
        Content::List(item) => add("item", held(item)),
        Content::Set(member) => add("member", held(member)),
        Content::SortedSet { member, score } => {
            add("member", held(member));
            add("score", held(score));
        }
        Content::Map { field, value } => {
            add("field", held(field));
            add("value", held(value));
        }
        Content::Bitmap(bits) => add("bits", filled(bits.prose)),
        Content::HyperLogLog(counted) => add("counts", filled(counted.prose)),
        Content::Channel(message) => add("message", held(message)),
        Content::Hash(_) | Content::Stream(_) => {}
    }
    add("other_fields", family.open.then(|| "true".to_owned()));
    add("ttl", if family.is_channel() { None } else { ttl(family.ttl) });
    add("removed", filled(family.removed));
    add("max_items", family.items_max.map(|max| max.to_string()));
    add("max_bytes", family.bytes_max.map(|max| max.to_string()));
    add("database", database(family.database));
    add("cluster", cluster(family, names));
    add("owner", (family.team != heading.team).then(|| text(family.team)));
    let programs = |words: &[&str]| (!words.is_empty()).then(|| texts(words));
    add("writers", programs(family.writers));
    add("readers", programs(family.readers));
    add("secret", family.secret.then(|| "true".to_owned()));
    add("listed", listed(family.listed, heading.name));
    add(
        "holds",
        family.holds.map(|holds| {
            format!("{{ field = {}, words = {} }}", text(holds.field), texts(holds.words))
        }),
    );
    add(
        "known_by",
        match family.known_by {
            KnownBy::Name => None,
            KnownBy::Content(fields) => Some(texts(fields)),
        },
    );
    add("origin", origin(family.origin));
    add("example", filled(family.example));
    lines
}

/// Which part stands in each place that is not called like its part.
fn parts(family: &Family, names: &Names) -> Option<String> {
    let others: Vec<String> = family
        .parts
        .iter()
        .filter(|slot| names.of(&slot.kind) != slot.name)
        .map(|slot| format!("{} = {}", key(slot.name), text(names.of(&slot.kind))))
        .collect();
    (!others.is_empty()).then(|| format!("{{ {} }}", others.join(", ")))
}

fn type_word(content: &Content) -> &'static str {
    match content {
        Content::String(_) => "string",
        Content::List(_) => "list",
        Content::Set(_) => "set",
        Content::SortedSet { .. } => "sorted-set",
        Content::Hash(_) => "hash",
        Content::Map { .. } => "map",
        Content::Stream(_) => "stream",
        Content::Bitmap(_) => "bitmap",
        Content::HyperLogLog(_) => "hyperloglog",
        Content::Channel(_) => "channel",
    }
}

fn ttl(ttl: Ttl) -> Option<String> {
    Some(text(&match ttl {
        Ttl::Never => "never".to_owned(),
        Ttl::Required => "always".to_owned(),
        Ttl::Optional => "sometimes".to_owned(),
        Ttl::When(case) => format!("only when {case}"),
        Ttl::Within(secs) => {
            let unit = UNITS.iter().find(|(_, factor)| secs.is_multiple_of(*factor));
            let (unit, factor) = unit.copied().unwrap_or(("s", 1));
            format!("{}{unit}", secs / factor)
        }
        Ttl::Undeclared => return None,
    }))
}

fn database(database: Database) -> Option<String> {
    match database {
        Database::Main => None,
        Database::Account => Some(text("account")),
        Database::Number(number) => Some(number.to_string()),
    }
}

fn cluster(family: &Family, names: &Names) -> Option<String> {
    if let [slot] = family.outside {
        let part = text(names.of(&slot.kind));
        return Some(format!("{{ outside = {}, part = {part} }}", text(slot.name)));
    }
    let (name, word) = match family.shard {
        Shard::Whole => return None,
        Shard::Part(part) => ("part", part),
        Shard::Word(word) => ("word", word),
        Shard::Front(tag) => ("front", tag),
    };
    Some(format!("{{ {name} = {} }}", text(word)))
}

fn listed(listed: &[Listed], document: &str) -> Option<String> {
    let tables = listed.iter().map(|listed| {
        let by = listed.by.iter().map(|by| {
            let name = text(&name_in(document, by.family()));
            if by.is_key() { format!("{{ key = {name} }}") } else { name }
        });
        let by = by.collect::<Vec<_>>().join(", ");
        let expires = if listed.unless_expiring { ", or_expires = true" } else { "" };
        let (field, words) = (text(listed.field), texts(listed.words));
        format!("    {{ field = {field}, words = {words}, in = [{by}]{expires} }},\n")
    });
    (!listed.is_empty()).then(|| format!("[\n{}]", tables.collect::<String>()))
}

fn origin(origin: Origin) -> Option<String> {
    match origin {
        Origin::File => None,
        Origin::Added => Some(text("added")),
        Origin::Original => Some(text("original")),
        Origin::Foreign => Some(text("foreign")),
        Origin::Document(numbers) => Some(texts(numbers)),
    }
}
