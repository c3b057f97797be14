//! Grouping names by shape: which segments are fixed words, and which vary.
//!
//! Names are compared segment by segment, from the left. What looks like an id varies. Words are fixed as long as there
//! are few of them, and vary when many of them lead to the same kinds of keys.

mod mixed;

use std::collections::{BTreeMap, BTreeSet};

use keyrack_keys::Shape as PartShape;
use serde::{Serialize, Serializer};

use mixed::is_attached;

/// A name with its varying places.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// One for each segment between colons.
    pub pieces: Vec<Piece>,
}

/// One segment of a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Piece {
    /// The same in every name.
    Fixed(String),
    /// Varies, with fixed text before and after it.
    Varies {
        /// What the placeholder may be called.
        name: String,
        /// The fixed text before it.
        prefix: String,
        /// The fixed text after it.
        suffix: String,
        /// What it was each time.
        kind: Kind,
        /// Words that other shapes have in its place.
        except: Vec<String>,
    },
}

/// What varies in one place of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A number without sign or leading zeros.
    Number,
    /// A UUID.
    Uuid,
    /// A ULID.
    Ulid,
    /// A day.
    Date,
    /// Anything else.
    Text,
}

impl Kind {
    /// The narrowest that fits all of these.
    fn of<'t>(texts: impl Iterator<Item = &'t str> + Clone) -> Self {
        let all = |shape: PartShape| {
            let kind = keyrack_keys::Kind::new("", "", shape);
            texts.clone().all(|text| kind.check(text).is_ok())
        };
        if all(PartShape::Number { min: 0, max: u64::MAX }) {
            Self::Number
        } else if all(PartShape::Uuid) {
            Self::Uuid
        } else if all(PartShape::Ulid) {
            Self::Ulid
        } else if all(PartShape::Date) {
            Self::Date
        } else {
            Self::Text
        }
    }
}

impl Shape {
    /// The only varying text of a name of this shape, and the word that names its place.
    pub(super) fn only_part<'n>(&self, name: &'n str) -> Option<(&str, &'n str)> {
        let mut found = None;
        for (piece, segment) in self.pieces.iter().zip(name.split(':')) {
            if let Piece::Varies { name, prefix, suffix, .. } = piece {
                let text = segment.strip_prefix(prefix.as_str())?.strip_suffix(suffix.as_str())?;
                if found.replace((name.as_str(), text)).is_some() {
                    return None;
                }
            }
        }
        found
    }

    /// The word that a name ends with, which tells what is in the key: `user:7:orders`. Empty if it ends with an id.
    pub(super) fn last_word(&self) -> &str {
        match self.pieces.last() {
            Some(Piece::Fixed(word)) => word,
            _ => "",
        }
    }

    /// The name with placeholders in angle brackets.
    pub fn template(&self) -> String {
        let segments = self.pieces.iter().map(|piece| match piece {
            Piece::Fixed(text) => text.clone(),
            Piece::Varies { name, prefix, suffix, .. } => format!("{prefix}<{name}>{suffix}"),
        });
        segments.collect::<Vec<_>>().join(":")
    }
}

impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.template())
    }
}

/// Words that may stand in one place before they count as values, if they lead to the same kinds of keys.
const WORDS_MAX: usize = 8;
/// The same for the first segment, which nearly always is a fixed word.
const FIRST_WORDS_MAX: usize = 24;
/// So few words do not make a pattern, whatever they lead to.
const WORDS_MIN: usize = 3;
/// What varies has few keys under each value, where nothing else tells it from names of different things.
const KEYS_PER_WORD: usize = 5;

/// Whether a byte may stand in the name of a declared key.
pub(super) fn can_stand(byte: u8) -> bool {
    !b"<>".contains(&byte)
}

/// Groups names, given with their types, by shape; each group has the positions of its names.
pub(super) fn group(names: &[(&str, &str)]) -> Vec<(Shape, Vec<usize>)> {
    let rows: Vec<Row<'_>> = names
        .iter()
        .map(|(name, kind)| Row { segments: name.split(':').collect(), kind })
        .collect();
    let mut by_length: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, row) in rows.iter().enumerate() {
        by_length.entry(row.segments.len()).or_default().push(i);
    }
    let mut groups = Vec::new();
    for members in by_length.into_values() {
        Grouper { rows: &rows, groups: &mut groups }.split(Vec::new(), members);
    }
    groups.sort();
    groups
}

struct Row<'a> {
    segments: Vec<&'a str>,
    kind: &'a str,
}

struct Grouper<'r, 'g> {
    rows: &'r [Row<'r>],
    groups: &'g mut Vec<(Shape, Vec<usize>)>,
}

impl<'r> Grouper<'r, '_> {
    /// Splits names that are alike up to `pieces` by their next segment.
    fn split(&mut self, pieces: Vec<Piece>, members: Vec<usize>) {
        let at = pieces.len();
        if at == self.rows[members[0]].segments.len() {
            return self.groups.push((Shape { pieces }, members));
        }
        let mut words: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut varying: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        for &i in &members {
            let segment = self.rows[i].segments[at];
            match affixes(segment) {
                Some(around) => varying.entry(around).or_default().push(i),
                None => words.entry(segment).or_default().push(i),
            }
        }
        self.join_mixed_ids(at, &mut words, &mut varying);
        self.settle_single_values(at, &mut words, &mut varying);
        if self.are_values(at, &words) {
            let mut values: Vec<usize> =
                std::mem::take(&mut words).into_values().flatten().collect();
            // Among values of any form, "u1" is another of them.
            values.extend(
                varying
                    .extract_if(.., |around, _| is_attached(around))
                    .flat_map(|(_, members)| members),
            );
            varying.entry(("", "")).or_default().extend(values);
        }
        let fixed: Vec<&str> = words.keys().copied().collect();
        for (word, members) in words {
            self.go_on(&pieces, Piece::Fixed(word.to_owned()), members);
        }
        for ((prefix, suffix), members) in varying {
            let texts = members.iter().map(|&i| {
                let segment = self.rows[i].segments[at];
                &segment[prefix.len()..segment.len() - suffix.len()]
            });
            let kind = Kind::of(texts);
            let name = name_for(&pieces, prefix);
            let except =
                if kind == Kind::Text { inside(&fixed, prefix, suffix) } else { Vec::new() };
            let (prefix, suffix) = (prefix.to_owned(), suffix.to_owned());
            self.go_on(&pieces, Piece::Varies { name, prefix, suffix, kind, except }, members);
        }
    }

    fn go_on(&mut self, pieces: &[Piece], next: Piece, members: Vec<usize>) {
        let mut pieces = pieces.to_vec();
        pieces.push(next);
        self.split(pieces, members);
    }

    /// A word with a number in it that never changes is a word: `v1`, `sha256`.
    fn settle_single_values(
        &self,
        at: usize,
        words: &mut BTreeMap<&'r str, Vec<usize>>,
        varying: &mut BTreeMap<(&'r str, &'r str), Vec<usize>>,
    ) {
        let rows = self.rows;
        let single: Vec<(&str, &str)> = varying
            .iter()
            .filter(|((prefix, suffix), members)| {
                let values: BTreeSet<&str> =
                    members.iter().map(|&i| rows[i].segments[at]).collect();
                values.len() == 1 && !(prefix.is_empty() && suffix.is_empty())
            })
            .map(|(around, _)| *around)
            .collect();
        for around in single {
            let Some(members) = varying.remove(&around) else { continue };
            words.entry(rows[members[0]].segments[at]).or_default().extend(members);
        }
    }

    /// Whether these words are values of one place rather than names of different things.
    fn are_values(&self, at: usize, words: &BTreeMap<&str, Vec<usize>>) -> bool {
        let n_keys: usize = words.values().map(Vec::len).sum();
        let is_last = words
            .values()
            .next()
            .is_some_and(|members| self.rows[members[0]].segments.len() == at + 1);
        if at == 0 {
            return words.len() > FIRST_WORDS_MAX && n_keys < words.len() * KEYS_PER_WORD;
        }
        if words.len() < WORDS_MIN || (is_last && words.len() <= WORDS_MAX) {
            return false;
        }
        self.common_signature(at, words.values()).is_some()
    }

    /// What most of these groups lead to, if most lead to the same.
    fn common_signature<'m>(
        &self,
        at: usize,
        groups: impl Iterator<Item = &'m Vec<usize>>,
    ) -> Option<BTreeSet<Signature<'r>>> {
        let mut signatures: BTreeMap<BTreeSet<Signature<'_>>, usize> = BTreeMap::new();
        for members in groups {
            *signatures.entry(self.signatures(at, members)).or_default() += 1;
        }
        let n_groups: usize = signatures.values().sum();
        let (most, n) = signatures.into_iter().max_by_key(|(_, n)| *n)?;
        (n * 5 >= n_groups * 4).then_some(most)
    }

    fn signatures(&self, at: usize, members: &[usize]) -> BTreeSet<Signature<'r>> {
        members.iter().map(|&i| self.signature(i, at)).collect()
    }

    /// What comes after a segment, roughly: the type, and each further segment if it is a word.
    fn signature(&self, i: usize, at: usize) -> Signature<'r> {
        let row = &self.rows[i];
        let rest = row.segments[at + 1..].iter();
        (row.kind, rest.map(|segment| affixes(segment).is_none().then_some(*segment)).collect())
    }
}

type Signature<'a> = (&'a str, Vec<Option<&'a str>>);

/// What these words have between a prefix and a suffix, where they have both.
fn inside(words: &[&str], prefix: &str, suffix: &str) -> Vec<String> {
    let texts = words.iter().filter_map(|word| {
        word.strip_prefix(prefix)?.strip_suffix(suffix).filter(|text| !text.is_empty())
    });
    texts.map(str::to_owned).collect()
}

/// The fixed text around what looks like an id, if anything does.
fn affixes(segment: &str) -> Option<(&str, &str)> {
    if is_id(segment) {
        return Some(("", ""));
    }
    if let Some(at) = uuid_at(segment) {
        return Some((&segment[..at], &segment[at + UUID_LEN..]));
    }
    let tokens: Vec<&str> = tokens(segment);
    let first = tokens.iter().position(|token| is_id(token))?;
    let last = tokens.iter().rposition(|token| is_id(token))?;
    let start: usize = tokens[..first].iter().map(|token| token.len()).sum();
    let end: usize = tokens[last + 1..].iter().map(|token| token.len()).sum();
    Some((&segment[..start], &segment[segment.len() - end..]))
}

const UUID_LEN: usize = 36;

/// Where a UUID begins inside a longer segment, such as `task-meta-123e4567-…`.
fn uuid_at(segment: &str) -> Option<usize> {
    let last = segment.len().checked_sub(UUID_LEN)?;
    (0..=last).find(|&at| segment.get(at..at + UUID_LEN).is_some_and(is_uuid))
}

fn is_uuid(text: &str) -> bool {
    keyrack_keys::Kind::new("", "", PartShape::Uuid).check(text).is_ok()
}

/// Runs of digits, runs of letters, and what stands between them.
fn tokens(segment: &str) -> Vec<&str> {
    let class = |letter: char| match letter {
        '0'..='9' => 0,
        letter if letter.is_ascii_alphabetic() => 1,
        _ => 2,
    };
    let mut tokens = Vec::new();
    let mut start = 0;
    let letters: Vec<(usize, char)> = segment.char_indices().collect();
    for pair in letters.windows(2) {
        if class(pair[0].1) != class(pair[1].1) {
            tokens.push(&segment[start..pair[1].0]);
            start = pair[1].0;
        }
    }
    tokens.push(&segment[start..]);
    tokens
}

/// Numbers, UUIDs, long hexadecimal texts, addresses, and long texts that mix letters and digits.
fn is_id(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_hex = text.len() >= 8 && digits > 0 && hex(text);
    let is_token = text.len() >= 16
        && digits >= 2
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        && !text.contains("__")
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
        && tokens(text).len() > 6;
    digits == text.len() && !text.is_empty()
        || is_uuid(text)
        || is_hex
        || is_token
        || text.contains('@')
}

/// A name for a placeholder: the word before it, in the singular.
fn name_for(pieces: &[Piece], prefix: &str) -> String {
    let before = pieces.iter().rev().find_map(|piece| match piece {
        Piece::Fixed(text) => Some(text.as_str()),
        Piece::Varies { .. } => None,
    });
    let prefix = prefix.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
    let source = if prefix.is_empty() { before.unwrap_or("") } else { prefix };
    let word: String = source
        .rsplit(|letter: char| !letter.is_ascii_alphabetic())
        .find(|word| !word.is_empty())
        .unwrap_or("id")
        .to_ascii_lowercase();
    let word = word.strip_suffix('s').filter(|word| word.len() > 2).unwrap_or(&word).to_owned();
    let taken = |name: &str| {
        pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Varies { name: other, .. } if other == name))
    };
    let mut name = word.clone();
    let mut n = 2;
    while taken(&name) {
        name = format!("{word}_{n}");
        n += 1;
    }
    name
}

#[cfg(test)]
mod tests;
