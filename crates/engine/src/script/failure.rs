//! From what a script raised to the error its client gets.

use std::ffi::c_int;

use super::arguments::Frame;
use super::stack::{Kind, Outcome, Stack};
use crate::reply::Error;

/// The message handler of every run: turns what was raised into a table with the text and the place it came from.
pub(super) fn describe(stack: &mut Stack<'_>) -> Outcome {
    if stack.kind(1) != Kind::Table {
        let text = display(stack, 1);
        stack.push_table(0, 0);
        stack.push_bytes([b"ERR ".as_slice(), &text].concat());
        stack.raw_set_field(-2, "err");
    } else {
        stack.push_copy(1);
    }
    let mut frame = stack.frame(1);
    if frame.as_ref().is_some_and(|frame| frame.is_c) {
        frame = stack.frame(2);
    }
    if let Some(frame) = frame
        && stack.is_writable(-1)
    {
        stack.push_bytes(&frame.source);
        stack.raw_set_field(-2, "source");
        stack.push_number(f64::from(frame.line));
        stack.raw_set_field(-2, "line");
    }
    Ok(1)
}

/// The value as `tostring` shows it, metatables apart.
fn display(stack: &mut Stack<'_>, index: c_int) -> Vec<u8> {
    match stack.kind(index) {
        Kind::None | Kind::Nil => b"nil".to_vec(),
        Kind::Boolean => stack.truth(index).to_string().into_bytes(),
        Kind::Number | Kind::String => stack.text(index).to_vec(),
        kind => match stack.address(index) {
            0 => format!("{}: (nil)", kind.name()).into_bytes(),
            address => format!("{}: {address:#x}", kind.name()).into_bytes(),
        },
    }
}

/// Why a run failed.
pub(super) struct Failure {
    text: String,
    /// The source and line that raised, where known.
    place: Option<(String, String)>,
}

impl Failure {
    /// A failure decided by the engine while the code in `frame` ran.
    pub(super) fn stopped(text: &str, frame: Option<Frame>) -> Failure {
        let place = frame.map(|frame| (frame.source, frame.line.to_string()));
        Failure { text: text.to_owned(), place }
    }

    /// What the error value on top of the stack says.
    pub(super) fn from_top(stack: &mut Stack<'_>) -> Failure {
        if stack.kind(-1) != Kind::Table {
            // Lack of memory, or an error in the handler itself: neither gets as far as `describe`.
            let text = display(stack, -1);
            return Failure { text: format!("ERR {}", c_text(&text)), place: None };
        }
        let text = field(stack, "err").unwrap_or_else(|| "ERR unknown error".to_owned());
        let place = field(stack, "source").zip(field(stack, "line"));
        Failure { text, place }
    }

    /// The error for the client.
    pub(super) fn into_error(self, sha: &str) -> Error {
        match self.place {
            Some((source, line)) => {
                Error::new(format!("{} script: {sha}, on {source}:{line}.", self.text))
            }
            None => Error::new(self.text),
        }
    }
}

fn field(stack: &mut Stack<'_>, name: &str) -> Option<String> {
    let kind = stack.raw_field(-1, name);
    let text = matches!(kind, Kind::String | Kind::Number).then(|| c_text(stack.text(-1)));
    stack.pop(1);
    text
}

/// The text up to the first zero byte, which is where the reference ends it.
pub(super) fn c_text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
