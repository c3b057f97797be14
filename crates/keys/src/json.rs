//! The shape of JSON values, small enough to stand in a declaration.

use std::fmt;

use serde_json::Value;

use crate::encoding::quoted;

pub use Schema::*;

/// What a JSON value looks like. Objects may always hold more members than declared: others add their own.
#[derive(Clone, Copy, Debug)]
pub enum Schema {
    /// Anything.
    Any,
    /// `true` or `false`.
    Bool,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// A string.
    String,
    /// One of these strings.
    Words(&'static [&'static str]),
    /// This, or `null`.
    Nullable(&'static Schema),
    /// An array.
    Array(&'static Schema),
    /// An array, or `{}` for an empty one: Lua's cjson cannot tell the two apart.
    LuaArray(&'static Schema),
    /// An object with at least these members.
    Object(&'static [(&'static str, Schema)]),
    /// A member that may be absent; stands in [`Schema::Object`] only.
    Maybe(&'static Schema),
    /// An object with any members, all alike.
    Map(&'static Schema),
}

impl Schema {
    /// Is `text` JSON of this shape? The error names the place.
    pub fn check(&self, text: &[u8]) -> Result<(), std::string::String> {
        let value = serde_json::from_slice(text)
            .map_err(|_| format!("expected JSON, found {}", quoted(text)))?;
        self.check_value(&value, "")
    }

    fn check_value(&self, value: &Value, path: &str) -> Result<(), std::string::String> {
        match (self, value) {
            (Any, _) | (Nullable(_), Value::Null) => Ok(()),
            (Bool, Value::Bool(_)) | (Number, Value::Number(_)) | (String, Value::String(_)) => {
                Ok(())
            }
            (Integer, Value::Number(number)) if number.is_i64() || number.is_u64() => Ok(()),
            (Words(words), Value::String(text)) if words.contains(&text.as_str()) => Ok(()),
            (Nullable(inner) | Maybe(inner), value) => inner.check_value(value, path),
            (LuaArray(_), Value::Object(members)) if members.is_empty() => Ok(()),
            (Array(item) | LuaArray(item), Value::Array(items)) => items
                .iter()
                .enumerate()
                .try_for_each(|(i, value)| item.check_value(value, &format!("{path}[{i}]"))),
            (Map(inner), Value::Object(members)) => members
                .iter()
                .try_for_each(|(name, value)| inner.check_value(value, &format!("{path}.{name}"))),
            (Object(schemas), Value::Object(members)) => {
                schemas.iter().try_for_each(|(name, schema)| match members.get(*name) {
                    Some(value) => schema.check_value(value, &format!("{path}.{name}")),
                    None if matches!(schema, Maybe(_)) => Ok(()),
                    None => Err(format!("the JSON value at \"{path}\" lacks \"{name}\"")),
                })
            }
            (wanted, value) => {
                Err(format!("the JSON value at \"{path}\" is {}, expected {wanted}", noun(value)))
            }
        }
    }
}

fn noun(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Any => f.write_str("anything"),
            Bool => f.write_str("boolean"),
            Number => f.write_str("number"),
            Integer => f.write_str("integer"),
            String => f.write_str("string"),
            Words(words) => write!(f, "one of \"{}\"", words.join("\", \"")),
            Nullable(inner) => write!(f, "{inner} or null"),
            Array(item) => write!(f, "[{item}, …]"),
            LuaArray(item) => write!(f, "[{item}, …], empty as {{}}"),
            Object(members) => {
                f.write_str("{")?;
                for (i, (name, schema)) in members.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    let maybe = if matches!(schema, Maybe(_)) { "?" } else { "" };
                    write!(f, "{comma}{name}{maybe}: {schema}")?;
                }
                f.write_str("}")
            }
            Maybe(inner) => write!(f, "{inner}"),
            Map(inner) => write!(f, "{{any name: {inner}}}"),
        }
    }
}
