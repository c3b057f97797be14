//! What a key holds, line by line: never more than a page of it, whatever its size.

use keyrack_format as format;
use keyrack_keys::{Content, Encoding, Parsed, Value};
use keyrack_store::{Error, Store};

use super::meaning;
use crate::link;

/// The most lines.
const LINES_MAX: usize = 100;
/// The most entries of a stream, the newest first.
const ENTRIES_MAX: usize = 50;
/// The most bytes of one value.
pub(super) const VALUE_BYTES_MAX: usize = 4_000;

/// What was read of a key.
pub(super) struct Read {
    pub(super) size: String,
    pub(super) heads: (&'static str, &'static str),
    pub(super) lines: Vec<Line>,
    pub(super) is_cut: bool,
}

/// A field, a member or an item.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) value: String,
    /// What the value says, where its text alone does not.
    pub(super) meaning: String,
    /// What the declaration says about it.
    pub(super) prose: String,
    /// The page of the key that it points to.
    pub(super) link: Option<String>,
}

type Bytes = Vec<u8>;

/// Reads a page of a key of this type.
pub(super) async fn read(
    store: &Store,
    raw: &str,
    kind: &str,
    reader: &Reader,
) -> Result<Read, Error> {
    let mut connection = store.connection();
    let max = LINES_MAX as isize;
    let read = match kind {
        "string" => {
            let mut cmd = redis::cmd("GETRANGE");
            cmd.arg(raw).arg(0).arg(VALUE_BYTES_MAX);
            let value: Bytes = cmd.query_async(&mut connection).await?;
            let is_cut = value.len() > VALUE_BYTES_MAX;
            let size = format::counted(value.len() as u64, "byte");
            Read { heads: ("", "value"), lines: vec![reader.string(&value)], is_cut, size }
        }
        "hash" => {
            let mut both = redis::pipe();
            both.cmd("HLEN").arg(raw).cmd("HSCAN").arg(raw).arg(0).arg("COUNT").arg(LINES_MAX);
            let (n, (_, fields)): (u64, (u64, Vec<(Bytes, Bytes)>)) =
                both.query_async(&mut connection).await?;
            reader.many(n, "field", ("field", "value"), fields, |reader, (field, value)| {
                reader.field(&field, &value)
            })
        }
        "set" => {
            let mut both = redis::pipe();
            both.cmd("SCARD").arg(raw).cmd("SSCAN").arg(raw).arg(0).arg("COUNT").arg(LINES_MAX);
            let (n, (_, members)): (u64, (u64, Vec<Bytes>)) =
                both.query_async(&mut connection).await?;
            reader
                .many(n, "member", ("", "member"), members, |reader, member| reader.member(&member))
        }
        "zset" => {
            let mut both = redis::pipe();
            both.cmd("ZCARD").arg(raw);
            both.cmd("ZRANGE").arg(raw).arg(0).arg(max - 1).arg("WITHSCORES");
            let (n, members): (u64, Vec<(Bytes, Bytes)>) =
                both.query_async(&mut connection).await?;
            reader.many(n, "member", ("score", "member"), members, |reader, (member, score)| {
                reader.scored(&member, &score)
            })
        }
        "list" => {
            let mut both = redis::pipe();
            both.cmd("LLEN").arg(raw).cmd("LRANGE").arg(raw).arg(0).arg(max - 1);
            let (n, items): (u64, Vec<Bytes>) = both.query_async(&mut connection).await?;
            reader.many(n, "item", ("", "item"), items, |reader, item| reader.item(&item))
        }
        "stream" => {
            let mut both = redis::pipe();
            both.cmd("XLEN").arg(raw);
            both.cmd("XREVRANGE").arg(raw).arg("+").arg("-").arg("COUNT").arg(ENTRIES_MAX);
            let (n, entries): (u64, Vec<StreamEntry>) = both.query_async(&mut connection).await?;
            reader.stream(n, entries)
        }
        _ => Read { size: String::new(), heads: ("", ""), lines: Vec::new(), is_cut: false },
    };
    Ok(read)
}

/// The id of an entry of a stream, and its fields.
pub(super) type StreamEntry = (String, Vec<(Bytes, Bytes)>);

/// Knows what values mean, and for whom they are.
pub(super) struct Reader {
    pub(super) parsed: Option<Parsed>,
    pub(super) content: Option<Content>,
    /// Whether values that are declared as secret are shown.
    pub(super) sees_secrets: bool,
}

/// What others see of them.
const HIDDEN: &str = "hidden; admins see it";

impl Reader {
    fn many<T>(
        &self,
        total: u64,
        noun: &str,
        heads: (&'static str, &'static str),
        entries: Vec<T>,
        line: impl Fn(&Reader, T) -> Line,
    ) -> Read {
        let is_cut = total > entries.len().min(LINES_MAX) as u64;
        let lines = entries.into_iter().take(LINES_MAX).map(|entry| line(self, entry)).collect();
        Read { size: format::counted(total, noun), heads, lines, is_cut }
    }

    fn string(&self, value: &[u8]) -> Line {
        let with_meaning = |declared: Value, meaning: fn(&[u8]) -> String| {
            let line = self.line("", value, Some((declared.encoding, declared.prose)));
            let is_shown = !self.hides(&declared.encoding);
            Line { meaning: if is_shown { meaning(value) } else { String::new() }, ..line }
        };
        match self.content {
            Some(Content::String(declared)) => {
                self.line("", value, Some((declared.encoding, declared.prose)))
            }
            Some(Content::Bitmap(declared)) => with_meaning(declared, meaning::bits),
            Some(Content::HyperLogLog(declared)) => with_meaning(declared, meaning::counted),
            _ => self.line("", value, None),
        }
    }

    /// A line for each field of each entry; the id of an entry stands in front of its fields.
    fn stream(&self, total: u64, entries: Vec<StreamEntry>) -> Read {
        let mut is_cut = total > entries.len() as u64;
        let mut lines = Vec::new();
        for (id, fields) in entries {
            is_cut |= lines.len() + fields.len() > LINES_MAX;
            for (field, value) in fields.into_iter().take(LINES_MAX - lines.len()) {
                let line = self.field(&field, &value);
                lines.push(Line { name: format!("{id} {}", line.name), ..line });
            }
        }
        let noun = if total == 1 { "entry" } else { "entries" };
        let size = format!("{} {noun}", format::count(total));
        Read { size, heads: ("entry and field", "value"), lines, is_cut }
    }

    fn field(&self, field: &[u8], value: &[u8]) -> Line {
        let name = match self.content {
            Some(Content::Map { field: declared, .. }) if self.hides(&declared.encoding) => {
                HIDDEN.to_owned()
            }
            _ => keyrack_lint::printable(field),
        };
        let declared = match self.content {
            Some(Content::Hash(fields) | Content::Stream(fields)) => fields
                .iter()
                .find(|declared| declared.name.as_bytes() == field)
                .map(|declared| (declared.encoding, declared.prose)),
            Some(Content::Map { value, .. }) => Some((value.encoding, value.prose)),
            _ => None,
        };
        self.line(&name, value, declared)
    }

    fn member(&self, member: &[u8]) -> Line {
        match self.content {
            Some(Content::Set(declared)) => {
                self.line("", member, Some((declared.encoding, declared.prose)))
            }
            _ => self.line("", member, None),
        }
    }

    fn scored(&self, member: &[u8], score: &[u8]) -> Line {
        let Some(Content::SortedSet { member: declared, score: scores }) = self.content else {
            return self.line(&keyrack_lint::printable(score), member, None);
        };
        let mut line = self.line(
            &keyrack_lint::printable(score),
            member,
            Some((declared.encoding, declared.prose)),
        );
        // A score says more than its member where both have a meaning.
        if let Some(at) = meaning::of(&scores.encoding, score) {
            line.meaning = at;
        }
        line
    }

    fn item(&self, item: &[u8]) -> Line {
        match self.content {
            Some(Content::List(declared)) => {
                self.line("", item, Some((declared.encoding, declared.prose)))
            }
            _ => self.line("", item, None),
        }
    }

    fn hides(&self, encoding: &Encoding) -> bool {
        encoding.is_secret() && !self.sees_secrets
    }

    fn line(&self, name: &str, value: &[u8], declared: Option<(Encoding, &str)>) -> Line {
        let is_hidden = declared.is_some_and(|(encoding, _)| self.hides(&encoding));
        let value = if is_hidden { HIDDEN.as_bytes() } else { value };
        let cut = &value[..value.len().min(VALUE_BYTES_MAX)];
        let mut text = keyrack_lint::printable(cut);
        if cut.len() < value.len() {
            text.push('…');
        }
        let declared_as = declared.filter(|_| !is_hidden);
        let target = declared_as.and_then(|(encoding, _)| {
            self.parsed.as_ref().and_then(|parsed| parsed.target(&encoding, value))
        });
        Line {
            name: name.to_owned(),
            value: text,
            meaning: declared_as
                .and_then(|(encoding, _)| meaning::of(&encoding, value))
                .unwrap_or_default(),
            prose: declared
                .map(|(_, prose)| prose.split_whitespace().collect::<Vec<_>>().join(" "))
                .unwrap_or_default(),
            link: target.map(|name| link::with_query("/key", &[("name", &name)])),
        }
    }
}
