//! Text that may be anybody's, made safe for a terminal.
//!
//! Control characters move the cursor, set the title of the window or hide what was printed. Overrides of direction show a
//! text back to front. Here they are made visible as JSON writes them (`\u001b`), so that what is JSON stays JSON.

use std::{borrow::Cow, fmt::Write as _};

/// Text in which nothing is hidden, on one line.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden)
}

/// The same, with its lines and columns.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| is_hidden(letter) && !matches!(letter, '\n' | '\t'))
}

fn escaped(text: &str, is_hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match is_hidden(letter) {
            true => push_escape(&mut shown, letter),
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// Whether a terminal would obey a character, or show nothing or something else for it.
pub fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            // What overrides the direction of text, and marks of direction.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // What has no width. The joiners are left: scripts and emoji need them.
            | '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
            // Other ends of lines, characters that stand for nothing, and tags.
            | '\u{2028}' | '\u{2029}' | '\u{fdd0}'..='\u{fdef}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Writes a character as JSON escapes it: `\n`, `\u001b`.
pub fn push_escape(text: &mut String, letter: char) {
    match letter {
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        letter => {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
    }
}

/// Text on one line, cut where it would not fit. What a terminal would obey is made visible: the text may be anybody's.
pub fn one_line(text: &str, width: Option<usize>) -> String {
    let chars = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    let mut line = visible(&chars.collect::<String>()).into_owned();
    if let Some(width) = width
        && line.chars().count() > width
    {
        line = line.chars().take(width.saturating_sub(1)).collect();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_made_visible() {
        assert_eq!(visible("a\u{1b}]0;t\u{7}b\r\u{202e}"), "a\\u001b]0;t\\u0007b\\r\\u202e");
        assert_eq!(visible("two\nlines"), "two\\nlines");
        assert_eq!(visible_lines("two\n\tlines"), "two\n\tlines");
        assert_eq!(visible("grüße 👩‍👧 مرحبا"), "grüße 👩‍👧 مرحبا");
    }

    #[test]
    fn a_line_is_cut_where_it_would_not_fit() {
        assert_eq!(one_line("grüße", Some(5)), "grüße");
        assert_eq!(one_line("grüße!", Some(5)), "grüß…");
        assert_eq!(one_line("anything", None), "anything");
        assert_eq!(one_line("a\n\tb\u{1b}[31m\u{7}", None), "a  b\\u001b[31m\\u0007");
    }
}
