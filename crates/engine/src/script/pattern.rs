//! Lua's patterns, matched in Rust: the matcher of Lua's own library can neither be interrupted nor bounded.
//!
//! Results and error texts are those of Lua 5.1. A pattern ends at its first zero byte, and reading at the end of the
//! subject gives a zero byte, because Lua's matcher works on C strings.

use super::stack::{Raised, Stack};

/// Captures that a pattern may have.
const CAPTURES_MAX: usize = 32;

/// Special characters in one pattern: the matcher recurses once for each.
const SPECIALS_MAX: usize = 1000;

/// Steps that count as one check's worth of work when multiplied by this many units.
const UNITS_PER_STEP: usize = 8;

/// What a capture has caught.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    /// Its closing bracket has not been reached.
    Unfinished,
    /// It catches a position, not text.
    Position,
    Bytes(usize),
}

/// The captures of one attempt to match.
#[derive(Debug, Clone, Copy)]
pub(super) struct Captures {
    list: [(usize, Length); CAPTURES_MAX],
    count: usize,
}

/// A value that a capture stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Capture<'a> {
    Text(&'a [u8]),
    /// Counted from 1.
    Position(usize),
}

impl Captures {
    pub(super) fn none() -> Captures {
        Captures { list: [(0, Length::Unfinished); CAPTURES_MAX], count: 0 }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Capture `index` of the match `whole`; without any capture, the first is the whole match.
    pub(super) fn get<'s>(
        &self,
        index: usize,
        subject: &'s [u8],
        whole: (usize, usize),
    ) -> Result<Capture<'s>, &'static str> {
        if index >= self.count {
            return if index == 0 {
                Ok(Capture::Text(&subject[whole.0..whole.1]))
            } else {
                Err("invalid capture index")
            };
        }
        match self.list[index] {
            (_, Length::Unfinished) => Err("unfinished capture"),
            (start, Length::Position) => Ok(Capture::Position(start + 1)),
            (start, Length::Bytes(length)) => Ok(Capture::Text(&subject[start..start + length])),
        }
    }
}

/// A pattern and the subject it is matched against.
pub(super) struct Matcher<'a> {
    subject: &'a [u8],
    pattern: &'a [u8],
    pub(super) captures: Captures,
}

/// The end of a match, if there is one.
type Matched = Result<Option<usize>, Raised>;

impl<'a> Matcher<'a> {
    /// Prepares `pattern`, from which an anchor has been taken away.
    pub(super) fn new(
        stack: &mut Stack<'_>,
        subject: &'a [u8],
        pattern: &'a [u8],
    ) -> Result<Matcher<'a>, Raised> {
        let end = memchr::memchr(0, pattern).unwrap_or(pattern.len());
        let pattern = &pattern[..end];
        let special = |byte: &&u8| b"?*+-()".contains(byte);
        if pattern.len() > SPECIALS_MAX && pattern.iter().filter(special).count() > SPECIALS_MAX {
            return Err(stack.error("pattern too complex"));
        }
        Ok(Matcher { subject, pattern, captures: Captures::none() })
    }

    /// Matches the whole pattern at `start` of the subject.
    pub(super) fn match_at(&mut self, stack: &mut Stack<'_>, start: usize) -> Matched {
        self.captures.count = 0;
        self.run(stack, start, 0)
    }

    /// The first match at or after `start`, and where it begins.
    pub(super) fn search(
        &mut self,
        stack: &mut Stack<'_>,
        start: usize,
    ) -> Result<Option<(usize, usize)>, Raised> {
        for from in start..=self.subject.len() {
            if let Some(end) = self.match_at(stack, from)? {
                return Ok(Some((from, end)));
            }
        }
        Ok(None)
    }

    /// The byte of the pattern at `p`; zero at its end.
    fn at(&self, p: usize) -> u8 {
        self.pattern.get(p).copied().unwrap_or(0)
    }

    fn run(&mut self, stack: &mut Stack<'_>, mut s: usize, mut p: usize) -> Matched {
        loop {
            stack.spend(UNITS_PER_STEP, 0)?;
            match self.at(p) {
                b'(' if self.at(p + 1) == b')' => {
                    return self.open(stack, s, p + 2, Length::Position);
                }
                b'(' => return self.open(stack, s, p + 1, Length::Unfinished),
                b')' => return self.close(stack, s, p + 1),
                // The end of the pattern.
                0 => return Ok(Some(s)),
                b'$' if self.at(p + 1) == 0 => return Ok((s == self.subject.len()).then_some(s)),
                b'%' if self.at(p + 1) == b'b' => {
                    let Some(end) = self.balance(stack, s, p + 2)? else { return Ok(None) };
                    (s, p) = (end, p + 4);
                }
                b'%' if self.at(p + 1) == b'f' => {
                    let Some(end) = self.frontier(stack, s, p + 2)? else { return Ok(None) };
                    p = end;
                }
                b'%' if self.at(p + 1).is_ascii_digit() => {
                    let Some(end) = self.repeat_capture(stack, s, self.at(p + 1))? else {
                        return Ok(None);
                    };
                    (s, p) = (end, p + 2);
                }
                _ => {
                    let after = self.class_end(stack, p)?;
                    if after - p > UNITS_PER_STEP {
                        stack.spend(after - p, 0)?;
                    }
                    let matches = self.single(s, p, after);
                    match self.at(after) {
                        b'?' => {
                            if matches && let Some(end) = self.run(stack, s + 1, after + 1)? {
                                return Ok(Some(end));
                            }
                            p = after + 1;
                        }
                        b'*' => return self.longest(stack, s, p, after),
                        b'+' if matches => return self.longest(stack, s + 1, p, after),
                        b'+' => return Ok(None),
                        b'-' => return self.shortest(stack, s, p, after),
                        _ if matches => (s, p) = (s + 1, after),
                        _ => return Ok(None),
                    }
                }
            }
        }
    }

    /// Repeats the item at `p` as often as it matches, then less and less often until the rest matches.
    fn longest(&mut self, stack: &mut Stack<'_>, s: usize, p: usize, after: usize) -> Matched {
        let mut count = 0;
        while self.single(s + count, p, after) {
            count += 1;
            // A set is read up to its end.
            stack.spend(after - p, 0)?;
        }
        loop {
            if let Some(end) = self.run(stack, s + count, after + 1)? {
                return Ok(Some(end));
            }
            let Some(less) = count.checked_sub(1) else { return Ok(None) };
            count = less;
        }
    }

    /// Repeats the item at `p` as seldom as possible.
    fn shortest(&mut self, stack: &mut Stack<'_>, s: usize, p: usize, after: usize) -> Matched {
        let mut s = s;
        loop {
            if let Some(end) = self.run(stack, s, after + 1)? {
                return Ok(Some(end));
            }
            if !self.single(s, p, after) {
                return Ok(None);
            }
            stack.spend(after - p, 0)?;
            s += 1;
        }
    }

    fn open(&mut self, stack: &mut Stack<'_>, s: usize, p: usize, length: Length) -> Matched {
        let level = self.captures.count;
        if level >= CAPTURES_MAX {
            return Err(stack.error("too many captures"));
        }
        self.captures.list[level] = (s, length);
        self.captures.count = level + 1;
        let end = self.run(stack, s, p)?;
        if end.is_none() {
            self.captures.count -= 1;
        }
        Ok(end)
    }

    fn close(&mut self, stack: &mut Stack<'_>, s: usize, p: usize) -> Matched {
        let open = &self.captures.list[..self.captures.count];
        let Some(level) = open.iter().rposition(|(_, length)| *length == Length::Unfinished) else {
            return Err(stack.error("invalid pattern capture"));
        };
        self.captures.list[level].1 = Length::Bytes(s - self.captures.list[level].0);
        let end = self.run(stack, s, p)?;
        if end.is_none() {
            self.captures.list[level].1 = Length::Unfinished;
        }
        Ok(end)
    }

    /// `%1` to `%9`: what the capture has caught, again.
    fn repeat_capture(&mut self, stack: &mut Stack<'_>, s: usize, digit: u8) -> Matched {
        let caught = usize::from(digit)
            .checked_sub(usize::from(b'1'))
            .and_then(|index| self.captures.list[..self.captures.count].get(index));
        let (start, length) = match caught {
            None | Some((_, Length::Unfinished)) => {
                return Err(stack.error("invalid capture index"));
            }
            // Lua takes the mark of a position capture for a length that no subject has.
            Some((_, Length::Position)) => return Ok(None),
            Some((start, Length::Bytes(length))) => (*start, *length),
        };
        stack.spend(length, 0)?;
        let again = self.subject[s..].starts_with(&self.subject[start..start + length]);
        Ok(again.then_some(s + length))
    }

    /// `%bxy`: from an x to the y that balances it.
    fn balance(&mut self, stack: &mut Stack<'_>, s: usize, p: usize) -> Matched {
        let (open, close) = (self.at(p), self.at(p + 1));
        if open == 0 || close == 0 {
            return Err(stack.error("unbalanced pattern"));
        }
        if self.subject.get(s) != Some(&open) {
            return Ok(None);
        }
        let mut depth = 1;
        for (at, &byte) in self.subject.iter().enumerate().skip(s + 1) {
            stack.spend(1, 0)?;
            if byte == close {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(at + 1));
                }
            } else if byte == open {
                depth += 1;
            }
        }
        Ok(None)
    }

    /// `%f[set]`: between a byte outside the set and one inside; returns where the pattern goes on.
    fn frontier(&mut self, stack: &mut Stack<'_>, s: usize, p: usize) -> Matched {
        if self.at(p) != b'[' {
            return Err(stack.error("missing '[' after '%f' in pattern"));
        }
        let after = self.class_end(stack, p)?;
        stack.spend(after - p, 0)?;
        let before = s.checked_sub(1).map_or(0, |at| self.subject[at]);
        let here = self.subject.get(s).copied().unwrap_or(0);
        let at_border = !self.in_set(before, p, after - 1) && self.in_set(here, p, after - 1);
        Ok(at_border.then_some(after))
    }

    /// Where the item that begins at `p` ends.
    fn class_end(&self, stack: &mut Stack<'_>, p: usize) -> Result<usize, Raised> {
        let mut next = p + 1;
        match self.at(p) {
            b'%' if self.at(next) == 0 => Err(stack.error("malformed pattern (ends with '%')")),
            b'%' => Ok(next + 1),
            b'[' => {
                if self.at(next) == b'^' {
                    next += 1;
                }
                // The first byte of a set belongs to it, even if it is the closing bracket.
                loop {
                    let byte = self.at(next);
                    if byte == 0 {
                        return Err(stack.error("malformed pattern (missing ']')"));
                    }
                    next += 1;
                    if byte == b'%' && self.at(next) != 0 {
                        next += 1;
                    }
                    if self.at(next) == b']' {
                        return Ok(next + 1);
                    }
                }
            }
            _ => Ok(next),
        }
    }

    /// Whether the byte at `s` matches the item between `p` and `after`.
    fn single(&self, s: usize, p: usize, after: usize) -> bool {
        let Some(&byte) = self.subject.get(s) else { return false };
        match self.at(p) {
            b'.' => true,
            b'%' => in_class(byte, self.at(p + 1)),
            b'[' => self.in_set(byte, p, after - 1),
            literal => literal == byte,
        }
    }

    /// Whether `byte` is in the set between `p`, its bracket, and `end`, its closing bracket.
    fn in_set(&self, byte: u8, p: usize, end: usize) -> bool {
        let mut p = p + 1;
        let negated = self.at(p) == b'^';
        if negated {
            p += 1;
        }
        while p < end {
            let found = if self.at(p) == b'%' {
                p += 1;
                in_class(byte, self.at(p))
            } else if self.at(p + 1) == b'-' && p + 2 < end {
                p += 2;
                (self.at(p - 2)..=self.at(p)).contains(&byte)
            } else {
                self.at(p) == byte
            };
            if found {
                return !negated;
            }
            p += 1;
        }
        negated
    }
}

/// Whether `byte` is in the class `%class`; capitals stand for the complement, other characters for themselves.
fn in_class(byte: u8, class: u8) -> bool {
    let found = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => byte == b' ' || (9..=13).contains(&byte),
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    found == class.is_ascii_lowercase()
}
