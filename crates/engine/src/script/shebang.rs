//! The first line of a script: `#!lua flags=no-writes,allow-stale`.

use crate::reply::Error;

/// What a script declares about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flags {
    /// The script has a `#!` line; one without is run with the older, more lenient checks.
    pub(crate) declared: bool,
    /// It only reads.
    pub(crate) no_writes: bool,
    /// It may run when memory is short.
    pub(crate) allow_oom: bool,
    /// It may run on stale data.
    pub(crate) allow_stale: bool,
    /// It must not run in a cluster.
    pub(crate) no_cluster: bool,
    /// It may use keys of several slots.
    pub(crate) allow_cross_slot_keys: bool,
}

impl Flags {
    fn set(&mut self, name: &[u8]) -> Result<(), Error> {
        let flag = match name {
            b"no-writes" => &mut self.no_writes,
            b"allow-oom" => &mut self.allow_oom,
            b"allow-stale" => &mut self.allow_stale,
            b"no-cluster" => &mut self.no_cluster,
            b"allow-cross-slot-keys" => &mut self.allow_cross_slot_keys,
            _ => return Err(error("Unexpected flag in script shebang", name)),
        };
        *flag = true;
        Ok(())
    }
}

fn error(problem: &str, what: &[u8]) -> Error {
    Error::new(format!("ERR {problem}: {}", String::from_utf8_lossy(what)))
}

/// Splits a script into what its first line declares and the code, which keeps its line numbers.
pub(super) fn parse(body: &[u8]) -> Result<(Flags, &[u8]), Error> {
    if !body.starts_with(b"#!") {
        return Ok((Flags::default(), body));
    }
    let Some(end) = body.iter().position(|&byte| byte == b'\n') else {
        return Err(Error::fixed("ERR Invalid script shebang"));
    };
    let words =
        split_words(&body[..end]).ok_or(Error::fixed("ERR Invalid engine in script shebang"))?;
    let (engine, options) = words
        .split_first()
        .map_or((b"".as_slice(), [].as_slice()), |(engine, options)| (engine, options));
    if engine != b"#!lua" {
        return Err(error("Unexpected engine in script shebang", engine));
    }
    let mut flags = Flags { declared: true, ..Flags::default() };
    for option in options {
        let Some(names) = option.strip_prefix(b"flags=") else {
            return Err(error("Unknown lua shebang option", option));
        };
        if !names.is_empty() {
            names.split(|&byte| byte == b',').try_for_each(|name| flags.set(name))?;
        }
    }
    Ok((flags, &body[end..]))
}

/// Splits a line into words as redis-cli does: at blanks, with quotes and, in double quotes, backslash escapes.
/// `None` when a quote is not closed, or closed inside a word.
fn split_words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = line.trim_ascii_start();
    while !rest.is_empty() {
        let mut word = Vec::new();
        while let Some((&byte, tail)) = rest.split_first() {
            rest = tail;
            match byte {
                b'"' | b'\'' => {
                    rest = read_quoted(byte, rest, &mut word)?;
                    if rest.first().is_some_and(|byte| !byte.is_ascii_whitespace()) {
                        return None;
                    }
                }
                byte if byte.is_ascii_whitespace() => break,
                byte => word.push(byte),
            }
        }
        words.push(word);
        rest = rest.trim_ascii_start();
    }
    Some(words)
}

/// Reads up to the closing quote and returns what follows it.
fn read_quoted<'a>(quote: u8, text: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    let mut rest = text;
    loop {
        let (&byte, tail) = rest.split_first()?;
        rest = tail;
        match (byte, rest) {
            (byte, _) if byte == quote => return Some(rest),
            (b'\\', [b'\'', tail @ ..]) if quote == b'\'' => {
                word.push(b'\'');
                rest = tail;
            }
            (b'\\', [b'x', high, low, tail @ ..])
                if quote == b'"' && high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                word.push(hex_digit(*high) << 4 | hex_digit(*low));
                rest = tail;
            }
            (b'\\', [escaped, tail @ ..]) if quote == b'"' => {
                word.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                rest = tail;
            }
            (byte, _) => word.push(byte),
        }
    }
}

fn hex_digit(digit: u8) -> u8 {
    (digit as char).to_digit(16).unwrap_or_default() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(body: &str, expected: &str) {
        assert_eq!(parse(body.as_bytes()).unwrap_err().text(), expected);
    }

    #[test]
    fn flags_are_read_and_the_code_keeps_its_first_line_break() {
        let (flags, code) = parse(b"#!lua flags=no-writes,allow-stale\nreturn 1").unwrap();
        assert!(flags.declared && flags.no_writes && flags.allow_stale && !flags.allow_oom);
        assert_eq!(code, b"\nreturn 1");
        let (flags, code) = parse(b"return 1").unwrap();
        assert_eq!((flags, code), (Flags::default(), b"return 1".as_slice()));
        assert!(parse(b"#!lua \"flags=no-cluster\" flags='allow-oom'\r\n").unwrap().0.no_cluster);
    }

    #[test]
    fn wrong_first_lines_are_refused_with_the_texts_of_the_reference() {
        refused("#!lua", "ERR Invalid script shebang");
        refused("#!\nx", "ERR Unexpected engine in script shebang: #!");
        refused("#!js\nx", "ERR Unexpected engine in script shebang: #!js");
        refused("#!lua \"flags\nx", "ERR Invalid engine in script shebang");
        refused("#!lua name=x\nx", "ERR Unknown lua shebang option: name=x");
        refused("#!lua flags=no-writes,foo\nx", "ERR Unexpected flag in script shebang: foo");
        refused("#!lua flags=,\nx", "ERR Unexpected flag in script shebang: ");
    }
}
