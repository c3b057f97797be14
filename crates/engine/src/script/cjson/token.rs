//! The words of JSON, with the latitude of the reference: C's idea of a number, no check of UTF-8.

/// One word of the text.
pub(super) enum Token<'a> {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    String(&'a [u8]),
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    Error(&'static str),
}

impl Token<'_> {
    /// What messages call it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Token::ObjectBegin => "T_OBJ_BEGIN",
            Token::ObjectEnd => "T_OBJ_END",
            Token::ArrayBegin => "T_ARR_BEGIN",
            Token::ArrayEnd => "T_ARR_END",
            Token::String(_) => "T_STRING",
            Token::Number(_) => "T_NUMBER",
            Token::Boolean(_) => "T_BOOLEAN",
            Token::Null => "T_NULL",
            Token::Colon => "T_COLON",
            Token::Comma => "T_COMMA",
            Token::End => "T_END",
            Token::Error(problem) => problem,
        }
    }
}

/// Splits JSON into tokens.
pub(super) struct Tokens<'a> {
    text: &'a [u8],
    /// Where the next token starts.
    pub(super) position: usize,
    /// Where the last token started, or where an error in it is.
    pub(super) index: usize,
    /// Holds a string whose escapes had to be resolved.
    resolved: Vec<u8>,
    lenient: bool,
}

impl<'a> Tokens<'a> {
    /// Reads `text`; `lenient` admits infinities, NaN and hexadecimal numbers.
    pub(super) fn new(text: &'a [u8], lenient: bool) -> Tokens<'a> {
        Tokens { text, position: 0, index: 0, resolved: Vec::new(), lenient }
    }

    /// The byte at `position`; zero beyond the end, where C's strings end, too.
    fn byte(&self, position: usize) -> u8 {
        self.text.get(position).copied().unwrap_or(0)
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Token<'_> {
        while matches!(self.byte(self.position), b' ' | b'\t' | b'\n' | b'\r') {
            self.position += 1;
        }
        self.index = self.position;
        let simple = match self.byte(self.position) {
            b'{' => Token::ObjectBegin,
            b'}' => Token::ObjectEnd,
            b'[' => Token::ArrayBegin,
            b']' => Token::ArrayEnd,
            b':' => Token::Colon,
            b',' => Token::Comma,
            0 => return Token::End,
            b'"' => return self.string(),
            b'-' | b'0'..=b'9' if !self.lenient && self.is_unusual_number() => {
                return Token::Error("invalid number");
            }
            b'-' | b'0'..=b'9' => return self.number(),
            _ => return self.word(),
        };
        self.position += 1;
        simple
    }

    fn word(&mut self) -> Token<'a> {
        let rest = self.text.get(self.position..).unwrap_or_default();
        let words = [
            ("true", Token::Boolean(true)),
            ("false", Token::Boolean(false)),
            ("null", Token::Null),
        ];
        for (word, token) in words {
            if rest.starts_with(word.as_bytes()) {
                self.position += word.len();
                return token;
            }
        }
        if self.lenient && self.is_unusual_number() {
            self.number()
        } else {
            Token::Error("invalid token")
        }
    }

    /// Whether what starts here is a number that JSON does not know.
    fn is_unusual_number(&self) -> bool {
        let mut position = self.position;
        match self.byte(position) {
            b'+' => return true,
            b'-' => position += 1,
            _ => {}
        }
        match self.byte(position) {
            b'0' => matches!(self.byte(position + 1), b'x' | b'X' | b'0'..=b'9'),
            ..=b'9' => false,
            _ => {
                let word = self.text.get(position..position + 3).unwrap_or_default();
                word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"nan")
            }
        }
    }

    fn number(&mut self) -> Token<'a> {
        match parse_c_number(self.text.get(self.position..).unwrap_or_default()) {
            Some((value, length)) => {
                self.position += length;
                Token::Number(value)
            }
            None => Token::Error("invalid number"),
        }
    }

    fn string(&mut self) -> Token<'_> {
        let start = self.position + 1;
        let rest = self.text.get(start..).unwrap_or_default();
        let plain =
            rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0)).unwrap_or(rest.len());
        if self.byte(start + plain) == b'"' {
            self.position = start + plain + 1;
            return Token::String(&self.text[start..start + plain]);
        }
        self.resolved.clear();
        self.position = start;
        loop {
            match self.byte(self.position) {
                b'"' => break,
                0 => {
                    self.index = self.position;
                    return Token::Error("unexpected end of string");
                }
                b'\\' => {
                    if let Err(problem) = self.escape() {
                        self.index = self.position;
                        return Token::Error(problem);
                    }
                }
                byte => {
                    self.resolved.push(byte);
                    self.position += 1;
                }
            }
        }
        self.position += 1;
        Token::String(&self.resolved)
    }

    /// Resolves the escape at the current position.
    fn escape(&mut self) -> Result<(), &'static str> {
        let byte = match self.byte(self.position + 1) {
            byte @ (b'"' | b'\\' | b'/') => byte,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'f' => 12,
            b'r' => b'\r',
            b'u' => return self.unicode_escape().ok_or("invalid unicode escape code"),
            _ => return Err("invalid escape code"),
        };
        self.resolved.push(byte);
        self.position += 2;
        Ok(())
    }

    fn unicode_escape(&mut self) -> Option<()> {
        let unit = self.hex4(self.position + 2)?;
        let (code, length) = match unit {
            0xDC00..=0xDFFF => return None,
            0xD800..=0xDBFF => {
                let low_at = self.position + 6;
                if self.byte(low_at) != b'\\' || self.byte(low_at + 1) != b'u' {
                    return None;
                }
                let low = self.hex4(low_at + 2).filter(|low| (0xDC00..=0xDFFF).contains(low))?;
                (0x10000 + ((unit & 0x3FF) << 10 | low & 0x3FF), 12)
            }
            unit => (unit, 6),
        };
        let character = char::from_u32(code)?;
        self.resolved.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        self.position += length;
        Some(())
    }

    fn hex4(&self, position: usize) -> Option<u32> {
        let digits = self.text.get(position..position + 4)?;
        digits
            .iter()
            .try_fold(0, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?))
    }
}

/// The number that C's `strtod` reads at the start of `text`, and how many bytes it takes.
fn parse_c_number(text: &[u8]) -> Option<(f64, usize)> {
    let negative = text.first() == Some(&b'-');
    let signed = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let rest = &text[signed..];
    let (value, length) =
        parse_special(rest).or_else(|| parse_hex(rest)).or_else(|| parse_decimal(rest))?;
    Some((if negative { -value } else { value }, signed + length))
}

fn parse_special(text: &[u8]) -> Option<(f64, usize)> {
    let starts_with =
        |word: &[u8]| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    if starts_with(b"infinity") {
        return Some((f64::INFINITY, 8));
    }
    if starts_with(b"inf") {
        return Some((f64::INFINITY, 3));
    }
    if !starts_with(b"nan") {
        return None;
    }
    // C allows a tag in brackets after it.
    let tag = text[3..].strip_prefix(b"(").and_then(|tag| {
        let end = tag.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
        (tag[end] == b')').then_some(end + 2)
    });
    Some((f64::NAN, 3 + tag.unwrap_or(0)))
}

fn digits_at(text: &[u8], start: usize, digit: fn(&u8) -> bool) -> usize {
    text.get(start..).unwrap_or_default().iter().take_while(|byte| digit(byte)).count()
}

/// `0x` with hexadecimal digits, perhaps a point among them, perhaps a binary exponent.
fn parse_hex(text: &[u8]) -> Option<(f64, usize)> {
    if !matches!(text, [b'0', b'x' | b'X', ..]) {
        return None;
    }
    let whole = digits_at(text, 2, u8::is_ascii_hexdigit);
    let mut end = 2 + whole;
    let mut fraction = 0;
    if text.get(end) == Some(&b'.') {
        fraction = digits_at(text, end + 1, u8::is_ascii_hexdigit);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return None;
    }
    let mut value = 0.0;
    for digit in text[2..end].iter().filter_map(|byte| char::from(*byte).to_digit(16)) {
        value = value * 16.0 + f64::from(digit);
    }
    let mut exponent = -4 * fraction as i32;
    if matches!(text.get(end), Some(b'p' | b'P')) {
        let signed = usize::from(matches!(text.get(end + 1), Some(b'-' | b'+')));
        let digits = digits_at(text, end + 1 + signed, u8::is_ascii_digit);
        if digits > 0 {
            let text = &text[end + 1..end + 1 + signed + digits];
            let written: i32 = std::str::from_utf8(text).ok()?.parse().unwrap_or(i32::MAX / 2);
            exponent = exponent.saturating_add(written);
            end += 1 + signed + digits;
        }
    }
    Some((value * 2f64.powi(exponent), end))
}

fn parse_decimal(text: &[u8]) -> Option<(f64, usize)> {
    let whole = digits_at(text, 0, u8::is_ascii_digit);
    let mut end = whole;
    let mut fraction = 0;
    if text.get(end) == Some(&b'.') {
        fraction = digits_at(text, end + 1, u8::is_ascii_digit);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return None;
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(text.get(end + 1), Some(b'-' | b'+')));
        let digits = digits_at(text, end + 1 + signed, u8::is_ascii_digit);
        if digits > 0 {
            end += 1 + signed + digits;
        }
    }
    let value = std::str::from_utf8(&text[..end]).ok()?.parse().ok()?;
    Some((value, end))
}
