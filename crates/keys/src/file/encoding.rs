//! How values are written, as a file notes it: a word, or a table whose `is` is that word.

use std::collections::BTreeMap;

use super::cursor::{Fields, Node};
use super::parts::words;
use super::{keep, keep_all, keep_text, schema};
use crate::encoding::Encoding;
use crate::family::{Field, LateFamily, Value};
use crate::json::Schema;
use crate::part::Kind;

/// What the declarations of a file can refer to.
pub(super) struct Scope {
    /// The document's name.
    pub(super) document: &'static str,
    pub(super) parts: BTreeMap<String, &'static Kind>,
    pub(super) schemas: BTreeMap<String, &'static Schema>,
    /// Families of all files that are read together, by id.
    pub(super) families: BTreeMap<String, &'static LateFamily>,
}

/// The words that `is` may be.
pub(super) const WORDS: &str = "text, bytes, integer, number, decimal, unix-seconds, unix-ms, iso-time, boolean, \
    json, msgpack, enum, like, list, tuple, id, reference, key, any-of";

impl Scope {
    /// A family of this document, or of any by its whole id.
    pub(super) fn family(&self, node: &Node<'_>) -> Option<&'static LateFamily> {
        let name = node.text("the name of a key")?;
        let own = self.families.get(&format!("{}.{name}", self.document));
        let found = own.or_else(|| self.families.get(name)).copied();
        if found.is_none() {
            node.error(format!(
                "there is no key \"{name}\"; give the name of one, or DOCUMENT.NAME"
            ));
        }
        found
    }

    /// A declared part.
    pub(super) fn part(&self, node: &Node<'_>) -> Option<&'static Kind> {
        let name = node.text("the name of a part")?;
        let found = self.parts.get(name).copied();
        if found.is_none() {
            let known: Vec<&str> = self.parts.keys().map(String::as_str).collect();
            node.error(format!("there is no part \"{name}\"; [parts] has {}", known.join(", ")));
        }
        found
    }
}

/// A value: how it is written, and what it means.
pub(super) fn value(node: &Node<'_>, scope: &Scope) -> Option<Value> {
    if node.as_str().is_some() {
        return Some(Value { encoding: encoding(node, scope)?, prose: "" });
    }
    let fields = node.fields()?;
    let prose = fields.get("text").and_then(|node| node.text("a text")).unwrap_or_default();
    let encoding = table(&fields, scope);
    fields.finish();
    Some(Value { encoding: encoding?, prose: keep_text(prose) })
}

/// The fields of a hash or of a stream's entries.
pub(super) fn named(node: &Node<'_>, scope: &Scope) -> Option<Vec<Field>> {
    let mut found = Vec::new();
    for (name, node) in node.fields()?.all() {
        if let Some(Value { encoding, prose }) = value(&node, scope) {
            found.push(Field { name: keep_text(name), prose, encoding });
        }
    }
    Some(found)
}

fn encoding(node: &Node<'_>, scope: &Scope) -> Option<Encoding> {
    let Some(word) = node.as_str() else {
        let fields = node.fields()?;
        let encoding = table(&fields, scope);
        fields.finish();
        return encoding;
    };
    let encoding = plain(word);
    if encoding.is_none() {
        let hint = if WORDS.split(", ").any(|known| known.trim() == word) {
            format!("\"{word}\" needs more than its name: {{ is = \"{word}\", … }}")
        } else {
            format!("\"{word}\" is no encoding; give one of {WORDS}")
        };
        node.error(hint);
    }
    encoding
}

/// Encodings that need no more than their name.
fn plain(word: &str) -> Option<Encoding> {
    Some(match word {
        "text" => Encoding::Text,
        "bytes" => Encoding::Bytes,
        "integer" => Encoding::Integer { min: i64::MIN.into(), max: i64::MAX.into() },
        "number" => Encoding::Float,
        "decimal" => Encoding::Decimal,
        "unix-seconds" => Encoding::UnixSeconds,
        "unix-ms" => Encoding::UnixMs,
        "iso-time" => Encoding::IsoTime,
        "boolean" => Encoding::Bool("false", "true"),
        "json" => Encoding::Json(&Schema::Any),
        "msgpack" => Encoding::MsgPack,
        _ => return None,
    })
}

fn table(fields: &Fields<'_>, scope: &Scope) -> Option<Encoding> {
    let flag = |name| fields.get(name).map_or(Some(false), |node| node.boolean());
    let (optional, secret, or_empty) = (flag("optional"), flag("secret"), flag("or_empty"));
    let mut encoding = base(fields, scope)?;
    if or_empty? {
        encoding = Encoding::OrEmpty(keep(encoding));
    }
    if secret? {
        encoding = Encoding::Secret(keep(encoding));
    }
    if optional? {
        encoding = Encoding::Optional(keep(encoding));
    }
    Some(encoding)
}

fn base(fields: &Fields<'_>, scope: &Scope) -> Option<Encoding> {
    let node = fields.need("is", &format!("one of {WORDS}"))?;
    let of = || fields.need("of", "what it is made of");
    Some(match node.text("the name of an encoding")? {
        "integer" => integer(fields)?,
        "boolean" => {
            let word =
                |name, default| fields.get(name).map_or(Some(default), |node| node.text("a word"));
            Encoding::Bool(keep_text(word("no", "false")?), keep_text(word("yes", "true")?))
        }
        "json" => match fields.get("schema") {
            Some(node) => Encoding::Json(keep(schema::schema(&node, &scope.schemas)?)),
            None => Encoding::Json(&Schema::Any),
        },
        "enum" => {
            Encoding::Words(words(fields.need("words", "an array of words")?.texts("words")?))
        }
        "like" => {
            let forms = fields.need("forms", "an array of forms, 0 for a digit")?;
            Encoding::Like(words(forms.texts("forms")?))
        }
        "list" => {
            let count = fields.need("count", "how many values")?.count()?;
            Encoding::List(keep(encoding(&of()?, scope)?), usize::try_from(count).ok()?)
        }
        "tuple" => Encoding::Tuple(tuple(&of()?, scope)?),
        "id" => Encoding::Id(scope.part(&fields.need("part", "the name of a part")?)?),
        "reference" => Encoding::Refers(scope.family(&fields.need("to", "the name of a key")?)?),
        "key" => Encoding::KeyOf(scope.family(&fields.need("to", "the name of a key")?)?),
        "any-of" => {
            let node = of()?;
            let Some(forms) = node.as_array() else {
                node.error("expected an array of encodings");
                return None;
            };
            let forms: Option<Vec<Encoding>> =
                forms.iter().map(|form| encoding(form, scope)).collect();
            Encoding::AnyOf(keep_all(forms?))
        }
        "optional" => Encoding::Optional(keep(encoding(&of()?, scope)?)),
        "secret" => Encoding::Secret(keep(encoding(&of()?, scope)?)),
        "or-empty" => Encoding::OrEmpty(keep(encoding(&of()?, scope)?)),
        _ => return encoding(&node, scope),
    })
}

fn integer(fields: &Fields<'_>) -> Option<Encoding> {
    let bound = |name, default: i64| -> Option<i128> {
        let Some(node) = fields.get(name) else { return Some(default.into()) };
        let found = node.as_int().map(i128::from).or_else(|| node.as_str()?.parse().ok());
        if found.is_none() {
            node.error(format!("expected a whole number, found {}", node.noun()));
        }
        found
    };
    let (min, max) = (bound("min", i64::MIN), bound("max", i64::MAX));
    let (min, max) = (min?, max?);
    if min > max {
        fields.node.error(format!("\"min\" {min} is more than \"max\" {max}"));
        return None;
    }
    Some(Encoding::Integer { min, max })
}

/// Different values with commas between them: `[{ name = "x", is = "integer" }, …]`.
fn tuple(node: &Node<'_>, scope: &Scope) -> Option<&'static [Field]> {
    let Some(nodes) = node.as_array() else {
        node.error("expected an array of tables with \"name\" and \"is\"");
        return None;
    };
    let fields: Option<Vec<Field>> = nodes
        .iter()
        .map(|node| {
            let fields = node.fields()?;
            let name = fields.need("name", "what the value is called")?.text("a name")?;
            let prose = fields.get("text").and_then(|node| node.text("a text")).unwrap_or_default();
            let encoding = table(&fields, scope);
            fields.finish();
            Some(Field { name: keep_text(name), prose: keep_text(prose), encoding: encoding? })
        })
        .collect();
    fields.map(keep_all)
}
