//! What clients send: commands as arrays of bulk strings, or typed by hand as one line each.
//!
//! The parser keeps offsets, never bytes, and goes on where it stopped: a large argument that arrives in pieces is
//! looked at once, and a length that a client merely claims costs nothing.

use memchr::memchr;

use super::inline;
use crate::{num::parse_int, reply::Error};

/// The longest line, be it a command or the length of something.
const LINE_LEN_MAX: usize = 64 * 1024;
/// What a client may send before it has given the password.
const UNAUTHENTICATED_ARGS_MAX: i64 = 10;
const UNAUTHENTICATED_BULK_LEN_MAX: i64 = 16 * 1024;
/// Offsets beyond this many are not kept for the next command.
const KEPT_ARGS_MAX: usize = 1024;

/// More arguments than a digit counts are not short; see [`Parser::short`].
const SHORT_ARGS_MAX: usize = 9;

/// How much a client may send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) bulk_len_max: usize,
    pub(crate) authenticated: bool,
}

/// Where an argument lies, counted from the command's first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// How far into the next command the client is.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// Arguments that are there.
    spans: Vec<Span>,
    /// Arguments of the array that are still to come.
    n_missing: usize,
    /// The length of the next argument, once its header is there.
    bulk_len: Option<usize>,
    /// Everything before this is understood.
    at: usize,
    /// The line at `at` has no end before this.
    searched: usize,
}

impl Parser {
    /// Takes the next whole command off the front of `bytes` and puts its arguments, at least one, into `args`;
    /// false if the rest of it has not arrived.
    ///
    /// What is left of `bytes` must come again, in front of what arrives later.
    pub(crate) fn next<'a>(
        &mut self,
        bytes: &mut &'a mut [u8],
        args: &mut Vec<&'a [u8]>,
        limits: Limits,
    ) -> Result<bool, ProtocolError> {
        args.clear();
        if self.at == 0 && self.short(bytes, args) {
            return Ok(true);
        }
        loop {
            let complete = match bytes.first() {
                None => false,
                Some(b'*') => self.array(bytes, limits)?,
                Some(_) => self.line_of_words(bytes)?,
            };
            if !complete {
                return Ok(false);
            }
            let (command, rest) = std::mem::take(bytes).split_at_mut(self.at);
            *bytes = rest;
            let command = &*command;
            args.extend(self.spans.iter().map(|span| &command[span.start..span.end]));
            self.reset();
            // Empty lines and empty arrays are no commands and get no answer.
            if !args.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Takes a command of few short arguments that is there in full, which nearly every command is. False leaves everything
    /// as it was, for whoever understands the rest.
    fn short<'a>(&mut self, bytes: &mut &'a mut [u8], args: &mut Vec<&'a [u8]>) -> bool {
        let &mut [b'*', n @ b'1'..=b'9', b'\r', _, ..] = &mut **bytes else { return false };
        let mut ends = [(0, 0); SHORT_ARGS_MAX];
        let ends = &mut ends[..usize::from(n - b'0')];
        let mut at = 4;
        for span in &mut *ends {
            let (start, len) = match bytes[at..] {
                [b'$', a @ b'0'..=b'9', b'\r', _, ..] => (at + 4, usize::from(a - b'0')),
                [b'$', a @ b'1'..=b'9', b @ b'0'..=b'9', b'\r', _, ..] => {
                    (at + 5, usize::from(a - b'0') * 10 + usize::from(b - b'0'))
                }
                _ => return false,
            };
            *span = (start, start + len);
            at = start + len + 2;
            if at > bytes.len() {
                return false;
            }
        }
        let (command, rest) = std::mem::take(bytes).split_at_mut(at);
        *bytes = rest;
        let command = &*command;
        args.extend(ends.iter().map(|&(start, end)| &command[start..end]));
        // The beginning of its header may have been searched in vain before the rest came.
        self.searched = 0;
        true
    }

    fn reset(&mut self) {
        self.spans.clear();
        if self.spans.capacity() > KEPT_ARGS_MAX {
            self.spans = Vec::new();
        }
        (self.n_missing, self.bulk_len, self.at, self.searched) = (0, None, 0, 0);
    }

    /// Goes on reading an array; true at its end.
    fn array(&mut self, bytes: &[u8], limits: Limits) -> Result<bool, ProtocolError> {
        if self.at == 0 {
            let Some(n) = self.header(bytes, ProtocolError::LongArrayHeader)? else {
                return Ok(false);
            };
            self.n_missing = n_args(n, limits)?;
        }
        while self.n_missing > 0 {
            let len = match self.bulk_len {
                Some(len) => len,
                None => {
                    let mark = self.at;
                    let Some(n) = self.header(bytes, ProtocolError::LongBulkHeader)? else {
                        return Ok(false);
                    };
                    if bytes[mark] != b'$' {
                        return Err(ProtocolError::NoBulk(bytes[mark]));
                    }
                    bulk_len(n, limits)?
                }
            };
            let end = self.at + len;
            if bytes.len() < end + 2 {
                self.bulk_len = Some(len);
                return Ok(false);
            }
            self.spans.push(Span { start: self.at, end });
            self.bulk_len = None;
            self.n_missing -= 1;
            self.at = end + 2;
            self.searched = self.at;
        }
        Ok(true)
    }

    /// Reads a mark, a number and a line end; `Some(None)` where there is no number. `None` if it is not all there.
    fn header(
        &mut self,
        bytes: &[u8],
        too_long: ProtocolError,
    ) -> Result<Option<Option<i64>>, ProtocolError> {
        // Nearly all lengths have one or two digits.
        match bytes[self.at..] {
            [_, a @ b'1'..=b'9', b'\r', _, ..] => {
                self.move_to(self.at + 4);
                return Ok(Some(Some(i64::from(a - b'0'))));
            }
            [_, a @ b'1'..=b'9', b @ b'0'..=b'9', b'\r', _, ..] => {
                self.move_to(self.at + 5);
                return Ok(Some(Some(i64::from(a - b'0') * 10 + i64::from(b - b'0'))));
            }
            _ => {}
        }
        let from = self.searched.max(self.at);
        match memchr(b'\r', &bytes[from..]) {
            // The line feed has to be there too, though nobody looks at it.
            Some(i) if from + i + 1 < bytes.len() => {
                let line = bytes.get(self.at + 1..from + i).unwrap_or_default();
                self.move_to(from + i + 2);
                Ok(Some(parse_int(line)))
            }
            Some(i) => {
                self.searched = from + i;
                Ok(None)
            }
            None if bytes.len() - self.at > LINE_LEN_MAX => Err(too_long),
            None => {
                self.searched = bytes.len();
                Ok(None)
            }
        }
    }

    fn move_to(&mut self, at: usize) {
        (self.at, self.searched) = (at, at);
    }

    /// Reads a command typed as a line; true if the whole line is there.
    fn line_of_words(&mut self, bytes: &mut [u8]) -> Result<bool, ProtocolError> {
        let Some(i) = memchr(b'\n', &bytes[self.searched..]) else {
            self.searched = bytes.len();
            return if bytes.len() > LINE_LEN_MAX {
                Err(ProtocolError::LongLine)
            } else {
                Ok(false)
            };
        };
        let end = self.searched + i;
        self.at = end + 1;
        let line = bytes[..end].strip_suffix(b"\r").map_or(end, <[u8]>::len);
        inline::split(&mut bytes[..line], &mut self.spans)
            .map_err(|inline::Unbalanced| ProtocolError::UnbalancedQuotes)?;
        match self.spans.first() {
            Some(name) if is_http(&bytes[name.start..name.end]) => Err(ProtocolError::Http),
            _ => Ok(true),
        }
    }
}

fn n_args(n: Option<i64>, limits: Limits) -> Result<usize, ProtocolError> {
    let n = n.filter(|n| *n <= i64::from(i32::MAX)).ok_or(ProtocolError::ArrayLen)?;
    if n > UNAUTHENTICATED_ARGS_MAX && !limits.authenticated {
        return Err(ProtocolError::UnauthenticatedArrayLen);
    }
    Ok(usize::try_from(n).unwrap_or(0))
}

fn bulk_len(n: Option<i64>, limits: Limits) -> Result<usize, ProtocolError> {
    let n = n.ok_or(ProtocolError::BulkLen)?;
    let len = usize::try_from(n).map_err(|_| ProtocolError::BulkLen)?;
    if len > limits.bulk_len_max {
        return Err(ProtocolError::BulkLen);
    }
    if n > UNAUTHENTICATED_BULK_LEN_MAX && !limits.authenticated {
        return Err(ProtocolError::UnauthenticatedBulkLen);
    }
    Ok(len)
}

/// Whether this is how a web browser begins that a hostile page has sent here.
fn is_http(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:")
}

/// Bytes that are no command; the connection cannot be used any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProtocolError {
    LongLine,
    LongArrayHeader,
    LongBulkHeader,
    ArrayLen,
    BulkLen,
    UnauthenticatedArrayLen,
    UnauthenticatedBulkLen,
    /// This instead of `$`.
    NoBulk(u8),
    UnbalancedQuotes,
    /// A web browser's request, which gets no answer.
    Http,
}

impl ProtocolError {
    /// What the client is told before the connection closes.
    pub(crate) fn reply(&self) -> Option<Error> {
        let text = match self {
            ProtocolError::LongLine => "ERR Protocol error: too big inline request",
            ProtocolError::LongArrayHeader => "ERR Protocol error: too big mbulk count string",
            ProtocolError::LongBulkHeader => "ERR Protocol error: too big bulk count string",
            ProtocolError::ArrayLen => "ERR Protocol error: invalid multibulk length",
            ProtocolError::BulkLen => "ERR Protocol error: invalid bulk length",
            ProtocolError::UnauthenticatedArrayLen => {
                "ERR Protocol error: unauthenticated multibulk length"
            }
            ProtocolError::UnauthenticatedBulkLen => {
                "ERR Protocol error: unauthenticated bulk length"
            }
            ProtocolError::UnbalancedQuotes => "ERR Protocol error: unbalanced quotes in request",
            ProtocolError::NoBulk(got) => {
                let got = char::from(*got);
                return Some(Error::new(format!("ERR Protocol error: expected '$', got '{got}'")));
            }
            ProtocolError::Http => return None,
        };
        Some(Error::fixed(text))
    }
}

#[cfg(test)]
mod tests;
