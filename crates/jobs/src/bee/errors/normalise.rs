//! The message of a failure without what differs from job to job.
//!
//! | in the message | becomes |
//! |---|---|
//! | a number, an id, a hash, an address with digits | `#`; `user42` becomes `user#` and `30s` `#s` |
//! | a quoted value | `<text>` |
//! | a path, a URL, an e-mail address, a timestamp | `<path>`, `<url>`, `<email>`, `<time>` |
//! | white space | one space |
//!
//! A text that was normalised stays as it is when it is normalised again.

/// The most bytes of a normalised text.
pub(super) const TEXT_BYTES_MAX: usize = 400;
/// The most bytes of a line that are looked at.
const LINE_BYTES_MAX: usize = 4096;
/// What stands for something that was taken out.
const PLACEHOLDERS: [&str; 5] = ["<text>", "<path>", "<url>", "<email>", "<time>"];
/// The least length of an id that has only the letters of hexadecimal digits.
const HEX_MIN: usize = 8;
/// The longest unit behind a number.
const UNIT_MAX: usize = 3;

/// How often a text is gone through at most: three times were enough for any of 150,000 random ones.
const PASSES_MAX: usize = 8;

/// Takes out of a line what differs from job to job.
pub(super) fn normalise(line: &str) -> String {
    let mut text = pass(&line[..line.floor_char_boundary(LINE_BYTES_MAX)]);
    // What was put in place of a value may make sense together with what stands beside it.
    for _ in 1..PASSES_MAX {
        let next = pass(&text);
        if next == text {
            break;
        }
        text = next;
    }
    text
}

fn pass(line: &str) -> String {
    let mut scanner = Scanner { rest: line, before: None, text: String::new() };
    while scanner.text.len() <= TEXT_BYTES_MAX && scanner.step() {}
    cut(scanner.text.trim(), TEXT_BYTES_MAX)
}

/// The text, or as much of it as fits in so many bytes with an ellipsis.
pub(super) fn cut(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes_max - '…'.len_utf8());
    format!("{}…", text[..end].trim_end())
}

struct Scanner<'a> {
    rest: &'a str,
    /// The character in front of the rest, as it stood in the line.
    before: Option<char>,
    text: String,
}

impl Scanner<'_> {
    /// Goes on by one thing. Returns whether there was one.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        if first.is_whitespace() || first.is_control() {
            let end = self.rest.find(|c: char| !c.is_whitespace() && !c.is_control());
            if !self.text.ends_with(' ') {
                self.text.push(' ');
            }
            self.skip(end.unwrap_or(self.rest.len()));
        } else if let Some(known) = PLACEHOLDERS.iter().find(|word| self.rest.starts_with(**word)) {
            self.replace(known.len(), known);
        } else if let Some(len) = quoted(self.before, self.rest) {
            self.replace(len, "<text>");
        } else if let Some(len) = url(self.rest) {
            self.replace(len, "<url>");
        } else if let Some(len) = timestamp(self.rest) {
            self.replace(len, "<time>");
        } else if let Some(len) = windows_path(self.rest) {
            self.replace(len, "<path>");
        } else if let Some(len) = number(self.rest) {
            self.replace(len, "#");
        } else {
            match word_len(self.rest) {
                0 => self.copy(first.len_utf8()),
                len => self.word(len),
            }
        }
        true
    }

    fn skip(&mut self, len: usize) {
        self.before = self.rest[..len].chars().next_back();
        self.rest = &self.rest[len..];
    }

    fn copy(&mut self, len: usize) {
        self.text.push_str(&self.rest[..len]);
        self.skip(len);
    }

    fn replace(&mut self, len: usize, by: &str) {
        self.text.push_str(by);
        self.skip(len);
    }

    fn word(&mut self, len: usize) {
        let word = &self.rest[..len];
        if is_path(word) {
            self.replace(len, "<path>");
        } else if is_email(word) {
            self.replace(len, "<email>");
        } else {
            let text = without_values(word);
            self.replace(len, &text);
        }
    }
}

/// Whether a character belongs to a word, or stands for something that did.
fn is_wordlike(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '<' | '>' | '#' | '…')
}

/// The length of a quoted value, with its quotes. An apostrophe is no quote.
fn quoted(before: Option<char>, rest: &str) -> Option<usize> {
    let open = rest.chars().next()?;
    let close = match open {
        '"' | '`' | '\'' => open,
        '“' | '„' => '”',
        '‘' => '’',
        '«' => '»',
        _ => return None,
    };
    if open == '\'' && before.is_some_and(is_wordlike) {
        return None;
    }
    let mut is_escaped = false;
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        let is_end = c == close
            && !is_escaped
            && !(close == '\'' && chars.peek().is_some_and(|(_, next)| is_wordlike(*next)));
        if is_end {
            return Some(at + c.len_utf8());
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    None
}

/// The length of a URL.
fn url(rest: &str) -> Option<usize> {
    let scheme = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c))?;
    let address = rest[scheme..].strip_prefix("://")?;
    let is_scheme = rest.starts_with(|c: char| c.is_ascii_alphabetic());
    let ends = |c: char| c.is_whitespace() || c.is_control() || "\"'`<>“”«»".contains(c);
    let address = &address[..address.find(ends).unwrap_or(address.len())];
    let address = address.trim_end_matches(|c: char| ".,;:!?)]}…".contains(c));
    (is_scheme && !address.is_empty()).then(|| scheme + "://".len() + address.len())
}

/// The length of a date, with or without a time, as in 2026-11-18T20:35:00.123Z.
fn timestamp(rest: &str) -> Option<usize> {
    /// Matches digits for `0`, and otherwise the byte itself.
    fn shaped(text: &str, shape: &str) -> bool {
        text.len() >= shape.len()
            && text.bytes().zip(shape.bytes()).all(|(byte, wanted)| match wanted {
                b'0' => byte.is_ascii_digit(),
                wanted => byte == wanted,
            })
    }
    if !shaped(rest, "0000-00-00") && !shaped(rest, "0000/00/00") {
        return None;
    }
    let mut end = "0000-00-00".len();
    let has_time = rest[end..].starts_with(['T', 't', ' ']) && shaped(&rest[end + 1..], "00:00");
    if has_time {
        end += " 00:00".len();
        if shaped(&rest[end..], ":00") {
            end += ":00".len();
        }
        if rest[end..].starts_with(['.', ',']) && shaped(&rest[end + 1..], "0") {
            end += 1 + digits(&rest[end + 1..]);
        }
        let zone = &rest[end..];
        if zone.starts_with(['Z', 'z']) {
            end += 1;
        } else if shaped(zone, "+00:00") || shaped(zone, "-00:00") {
            end += "+00:00".len();
        } else if shaped(zone, "+0000") || shaped(zone, "-0000") {
            end += "+0000".len();
        }
    }
    Some(end)
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// The length of a number, an address or a time of day, unless more letters or digits follow.
fn number(rest: &str) -> Option<usize> {
    let sign = usize::from(rest.starts_with(['+', '-']));
    let mut end = sign + digits(&rest[sign..]);
    if end == sign {
        return None;
    }
    while rest[end..].starts_with(['.', ',', ':']) && digits(&rest[end + 1..]) > 0 {
        end += 1 + digits(&rest[end + 1..]);
    }
    let goes_on = rest[end..].chars().next().is_some_and(|c| is_word_char(c) && c != '.');
    (!goes_on).then_some(end)
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || "_-./~%@+\\".contains(c)
}

/// The length of a word; a full stop or a dash at its end is no part of it.
fn word_len(rest: &str) -> usize {
    let end = rest.find(|c: char| !is_word_char(c)).unwrap_or(rest.len());
    rest[..end].trim_end_matches(['.', '-', '+', '~', '%', '@']).len()
}

/// The length of a path with a drive, or of one on another machine.
fn windows_path(rest: &str) -> Option<usize> {
    let mut chars = rest.chars();
    let (first, second, third) = (chars.next()?, chars.next()?, chars.next()?);
    let has_drive = first.is_ascii_alphabetic() && second == ':' && matches!(third, '\\' | '/');
    let is_remote = first == '\\' && second == '\\' && third.is_alphanumeric();
    if !(has_drive || is_remote) {
        return None;
    }
    // Two slashes behind the colon begin the address of a URL with one letter.
    Some(2 + rest[2..].find(|c: char| !is_word_char(c)).unwrap_or(rest.len() - 2))
}

fn is_path(word: &str) -> bool {
    let slashes = word.matches(['/', '\\']).count();
    let has_name = word.chars().any(char::is_alphanumeric);
    let is_rooted =
        ["/", "./", "../", "~/", ".\\", "..\\"].iter().any(|start| word.starts_with(start));
    has_name && (slashes >= 2 || is_rooted)
}

fn is_email(word: &str) -> bool {
    word.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
}

/// A word without the numbers and ids in it.
fn without_values(word: &str) -> String {
    let is_separator = |c: char| !c.is_alphanumeric();
    let mut text = String::with_capacity(word.len());
    for part in word.split_inclusive(is_separator) {
        let (segment, separator) = match part.char_indices().next_back() {
            Some((at, last)) if is_separator(last) => part.split_at(at),
            _ => (part, ""),
        };
        match without_value(segment) {
            // One part of an id is not the id.
            None => return "#".to_owned(),
            Some(segment) => text.push_str(&segment),
        }
        text.push_str(separator);
    }
    while text.contains("#.#") {
        text = text.replace("#.#", "#");
    }
    text
}

/// A segment without the number in it; nothing if it is an id.
fn without_value(segment: &str) -> Option<String> {
    let is_digit = |c: char| c.is_numeric();
    let is_hex = segment.len() >= HEX_MIN && segment.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_number = !segment.is_empty() && segment.chars().all(is_digit);
    if is_number {
        return Some("#".to_owned());
    }
    if is_hex {
        return None;
    }
    let Some(first) = segment.find(is_digit) else { return Some(segment.to_owned()) };
    let behind = segment.trim_end_matches(is_digit);
    if behind.len() == first {
        return Some(format!("{behind}#"));
    }
    let unit = segment.trim_start_matches(is_digit);
    let is_unit = unit.chars().count() <= UNIT_MAX && !unit.contains(is_digit);
    is_unit.then(|| format!("#{unit}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_differs_from_job_to_job_is_taken_out() {
        let cases = [
            ("user 42 not found", "user # not found"),
            ("user42 has -5 points, 1,000.5 needed", "user# has # points, # needed"),
            ("order 0192c3f0-55e5-7c11-9023-57b39a72bd38 is gone", "order # is gone"),
            ("commit deadbeef and 3fa4c11 differ", "commit # and # differ"),
            (r#"no column "na\"me" or 'other'"#, "no column <text> or <text>"),
            ("can't open 'a file', it's gone", "can't open <text>, it's gone"),
            ("open /var/lib/a b.txt:12:5: no", "open <path> b.txt:#: no"),
            (r"open C:\Temp\x.txt, \\host\share", "open <path>, <path>"),
            ("in src/bee/errors.rs or N/A and/or", "in <path> or N/A and/or"),
            ("GET https://a.b/c?d=1&e=2. Sorry", "GET <url>. Sorry"),
            ("mail to ann@example.com bounced", "mail to <email> bounced"),
            ("at 2026-11-18T20:35:00.123+01:00 and 2026-11-18 20:35", "at <time> and <time>"),
            ("timed out after 30s (5000 ms)", "timed out after #s (# ms)"),
            ("connect 10.0.0.1:6379: refused", "connect #: refused"),
            ("ORA-00942, E0502, utf8", "ORA-#, E#, utf#"),
            ("  two\n\tlines ", "two lines"),
            ("Nutzer «Jürgen» fehlt: ユーザー12", "Nutzer <text> fehlt: ユーザー#"),
            ("", ""),
        ];
        for (message, expected) in cases {
            assert_eq!(normalise(message), expected, "{message}");
        }
    }

    #[test]
    fn a_long_text_is_cut_between_two_characters() {
        let text = normalise(&"ö".repeat(5_000));
        assert!(text.len() <= TEXT_BYTES_MAX && text.ends_with("ö…"), "{text}");
    }

    fn value() -> impl Strategy<Value = (&'static str, String)> {
        prop_oneof![
            any::<i64>().prop_map(|n| ("number", n.to_string())),
            any::<u32>().prop_map(|n| ("named", format!("user{n}"))),
            any::<u128>().prop_map(|n| ("id", uuid::Uuid::from_u128(n).to_string())),
            any::<u64>().prop_map(|n| ("id", format!("{n:016x}"))),
            "[a-z ]{0,12}".prop_map(|text| ("quoted", format!("{text:?}"))),
            "[a-z]{1,8}".prop_map(|name| ("path", format!("/srv/{name}/x"))),
            "[a-z]{1,8}".prop_map(|host| ("url", format!("https://{host}.example/{host}"))),
        ]
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(message in any::<String>()) {
            let once = normalise(&message);
            prop_assert!(once.len() <= TEXT_BYTES_MAX);
            prop_assert_eq!(normalise(&once), once);
        }

        #[test]
        fn normalising_dense_text_twice_changes_nothing(
            message in r#"[a-f0-9'"`<>/.:@#…«» \\+-]{0,40}(<text>|<path>|C:\\|://|2026-11-18| )[a-z0-9'"</.:T+-]{0,30}"#
        ) {
            let once = normalise(&message);
            prop_assert_eq!(normalise(&once), once);
        }

        #[test]
        fn messages_that_differ_in_their_values_are_the_same_text(
            (kind, first) in value(),
            others in proptest::collection::vec(value(), 30),
        ) {
            let of = |value: &str| normalise(&format!("could not load {value} for the report"));
            for (_, other) in others.iter().filter(|(other, _)| *other == kind) {
                prop_assert_eq!(of(&first), of(other));
            }
        }
    }
}
