//! Commands as people type them: words separated by spaces, with quotes and escapes as in redis-cli.

use super::parse::Span;

/// A quote that is not closed, or closed in the middle of a word.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unbalanced;

/// Finds the words of a line. Escapes are undone in place, since a word never gets longer by that.
pub(super) fn split(line: &mut [u8], words: &mut Vec<Span>) -> Result<(), Unbalanced> {
    let mut cursor = Cursor { line, read: 0, written: 0 };
    loop {
        while cursor.peek().is_some_and(is_space) {
            cursor.read += 1;
        }
        if cursor.peek().is_none() {
            return Ok(());
        }
        cursor.written = cursor.read;
        let start = cursor.written;
        cursor.word()?;
        words.push(Span { start, end: cursor.written });
    }
}

/// C's `isspace`, which also knows the vertical tab.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

struct Cursor<'a> {
    line: &'a mut [u8],
    read: usize,
    /// Never ahead of `read`.
    written: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.line.get(self.read).copied()
    }

    fn take(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.read += 1;
        Some(byte)
    }

    fn write(&mut self, byte: u8) {
        self.line[self.written] = byte;
        self.written += 1;
    }

    /// Copies a word, quoted in whole or in part.
    fn word(&mut self) -> Result<(), Unbalanced> {
        while let Some(byte) = self.take() {
            match byte {
                b' ' | b'\n' | b'\r' | b'\t' => return Ok(()),
                b'"' => return self.double_quoted(),
                b'\'' => return self.single_quoted(),
                _ => self.write(byte),
            }
        }
        Ok(())
    }

    fn double_quoted(&mut self) -> Result<(), Unbalanced> {
        loop {
            match self.take().ok_or(Unbalanced)? {
                b'"' => return self.end_of_word(),
                b'\\' if self.peek().is_some() => self.escape(),
                byte => self.write(byte),
            }
        }
    }

    /// Undoes an escape whose backslash has been read.
    fn escape(&mut self) {
        if let [b'x', high, low, ..] = self.line[self.read..]
            && let (Some(high), Some(low)) = (hex(high), hex(low))
        {
            self.read += 3;
            return self.write(high << 4 | low);
        }
        match self.take() {
            Some(b'n') => self.write(b'\n'),
            Some(b'r') => self.write(b'\r'),
            Some(b't') => self.write(b'\t'),
            Some(b'b') => self.write(0x08),
            Some(b'a') => self.write(0x07),
            Some(byte) => self.write(byte),
            None => {}
        }
    }

    fn single_quoted(&mut self) -> Result<(), Unbalanced> {
        loop {
            match self.take().ok_or(Unbalanced)? {
                b'\'' => return self.end_of_word(),
                b'\\' if self.peek() == Some(b'\'') => {
                    self.read += 1;
                    self.write(b'\'');
                }
                byte => self.write(byte),
            }
        }
    }

    /// A closing quote ends the word.
    fn end_of_word(&self) -> Result<(), Unbalanced> {
        if self.peek().is_none_or(is_space) { Ok(()) } else { Err(Unbalanced) }
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|n| n as u8)
}

#[cfg(test)]
mod tests {
    use super::{Unbalanced, split};

    #[track_caller]
    fn check(line: &str, expected: Result<&[&[u8]], Unbalanced>) {
        let mut line = line.as_bytes().to_vec();
        let mut spans = Vec::new();
        let split = split(&mut line, &mut spans);
        let words: Vec<&[u8]> = spans.iter().map(|span| &line[span.start..span.end]).collect();
        assert_eq!(split.map(|()| &words[..]), expected);
    }

    #[test]
    fn words_are_separated_by_any_spaces() {
        check(" set \t k\x0b  v ", Ok(&[b"set", b"k\x0b", b"v"]));
        check(" \x0b ", Ok(&[]));
        check("", Ok(&[]));
    }

    #[test]
    fn double_quotes_know_escapes() {
        check(
            r#"echo "a b" "\x41\n\r\t\b\a\q\"\\""#,
            Ok(&[b"echo", b"a b", b"A\n\r\t\x08\x07q\"\\"]),
        );
        check(r#"echo "\x4" "\xzz""#, Ok(&[b"echo", b"x4", b"xzz"]));
        check(r#"echo """#, Ok(&[b"echo", b""]));
    }

    #[test]
    fn single_quotes_know_one_escape() {
        check(r"echo 'it\'s' '\n'", Ok(&[b"echo", b"it's", br"\n"]));
    }

    #[test]
    fn quotes_may_begin_inside_a_word_but_not_end_there() {
        check(r#"set a"b c" d"#, Ok(&[b"set", b"ab c", b"d"]));
        check(r#"ping "a"b"#, Err(Unbalanced));
        check("ping 'a'b", Err(Unbalanced));
    }

    #[test]
    fn open_quotes_are_refused() {
        check(r#"ping "a"#, Err(Unbalanced));
        check(r#"ping "a\"#, Err(Unbalanced));
        check("ping 'a", Err(Unbalanced));
    }
}
