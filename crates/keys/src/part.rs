//! The variable parts of a key: which texts are allowed, and how they look inside a key.

use std::borrow::Cow;
use std::fmt;

use crate::coding::{self, Colons};
use crate::pattern::Pattern;

/// The most bytes a part may have before coding: long enough for any id in use, short enough for a readable key.
pub const PART_BYTES_MAX: usize = 256;

/// A value that may stand in a key. Implemented by the types that [`parts!`](crate::parts) declares.
pub trait Part {
    /// What values of this type look like.
    const KIND: Kind;

    /// Appends the coded form, as it stands in the key.
    fn write(&self, out: &mut String);
}

/// What one kind of part looks like: the declaration behind a part type.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The Rust type's name, e.g. `QueueName`.
    pub name: &'static str,
    /// What it stands for, as in the type's doc comment.
    pub prose: &'static str,
    /// Which texts are allowed.
    pub shape: Shape,
    /// How reserved bytes are written inside a key.
    pub escape: Escape,
    /// The most bytes before coding.
    pub bytes_max: usize,
}

/// How the text of a part is written inside a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// Reserved bytes as `%` and two upper-case hex digits, so that any text can be a part.
    Percent,
    /// As it is. Texts with one of these bytes cannot be parts.
    Raw {
        /// What the text may not hold, which is what ends it in a key.
        without: &'static str,
    },
}

/// Which texts a part may be.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Any text of 1 to 256 bytes, except a few words that another key family uses in that place.
    Text {
        /// The words it may not be.
        except: &'static [&'static str],
    },
    /// Text that holds `:` by definition: at least `fields_min` non-empty fields between colons.
    Colons {
        /// The fewest fields.
        fields_min: usize,
    },
    /// A decimal number without sign or leading zeros.
    Number {
        /// The smallest allowed.
        min: u64,
        /// The largest allowed.
        max: u64,
    },
    /// One of a fixed set of words.
    Words(&'static [&'static str]),
    /// A UUID in its usual form of 36 characters.
    Uuid,
    /// A ULID: 26 characters of Crockford's base 32, in upper case.
    Ulid,
    /// A calendar day: `2026-11-18`.
    Date,
    /// Text that matches a pattern as a whole.
    Pattern(&'static Pattern),
    /// The rest of the key, colons included.
    Rest,
}

/// Why a text cannot be a part of a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields hold")]
pub enum PartError {
    #[error("the {kind} is empty; give 1 to 256 bytes")]
    Empty { kind: Noun },
    #[error("the {kind} is {bytes} bytes long; at most {bytes_max} fit into a key")]
    TooLong { kind: Noun, bytes: usize, bytes_max: usize },
    #[error("\"{text}\" cannot be a {kind}; another key family uses that word in its place")]
    Reserved { kind: Noun, text: String },
    #[error(
        "\"{text}\" is no {kind}; give at least {fields_min} fields separated by \":\", none empty"
    )]
    TooFewFields { kind: Noun, text: String, fields_min: usize },
    #[error("\"{text}\" is no {kind}; give a whole number from {min} to {max}")]
    NotInRange { kind: Noun, text: String, min: u64, max: u64 },
    #[error("\"{text}\" is no {kind}; use one of \"{}\"", words.join("\", \""))]
    NotAWord { kind: Noun, text: String, words: &'static [&'static str] },
    #[error(
        "\"{coded}\" is not how a {kind} is written in a key; reserved bytes are percent-coded in upper case"
    )]
    NotCanonical { kind: Noun, coded: String },
    #[error("\"{text}\" is no {kind}; give {expected}")]
    NotOfForm { kind: Noun, text: String, expected: String },
    #[error("\"{text}\" cannot be a {kind}; it may not hold any of \"{without}\"")]
    HoldsReserved { kind: Noun, text: String, without: &'static str },
}

/// A type's name as people say it: `QueueName` prints as `queue name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noun(pub &'static str);

impl fmt::Display for Noun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, letter) in self.0.char_indices() {
            match letter {
                '_' | '-' => f.write_str(" ")?,
                letter if i > 0 && letter.is_ascii_uppercase() => {
                    write!(f, " {}", letter.to_ascii_lowercase())?;
                }
                letter => write!(f, "{}", letter.to_ascii_lowercase())?,
            }
        }
        Ok(())
    }
}

impl Kind {
    /// A kind whose texts are percent-coded inside keys and have at most [`PART_BYTES_MAX`] bytes.
    pub const fn new(name: &'static str, prose: &'static str, shape: Shape) -> Self {
        Self { name, prose, shape, escape: Escape::Percent, bytes_max: PART_BYTES_MAX }
    }

    /// The kind's name as people say it.
    pub fn noun(&self) -> Noun {
        Noun(self.name)
    }

    /// Is `text` a value of this kind?
    pub fn check(&self, text: &str) -> Result<(), PartError> {
        let kind = self.noun();
        if text.is_empty() {
            return Err(PartError::Empty { kind });
        }
        if text.len() > self.bytes_max {
            let bytes_max = self.bytes_max;
            return Err(PartError::TooLong { kind, bytes: text.len(), bytes_max });
        }
        if let Escape::Raw { without } = self.escape
            && text.contains(|letter| without.contains(letter))
        {
            return Err(PartError::HoldsReserved { kind, text: text.into(), without });
        }
        match self.shape {
            Shape::Text { except } if except.contains(&text) => {
                Err(PartError::Reserved { kind, text: text.into() })
            }
            Shape::Colons { fields_min }
                if text.split(':').count() < fields_min || text.split(':').any(str::is_empty) =>
            {
                Err(PartError::TooFewFields { kind, text: text.into(), fields_min })
            }
            Shape::Number { min, max }
                if !number(text).is_some_and(|n| (min..=max).contains(&n)) =>
            {
                Err(PartError::NotInRange { kind, text: text.into(), min, max })
            }
            Shape::Words(words) if !words.contains(&text) => {
                Err(PartError::NotAWord { kind, text: text.into(), words })
            }
            Shape::Uuid | Shape::Ulid | Shape::Date | Shape::Pattern(_)
                if !self.shape.fits(text) =>
            {
                let expected = self.shape.to_string();
                Err(PartError::NotOfForm { kind, text: text.into(), expected })
            }
            _ => Ok(()),
        }
    }

    /// Appends the coded form of `text`, which must have passed [`Kind::check`].
    pub fn encode(&self, text: &str, out: &mut String) {
        match self.escape {
            Escape::Percent => coding::encode(text, self.colons(), out),
            Escape::Raw { .. } => out.push_str(text),
        }
    }

    /// The text behind the coded form in a key; refuses what [`Kind::encode`] would never write.
    pub fn decode<'k>(&self, coded: &'k [u8]) -> Result<Cow<'k, str>, PartError> {
        let text = match self.escape {
            Escape::Percent => coding::decode(coded, self.colons()),
            Escape::Raw { .. } => std::str::from_utf8(coded).ok().map(Cow::Borrowed),
        };
        let text = text.ok_or_else(|| PartError::NotCanonical {
            kind: self.noun(),
            coded: String::from_utf8_lossy(coded).into_owned(),
        })?;
        self.check(&text)?;
        Ok(text)
    }

    /// May the coded form hold a colon?
    pub(crate) const fn holds_colons(&self) -> bool {
        matches!(self.shape, Shape::Colons { .. } | Shape::Rest)
    }

    /// Where a part that starts at `at` must end at the latest: before the next byte that it cannot hold.
    pub(crate) fn end_max(&self, raw: &[u8], at: usize) -> usize {
        let (bytes_max, stops): (usize, &[u8]) = match self.escape {
            Escape::Raw { without } => (self.bytes_max, without.as_bytes()),
            Escape::Percent if self.holds_colons() => (self.bytes_max * 3, b""),
            Escape::Percent => (self.bytes_max * 3, b":{}"),
        };
        let rest = &raw[at..raw.len().min(at + bytes_max)];
        at + rest.iter().position(|byte| stops.contains(byte)).unwrap_or(rest.len())
    }

    /// Is the coded form made of digits?
    pub(crate) const fn is_number(&self) -> bool {
        matches!(self.shape, Shape::Number { .. })
    }

    fn colons(&self) -> Colons {
        if self.holds_colons() { Colons::Plain } else { Colons::Coded }
    }
}

impl Shape {
    /// Is `text` of a form that has no message of its own?
    fn fits(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        match self {
            Self::Uuid => {
                bytes.len() == 36
                    && bytes.iter().enumerate().all(|(i, byte)| match i {
                        8 | 13 | 18 | 23 => *byte == b'-',
                        _ => byte.is_ascii_hexdigit(),
                    })
            }
            Self::Ulid => {
                let letter = |byte: &u8| {
                    byte.is_ascii_digit() || (byte.is_ascii_uppercase() && !b"ILOU".contains(byte))
                };
                bytes.len() == 26 && bytes[0] <= b'7' && bytes.iter().all(letter)
            }
            Self::Date => crate::time::is_date(text),
            Self::Pattern(pattern) => pattern.is_match(text),
            Self::Text { .. }
            | Self::Colons { .. }
            | Self::Number { .. }
            | Self::Words(_)
            | Self::Rest => true,
        }
    }
}

/// The number that `text` is the one decimal form of.
fn number(text: &str) -> Option<u64> {
    let canonical = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| canonical)
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { except: [] } => f.write_str("text"),
            Self::Text { except } => write!(f, "text, not `{}`", except.join("`, `")),
            Self::Colons { fields_min } => {
                write!(f, "text of at least {fields_min} fields between colons")
            }
            Self::Number { min: 0, max: u64::MAX } => f.write_str("number"),
            Self::Number { min, max: u64::MAX } => write!(f, "number from {min}"),
            Self::Number { min, max } => write!(f, "number from {min} to {max}"),
            Self::Words(words) => write!(f, "one of `{}`", words.join("`, `")),
            Self::Uuid => f.write_str("UUID"),
            Self::Ulid => f.write_str("ULID"),
            Self::Date => f.write_str("date like `2026-11-18`"),
            Self::Pattern(pattern) => write!(f, "text that matches `{}`", pattern.source()),
            Self::Rest => f.write_str("the rest of the key"),
        }
    }
}

crate::parts! {
    /// The subject of a user's tokens: the one id by which all services know a user.
    text UserSub;
}

#[cfg(test)]
mod tests;
