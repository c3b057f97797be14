//! Strings: integers are kept as integers, and what is appended to keeps room to grow.

use std::borrow::Cow;

use super::allocation;
use crate::num::{format_int, parse_int};

/// A string value.
#[derive(Debug, Clone)]
pub(crate) enum Str {
    /// The text of a 64-bit integer, which INCR and friends change in place.
    Int(i64),
    Bytes(Box<[u8]>),
    /// A string that APPEND has touched: it keeps spare room, and Redis calls it `raw` however short it is.
    #[expect(
        clippy::box_collection,
        reason = "a Vec in place would make every value of every key larger"
    )]
    Growing(Box<Vec<u8>>),
}

/// Texts longer than any integer are not tried as one.
const INT_LEN_MAX: usize = 20;
/// What Redis stores in one allocation with its object header, and so calls `embstr`.
const EMBSTR_LEN_MAX: usize = 44;

impl Str {
    pub(crate) fn new(bytes: &[u8]) -> Str {
        if bytes.len() <= INT_LEN_MAX
            && let Some(n) = parse_int(bytes)
        {
            return Str::Int(n);
        }
        Str::Bytes(bytes.into())
    }

    pub(crate) fn as_bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Str::Int(n) => Cow::Owned(format_int(*n)),
            Str::Bytes(bytes) => Cow::Borrowed(bytes),
            Str::Growing(bytes) => Cow::Borrowed(bytes),
        }
    }

    /// The integer this is, if it is one.
    pub(crate) fn as_int(&self) -> Option<i64> {
        match self {
            Str::Int(n) => Some(*n),
            Str::Bytes(bytes) => parse_int(bytes),
            Str::Growing(bytes) => parse_int(bytes),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.as_bytes().len()
    }

    pub(crate) fn append(&mut self, tail: &[u8]) {
        if let Str::Growing(bytes) = self {
            bytes.extend_from_slice(tail);
            return;
        }
        let mut bytes = self.as_bytes().into_owned();
        bytes.extend_from_slice(tail);
        *self = Str::Growing(Box::new(bytes));
    }

    /// Writes `patch` over the bytes from `offset` on, with zeros where there were none; it then grows as after APPEND.
    pub(crate) fn overwrite(&mut self, offset: usize, patch: &[u8]) {
        self.append(&[]);
        let Str::Growing(bytes) = self else { unreachable!("appending makes it so") };
        let end = offset + patch.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[offset..end].copy_from_slice(patch);
    }

    pub(super) fn encoding(&self) -> &'static str {
        match self {
            Str::Int(_) => "int",
            Str::Bytes(bytes) if bytes.len() <= EMBSTR_LEN_MAX => "embstr",
            Str::Bytes(_) | Str::Growing(_) => "raw",
        }
    }

    pub(super) fn memory(&self) -> usize {
        match self {
            Str::Int(_) => 0,
            Str::Bytes(bytes) => allocation(bytes.len()),
            Str::Growing(bytes) => allocation(size_of::<Vec<u8>>()) + allocation(bytes.capacity()),
        }
    }
}
