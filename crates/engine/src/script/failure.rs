//! From what a script raised to the error its client gets.

use std::ffi::{c_char, c_int};

use super::arguments::Frame;
use super::stack::{Kind, Outcome, Stack};
use crate::reply::Error;

/// The message handler of every run: turns what was raised into a table with the text and the place it came from.
pub(super) fn describe(stack: &mut Stack<'_>) -> Outcome {
    if stack.kind(1) != Kind::Table {
        // Twice here, and once more as a string of Lua's. Where that is too much, Lua calls this again for the error that says so.
        let length = stack.bytes(1).len();
        stack.spend(length, 3 * length)?;
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
            return Failure { text: format!("ERR {}", short_text(&text)), place: None };
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
    let text = matches!(kind, Kind::String | Kind::Number).then(|| {
        let length = stack.bytes(-1).len();
        match stack.context().over_budget(length.saturating_mul(TEXT_COPIES)) {
            true => "ERR not enough memory".to_owned(),
            false => c_text(stack.text(-1)),
        }
    });
    stack.pop(1);
    text
}

/// How many times its length a text may take until it is an error for the client: a byte that is no UTF-8 becomes three, and
/// what is added to it makes a second copy.
pub(super) const TEXT_COPIES: usize = 6;

/// The most of a name or of a value that messages show.
const SHORT: usize = 500;

/// The text for a message about it: up to the first zero byte, and not more than [`SHORT`] bytes.
pub(super) fn short_text(bytes: &[u8]) -> String {
    c_text(&bytes[..bytes.len().min(SHORT)])
}

/// The C string as [`short_text`] shows it.
///
/// # Safety
/// `text` must be null or a C string.
#[allow(unsafe_code, reason = "reads texts that Lua owns")]
pub(super) unsafe fn short_c_text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by contract; nothing is read beyond the zero byte.
    let bytes = unsafe {
        let length = (0..SHORT).take_while(|&at| *text.add(at) != 0).count();
        std::slice::from_raw_parts(text.cast(), length)
    };
    String::from_utf8_lossy(bytes).into_owned()
}

/// The text up to the first zero byte, which is where the reference ends it.
pub(super) fn c_text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
