//! What the words beside a name say about type, fields and lifetime. Everything here is a guess.

use super::life;
use super::page::Entry;
use super::template::Template;
use crate::encoding::Encoding;
use crate::family::{Content, Field, Ttl, Value};
use crate::file::{keep, keep_all, keep_text};
use crate::json::Schema;

/// What was understood, and what was not.
pub(super) struct Description {
    pub(super) content: Content,
    pub(super) ttl: Ttl,
    pub(super) unsure: Vec<String>,
}

pub(super) fn read(entry: &Entry, template: &Template, legend: &[(String, String)]) -> Description {
    let words = entry.lines.join(" ").to_lowercase();
    let mut unsure = Vec::new();
    let value = |encoding| Value { encoding, prose: "" };
    let kind = kind(entry, &words, &template.text, legend);
    if kind.is_none() {
        unsure.push("the page does not say the type; string is a guess".to_owned());
    }
    let content = match kind.unwrap_or("string") {
        "channel" => Content::Channel(value(encoding(&words))),
        "hash" if !entry.fields.is_empty() && !holds_json(&words) => Content::Hash(fields(entry)),
        "hash" => {
            let of_fields =
                if holds_json(&words) { Encoding::Json(&Schema::Any) } else { Encoding::Text };
            unsure.push("the page names no fields, so any may be there".to_owned());
            Content::Map { field: value(Encoding::Text), value: value(of_fields) }
        }
        "sorted set" => {
            let score = if is_moment(&words) { Encoding::UnixSeconds } else { Encoding::Float };
            if is_moment(&words) && !words.contains("second") && !words.contains("unix") {
                unsure.push(
                    "the page does not say the unit of the scores; seconds are a guess".into(),
                );
            }
            Content::SortedSet { member: value(member(&words)), score: value(score) }
        }
        "set" => Content::Set(value(member(&words))),
        "list" => Content::List(value(member(&words))),
        "stream" => Content::Stream(fields(entry)),
        "bitmap" => Content::Bitmap(value(Encoding::Bytes)),
        "hyperloglog" => Content::HyperLogLog(value(Encoding::Bytes)),
        _ => Content::String(value(encoding(&words))),
    };
    let (ttl, doubt) = life::ttl(&words);
    if !matches!(content, Content::Channel(_)) {
        unsure.extend(doubt.map(str::to_owned));
    }
    Description { content, ttl, unsure }
}

/// The type that the words name first, or that the name itself tells.
fn kind(
    entry: &Entry,
    words: &str,
    template: &str,
    legend: &[(String, String)],
) -> Option<&'static str> {
    if entry.is_channel {
        return Some("channel");
    }
    const NAMES: [(&str, &str); 13] = [
        ("sorted set", "sorted set"),
        ("sset", "sorted set"),
        ("zset", "sorted set"),
        ("hyperloglog", "hyperloglog"),
        ("bitmap", "bitmap"),
        ("stream", "stream"),
        ("hash", "hash"),
        ("list", "list"),
        ("string", "string"),
        ("a number", "string"),
        ("channel", "channel"),
        ("pubsub", "channel"),
        ("set", "set"),
    ];
    let from_legend = legend
        .iter()
        .filter(|(prefix, _)| template.starts_with(prefix.as_str()))
        .max_by_key(|(prefix, _)| prefix.len())
        .and_then(|(_, kind)| {
            NAMES.iter().find(|(name, _)| kind == name || kind.starts_with(name))
        });
    if let Some((_, kind)) = from_legend {
        return Some(kind);
    }
    let is_word = |at: usize, name: &str| {
        let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        !letter(words[..at].chars().next_back()) && !letter(words[at + name.len()..].chars().next())
    };
    let first = NAMES
        .iter()
        .filter_map(|(name, kind)| {
            let at = words.match_indices(name).map(|(at, _)| at).find(|at| is_word(*at, name))?;
            Some((at, *kind))
        })
        .min_by_key(|(at, _)| *at);
    let segment = template.split([':', '.', '/']).next().unwrap_or_default();
    let of_name = NAMES.iter().find(|(name, _)| *name == segment).map(|(_, kind)| *kind);
    let by_fields = (!entry.fields.is_empty()).then_some("hash");
    by_fields.or(of_name).or(first.map(|(_, kind)| kind))
}

fn fields(entry: &Entry) -> &'static [Field] {
    let mut fields: Vec<Field> = Vec::new();
    for (name, words) in &entry.fields {
        if fields.iter().any(|field| field.name == name) || name.is_empty() {
            continue;
        }
        let prose = words.strip_prefix(name.as_str()).unwrap_or(words).trim();
        // Whether it is always there, pages seldom say.
        let encoding = Encoding::Optional(keep(encoding(&words.to_lowercase())));
        fields.push(Field { name: keep_text(name), prose: keep_text(prose), encoding });
    }
    keep_all(fields)
}

fn holds_json(words: &str) -> bool {
    words.contains("json")
}

fn is_moment(words: &str) -> bool {
    ["unix time", "unix epoch", "timestamp", "seconds since"]
        .iter()
        .any(|word| words.contains(word))
}

fn member(words: &str) -> Encoding {
    if holds_json(words) { Encoding::Json(&Schema::Any) } else { Encoding::Text }
}

/// How a value seems to be written. Words that could mean several forms mean any text.
fn encoding(words: &str) -> Encoding {
    if holds_json(words) {
        Encoding::Json(&Schema::Any)
    } else if is_moment(words) && words.contains("millisecond") {
        Encoding::UnixMs
    } else if ["unix time", "unix epoch", "seconds since"].iter().any(|word| words.contains(word)) {
        Encoding::UnixSeconds
    } else {
        Encoding::Text
    }
}
