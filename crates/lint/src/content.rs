//! Reading what a key holds, a bounded chunk at a time, and comparing it with the declaration.

use keyrack_keys::{Content, Encoding, Family, Field, Holds, Listed, Parsed};
use redis::{Pipeline, Value};

use crate::finding::{Faults, quoted};

/// What stands in a message for a value that only admins may see.
const HIDDEN: &str = "(hidden)";
use crate::rule::Rule;

/// Members, fields or items read at once: a few hundred keep the server busy for well under a millisecond.
const CHUNK: usize = 256;

/// The longest string that is read: reading more would hold up the server and everybody who waits for it.
const STRING_BYTES_MAX: usize = 1 << 20;

/// The first bytes of a HyperLogLog.
const HYPERLOGLOG: &[u8] = b"HYLL";

/// Adds the command that reads the chunk of `key` at `cursor`, which is 0 at first.
///
/// A stream's entries are read from the oldest on, as many as a chunk has: those after them are alike.
pub(crate) fn read(pipeline: &mut Pipeline, key: &[u8], content: &Content, cursor: u64) {
    let scan = match content {
        Content::Stream(_) => {
            pipeline.cmd("XRANGE").arg(key).arg("-").arg("+").arg("COUNT").arg(CHUNK);
            return;
        }
        Content::Bitmap(_) | Content::HyperLogLog(_) => {
            pipeline.cmd("GETRANGE").arg(key).arg(0).arg(HYPERLOGLOG.len() - 1);
            return;
        }
        Content::String(_) | Content::Channel(_) => {
            pipeline.cmd("GETRANGE").arg(key).arg(0).arg(STRING_BYTES_MAX);
            return;
        }
        Content::List(_) => {
            let last = cursor + CHUNK as u64 - 1;
            pipeline.cmd("LRANGE").arg(key).arg(cursor).arg(last);
            return;
        }
        Content::Set(_) => "SSCAN",
        Content::SortedSet { .. } => "ZSCAN",
        Content::Hash(_) | Content::Map { .. } => "HSCAN",
    };
    pipeline.cmd(scan).arg(key).arg(cursor).arg("COUNT").arg(CHUNK);
}

/// What has been read of one key so far.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) faults: Faults,
    /// Whether a hash may have fields that are not declared.
    open: bool,
    /// Which of the declared fields were there.
    fields_seen: u128,
    /// Where the next chunk starts; `None` at the end.
    pub(crate) next: Option<u64>,
    /// Keys that have to exist, and the value that names each.
    pub(crate) references: Vec<Reference>,
    /// Where the key has to be named.
    pub(crate) listed: &'static [Listed],
    /// The fields that say where.
    pub(crate) noted: Vec<(&'static str, String)>,
}

/// A value that names another key.
#[derive(Debug)]
pub(crate) struct Reference {
    /// What kind of value, and which: `member "j1"`.
    pub(crate) what: String,
    /// The raw key it names.
    pub(crate) target: String,
    /// The same for messages.
    pub(crate) target_shown: String,
    /// What has to stand in a field of that key.
    pub(crate) holds: Option<Holds>,
}

impl Reading {
    /// Nothing read yet of a key whose name has these faults.
    pub(crate) fn new(faults: Faults, family: Option<&'static Family>) -> Self {
        let (listed, open) = family.map_or((&[][..], false), |family| (family.listed, family.open));
        Self { faults, listed, open, ..Self::default() }
    }

    /// Takes in the chunk that [`read`] asked for at `cursor`.
    pub(crate) fn take(
        &mut self,
        content: &'static Content,
        parsed: Option<&Parsed>,
        cursor: u64,
        reply: Value,
    ) {
        let (next, values) = chunk(content, cursor, reply);
        self.next = next;
        match content {
            Content::String(value) | Content::Channel(value) => {
                self.string(&value.encoding, parsed, &values);
            }
            Content::Bitmap(_) => {}
            Content::HyperLogLog(_) => {
                if values.iter().any(|head| head != HYPERLOGLOG) {
                    self.faults.add(Rule::WrongType, "", "is a string, declared as HyperLogLog");
                }
            }
            Content::Stream(fields) => self.entries(fields, parsed, &values),
            Content::List(item) => {
                self.each("item", Rule::BadItem, &item.encoding, parsed, &values)
            }
            Content::Set(member) => {
                self.each("member", Rule::BadMember, &member.encoding, parsed, &values);
            }
            Content::SortedSet { member, score } => {
                for (name, value) in pairs(&values) {
                    self.value("member", Rule::BadMember, &member.encoding, parsed, name);
                    if let Err(reason) = score.encoding.check(value) {
                        let detail =
                            format!("score of {}: {reason}", shown(&member.encoding, name));
                        self.faults.add(Rule::BadScore, quoted(name), detail);
                    }
                }
            }
            Content::Map { field, value } => {
                for (name, text) in pairs(&values) {
                    self.value("field name", Rule::BadMember, &field.encoding, parsed, name);
                    self.field(&shown(&field.encoding, name), &value.encoding, parsed, text);
                }
            }
            Content::Hash(fields) => {
                for (name, text) in pairs(&values) {
                    self.declared_field(fields, parsed, name, text);
                }
            }
        }
    }

    /// Notes the fields that were never there; called after the last chunk.
    pub(crate) fn finish(&mut self, content: &Content) {
        let Content::Hash(fields) = content else { return };
        for (i, field) in fields.iter().enumerate() {
            if self.fields_seen & (1 << i) == 0 && !field.optional() {
                let detail = format!("lacks the field \"{}\"", field.name);
                self.faults.add(Rule::MissingField, field.name, detail);
            }
        }
    }

    fn string(&mut self, encoding: &Encoding, parsed: Option<&Parsed>, values: &[Vec<u8>]) {
        let Some(value) = values.first() else { return };
        if value.len() > STRING_BYTES_MAX {
            let detail = format!("the value is longer than {} MiB", STRING_BYTES_MAX >> 20);
            self.faults.add(Rule::Unchecked, "", detail);
        } else {
            self.value("value", Rule::BadValue, encoding, parsed, value);
        }
    }

    /// Entries of a stream, one after the other: how many texts each has, then its fields and values.
    fn entries(&mut self, fields: &[Field], parsed: Option<&Parsed>, values: &[Vec<u8>]) {
        let mut rest = values;
        while let [length, after @ ..] = rest {
            let length = String::from_utf8_lossy(length).parse().unwrap_or(0);
            let (entry, after) = after.split_at(length.min(after.len()));
            for (name, text) in pairs(entry) {
                self.declared_field(fields, parsed, name, text);
            }
            for field in fields.iter().filter(|field| !field.optional()) {
                if !pairs(entry).any(|(name, _)| name == field.name.as_bytes()) {
                    let detail = format!("an entry lacks the field \"{}\"", field.name);
                    self.faults.add(Rule::MissingField, field.name, detail);
                }
            }
            rest = after;
        }
    }

    fn each(
        &mut self,
        what: &str,
        rule: Rule,
        encoding: &Encoding,
        parsed: Option<&Parsed>,
        values: &[Vec<u8>],
    ) {
        for value in values {
            self.value(what, rule, encoding, parsed, value);
        }
    }

    fn value(
        &mut self,
        what: &str,
        rule: Rule,
        encoding: &Encoding,
        parsed: Option<&Parsed>,
        value: &[u8],
    ) {
        match encoding.check(value) {
            Err(reason) => self.faults.add(rule, quoted(value), format!("{what}: {reason}")),
            Ok(()) => self.refer(what, encoding, parsed, value),
        }
    }

    /// The value of a hash's field; `name` is in quotes.
    fn field(&mut self, name: &str, encoding: &Encoding, parsed: Option<&Parsed>, value: &[u8]) {
        match encoding.check(value) {
            Err(reason) => {
                self.faults.add(Rule::BadValue, name, format!("field {name}: {reason}"));
            }
            Ok(()) => self.refer(&format!("field {name}"), encoding, parsed, value),
        }
    }

    fn declared_field(
        &mut self,
        fields: &[Field],
        parsed: Option<&Parsed>,
        name: &[u8],
        value: &[u8],
    ) {
        let Some(i) = fields.iter().position(|field| field.name.as_bytes() == name) else {
            if self.open {
                return;
            }
            let name = quoted(name);
            let detail = format!("the field {name} is not declared");
            return self.faults.add(Rule::UndeclaredField, name, detail);
        };
        self.fields_seen |= 1 << i;
        let field = &fields[i];
        if self.listed.iter().any(|listed| listed.needs(field.name)) {
            self.noted.push((field.name, String::from_utf8_lossy(value).into_owned()));
        }
        match field.encoding.check(value) {
            // The usual case, without a name made up for a message.
            Ok(()) if parsed.is_none() || field.encoding.target().is_none() => {}
            _ => self.field(&quoted(name), &field.encoding, parsed, value),
        }
    }

    fn refer(&mut self, what: &str, encoding: &Encoding, parsed: Option<&Parsed>, value: &[u8]) {
        let target = parsed.and_then(|parsed| parsed.target(encoding, value));
        if let Some(target) = target {
            let what = format!("{what} {}", shown(encoding, value));
            let target_shown =
                if encoding.is_secret() { HIDDEN.to_owned() } else { target.clone() };
            let holds = parsed.and_then(|parsed| parsed.family.holds);
            self.references.push(Reference { what, target, target_shown, holds });
        }
    }
}

/// A value for a message.
fn shown(encoding: &Encoding, value: &[u8]) -> String {
    if encoding.is_secret() { HIDDEN.to_owned() } else { quoted(value) }
}

/// The next cursor, and the strings of a reply.
fn chunk(content: &Content, cursor: u64, reply: Value) -> (Option<u64>, Vec<Vec<u8>>) {
    match content {
        Content::String(_) | Content::Channel(_) | Content::Bitmap(_) | Content::HyperLogLog(_) => {
            (None, bytes(reply).into_iter().collect())
        }
        Content::Stream(_) => (None, entries(reply)),
        Content::List(_) => {
            let items = strings(reply);
            let more = items.len() == CHUNK;
            (more.then_some(cursor + CHUNK as u64), items)
        }
        Content::Set(_) | Content::SortedSet { .. } | Content::Hash(_) | Content::Map { .. } => {
            let Value::Array(halves) = reply else { return (None, Vec::new()) };
            let mut halves = halves.into_iter();
            let next = halves.next().and_then(bytes).and_then(|digits| {
                std::str::from_utf8(&digits).ok()?.parse().ok().filter(|next| *next != 0)
            });
            (next, halves.next().map(strings).unwrap_or_default())
        }
    }
}

/// What [`Reading::entries`] takes: the texts of each entry after their number.
fn entries(reply: Value) -> Vec<Vec<u8>> {
    let Value::Array(entries) = reply else { return Vec::new() };
    let mut out = Vec::new();
    for entry in entries {
        let Value::Array(halves) = entry else { continue };
        let texts = halves.into_iter().nth(1).map(strings).unwrap_or_default();
        out.push(texts.len().to_string().into_bytes());
        out.extend(texts);
    }
    out
}

pub(crate) fn strings(reply: Value) -> Vec<Vec<u8>> {
    match reply {
        Value::Array(values) => values.into_iter().filter_map(bytes).collect(),
        _ => Vec::new(),
    }
}

fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.into_bytes()),
        Value::Double(number) => Some(number.to_string().into_bytes()),
        _ => None,
    }
}

fn pairs(values: &[Vec<u8>]) -> impl Iterator<Item = (&[u8], &[u8])> {
    values.chunks_exact(2).map(|pair| (pair[0].as_slice(), pair[1].as_slice()))
}
