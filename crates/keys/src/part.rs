//! The variable parts of a key: which texts are allowed, and how they look inside a key.

use std::borrow::Cow;
use std::fmt;

use crate::coding::{self, Colons};

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
}

/// Why a text cannot be a part of a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields hold")]
pub enum PartError {
    #[error("the {kind} is empty; give 1 to 256 bytes")]
    Empty { kind: Noun },
    #[error("the {kind} is {bytes} bytes long; at most 256 fit into a key")]
    TooLong { kind: Noun, bytes: usize },
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
}

/// A type's name as people say it: `QueueName` prints as `queue name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noun(pub &'static str);

impl fmt::Display for Noun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, letter) in self.0.char_indices() {
            if i > 0 && letter.is_ascii_uppercase() {
                f.write_str(" ")?;
            }
            write!(f, "{}", letter.to_ascii_lowercase())?;
        }
        Ok(())
    }
}

impl Kind {
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
        if text.len() > PART_BYTES_MAX {
            return Err(PartError::TooLong { kind, bytes: text.len() });
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
            _ => Ok(()),
        }
    }

    /// Appends the coded form of `text`, which must have passed [`Kind::check`].
    pub fn encode(&self, text: &str, out: &mut String) {
        coding::encode(text, self.colons(), out);
    }

    /// The text behind the coded form in a key; refuses what [`Kind::encode`] would never write.
    pub fn decode<'k>(&self, coded: &'k [u8]) -> Result<Cow<'k, str>, PartError> {
        let text = coding::decode(coded, self.colons()).ok_or_else(|| PartError::NotCanonical {
            kind: self.noun(),
            coded: String::from_utf8_lossy(coded).into_owned(),
        })?;
        self.check(&text)?;
        Ok(text)
    }

    /// May the coded form hold a colon?
    pub(crate) const fn holds_colons(&self) -> bool {
        matches!(self.shape, Shape::Colons { .. })
    }

    /// Is the coded form made of digits?
    pub(crate) const fn is_number(&self) -> bool {
        matches!(self.shape, Shape::Number { .. })
    }

    fn colons(&self) -> Colons {
        if self.holds_colons() { Colons::Plain } else { Colons::Coded }
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
        }
    }
}

crate::parts! {
    /// The subject of a user's tokens: the one id by which all services know a user.
    text UserSub;
}

#[cfg(test)]
mod tests;
