//! Commands and transactions as they stand in a log: strict RESP, read from a slice.

use super::{frame, scan::ANNOTATION_LEN_MAX};

/// The commands of one unit: a single command, or everything between MULTI and EXEC.
#[derive(Debug, Default)]
pub(crate) struct Unit<'a> {
    args: Vec<&'a [u8]>,
    /// Where each command ends in `args`.
    ends: Vec<usize>,
}

impl<'a> Unit<'a> {
    /// The commands in order, each as its arguments; never an empty one.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &[&'a [u8]]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.args[start..end])
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A unit of one command.
    pub(super) fn of(command: &[&'a [u8]]) -> Unit<'a> {
        Unit { args: command.to_vec(), ends: vec![command.len()] }
    }

    fn clear(&mut self) {
        self.args.clear();
        self.ends.clear();
    }

    /// Drops the last command if it is exactly the bare word `name`.
    fn take_last(&mut self, name: &[u8]) -> bool {
        let start = self.ends.len().checked_sub(2).map_or(0, |i| self.ends[i]);
        let is = matches!(&self.args[start..], [word] if word.eq_ignore_ascii_case(name));
        if is {
            self.args.truncate(start);
            self.ends.pop();
        }
        is
    }
}

/// Why no unit could be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The bytes end too early; at least this many are needed, counted from the unit's start.
    Short(u64),
    /// The byte at this place can never belong to a unit.
    Bad { at: usize, reason: &'static str },
}

/// Reads the unit that `bytes` begins with, and returns how many bytes it takes.
///
/// Memory stays proportional to `bytes`, whatever lengths they claim.
pub(super) fn read_unit<'a>(bytes: &'a [u8], unit: &mut Unit<'a>) -> Result<usize, Stop> {
    unit.clear();
    let mut at = read_command(bytes, 0, unit)?;
    if unit.take_last(b"EXEC") {
        return Err(Stop::Bad { at: 0, reason: "EXEC without MULTI" });
    }
    if !unit.take_last(b"MULTI") {
        return Ok(at);
    }
    loop {
        at = skip_annotations(bytes, at)?;
        let start = at;
        at = read_command(bytes, at, unit)?;
        if unit.take_last(b"EXEC") {
            return Ok(at);
        }
        if unit.take_last(b"MULTI") {
            return Err(Stop::Bad { at: start, reason: "MULTI inside MULTI" });
        }
    }
}

/// Reads `*n` and its `n` bulk strings, and returns where the command ends.
fn read_command<'a>(bytes: &'a [u8], at: usize, unit: &mut Unit<'a>) -> Result<usize, Stop> {
    let (n_args, mut at) = read_number(bytes, at, b'*', "expected a command")?;
    if n_args == 0 {
        return Err(Stop::Bad { at, reason: "a command without a name" });
    }
    for _ in 0..n_args {
        let (len, start) = read_number(bytes, at, b'$', "expected an argument")?;
        let need = (start as u64).saturating_add(len).saturating_add(2);
        if need > bytes.len() as u64 {
            return Err(Stop::Short(need));
        }
        let end = start + len as usize;
        if &bytes[end..end + 2] != b"\r\n" {
            return Err(Stop::Bad { at: end, reason: "an argument without its line end" });
        }
        unit.args.push(&bytes[start..end]);
        at = end + 2;
    }
    unit.ends.push(unit.args.len());
    Ok(at)
}

/// Reads `tag`, decimal digits and a line end; returns the number and where the next byte stands.
fn read_number(
    bytes: &[u8],
    at: usize,
    tag: u8,
    expected: &'static str,
) -> Result<(u64, usize), Stop> {
    /// Fits any `u64` below 10^18, far beyond every length that can be true.
    const DIGITS_MAX: usize = 18;
    let short = |next: usize| Stop::Short(next as u64 + 1);
    if *bytes.get(at).ok_or(short(at))? != tag {
        return Err(Stop::Bad { at, reason: expected });
    }
    let first = at + 1;
    let mut number = 0;
    let mut at = first;
    loop {
        match *bytes.get(at).ok_or(short(at))? {
            digit @ b'0'..=b'9' if at - first < DIGITS_MAX => {
                number = number * 10 + u64::from(digit - b'0');
            }
            b'\r' if at > first => break,
            _ => return Err(Stop::Bad { at, reason: "expected a length" }),
        }
        at += 1;
    }
    match *bytes.get(at + 1).ok_or(short(at + 1))? {
        b'\n' => Ok((number, at + 2)),
        _ => Err(Stop::Bad { at: at + 1, reason: "a length without its line end" }),
    }
}

/// Steps over annotation lines between the commands of a transaction (Redis writes time stamps).
fn skip_annotations(bytes: &[u8], mut at: usize) -> Result<usize, Stop> {
    while bytes.get(at) == Some(&b'#') {
        if bytes[at..].starts_with(frame::MARK) {
            return Err(Stop::Bad { at, reason: "a batch begins inside a transaction" });
        }
        let line = &bytes[at..bytes.len().min(at + ANNOTATION_LEN_MAX)];
        match memchr::memchr(b'\n', line) {
            Some(end) => at += end + 1,
            None if line.len() < ANNOTATION_LEN_MAX => {
                return Err(Stop::Short(bytes.len() as u64 + 1));
            }
            None => return Err(Stop::Bad { at, reason: "an annotation without a line end" }),
        }
    }
    Ok(at)
}
