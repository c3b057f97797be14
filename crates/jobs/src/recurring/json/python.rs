//! The text that Python's default encoder makes of a value; the original's digests are taken from it.

use std::fmt::Write as _;

use keyrack_keys::python::write_text;

use super::Json;

impl Json {
    /// The value as `json.dumps` writes it: a space after `,` and `:`, everything beyond ASCII as `\uXXXX`.
    pub(crate) fn to_python(&self) -> String {
        let mut out = String::new();
        write_value(&mut out, self);
        out
    }
}

fn write_value(out: &mut String, value: &Json) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(yes) => out.push_str(if *yes { "true" } else { "false" }),
        Json::Int(number) => write!(out, "{number}").unwrap_or_default(),
        Json::Float(number) => out.push_str(&float(*number)),
        Json::Text(text) => write_text(out, text),
        Json::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_value(out, item);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (at, (name, value)) in members.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_text(out, name);
                out.push_str(": ");
                write_value(out, value);
            }
            out.push('}');
        }
    }
}

/// `repr` of a float: the shortest digits that give it back, with an exponent below 1e-4 and from 1e16 on.
fn float(number: f64) -> String {
    let shortest = format!("{number:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        let plain = number.to_string();
        return if plain.contains('.') { plain } else { plain + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
