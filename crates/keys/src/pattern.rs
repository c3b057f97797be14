//! Patterns that a file may give for a part: a regular expression, matched as a whole.
//!
//! One automaton serves both questions: whether a text matches, and whether two families share a name. So the lint and
//! the proof cannot disagree.

use std::fmt;

use regex_syntax::hir::{Class, Hir, HirKind};
use regex_syntax::utf8::Utf8Sequences;

use crate::overlap::{Automaton, Bytes, range};

/// A repetition is written out; more states than this would make the proof slow.
const STATES_MAX: usize = 20_000;

/// A regular expression that a part's text has to match as a whole.
pub struct Pattern {
    source: &'static str,
    hir: Hir,
    automaton: Automaton,
}

impl Pattern {
    /// Reads a pattern; the error says what is wrong with it.
    pub fn new(source: &'static str) -> Result<Self, String> {
        let hir = regex_syntax::parse(source).map_err(|error| match error {
            regex_syntax::Error::Parse(error) => error.kind().to_string(),
            regex_syntax::Error::Translate(error) => error.kind().to_string(),
            other => other.to_string(),
        })?;
        let mut automaton = Automaton::empty();
        let end = automaton.hir(automaton.end, &hir, &|_| true)?;
        automaton.end = end;
        Ok(Self { source, hir, automaton })
    }

    /// The pattern as it was written.
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// Does it match the whole text?
    pub fn is_match(&self, text: &str) -> bool {
        self.automaton.accepts(text.as_bytes())
    }

    pub(crate) fn hir(&self) -> &Hir {
        &self.hir
    }

    pub(crate) fn automaton(&self) -> &Automaton {
        &self.automaton
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.source)
    }
}

impl Automaton {
    /// Appends what `hir` matches; bytes that do not stand as they are become `%` and two digits.
    pub(crate) fn hir(
        &mut self,
        start: usize,
        hir: &Hir,
        stands: &dyn Fn(u8) -> bool,
    ) -> Result<usize, String> {
        if self.states.len() > STATES_MAX {
            return Err("the pattern repeats too much; lower its counts".into());
        }
        match hir.kind() {
            HirKind::Empty => Ok(start),
            HirKind::Look(_) => Err("a part is matched as a whole; leave out ^, $ and \\b".into()),
            HirKind::Literal(literal) => Ok(literal.0.iter().fold(start, |at, &byte| {
                let next = self.state();
                self.bytes(at, byte..=byte, next, stands);
                next
            })),
            HirKind::Class(class) => Ok(self.class(start, class, stands)),
            HirKind::Capture(capture) => self.hir(start, &capture.sub, stands),
            HirKind::Concat(parts) => {
                parts.iter().try_fold(start, |at, part| self.hir(at, part, stands))
            }
            HirKind::Alternation(parts) => {
                let end = self.state();
                for part in parts {
                    let last = self.hir(start, part, stands)?;
                    self.states[last].free.push(end);
                }
                Ok(end)
            }
            HirKind::Repetition(repetition) => {
                self.repetition(start, (repetition.min, repetition.max), &repetition.sub, stands)
            }
        }
    }

    fn repetition(
        &mut self,
        start: usize,
        (min, max): (u32, Option<u32>),
        sub: &Hir,
        stands: &dyn Fn(u8) -> bool,
    ) -> Result<usize, String> {
        let mut at = start;
        for _ in 0..min {
            at = self.hir(at, sub, stands)?;
        }
        let end = self.state();
        self.states[at].free.push(end);
        match max {
            None => {
                // A state of its own: what comes before must not be entered again.
                let again = self.state();
                self.states[at].free.push(again);
                let last = self.hir(again, sub, stands)?;
                self.states[last].free.extend([again, end]);
            }
            Some(max) => {
                for _ in min..max {
                    at = self.hir(at, sub, stands)?;
                    self.states[at].free.push(end);
                }
            }
        }
        Ok(end)
    }

    fn class(&mut self, start: usize, class: &Class, stands: &dyn Fn(u8) -> bool) -> usize {
        let end = self.state();
        match class {
            Class::Bytes(class) => {
                for some in class.ranges() {
                    self.bytes(start, some.start()..=some.end(), end, stands);
                }
            }
            Class::Unicode(class) => {
                for some in class.ranges() {
                    for sequence in Utf8Sequences::new(some.start(), some.end()) {
                        let ranges = sequence.as_slice();
                        let mut at = start;
                        for (i, some) in ranges.iter().enumerate() {
                            let next = if i + 1 == ranges.len() { end } else { self.state() };
                            self.bytes(at, some.start..=some.end, next, stands);
                            at = next;
                        }
                    }
                }
            }
        }
        end
    }

    /// One byte of a range: as it is, or coded.
    fn bytes(
        &mut self,
        from: usize,
        some: std::ops::RangeInclusive<u8>,
        to: usize,
        stands: &dyn Fn(u8) -> bool,
    ) {
        let mut plain: Bytes = range(some.clone());
        let mut coded: [Bytes; 16] = [[false; 256]; 16];
        for byte in some {
            if !stands(byte) {
                plain[usize::from(byte)] = false;
                coded[usize::from(byte >> 4)][usize::from(hex_digit(byte & 15))] = true;
            }
        }
        if plain.contains(&true) {
            self.edge(from, plain, to);
        }
        for (high, lows) in (0_u8..).zip(coded) {
            if lows.contains(&true) {
                let (percent, digit) = (self.state(), self.state());
                self.edge(from, range(b'%'..=b'%'), percent);
                let high = hex_digit(high);
                self.edge(percent, range(high..=high), digit);
                self.edge(digit, lows, to);
            }
        }
    }
}

fn hex_digit(nibble: u8) -> u8 {
    b"0123456789ABCDEF"[usize::from(nibble & 15)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &'static str, yes: &[&str], no: &[&str]) {
        let pattern = Pattern::new(source).unwrap();
        for text in yes {
            assert!(pattern.is_match(text), "{source} should match {text:?}");
        }
        for text in no {
            assert!(!pattern.is_match(text), "{source} should not match {text:?}");
        }
    }

    #[test]
    fn patterns_match_whole_texts() {
        check("[a-z]{2}-[0-9]+", &["de-1", "en-123"], &["de-", "xde-1", "de-1x", ""]);
        check("(ab|c)*d?", &["", "ab", "cabd", "d"], &["a", "dd", "abx"]);
        check("a{2,3}", &["aa", "aaa"], &["a", "aaaa"]);
        check("ü.|\\d", &["üx", "üü", "7"], &["ü", "77"]);
        check("x(a*)y(a*)", &["xy", "xaay", "xyaa"], &["xa", "y"]);
    }

    #[test]
    fn patterns_that_make_no_sense_say_why() {
        let error = |source| Pattern::new(source).unwrap_err();
        assert_eq!(error("^a$"), "a part is matched as a whole; leave out ^, $ and \\b");
        assert_eq!(error("(a"), "unclosed group");
        assert_eq!(error("[a-z]{500}{500}"), "the pattern repeats too much; lower its counts");
    }
}
