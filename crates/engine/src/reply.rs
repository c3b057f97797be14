//! What a command answers: one value that every door (RESP, the `redis` crate, Lua) renders in its own way.

use std::borrow::Cow;

/// The answer to one command.
///
/// Richer than RESP2 on purpose: the RESP2 encoder flattens maps, sets and doubles the way Redis does.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// A simple string such as `OK`.
    Status(Cow<'static, str>),
    /// An error, with its code as the first word.
    Error(Error),
    /// An integer.
    Int(i64),
    /// A bulk string.
    Bulk(Vec<u8>),
    /// A missing value: `$-1` in RESP2, `_` in RESP3.
    Nil,
    /// A missing array: `*-1` in RESP2, `_` in RESP3.
    NilArray,
    /// A double; RESP2 clients get its text as a bulk string.
    Double(f64),
    /// A boolean; RESP2 clients get 1 or 0.
    Bool(bool),
    /// An ordered list.
    Array(Vec<Reply>),
    /// Field and value pairs; RESP2 clients get a flat array.
    Map(Vec<(Reply, Reply)>),
    /// Members without order; RESP2 clients get an array.
    Set(Vec<Reply>),
    /// Text for people, as INFO gives it.
    Verbatim(String),
    /// A message nobody asked for right now (pub/sub, MONITOR); RESP2 clients get an array.
    Push(Vec<Reply>),
    /// Several answers in a row, as SUBSCRIBE gives one for each channel.
    Several(Vec<Reply>),
    /// No answer at all (CLIENT REPLY OFF, subscriptions that answered by push).
    None,
}

impl Reply {
    /// The status `OK`.
    pub const OK: Reply = Reply::Status(Cow::Borrowed("OK"));

    /// A bulk string holding a copy of `bytes`.
    pub fn bulk(bytes: impl AsRef<[u8]>) -> Reply {
        Reply::Bulk(bytes.as_ref().to_vec())
    }

    /// An array of bulk strings.
    pub fn bulks<T: AsRef<[u8]>>(items: impl IntoIterator<Item = T>) -> Reply {
        Reply::Array(items.into_iter().map(Reply::bulk).collect())
    }

    /// A bulk string, or nil where there is none.
    pub fn bulk_or_nil(bytes: Option<impl AsRef<[u8]>>) -> Reply {
        bytes.map_or(Reply::Nil, Reply::bulk)
    }

    /// Whether this is an error.
    pub fn is_error(&self) -> bool {
        matches!(self, Reply::Error(_))
    }
}

impl From<Error> for Reply {
    fn from(error: Error) -> Reply {
        Reply::Error(error)
    }
}

/// An error reply, such as `ERR syntax error`: the first word is the code that clients match on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(Cow<'static, str>);

impl Error {
    /// An error with a text known at compile time; `text` starts with its code.
    pub const fn fixed(text: &'static str) -> Error {
        Error(Cow::Borrowed(text))
    }

    /// An error with a text made now; `text` starts with its code. Line breaks, which RESP cannot carry, become spaces.
    pub fn new(text: impl Into<String>) -> Error {
        let mut text = text.into();
        if text.contains(['\r', '\n']) {
            text = text.replace(['\r', '\n'], " ");
        }
        Error(Cow::Owned(text))
    }

    /// A client's word as an error shows it: up to the first NUL, as C would print it, and no invalid UTF-8.
    pub(crate) fn shown(word: &[u8]) -> Cow<'_, str> {
        String::from_utf8_lossy(word.split(|byte| *byte == 0).next().unwrap_or_default())
    }

    /// The whole text, code included.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The first word.
    pub fn code(&self) -> &str {
        self.0.split(' ').next().unwrap_or_default()
    }

    /// `WRONGTYPE`: the key holds another type than the command works on.
    pub const WRONG_TYPE: Error =
        Error::fixed("WRONGTYPE Operation against a key holding the wrong kind of value");
    /// The arguments do not fit the command's grammar.
    pub const SYNTAX: Error = Error::fixed("ERR syntax error");
    /// An argument or stored value is no 64-bit integer.
    pub const NOT_AN_INTEGER: Error = Error::fixed("ERR value is not an integer or out of range");
    /// An argument or stored value is no float.
    pub const NOT_A_FLOAT: Error = Error::fixed("ERR value is not a valid float");
}
