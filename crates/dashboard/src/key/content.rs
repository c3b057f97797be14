//! What a key holds, line by line: never more than a page of it, whatever its size.

use keyrack_format as format;
use keyrack_keys::{Content, Encoding, Parsed};
use keyrack_store::{Error, Store};

use crate::link;

/// The most lines.
const LINES_MAX: usize = 100;
/// The most bytes of one value.
const VALUE_BYTES_MAX: usize = 4_000;

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
    /// The same for people, where it is a time.
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
        _ => Read { size: String::new(), heads: ("", ""), lines: Vec::new(), is_cut: false },
    };
    Ok(read)
}

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
        match self.content {
            Some(Content::String(declared)) => {
                self.line("", value, Some((declared.encoding, declared.prose)))
            }
            _ => self.line("", value, None),
        }
    }

    fn field(&self, field: &[u8], value: &[u8]) -> Line {
        let name = match self.content {
            Some(Content::Map { field: declared, .. }) if self.hides(&declared.encoding) => {
                HIDDEN.to_owned()
            }
            _ => keyrack_lint::printable(field),
        };
        let declared = match self.content {
            Some(Content::Hash(fields)) => fields
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
        if let Some(at) = moment(&scores.encoding, score) {
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
                .and_then(|(encoding, _)| moment(&encoding, value))
                .unwrap_or_default(),
            prose: declared
                .map(|(_, prose)| prose.split_whitespace().collect::<Vec<_>>().join(" "))
                .unwrap_or_default(),
            link: target.map(|name| link::with_query("/key", &[("name", &name)])),
        }
    }
}

/// A value that is a time, as date and time.
fn moment(encoding: &Encoding, value: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(value).ok()?;
    let ms = match encoding {
        Encoding::Optional(inner) | Encoding::OrEmpty(inner) | Encoding::Secret(inner) => {
            return moment(inner, value);
        }
        Encoding::UnixMs => text.parse::<f64>().ok()?,
        Encoding::UnixSeconds => text.parse::<f64>().ok()? * 1000.0,
        _ => return None,
    };
    (ms >= 0.0).then(|| format::utc(ms as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_their_unit() {
        assert_eq!(moment(&Encoding::UnixMs, b"1000").as_deref(), Some("1970-01-01 00:00:01 UTC"));
        let seconds = Encoding::Optional(&Encoding::UnixSeconds);
        assert_eq!(moment(&seconds, b"1.5").as_deref(), Some("1970-01-01 00:00:01 UTC"));
        assert_eq!(moment(&Encoding::UnixMs, b"x"), None);
        assert_eq!(moment(&Encoding::Float, b"1"), None);
    }
}
