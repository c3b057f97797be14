//! How values seem to be written, from a sample of them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use keyrack_keys::file::{encoding_text, keep, keep_all, keep_text};
use keyrack_keys::json::Schema;
use keyrack_keys::{COUNT, Encoding};
use redis::{Pipeline, Value};
use serde::{Serialize, Serializer};

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
    /// A stream.
    Stream {
        /// The fields of its entries, and whether each was always there.
        fields: BTreeMap<String, (Guess, bool)>,
    },
    /// A HyperLogLog.
    HyperLogLog,
    /// A type that cannot be declared.
    Other,
}

/// How some values are written: an encoding, and one of the values.
#[derive(Clone, Debug, Serialize)]
pub struct Guess {
    /// The encoding, as a keys file notes it.
    #[serde(serialize_with = "as_text")]
    pub encoding: Encoding,
    /// The template of the keys that the values name.
    pub refers: Option<String>,
    /// Whether they name them by their whole names, and not by their ids.
    pub whole: bool,
    /// One of the values, shortened.
    pub example: String,
}

impl PartialEq for Guess {
    fn eq(&self, other: &Self) -> bool {
        encoding_text(&self.encoding) == encoding_text(&other.encoding)
            && (&self.refers, self.whole, &self.example)
                == (&other.refers, other.whole, &other.example)
    }
}

fn as_text<S: Serializer>(encoding: &Encoding, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&encoding_text(encoding))
}

/// Keys that values may name: their template, the word in front of the id, and all ids.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) template: String,
    pub(super) word: String,
    pub(super) ids: HashSet<String>,
}

impl Target {
    /// Is this the name of one of the keys?
    fn has_key(&self, name: &str) -> bool {
        let id = self.template.split_once('<').and_then(|(before, rest)| {
            let (_, after) = rest.split_once('>')?;
            name.strip_prefix(before)?.strip_suffix(after)
        });
        id.is_some_and(|id| self.ids.contains(id))
    }
}

/// Members, fields or items read of each key.
const SAMPLE: usize = 100;
/// Entries read of each stream: as many as the lint reads.
const ENTRIES: usize = 256;
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
        "stream" => pipeline.cmd("XRANGE").arg(key).arg("-").arg("+").arg("COUNT").arg(ENTRIES),
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
            ("stream", Value::Array(entries)) => {
                // Each entry is like a hash of its own.
                self.n_keys += entries.len().saturating_sub(1);
                for entry in entries {
                    let Value::Array(halves) = entry else { continue };
                    let Some(Value::Array(texts)) = halves.into_iter().nth(1) else { continue };
                    let texts: Vec<String> = texts.into_iter().filter_map(text).collect();
                    for pair in texts.chunks_exact(2) {
                        self.values.push(pair[0].clone());
                        self.seconds.push(pair[1].clone());
                    }
                }
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

    /// What it comes to; `name` is what the keys are called.
    pub(super) fn finish(self, name: &str, targets: &[Target]) -> ContentShape {
        let members = || Guess::of(&self.values).refer(name, &self.values, targets);
        match self.kind.as_str() {
            "string" if is_hyperloglog(&self.values) => ContentShape::HyperLogLog,
            // A counter is called like what it counts, so its name says nothing.
            "string" => ContentShape::String {
                value: Guess::of(&self.values).refer("", &self.values, targets),
            },
            "list" => ContentShape::List { item: members() },
            "set" => ContentShape::Set { member: members() },
            "zset" => ContentShape::SortedSet {
                member: members(),
                score: Guess::of_scores(&self.seconds),
            },
            "hash" => self.hash(targets),
            "stream" => {
                ContentShape::Stream { fields: guessed(self.fields(), self.n_keys, targets) }
            }
            _ => ContentShape::Other,
        }
    }

    /// The values of each field.
    fn fields(&self) -> BTreeMap<String, Vec<String>> {
        let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (field, value) in self.values.iter().zip(&self.seconds) {
            fields.entry(field.clone()).or_default().push(value.clone());
        }
        fields
    }

    /// A hash whose keys mostly have the same few fields has fields; any other is a map.
    fn hash(self, targets: &[Target]) -> ContentShape {
        let fields = self.fields();
        let common = self.values.len() * 2 >= fields.len() * self.n_keys;
        let named = fields.keys().all(|name| is_field_name(name));
        let fields_max = if self.n_keys == 1 { FIELDS_MAX_OF_ONE } else { FIELDS_MAX };
        if (1..=fields_max).contains(&fields.len()) && common && named {
            return ContentShape::Hash { fields: guessed(fields, self.n_keys, targets) };
        }
        let guess = |values: &[String]| Guess::of(values).refer("", values, targets);
        ContentShape::Map { field: guess(&self.values), value: guess(&self.seconds) }
    }
}

/// How the values of each field seem to be written, and whether it was always there.
fn guessed(
    fields: BTreeMap<String, Vec<String>>,
    n_keys: usize,
    targets: &[Target],
) -> BTreeMap<String, (Guess, bool)> {
    let guesses = fields.into_iter().map(|(name, values)| {
        let guess = Guess::of(&values).refer(&name, &values, targets);
        (name, (guess, values.len() == n_keys))
    });
    guesses.collect()
}

fn is_hyperloglog(values: &[String]) -> bool {
    !values.is_empty() && values.iter().all(|value| value.starts_with("HYLL"))
}

/// Something that a programmer would call a field, and not an id.
fn is_field_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && name.len() <= 40
        && letters.all(|letter| letter.is_ascii_alphanumeric() || "_-.:".contains(letter))
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
        Self { encoding: encoding(values), refers: None, whole: false, example }
    }

    /// The same for scores, which are numbers by nature: few that are alike are no words.
    fn of_scores(scores: &[String]) -> Self {
        let mut guess = Self::of(scores);
        if matches!(guess.encoding, Encoding::Bool(..) | Encoding::Words(_) | Encoding::Text) {
            guess.encoding = Encoding::Float;
        }
        guess
    }

    /// Sees whether the values are ids of other keys. Plain numbers are ids only where their name says so.
    fn refer(mut self, name: &str, values: &[String], targets: &[Target]) -> Self {
        let distinct: BTreeSet<&String> = values.iter().filter(|value| !value.is_empty()).collect();
        let numbers = distinct.iter().all(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
        let fits = |target: &&Target| {
            let says_so = {
                let name = name.to_ascii_lowercase();
                let name = name.strip_suffix('s').unwrap_or(&name);
                let name = name.trim_end_matches("_id").trim_end_matches("id");
                !name.is_empty() && name.trim_end_matches('_') == target.word
            };
            let enough = if says_so { 1 } else { REFERENCES_MIN };
            let is_plain = matches!(self.encoding, Encoding::Text) || says_so;
            distinct.len() >= enough
                && is_plain
                && (says_so || !numbers)
                && distinct.iter().all(|value| target.ids.contains(*value))
        };
        self.refers = targets.iter().find(fits).map(|target| target.template.clone());
        self.or_names(values, targets)
    }

    /// Sees whether the values are whole names of keys. One of them could be an accident.
    fn or_names(mut self, values: &[String], targets: &[Target]) -> Self {
        if self.refers.is_some() || values.iter().all(|value| *value == values[0]) {
            return self;
        }
        let fits = |target: &&Target| values.iter().all(|value| target.has_key(value));
        self.refers = targets.iter().find(fits).map(|target| target.template.clone());
        self.whole = self.refers.is_some();
        self
    }
}

/// So many different values that are all ids of other keys are no accident.
const REFERENCES_MIN: usize = 3;

fn encoding(values: &[String]) -> Encoding {
    let all = |fits: &dyn Fn(&str) -> bool| values.iter().all(|value| fits(value));
    let number = |value: &str| value.parse::<f64>().ok().filter(|number| number.is_finite());
    let within = |factor: f64| {
        move |value: &str| number(value).is_some_and(|n| SECONDS.contains(&(n / factor)))
    };
    let is = |form: &'static Encoding| move |value: &str| form.check(value.as_bytes()).is_ok();
    if values.is_empty() {
        return Encoding::Text;
    }
    if all(&|value| value.contains('\u{fffd}')) {
        return Encoding::Bytes;
    }
    for (no, yes) in [("0", "1"), ("false", "true"), ("False", "True"), ("no", "yes")] {
        let both =
            values.iter().any(|value| value == no) && values.iter().any(|value| value == yes);
        if both && all(&|value| value == no || value == yes) {
            return Encoding::Bool(no, yes);
        }
    }
    if all(&is_integer) {
        return if all(&within(1e3)) {
            Encoding::UnixMs
        } else if all(&within(1.0)) {
            Encoding::UnixSeconds
        } else if all(&|value| !value.starts_with('-')) {
            COUNT
        } else {
            Encoding::Integer { min: i64::MIN.into(), max: i64::MAX.into() }
        };
    }
    if all(&|value| number(value).is_some()) {
        return if all(&within(1.0)) { Encoding::UnixSeconds } else { Encoding::Float };
    }
    if all(&is(&Encoding::IsoTime)) {
        return Encoding::IsoTime;
    }
    if all(&|value| value.starts_with(['{', '['])) {
        let parsed: Option<Vec<serde_json::Value>> =
            values.iter().map(|value| serde_json::from_str(value).ok()).collect();
        if let Some(parsed) = parsed {
            return Encoding::Json(keep(schema(&parsed.iter().collect::<Vec<_>>())));
        }
    }
    words(values).unwrap_or(Encoding::Text)
}

/// A whole number in its plain form.
fn is_integer(value: &str) -> bool {
    value.parse::<i64>().is_ok_and(|number| number.to_string() == value)
}

fn words(values: &[String]) -> Option<Encoding> {
    let words: BTreeSet<&str> = values.iter().map(String::as_str).collect();
    let plain = |word: &&str| {
        // A digit would make it an id, of which there will be more.
        (1..=24).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_-".contains(&byte))
    };
    let few = words.len() <= WORDS_MAX && values.len() >= words.len() * REPEATS_MIN;
    (few && words.iter().all(plain))
        .then(|| Encoding::Words(keep_all(words.into_iter().map(keep_text).collect())))
}

/// The shape that all of these have in common, one level deep.
fn schema(values: &[&serde_json::Value]) -> Schema {
    let all = |fits: fn(&serde_json::Value) -> bool| values.iter().all(|value| fits(value));
    if all(serde_json::Value::is_array) {
        return Schema::Array(&Schema::Any);
    }
    let objects: Option<Vec<_>> = values.iter().map(|value| value.as_object()).collect();
    let Some(objects) = objects else { return Schema::Any };
    let names: BTreeSet<&String> = objects.iter().flat_map(|object| object.keys()).collect();
    let is_odd = |name: &&String| name.ends_with('?') || name.starts_with('$') || *name == "*";
    if names.is_empty() || names.len() > FIELDS_MAX || names.iter().any(is_odd) {
        return Schema::Map(&Schema::Any);
    }
    let members = names.into_iter().map(|name| {
        let found: Vec<&serde_json::Value> =
            objects.iter().filter_map(|object| object.get(name)).collect();
        let kind = member(&found);
        let kind = if found.len() < objects.len() { Schema::Maybe(keep(kind)) } else { kind };
        (keep_text(name), kind)
    });
    Schema::Object(keep_all(members.collect()))
}

fn member(values: &[&serde_json::Value]) -> Schema {
    let present: Vec<_> = values.iter().filter(|value| !value.is_null()).collect();
    let all = |fits: fn(&serde_json::Value) -> bool| present.iter().all(|value| fits(value));
    let kind = if present.is_empty() {
        return Schema::Any;
    } else if all(serde_json::Value::is_boolean) {
        Schema::Bool
    } else if all(serde_json::Value::is_number) {
        Schema::Number
    } else if all(serde_json::Value::is_string) {
        Schema::String
    } else if all(serde_json::Value::is_array) {
        Schema::Array(&Schema::Any)
    } else if all(serde_json::Value::is_object) {
        Schema::Map(&Schema::Any)
    } else {
        return Schema::Any;
    };
    if present.len() < values.len() { Schema::Nullable(keep(kind)) } else { kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[&str], expected: &str) {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        assert_eq!(encoding_text(&encoding(&values)), expected);
    }

    #[test]
    fn numbers_are_moments_when_all_of_them_could_be() {
        check(&["1667950000", "1667950001"], "\"unix-seconds\"");
        check(&["1667950000.25", "1667950001"], "\"unix-seconds\"");
        check(&["1667950000123"], "\"unix-ms\"");
        check(&["1667950000", "12"], r#"{ is = "integer", min = 0 }"#);
        check(&["-4", "7"], "\"integer\"");
        check(&["0.5", "1e9"], "\"number\"");
        check(&["0", "1", "1"], r#"{ is = "boolean", no = "0", yes = "1" }"#);
    }

    #[test]
    fn numbers_refer_to_keys_that_the_name_says() {
        let ids = ["1", "2", "3"].map(str::to_owned);
        let target = Target {
            template: "order:<order>".to_owned(),
            word: "order".to_owned(),
            ids: ids.clone().into_iter().collect(),
        };
        let targets = [target];
        let refers = |name: &str, values: &[String]| {
            Guess::of(values).refer(name, values, &targets).refers.is_some()
        };
        for name in ["orders", "order", "order_id", "order_ids", "orderId"] {
            assert!(refers(name, &ids[..2]), "{name}");
        }
        assert!(!refers("counts", &ids) && !refers("", &ids));
        assert!(!refers("orders", &["1".to_owned(), "9".to_owned()]), "there is no order 9");
    }

    #[test]
    fn whole_names_of_keys_refer_to_them() {
        let ids = ["1", "2"].map(str::to_owned).into_iter().collect();
        let targets =
            [Target { template: "order:<order>:x".to_owned(), word: "order".to_owned(), ids }];
        let refers = |values: &[&str]| {
            let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
            let guess = Guess::of(&values).refer("last", &values, &targets);
            assert_eq!(guess.whole, guess.refers.is_some());
            guess.whole
        };
        assert!(refers(&["order:1:x", "order:2:x", "order:1:x"]));
        assert!(!refers(&["order:1:x", "order:2:x", ""]) && !refers(&[]));
        assert!(!refers(&["order:1:x"]), "one could be an accident");
        assert!(!refers(&["order:1:x", "order:3:x"]) && !refers(&["order:1", "order:2"]));
    }

    #[test]
    fn few_words_that_come_back_are_listed() {
        check(
            &["on", "off", "on", "on", "off", "on", "off", "off"],
            r#"{ is = "enum", words = ["off", "on"] }"#,
        );
        check(&["on", "off"], "\"text\"");
        check(&[], "\"text\"");
        check(&["007"], "\"number\"");
    }

    #[test]
    fn json_members_that_are_sometimes_absent_or_null_are_marked() {
        check(
            &[r#"{"a":1,"b":null}"#, r#"{"a":2,"b":"x","c":[]}"#],
            r#"{ is = "json", schema = { a = "number", b = "string | null", "c?" = ["any"] } }"#,
        );
        check(&["[1]", "[]"], r#"{ is = "json", schema = ["any"] }"#);
        check(&["{broken"], "\"text\"");
    }
}
