//! How values seem to be written, from a sample of them.

use std::collections::{BTreeMap, BTreeSet};

use redis::{Pipeline, Value};
use serde::Serialize;

/// What keys of one shape hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum ContentShape {
    /// A string.
    String {
        /// How it is written.
        value: Guess,
    },
    /// A list.
    List {
        /// How its items are written.
        item: Guess,
    },
    /// A set.
    Set {
        /// How its members are written.
        member: Guess,
    },
    /// A sorted set.
    SortedSet {
        /// How its members are written.
        member: Guess,
        /// How its scores are written.
        score: Guess,
    },
    /// A hash with the same fields in every key.
    Hash {
        /// The fields, by name, and whether each was always there.
        fields: BTreeMap<String, (Guess, bool)>,
    },
    /// A hash with a field for each of something.
    Map {
        /// How the fields are written.
        field: Guess,
        /// How their values are written.
        value: Guess,
    },
    /// A type that keyrack has no keys of.
    Other,
}

/// How some values are written: an encoding as it stands in a declaration, and one of the values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Guess {
    /// The encoding, as Rust.
    pub encoding: String,
    /// One of the values, shortened.
    pub example: String,
}

/// Members, fields or items read of each key.
const SAMPLE: usize = 100;
/// Fields that a hash may have before it looks like one field for each of something.
const FIELDS_MAX: usize = 40;
/// The same when there is no other key to compare with.
const FIELDS_MAX_OF_ONE: usize = 12;

/// Adds the command that reads a sample of a key.
pub(super) fn read(pipeline: &mut Pipeline, kind: &str, key: &str) {
    const STRING_BYTES: usize = 4_096;
    match kind {
        "string" => pipeline.cmd("GETRANGE").arg(key).arg(0).arg(STRING_BYTES),
        "list" => pipeline.cmd("LRANGE").arg(key).arg(0).arg(SAMPLE),
        "set" => pipeline.cmd("SSCAN").arg(key).arg(0).arg("COUNT").arg(SAMPLE),
        "zset" => pipeline.cmd("ZSCAN").arg(key).arg(0).arg("COUNT").arg(SAMPLE),
        "hash" => pipeline.cmd("HSCAN").arg(key).arg(0).arg("COUNT").arg(SAMPLE),
        _ => pipeline.cmd("EXISTS").arg(key),
    };
}

/// Values seen so far.
#[derive(Debug)]
pub(super) struct Evidence {
    kind: String,
    n_keys: usize,
    /// Strings, items, members or fields.
    values: Vec<String>,
    /// Scores, or the values of fields, in step with `values`.
    seconds: Vec<String>,
}

impl Evidence {
    pub(super) fn new(kind: &str) -> Self {
        Self { kind: kind.to_owned(), n_keys: 0, values: Vec::new(), seconds: Vec::new() }
    }

    /// Takes in the reply to [`read`]; a key that is gone by now adds nothing.
    pub(super) fn add(&mut self, reply: Value) {
        self.n_keys += 1;
        match (self.kind.as_str(), reply) {
            ("string", reply) => self.values.extend(text(reply)),
            ("list", Value::Array(items)) => {
                self.values.extend(items.into_iter().filter_map(text));
            }
            ("set", reply) => self.values.extend(scanned(reply)),
            ("zset" | "hash", reply) => {
                for pair in scanned(reply).chunks_exact(2) {
                    self.values.push(pair[0].clone());
                    self.seconds.push(pair[1].clone());
                }
            }
            _ => {}
        }
    }

    pub(super) fn finish(self) -> ContentShape {
        match self.kind.as_str() {
            "string" => ContentShape::String { value: Guess::of(&self.values) },
            "list" => ContentShape::List { item: Guess::of(&self.values) },
            "set" => ContentShape::Set { member: Guess::of(&self.values) },
            "zset" => ContentShape::SortedSet {
                member: Guess::of(&self.values),
                score: Guess::of(&self.seconds),
            },
            "hash" => self.hash(),
            _ => ContentShape::Other,
        }
    }

    /// A hash whose keys mostly have the same few fields has fields; any other is a map.
    fn hash(self) -> ContentShape {
        let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (field, value) in self.values.iter().zip(&self.seconds) {
            fields.entry(field.clone()).or_default().push(value.clone());
        }
        let common = self.values.len() * 2 >= fields.len() * self.n_keys;
        let named = fields.keys().all(|name| is_identifier(name));
        let fields_max = if self.n_keys == 1 { FIELDS_MAX_OF_ONE } else { FIELDS_MAX };
        if (1..=fields_max).contains(&fields.len()) && common && named {
            let fields = fields.into_iter().map(|(name, values)| {
                let always = values.len() == self.n_keys;
                (name, (Guess::of(&values), always))
            });
            return ContentShape::Hash { fields: fields.collect() };
        }
        ContentShape::Map { field: Guess::of(&self.values), value: Guess::of(&self.seconds) }
    }
}

fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn scanned(reply: Value) -> Vec<String> {
    match reply {
        Value::Array(halves) => match halves.into_iter().nth(1) {
            Some(Value::Array(values)) => values.into_iter().filter_map(text).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

/// Plain numbers between these are moments: from 2001 to 2128.
const SECONDS: std::ops::Range<f64> = 1e9..5e9;
/// So few distinct values, each seen several times, are words.
const WORDS_MAX: usize = 6;
const REPEATS_MIN: usize = 4;

impl Guess {
    /// The narrowest encoding that fits all of the values.
    pub(super) fn of(values: &[String]) -> Self {
        let example: String =
            values.iter().min().map_or("", String::as_str).chars().take(40).collect();
        Self { encoding: encoding(values), example }
    }
}

fn encoding(values: &[String]) -> String {
    let all = |fits: &dyn Fn(&str) -> bool| values.iter().all(|value| fits(value));
    let number = |value: &str| value.parse::<f64>().ok().filter(|number| number.is_finite());
    let within = |factor: f64| {
        move |value: &str| number(value).is_some_and(|n| SECONDS.contains(&(n / factor)))
    };
    if values.is_empty() {
        return "Text".into();
    }
    if all(&|value| value == "0" || value == "1") {
        return r#"Words(&["0", "1"])"#.into();
    }
    if all(&is_integer) {
        return if all(&within(1e3)) {
            "UnixMs".into()
        } else if all(&within(1.0)) {
            "UnixSeconds".into()
        } else if all(&|value| !value.starts_with('-')) {
            "COUNT".into()
        } else {
            "Integer { min: i64::MIN as i128, max: i64::MAX as i128 }".into()
        };
    }
    if all(&|value| number(value).is_some()) {
        return if all(&within(1.0)) { "UnixSeconds".into() } else { "Float".into() };
    }
    if all(&|value| value.starts_with(['{', '['])) {
        let parsed: Option<Vec<serde_json::Value>> =
            values.iter().map(|value| serde_json::from_str(value).ok()).collect();
        if let Some(parsed) = parsed {
            return format!("Json(&{})", schema(&parsed.iter().collect::<Vec<_>>()));
        }
    }
    words(values).unwrap_or_else(|| "Text".into())
}

/// A whole number in its plain form.
fn is_integer(value: &str) -> bool {
    value.parse::<i64>().is_ok_and(|number| number.to_string() == value)
}

fn words(values: &[String]) -> Option<String> {
    let words: BTreeSet<&str> = values.iter().map(String::as_str).collect();
    let plain = |word: &&str| {
        // A digit would make it an id, of which there will be more.
        (1..=24).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_-".contains(&byte))
    };
    let few = words.len() <= WORDS_MAX && values.len() >= words.len() * REPEATS_MIN;
    (few && words.iter().all(plain)).then(|| {
        let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        format!("Words(&[{}])", words.join(", "))
    })
}

/// The shape that all of these have in common, one level deep.
fn schema(values: &[&serde_json::Value]) -> String {
    let all = |fits: fn(&serde_json::Value) -> bool| values.iter().all(|value| fits(value));
    if all(serde_json::Value::is_array) {
        return "json::Array(&json::Any)".into();
    }
    let objects: Option<Vec<_>> = values.iter().map(|value| value.as_object()).collect();
    let Some(objects) = objects else { return "json::Any".into() };
    let names: BTreeSet<&String> = objects.iter().flat_map(|object| object.keys()).collect();
    if names.is_empty() || names.len() > FIELDS_MAX {
        return "json::Map(&json::Any)".into();
    }
    let members = names.into_iter().map(|name| {
        let found: Vec<&serde_json::Value> =
            objects.iter().filter_map(|object| object.get(name)).collect();
        let kind = member(&found);
        let kind = if found.len() < objects.len() { format!("json::Maybe(&{kind})") } else { kind };
        format!("({name:?}, {kind})")
    });
    format!("json::Object(&[{}])", members.collect::<Vec<_>>().join(", "))
}

fn member(values: &[&serde_json::Value]) -> String {
    let present: Vec<_> = values.iter().filter(|value| !value.is_null()).collect();
    let all = |fits: fn(&serde_json::Value) -> bool| present.iter().all(|value| fits(value));
    let kind = if present.is_empty() {
        return "json::Any".into();
    } else if all(serde_json::Value::is_boolean) {
        "json::Bool"
    } else if all(serde_json::Value::is_number) {
        "json::Number"
    } else if all(serde_json::Value::is_string) {
        "json::String"
    } else if all(serde_json::Value::is_array) {
        "json::Array(&json::Any)"
    } else if all(serde_json::Value::is_object) {
        "json::Map(&json::Any)"
    } else {
        return "json::Any".into();
    };
    if present.len() < values.len() { format!("json::Nullable(&{kind})") } else { kind.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[&str], expected: &str) {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        assert_eq!(encoding(&values), expected);
    }

    #[test]
    fn numbers_are_moments_when_all_of_them_could_be() {
        check(&["1667950000", "1667950001"], "UnixSeconds");
        check(&["1667950000.25", "1667950001"], "UnixSeconds");
        check(&["1667950000123"], "UnixMs");
        check(&["1667950000", "12"], "COUNT");
        check(&["-4", "7"], "Integer { min: i64::MIN as i128, max: i64::MAX as i128 }");
        check(&["0.5", "1e9"], "Float");
        check(&["0", "1", "1"], r#"Words(&["0", "1"])"#);
    }

    #[test]
    fn few_words_that_come_back_are_listed() {
        check(&["on", "off", "on", "on", "off", "on", "off", "off"], r#"Words(&["off", "on"])"#);
        check(&["on", "off"], "Text");
        check(&[], "Text");
        check(&["007"], "Float");
    }

    #[test]
    fn json_members_that_are_sometimes_absent_or_null_are_marked() {
        check(
            &[r#"{"a":1,"b":null}"#, r#"{"a":2,"b":"x","c":[]}"#],
            r#"Json(&json::Object(&[("a", json::Number), ("b", json::Nullable(&json::String)), ("c", json::Maybe(&json::Array(&json::Any)))]))"#,
        );
        check(&["[1]", "[]"], "Json(&json::Array(&json::Any))");
        check(&["{broken"], "Text");
    }
}
