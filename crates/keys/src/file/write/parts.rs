//! `[parts.…]` from the kinds that families use.

use std::fmt::Write as _;

use super::super::parts::default_escape;
use super::{Draft, key, prose, text, texts};
use crate::encoding::Encoding;
use crate::family::{Content, Family};
use crate::part::{Escape, Kind, PART_BYTES_MAX, Shape};

/// The kinds of all families, each under a name that no other has.
pub(super) struct Names {
    kinds: Vec<(String, Kind)>,
    /// How many of them are declared already.
    n_known: usize,
}

impl Names {
    pub(super) fn new(drafts: &[Draft], known: &[&'static Family]) -> Self {
        let mut names = Self { kinds: Vec::new(), n_known: 0 };
        names.add_all(known.iter().copied());
        names.n_known = names.kinds.len();
        names.add_all(drafts.iter().map(|draft| draft.family));
        names
    }

    fn add_all(&mut self, families: impl Iterator<Item = &'static Family>) {
        let names = self;
        for family in families {
            for slot in family.parts.iter().chain(family.outside) {
                names.add(&slot.kind);
            }
            for encoding in encodings(family) {
                names.add_ids(encoding);
            }
        }
    }

    /// The name under which a kind is declared.
    pub(super) fn of(&self, kind: &Kind) -> &str {
        let found = self.kinds.iter().find(|(_, known)| same(known, kind));
        found.map_or(kind.name, |(name, _)| name)
    }

    pub(super) fn write(&self, out: &mut String) {
        for (name, kind) in &self.kinds[self.n_known..] {
            let _ = writeln!(out, "\n[parts.{}]", key(name));
            if name != kind.name {
                let _ = writeln!(out, "name = {}", text(kind.name));
            }
            write_shape(out, &kind.shape);
            match kind.escape {
                Escape::Percent => out.push_str("escape = \"percent\"\n"),
                escape if escape == default_escape(&kind.shape) => {}
                Escape::Raw { without } => {
                    let _ = writeln!(out, "without = {}", text(without));
                }
            }
            if kind.bytes_max != PART_BYTES_MAX {
                let _ = writeln!(out, "max_bytes = {}", kind.bytes_max);
            }
            if !kind.prose.trim().is_empty() {
                let _ = writeln!(out, "text = {}", prose(kind.prose));
            }
        }
    }

    fn add(&mut self, kind: &Kind) {
        if self.kinds.iter().any(|(_, known)| same(known, kind)) {
            return;
        }
        let mut name = kind.name.to_owned();
        let mut n = 2;
        while self.kinds.iter().any(|(taken, _)| *taken == name) {
            name = format!("{}_{n}", kind.name);
            n += 1;
        }
        self.kinds.push((name, *kind));
    }

    fn add_ids(&mut self, encoding: &Encoding) {
        match encoding {
            Encoding::Id(kind) => self.add(kind),
            Encoding::AnyOf(forms) => forms.iter().for_each(|form| self.add_ids(form)),
            Encoding::Tuple(fields) => {
                fields.iter().for_each(|field| self.add_ids(&field.encoding));
            }
            Encoding::List(inner, _)
            | Encoding::OrEmpty(inner)
            | Encoding::Optional(inner)
            | Encoding::Secret(inner) => self.add_ids(inner),
            _ => {}
        }
    }
}

/// Kinds have no identity of their own, so equal ones are the same.
fn same(a: &Kind, b: &Kind) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

fn encodings(family: &Family) -> Vec<&Encoding> {
    match &family.content {
        Content::String(value)
        | Content::List(value)
        | Content::Set(value)
        | Content::Bitmap(value)
        | Content::HyperLogLog(value)
        | Content::Channel(value) => vec![&value.encoding],
        Content::SortedSet { member: a, score: b } | Content::Map { field: a, value: b } => {
            vec![&a.encoding, &b.encoding]
        }
        Content::Hash(fields) | Content::Stream(fields) => {
            fields.iter().map(|field| &field.encoding).collect()
        }
    }
}

fn write_shape(out: &mut String, shape: &Shape) {
    let mut line = |name: &str, value: String| {
        let _ = writeln!(out, "{name} = {value}");
    };
    let word = match shape {
        Shape::Text { .. } => "text",
        Shape::Colons { .. } => "colons",
        Shape::Number { .. } => "integer",
        Shape::Words(_) => "enum",
        Shape::Uuid => "uuid",
        Shape::Ulid => "ulid",
        Shape::Date => "date",
        Shape::Pattern(_) => "pattern",
        Shape::Rest => "rest",
    };
    line("type", text(word));
    match shape {
        Shape::Text { except } if !except.is_empty() => line("except", texts(except)),
        Shape::Colons { fields_min } => line("fields", fields_min.to_string()),
        Shape::Number { min, max } => {
            if *min != 0 {
                line("min", number(*min));
            }
            if *max != u64::MAX {
                line("max", number(*max));
            }
        }
        Shape::Words(words) => line("words", texts(words)),
        Shape::Pattern(pattern) => line("pattern", text(pattern.source())),
        Shape::Text { .. } | Shape::Uuid | Shape::Ulid | Shape::Date | Shape::Rest => {}
    }
}

/// TOML's numbers end at 63 bits; larger ones stand in quotes.
fn number(number: u64) -> String {
    if i64::try_from(number).is_ok() { number.to_string() } else { format!("\"{number}\"") }
}
