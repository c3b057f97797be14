//! What a key declaration is.
//!
//! A key family is declared once, in the crate that owns it, with [`keys!`]. From the declaration come the builder
//! functions (the only way to make a [`Key`]), the parser from raw key to family and parts ([`Registry::parse`]), the
//! checks of values ([`Encoding::check`]), the reference page ([`docs()`]) and `explain` ([`Registry::explain`]).
//! This crate owns no keys.
//!
//! In reading order: `part` and `coding` say what may stand in a key; `family`, `encoding`, `json` and `python` what is declared and how it is written;
//! `macros` how; `key` and `template` build and match names; `registry` collects all families; `overlap` proves that
//! no two of them share a key; `file` is the notation for other programs, `check` and `diff` judge it,
//! `generate` makes code of it; `describe`, `docs` and `explain` put it into words.

mod coding;
mod macros;
mod part;
mod pattern;
mod time;

mod encoding;
mod family;
pub mod json;
mod msgpack;
pub mod python;

mod key;
mod template;

mod overlap;
mod registry;

pub mod file;

mod check;
mod diff;
mod generate;
mod import;

mod describe;
mod docs;
mod explain;
mod html;

pub use check::{CheckFinding, CheckRule, check};
pub use describe::{Row, SECRET};
pub use diff::{Breaks, Change, Version, diff, version};
pub use docs::{docs, docs_of, docs_titled};
pub use encoding::{COUNT, Encoding, POSITIVE};
pub use explain::{ExplainedPart, Explanation};
pub use family::{
    By, Content, Database, Family, Field, Holds, KnownBy, LateFamily, Listed, Origin, Referent,
    Shard, Slot, Ttl, Value,
};
pub use generate::{Generated, Language, generate, module_name};
pub use html::html;
pub use import::import;
pub use key::{Key, Layout};
pub use msgpack::msgpack_as_json;
pub use part::{Escape, Kind, Noun, PART_BYTES_MAX, Part, PartError, Shape, UserSub};
pub use pattern::Pattern;
pub use registry::{Parsed, Problem, Registry};
pub use template::RenderError;

#[doc(hidden)]
pub use key::Builder;
#[doc(hidden)]
pub use serde;

/// Everything a `keys.rs` file needs.
pub mod declare {
    pub use crate::Encoding::*;
    pub use crate::Origin::*;
    pub use crate::family::{channel, hash, list, map, set, sorted_set, string};
    pub use crate::{
        By, COUNT, Database, Encoding, Family, Holds, Key, KnownBy, Layout, Listed, POSITIVE, Part,
        PartError, Shard, Ttl, UserSub, Value, fields, json, keys, parts,
    };
}
