//! Encodings and JSON shapes as a file notes them.

use super::parts::Names;
use super::{key, name_in, prose, text, texts};
use crate::encoding::Encoding;
use crate::family::Field;
use crate::json::Schema;

/// A value: a word where that is enough, else a table.
pub(super) fn value(encoding: &Encoding, meaning: &str, document: &str, names: &Names) -> String {
    let (flags, base) = flags(encoding);
    let mut entries = base_entries(base, document, names);
    if meaning.trim().is_empty() && flags.is_empty() && entries.len() == 1 {
        return entries.swap_remove(0).1;
    }
    entries.extend(flags.into_iter().map(|flag| (flag, "true".to_owned())));
    if !meaning.trim().is_empty() {
        let line = meaning.split_whitespace().collect::<Vec<_>>().join(" ");
        entries.push(("text", prose(&line)));
    }
    let entries: Vec<String> =
        entries.into_iter().map(|(name, value)| format!("{name} = {value}")).collect();
    format!("{{ {} }}", entries.join(", "))
}

/// An encoding as a file of its own notes it, for messages.
pub fn encoding_text(encoding: &Encoding) -> String {
    value(encoding, "", "", &Names::new(&[], &[]))
}

/// The wrappers in their usual order, and what they are around.
fn flags(encoding: &Encoding) -> (Vec<&'static str>, &Encoding) {
    let (mut flags, mut base) = (Vec::new(), encoding);
    if let Encoding::Optional(inner) = base {
        flags.push("optional");
        base = inner;
    }
    if let Encoding::Secret(inner) = base {
        flags.push("secret");
        base = inner;
    }
    if let Encoding::OrEmpty(inner) = base {
        flags.push("or_empty");
        base = inner;
    }
    (flags, base)
}

/// What says how a value is written, `is` first.
fn base_entries(encoding: &Encoding, document: &str, names: &Names) -> Vec<(&'static str, String)> {
    let inner = |encoding: &Encoding| value(encoding, "", document, names);
    let (word, more) = match encoding {
        Encoding::Text => ("text", vec![]),
        Encoding::Bytes => ("bytes", vec![]),
        Encoding::Integer { min, max } => ("integer", bounds(*min, *max)),
        Encoding::Float => ("number", vec![]),
        Encoding::Decimal => ("decimal", vec![]),
        Encoding::UnixSeconds => ("unix-seconds", vec![]),
        Encoding::UnixMs => ("unix-ms", vec![]),
        Encoding::IsoTime => ("iso-time", vec![]),
        Encoding::Bool("false", "true") => ("boolean", vec![]),
        Encoding::Bool(no, yes) => ("boolean", vec![("no", text(no)), ("yes", text(yes))]),
        Encoding::MsgPack => ("msgpack", vec![]),
        Encoding::Json(Schema::Any) => ("json", vec![]),
        Encoding::Json(shape) => ("json", vec![("schema", schema(shape))]),
        Encoding::Words(words) => ("enum", vec![("words", texts(words))]),
        Encoding::Like(forms) => ("like", vec![("forms", texts(forms))]),
        Encoding::List(item, count) => {
            ("list", vec![("of", inner(item)), ("count", count.to_string())])
        }
        Encoding::Tuple(fields) => ("tuple", vec![("of", tuple(fields, document, names))]),
        Encoding::Id(kind) => ("id", vec![("part", text(names.of(kind)))]),
        Encoding::Refers(referent) => {
            ("reference", vec![("to", text(&name_in(document, referent.family())))])
        }
        Encoding::KeyOf(referent) => {
            ("key", vec![("to", text(&name_in(document, referent.family())))])
        }
        Encoding::AnyOf(forms) => {
            let forms: Vec<String> = forms.iter().map(inner).collect();
            ("any-of", vec![("of", format!("[{}]", forms.join(", ")))])
        }
        Encoding::OrEmpty(of) => ("or-empty", vec![("of", inner(of))]),
        Encoding::Optional(of) => ("optional", vec![("of", inner(of))]),
        Encoding::Secret(of) => ("secret", vec![("of", inner(of))]),
    };
    let mut entries = vec![("is", text(word))];
    entries.extend(more);
    entries
}

fn bounds(min: i128, max: i128) -> Vec<(&'static str, String)> {
    let number = |number: i128| {
        i64::try_from(number).map_or_else(|_| format!("\"{number}\""), |number| number.to_string())
    };
    let mut bounds = Vec::new();
    if min != i64::MIN.into() {
        bounds.push(("min", number(min)));
    }
    if max != i64::MAX.into() {
        bounds.push(("max", number(max)));
    }
    bounds
}

fn tuple(fields: &[Field], document: &str, names: &Names) -> String {
    let fields = fields.iter().map(|field| {
        let value = value(&field.encoding, field.prose, document, names);
        let rest = match value.strip_prefix("{ ") {
            Some(rest) => rest.to_owned(),
            None => format!("is = {value} }}"),
        };
        format!("{{ name = {}, {rest}", text(field.name))
    });
    format!("[{}]", fields.collect::<Vec<_>>().join(", "))
}

fn schema(shape: &Schema) -> String {
    match shape {
        Schema::Any => text("any"),
        Schema::Bool => text("boolean"),
        Schema::Number => text("number"),
        Schema::Integer => text("integer"),
        Schema::String => text("string"),
        Schema::Words(words) => format!("{{ \"$enum\" = {} }}", texts(words)),
        Schema::Nullable(inner) => match schema(inner) {
            word if word.starts_with('"') => text(&format!("{} | null", word.trim_matches('"'))),
            compound => format!("{{ \"$nullable\" = {compound} }}"),
        },
        Schema::Array(item) => format!("[{}]", schema(item)),
        Schema::LuaArray(item) => format!("{{ \"$lua-array\" = {} }}", schema(item)),
        Schema::Map(inner) => format!("{{ \"*\" = {} }}", schema(inner)),
        Schema::Maybe(inner) => schema(inner),
        Schema::Object([]) => "{}".to_owned(),
        Schema::Object(members) => {
            let members = members.iter().map(|(name, shape)| {
                let mark = if matches!(shape, Schema::Maybe(_)) { "?" } else { "" };
                format!("{} = {}", key(&format!("{name}{mark}")), schema(shape))
            });
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
    }
}
