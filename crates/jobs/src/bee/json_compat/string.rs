//! JSON strings: where they end, what they say, and how ECMAScript would write them.

use std::borrow::Cow;

use super::Error;

/// The position after the closing quote of the string that begins at `start`.
pub(super) fn end(text: &str, start: usize) -> Result<usize, Error> {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = escape_end(bytes, at)?,
            Some(0x20..) => at += 1,
            Some(_) => return Err(Error::NotJson { expected: "an escaped control character", at }),
            None => return Err(Error::NotJson { expected: "a closing quote", at }),
        }
    }
}

fn escape_end(bytes: &[u8], at: usize) -> Result<usize, Error> {
    let malformed = Error::NotJson { expected: "an escape that JSON knows", at };
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => match unit(bytes, at) {
            None => Err(malformed),
            Some(0xdc00..=0xdfff) => Err(Error::LoneSurrogate { at }),
            Some(0xd800..=0xdbff) => match unit(bytes, at + 6) {
                Some(0xdc00..=0xdfff) => Ok(at + 12),
                _ => Err(Error::LoneSurrogate { at }),
            },
            Some(_) => Ok(at + 6),
        },
        _ => Err(malformed),
    }
}

/// The UTF-16 code unit that a `\u` escape stands for.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let hex = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    hex.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)? as u16))
}

/// The length of the checked string that `text` begins with, quotes included.
pub(super) fn length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// What a checked string says, from the text between its quotes.
pub(super) fn decode(inner: &str) -> Cow<'_, str> {
    let Some(first) = inner.find('\\') else {
        return Cow::Borrowed(inner);
    };
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    let mut next = Some(first);
    while let Some(at) = next {
        out.push_str(&rest[..at]);
        let (character, length) = escaped(&rest[at..]);
        out.push(character);
        rest = &rest[at + length..];
        next = rest.find('\\');
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The character that a checked escape stands for, and the escape's length.
fn escaped(escape: &str) -> (char, usize) {
    let bytes = escape.as_bytes();
    match bytes[1] {
        b'b' => ('\u{8}', 2),
        b'f' => ('\u{c}', 2),
        b'n' => ('\n', 2),
        b'r' => ('\r', 2),
        b't' => ('\t', 2),
        b'u' => {
            let units = [unit(bytes, 0), unit(bytes, 6)].map(Option::unwrap_or_default);
            let decoded = char::decode_utf16(units).next();
            let character = decoded.and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER);
            (character, 6 * character.len_utf16())
        }
        itself => (char::from(itself), 2),
    }
}

/// Writes a string as `JSON.stringify` does, from the checked text between its quotes.
pub(super) fn spell(out: &mut String, inner: &str) {
    out.push('"');
    if inner.contains('\\') {
        decode(inner).chars().for_each(|character| push(out, character));
    } else {
        out.push_str(inner);
    }
    out.push('"');
}

fn push(out: &mut String, character: char) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        control @ '\0'..='\u{1f}' => {
            const HEX: &[u8] = b"0123456789abcdef";
            let code = control as usize;
            out.push_str("\\u00");
            out.push(char::from(HEX[code >> 4]));
            out.push(char::from(HEX[code & 15]));
        }
        other => out.push(other),
    }
}
