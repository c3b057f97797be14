//! The one way to the terminal for what comes from data.
//!
//! Names, errors and results are anybody's, and a terminal obeys what it is sent: control characters move the cursor, set its
//! title or hide what was printed, and overrides of direction show a text back to front. Here they are made visible, as
//! JSON writes them (`\u001b`), so that what is JSON stays JSON. Colours are asked for with marks and not with control
//! characters, so that none of those has to pass.

use std::io::{self, Write};

use keyrack_format::{is_hidden, push_escape};

use crate::terminal::Color;

/// Marks for colours: characters that stand for nothing and that data never needs.
const RESET: char = '\u{fdd0}';
const COLORS: [(char, Color); 5] = [
    ('\u{fdd1}', Color::Red),
    ('\u{fdd2}', Color::Green),
    ('\u{fdd3}', Color::Yellow),
    ('\u{fdd4}', Color::Blue),
    ('\u{fdd5}', Color::Dim),
];

/// The words between marks for a colour.
pub(crate) fn marked(color: Color, words: &str) -> String {
    let mark = COLORS.iter().find(|(_, known)| *known == color).map_or(RESET, |(mark, _)| *mark);
    format!("{mark}{words}{RESET}")
}

/// What a mark is to a terminal.
fn escape_code(mark: char) -> Option<String> {
    if mark == RESET {
        return Some("\u{1b}[0m".into());
    }
    let color = COLORS.iter().find(|(known, _)| *known == mark)?.1;
    Some(format!("\u{1b}[{}m", color.code()))
}

/// Passes on what is printed, with everything hidden made visible.
#[derive(Debug)]
pub struct Printer<W: Write> {
    to: W,
    /// Whether marks become colours.
    is_painted: bool,
    /// The beginning of a character whose end is not written yet.
    begun: Vec<u8>,
}

impl<W: Write> Printer<W> {
    pub(crate) fn new(to: W, is_painted: bool) -> Printer<W> {
        Printer { to, is_painted, begun: Vec::new() }
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
        if !text.contains(is_hidden) {
            return self.to.write_all(text.as_bytes());
        }
        let mut shown = String::with_capacity(text.len() + 8);
        for letter in text.chars() {
            match escape_code(letter).filter(|_| self.is_painted) {
                Some(code) => shown.push_str(&code),
                None if matches!(letter, '\n' | '\t') || !is_hidden(letter) => shown.push(letter),
                None => push_escape(&mut shown, letter),
            }
        }
        self.to.write_all(shown.as_bytes())
    }
}

impl<W: Write> Write for Printer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut rest = &all[..];
        while !rest.is_empty() {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.print(text)?;
                    break;
                }
                Err(error) => {
                    let (good, bad) = rest.split_at(error.valid_up_to());
                    self.print(&String::from_utf8_lossy(good))?;
                    let Some(length) = error.error_len() else {
                        self.begun = bad.to_vec();
                        break;
                    };
                    for byte in &bad[..length] {
                        write!(self.to, "\\x{byte:02x}")?;
                    }
                    rest = &bad[length..];
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use keyrack_format::visible;

    use super::*;

    const HOSTILE: &str =
        "a\u{1b}]0;title\u{7}\u{1b}[2Jb\r\u{9b}31m\u{202e}c\u{2066}\u{fdd1}\u{e0041}";

    fn printed(parts: &[&[u8]], is_painted: bool) -> String {
        let mut printer = Printer::new(Vec::new(), is_painted);
        for part in parts {
            printer.write_all(part).expect("printed");
        }
        String::from_utf8(printer.to).expect("text")
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let shown =
            "a\\u001b]0;title\\u0007\\u001b[2Jb\\r\\u009b31m\\u202ec\\u2066\\ufdd1\\udb40\\udc41";
        assert_eq!(visible(HOSTILE), shown);
        assert_eq!(printed(&[HOSTILE.as_bytes()], false), shown);
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({ "name": HOSTILE });
        let text = printed(&[value.to_string().as_bytes()], false);
        let read: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read, value);
    }

    #[test]
    fn only_our_own_colours_reach_the_terminal() {
        let red = marked(Color::Red, &visible("no\u{1b}[31m\u{fdd2}"));
        assert_eq!(printed(&[red.as_bytes()], true), "\u{1b}[31mno\\u001b[31m\\ufdd2\u{1b}[0m");
    }

    #[test]
    fn characters_may_come_in_pieces_and_bytes_need_be_none() {
        let (text, cut) = ("ü\u{202e}".as_bytes(), 1);
        assert_eq!(printed(&[&text[..cut], &text[cut..3], &text[3..]], false), "ü\\u202e");
        assert_eq!(printed(&[b"a\xffb\x1b"], false), "a\\xffb\\u001b");
    }
}
