//! Declarations in words: what the generated docs, `explain` and the key browser say about a family.

use std::fmt;

use crate::family::{Content, Database, Family, Origin, Ttl};

/// One kind of value in a key: a hash's field, a set's members, a sorted set's scores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The field's name, or what the value is to the key: `member`, `score`.
    pub name: &'static str,
    /// How it is written.
    pub encoding: String,
    /// May it be absent?
    pub optional: bool,
    /// May only admins see it?
    pub secret: bool,
    /// What it means.
    pub prose: String,
}

impl Content {
    /// Every kind of value in the key, in order of declaration.
    pub fn rows(&self) -> Vec<Row> {
        let row = |name, value: &crate::Value| Row {
            name,
            encoding: value.encoding.to_string(),
            optional: false,
            secret: value.encoding.is_secret(),
            prose: line(value.prose),
        };
        match self {
            Self::String(value) => vec![row("value", value)],
            Self::List(item) => vec![row("item", item)],
            Self::Set(member) => vec![row("member", member)],
            Self::SortedSet { member, score } => vec![row("member", member), row("score", score)],
            Self::Map { field, value } => vec![row("each field", field), row("its value", value)],
            Self::Channel(message) => vec![row("message", message)],
            Self::Bitmap(bits) => vec![row("each bit", bits)],
            Self::HyperLogLog(counted) => vec![row("counts", counted)],
            Self::Hash(fields) | Self::Stream(fields) => fields
                .iter()
                .map(|field| Row {
                    name: field.name,
                    encoding: field.encoding.to_string(),
                    optional: field.optional(),
                    secret: field.encoding.is_secret(),
                    prose: line(field.prose),
                })
                .collect(),
        }
    }

    /// The type as people say it.
    pub fn noun(&self) -> &'static str {
        match self {
            Self::SortedSet { .. } => "sorted set",
            Self::Channel(_) => "pub/sub channel",
            Self::Bitmap(_) => "bitmap",
            Self::HyperLogLog(_) => "HyperLogLog",
            other => other.redis_type(),
        }
    }
}

impl Family {
    /// The prose without the marks of its doc comment, paragraphs kept.
    pub fn text(&self) -> String {
        let lines: Vec<&str> = self.prose.lines().map(str::trim).collect();
        let paragraphs = lines.split(|line| line.is_empty());
        paragraphs
            .map(|lines| lines.join(" "))
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n\n")
    }
}

/// What a secret family is.
pub const SECRET: &str = "names and content are for admins only";

/// Prose on one line.
pub(crate) fn line(prose: &str) -> String {
    prose.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::Within(secs) => write!(f, "always, within {secs} s"),
            Self::Required => f.write_str("always"),
            Self::Optional => f.write_str("only at the end of its life"),
            Self::When(case) => write!(f, "only when {case}"),
            Self::Undeclared => f.write_str("not declared"),
        }
    }
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => f.write_str("main"),
            Self::Account => f.write_str("the account's own, from 100 up"),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Document([one]) => write!(f, "key document {one}"),
            Self::Document(numbers) => write!(f, "key documents {}", numbers.join(" and ")),
            Self::Original => f.write_str("the original program, not in its key document"),
            Self::Foreign => f.write_str("the original program; keyrack never writes it"),
            Self::Added => f.write_str("added by keyrack"),
            Self::File => f.write_str("a keys file"),
        }
    }
}
