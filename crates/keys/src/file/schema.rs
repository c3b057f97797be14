//! The shape of JSON values, as a file notes it.
//!
//! A word names a type, an array of one shape is an array, a table an object. `"name?"` is a member that may be absent,
//! `"*"` stands for any name, `"string | null"` for something that may be null, `"#name"` for a shape of `[schemas]`.

use std::collections::BTreeMap;

use super::cursor::Node;
use super::parts::words;
use super::{keep, keep_all, keep_text};
use crate::json::Schema;

/// How deep shapes may lie inside each other.
const DEPTH_MAX: usize = 32;

/// Reads a shape. `named` holds those of `[schemas]`.
pub(super) fn schema(node: &Node<'_>, named: &BTreeMap<String, &'static Schema>) -> Option<Schema> {
    read(node, named, 0)
}

fn read(
    node: &Node<'_>,
    named: &BTreeMap<String, &'static Schema>,
    depth: usize,
) -> Option<Schema> {
    if depth > DEPTH_MAX {
        node.error(format!("the shape is more than {DEPTH_MAX} levels deep"));
        return None;
    }
    if let Some(text) = node.as_str() {
        return word(node, text, named);
    }
    if let Some(items) = node.as_array() {
        let [item] = items.as_slice() else {
            node.error("an array has one shape for all of its items: [\"string\"]");
            return None;
        };
        return Some(Schema::Array(keep(read(item, named, depth + 1)?)));
    }
    let fields = node.fields()?;
    let members = fields.all();
    if let [(name, inner)] = members.as_slice() {
        let inner_schema = |inner| read(inner, named, depth + 1);
        match *name {
            "*" => return Some(Schema::Map(keep(inner_schema(inner)?))),
            "$lua-array" => return Some(Schema::LuaArray(keep(inner_schema(inner)?))),
            "$nullable" => return Some(Schema::Nullable(keep(inner_schema(inner)?))),
            "$enum" => return Some(Schema::Words(words(inner.texts("words")?))),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for (name, inner) in members {
        if name == "*" || name.starts_with('$') {
            inner.error(format!("\"{name}\" stands alone; it cannot be among named members"));
            return None;
        }
        let schema = read(&inner, named, depth + 1)?;
        found.push(match name.strip_suffix('?') {
            Some(name) => (keep_text(name), Schema::Maybe(keep(schema))),
            None => (keep_text(name), schema),
        });
    }
    Some(Schema::Object(keep_all(found)))
}

fn word(node: &Node<'_>, text: &str, named: &BTreeMap<String, &'static Schema>) -> Option<Schema> {
    if let Some(inner) = text.strip_suffix("| null") {
        return Some(Schema::Nullable(keep(word(node, inner.trim_end(), named)?)));
    }
    if let Some(name) = text.strip_prefix('#') {
        let found = named.get(name).map(|schema| **schema);
        if found.is_none() {
            let known: Vec<&str> = named.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "there is none".into() } else { known.join(", ") };
            node.error(format!("no schema is called \"{name}\" above this place; known: {known}"));
        }
        return found;
    }
    Some(match text {
        "any" => Schema::Any,
        "boolean" => Schema::Bool,
        "number" => Schema::Number,
        "integer" => Schema::Integer,
        "string" => Schema::String,
        other => {
            let allowed = "any, boolean, number, integer, string, each also with \" | null\", or \"#NAME\" of [schemas]";
            node.error(format!("\"{other}\" is no JSON type; give {allowed}"));
            return None;
        }
    })
}
