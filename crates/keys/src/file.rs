//! The keys file: declarations as TOML, for programs that are not written in Rust.
//!
//! [`read`] gives the same [`Family`] that [`keys!`](crate::keys) declares, so that whatever works for the one works for
//! the other; [`write()`] is the way back. A process reads its files once, so what they declare is never freed.
//!
//! In reading order: `error` and `cursor` are the way through a document; `parts`, `schema`, `encoding` and `family` read
//! one kind of declaration each; `write` puts declarations down; `tidy` formats a file that people wrote.

mod cursor;
mod error;

mod encoding;
mod family;
mod life;
mod parts;
mod read;
mod schema;

mod tidy;
mod write;

use std::collections::BTreeMap;

pub use error::FileError;
pub(crate) use family::runs_into;
pub use parts::PART_TYPES;
pub use read::{Source, read};
pub use tidy::tidy;
pub use write::{Draft, Heading, encoding_text, new_declarations, write, write_draft};

use crate::family::Family;

/// How file names of keys files end.
pub const EXTENSION: &str = ".keys.toml";

/// The version of the format that this program writes, and the only one that it reads.
pub const FORMAT: i64 = 1;

/// The JSON Schema of the format, for editors.
pub const JSON_SCHEMA: &str = include_str!("file/keys.schema.json");

/// What one file declares.
#[derive(Debug)]
pub struct Document {
    /// The file's name.
    pub source: String,
    /// The name in front of the ids of its families.
    pub name: &'static str,
    /// Who answers for it; may be empty.
    pub team: &'static str,
    /// What it is about; may be empty.
    pub prose: &'static str,
    /// The version of what it declares, such as `1.4.0`; may be empty.
    pub version: &'static str,
    /// Its families and channels, in order.
    pub families: Vec<&'static Family>,
    /// The line on which each family begins, by id.
    pub lines: BTreeMap<String, usize>,
}

/// Keeps a text for as long as the process lives.
pub fn keep_text(text: &str) -> &'static str {
    if text.is_empty() { "" } else { Box::leak(text.to_owned().into_boxed_str()) }
}

/// Keeps a value for as long as the process lives.
pub fn keep<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Keeps values for as long as the process lives.
pub fn keep_all<T>(values: Vec<T>) -> &'static [T] {
    values.leak()
}

#[cfg(test)]
mod tests;
