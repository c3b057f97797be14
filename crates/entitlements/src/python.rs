//! JSON as Python writes it by default: a space after `,` and `:`, and nothing but ASCII.

use std::io;

use serde::Serialize;
use serde_json::{Serializer, ser::Formatter};

/// The text of a value. Fields keep their order.
pub(crate) fn json(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut out, Python));
    debug_assert!(written.is_ok(), "writing to memory fails only for maps without text keys");
    String::from_utf8(out).unwrap_or_default()
}

struct Python;

impl Formatter for Python {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        w: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { w.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        w: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { w.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        w.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        w: &mut W,
        text: &str,
    ) -> io::Result<()> {
        for character in text.chars() {
            if (' '..='~').contains(&character) {
                w.write_all(&[character as u8])?;
                continue;
            }
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(w, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_what_python_makes_of_it() {
        // json.dumps(["é", "😀", "a\"\\\n\x7f/", 1.0, 1e16, None])
        let value =
            serde_json::json!(["é", "😀", "a\"\\\n\u{7f}/", 1.0, null, {"a": [], "b": true}]);
        let expected =
            r#"["\u00e9", "\ud83d\ude00", "a\"\\\n\u007f/", 1.0, null, {"a": [], "b": true}]"#;
        assert_eq!(json(&value), expected);
    }
}
