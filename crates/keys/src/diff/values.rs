//! Changes of fields and of how values are written.

use super::{Breaks, Differ};
use crate::encoding::Encoding;
use crate::family::{Content, Field};
use crate::json::Schema;

/// What the value of a channel is called.
const MESSAGE: &str = "message";

impl Differ<'_> {
    pub(super) fn fields(&mut self, was: &'static [Field], is: &'static [Field]) {
        for field in was {
            let name = field.name;
            let Some(after) = is.iter().find(|other| other.name == name) else {
                let what = format!("field {name} removed");
                let migration =
                    format!("readers stop using it, then writers; HDEL {name} in old keys");
                self.add(Breaks::Readers, what, migration);
                continue;
            };
            match (field.optional(), after.optional()) {
                (true, false) => {
                    let migration = format!("fill {name} in old keys before readers rely on it");
                    self.add(
                        Breaks::Writers,
                        format!("field {name} is no longer optional"),
                        migration,
                    );
                }
                (false, true) => {
                    let what = format!("field {name} became optional");
                    self.add(Breaks::Readers, what, format!("readers must do without {name}"));
                }
                _ => {}
            }
            self.encoding(&format!("field {name}"), &field.encoding, &after.encoding);
        }
        for field in is.iter().filter(|field| !was.iter().any(|other| other.name == field.name)) {
            let name = field.name;
            if field.optional() {
                self.add(Breaks::Nobody, format!("field {name} added, optional"), "");
            } else {
                let migration = format!("fill {name} in old keys, or declare it optional");
                self.add(Breaks::Writers, format!("field {name} added"), migration);
            }
        }
    }

    pub(super) fn encoding(&mut self, name: &str, was: &Encoding, is: &Encoding) {
        let (a, b) = (bare(was), bare(is));
        if was.is_secret() != is.is_secret() {
            let word = if is.is_secret() { "became" } else { "is no longer" };
            self.add(Breaks::Nobody, format!("{name} {word} secret"), "");
        }
        if format!("{a:?}") == format!("{b:?}") {
            return;
        }
        let breaks = match (a, b) {
            (Encoding::Words(before), Encoding::Words(after)) => words(before, after),
            (Encoding::Integer { min: a, max: b }, Encoding::Integer { min: c, max: d }) => {
                widened(c <= a && d >= b, c >= a && d <= b)
            }
            (Encoding::Json(before), Encoding::Json(after)) => schema(before, after),
            (_, Encoding::Text) => Breaks::Readers,
            (Encoding::Text, _) => Breaks::Writers,
            _ => Breaks::Both,
        };
        let migration = match breaks {
            Breaks::Nobody => "",
            // Nothing of a message is left to be written anew.
            _ if name == MESSAGE => "readers take both forms first, then writers change",
            _ => {
                "readers take both forms first, then writers change; \"keyrack keys migrate\" re-encodes old keys"
            }
        };
        self.add(breaks, format!("{name}: {a} became {b}"), migration);
    }
}

/// Whom another shape of JSON breaks. Objects may hold more members than are declared.
fn schema(was: &Schema, is: &Schema) -> Breaks {
    match (was, is) {
        (was, is) if format!("{was:?}") == format!("{is:?}") => Breaks::Nobody,
        (Schema::Object(before), Schema::Object(after)) => members(before, after),
        (Schema::Maybe(was), Schema::Maybe(is))
        | (Schema::Nullable(was), Schema::Nullable(is))
        | (Schema::Array(was), Schema::Array(is))
        | (Schema::LuaArray(was), Schema::LuaArray(is))
        | (Schema::Map(was), Schema::Map(is)) => schema(was, is),
        (Schema::Maybe(was), is) => schema(was, is).and(Breaks::Writers),
        (was, Schema::Maybe(is)) => schema(was, is).and(Breaks::Readers),
        (Schema::Nullable(was), is) => schema(was, is).and(Breaks::Writers),
        (was, Schema::Nullable(is)) => schema(was, is).and(Breaks::Readers),
        (Schema::Words(before), Schema::Words(after)) => words(before, after),
        (_, Schema::Any)
        | (Schema::Integer, Schema::Number)
        | (Schema::Words(_), Schema::String) => Breaks::Readers,
        (Schema::Any, _)
        | (Schema::Number, Schema::Integer)
        | (Schema::String, Schema::Words(_)) => Breaks::Writers,
        _ => Breaks::Both,
    }
}

type Member = (&'static str, Schema);

fn members(before: &[Member], after: &[Member]) -> Breaks {
    let named = |members: &[Member], name: &str| {
        members.iter().find(|(other, _)| *other == name).map(|(_, schema)| *schema)
    };
    let kept = before.iter().map(|(name, was)| match named(after, name) {
        Some(is) => schema(was, &is),
        None => Breaks::Readers,
    });
    let added = after.iter().filter(|(name, _)| named(before, name).is_none());
    let added = added.map(|(_, schema)| match schema {
        Schema::Maybe(_) => Breaks::Nobody,
        _ => Breaks::Writers,
    });
    kept.chain(added).fold(Breaks::Nobody, Breaks::and)
}

/// The encoding without what says only whether it is there and who sees it.
fn bare(encoding: &Encoding) -> &Encoding {
    match encoding {
        Encoding::Optional(inner) | Encoding::Secret(inner) => bare(inner),
        other => other,
    }
}

/// Whom other words break.
pub(super) fn words(before: &[&str], after: &[&str]) -> Breaks {
    let all_in = |a: &[&str], b: &[&str]| a.iter().all(|word| b.contains(word));
    widened(all_in(before, after), all_in(after, before))
}

/// More values break readers, fewer break writers.
pub(super) fn widened(holds_the_old: bool, holds_nothing_else: bool) -> Breaks {
    match (holds_the_old, holds_nothing_else) {
        (true, true) => Breaks::Nobody,
        (true, false) => Breaks::Readers,
        (false, true) => Breaks::Writers,
        (false, false) => Breaks::Both,
    }
}

/// The encodings of two keys of the same type, side by side.
pub(super) fn pairs<'c>(
    was: &'c Content,
    is: &'c Content,
) -> Vec<(&'static str, &'c Encoding, &'c Encoding)> {
    let one = |name, a: &'c crate::Value, b: &'c crate::Value| (name, &a.encoding, &b.encoding);
    match (was, is) {
        (Content::String(a), Content::String(b)) => vec![one("value", a, b)],
        (Content::List(a), Content::List(b)) => vec![one("item", a, b)],
        (Content::Set(a), Content::Set(b)) => vec![one("member", a, b)],
        (Content::Channel(a), Content::Channel(b)) => vec![one(MESSAGE, a, b)],
        (
            Content::SortedSet { member: a, score: b },
            Content::SortedSet { member: c, score: d },
        ) => vec![one("member", a, c), one("score", b, d)],
        (Content::Map { field: a, value: b }, Content::Map { field: c, value: d }) => {
            vec![one("field name", a, c), one("value", b, d)]
        }
        _ => Vec::new(),
    }
}
