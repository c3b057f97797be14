//! Proves that two name templates share no key, or finds a key that both match.
//!
//! Each template becomes a small automaton over bytes; the search walks both at once. It is exact but for lengths of
//! parts and percent-coded bytes, which it takes as unlimited: it may see an overlap that is none, never miss one. The
//! key that it finds is tried on both templates, so nobody is shown a key that only one of them has.

use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;

use regex_syntax::hir::Hir;

use crate::coding::PLAIN;
use crate::part::{Escape, Kind, Shape};
use crate::template::{Piece, captures};

/// Two templates that were not proven to share no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Overlap {
    /// A short name that both templates match.
    Key(String),
    /// Only names of a length or coding that this search does not know could tell them apart.
    Unclear,
}

/// What two templates share, unless they are proven to share nothing.
pub(crate) fn overlap(a: &[Piece], b: &[Piece]) -> Option<Overlap> {
    let key = shared(a, b)?;
    let has = |pieces: &[Piece]| captures(pieces, &key).is_some();
    Some(match String::from_utf8(key.clone()) {
        Ok(name) if has(a) && has(b) => Overlap::Key(name),
        _ => Overlap::Unclear,
    })
}

/// A short name that leads to the end of both automata.
fn shared(a: &[Piece], b: &[Piece]) -> Option<Vec<u8>> {
    let (a, b) = (Automaton::of(a), Automaton::of(b));
    let mut seen: HashMap<(usize, usize), Step> =
        HashMap::from([((0, 0), Step { from: (0, 0), byte: None })]);
    let mut queue = VecDeque::from([(0, 0)]);
    while let Some(at) = queue.pop_front() {
        if at == (a.end, b.end) {
            return Some(spelled(&seen, at));
        }
        for (next, byte) in steps(&a, &b, at) {
            seen.entry(next).or_insert_with(|| {
                // Moves without a byte go first, which keeps the witness short.
                if byte.is_none() {
                    queue.push_front(next)
                } else {
                    queue.push_back(next)
                }
                Step { from: at, byte }
            });
        }
    }
    None
}

struct Step {
    from: (usize, usize),
    byte: Option<u8>,
}

/// Every pair of states that can follow: one side moves for free, or both read the same byte.
fn steps(
    a: &Automaton,
    b: &Automaton,
    (p, q): (usize, usize),
) -> Vec<((usize, usize), Option<u8>)> {
    let free_a = a.states[p].free.iter().map(|&p| ((p, q), None));
    let free_b = b.states[q].free.iter().map(|&q| ((p, q), None));
    let both = a.states[p].edges.iter().flat_map(|(left, p)| {
        b.states[q]
            .edges
            .iter()
            .filter_map(move |(right, q)| Some(((*p, *q), Some(common(left, right)?))))
    });
    free_a.chain(free_b).chain(both).collect()
}

/// The first byte in both sets, preferably a letter: the witness is for people.
fn common(left: &Bytes, right: &Bytes) -> Option<u8> {
    (b'a'..=b'z')
        .chain(0..=u8::MAX)
        .find(|&byte| left[usize::from(byte)] && right[usize::from(byte)])
}

fn spelled(seen: &HashMap<(usize, usize), Step>, mut at: (usize, usize)) -> Vec<u8> {
    let mut name = Vec::new();
    while at != (0, 0) {
        let step = &seen[&at];
        name.extend(step.byte);
        at = step.from;
    }
    name.reverse();
    name
}

/// Every day of the calendar, as [`crate::time::is_date`] knows them.
static DAYS: LazyLock<Hir> = LazyLock::new(|| {
    const MONTHS: &str = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])\
                          |(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)\
                          |02-(?:0[1-9]|1[0-9]|2[0-8])";
    const LEAP_YEARS: &str =
        "[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00";
    let pattern = format!("[0-9]{{4}}-(?:{MONTHS})|(?:{LEAP_YEARS})-02-29");
    regex_syntax::parse(&pattern).expect("the pattern of days is right")
});

pub(crate) type Bytes = [bool; 256];

pub(crate) struct Automaton {
    pub(crate) states: Vec<State>,
    pub(crate) end: usize,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) edges: Vec<(Bytes, usize)>,
    pub(crate) free: Vec<usize>,
}

impl Automaton {
    /// One state, which accepts the empty text.
    pub(crate) fn empty() -> Self {
        Self { states: vec![State::default()], end: 0 }
    }

    /// Is the whole text one of those that lead to the end?
    pub(crate) fn accepts(&self, text: &[u8]) -> bool {
        let mut at = self.closure([0]);
        for &byte in text {
            let edges = at.iter().flat_map(|&state| &self.states[state].edges);
            let next: Vec<usize> = edges
                .filter(|(bytes, _)| bytes[usize::from(byte)])
                .map(|(_, next)| *next)
                .collect();
            at = self.closure(next);
            if at.is_empty() {
                return false;
            }
        }
        at.contains(&self.end)
    }

    /// These states and all that follow without a byte.
    pub(crate) fn closure(&self, states: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        let mut open: Vec<usize> = states.into_iter().collect();
        while let Some(state) = open.pop() {
            if !found.contains(&state) {
                found.push(state);
                open.extend(&self.states[state].free);
            }
        }
        found
    }

    fn of(pieces: &[Piece]) -> Self {
        let mut built = Self::empty();
        for piece in pieces {
            built.end = match piece {
                Piece::Literal(text) => built.word(built.end, text),
                Piece::Part(slot) => built.part(built.end, &slot.kind),
            };
        }
        built
    }

    /// Appends a part and returns the state after it.
    fn part(&mut self, start: usize, kind: &Kind) -> usize {
        let letters = Letters::of(kind);
        match kind.shape {
            Shape::Text { except } => self.text(start, except, &letters),
            Shape::Colons { fields_min } => self.fields(start, fields_min, &letters.without(b':')),
            Shape::Rest => self.text(start, &[], &letters),
            Shape::Words(words) => {
                let words: Vec<String> = words.iter().map(|word| coded(kind, word)).collect();
                self.any_of(start, words.iter().map(String::as_str))
            }
            Shape::Uuid => self.runs(start, &[8, 4, 4, 4, 12], &hex_digits()),
            Shape::Ulid => {
                let mut base_32 = range(b'0'..=b'9');
                base_32[usize::from(b'A')..=usize::from(b'Z')].fill(true);
                b"ILOU".iter().for_each(|&byte| base_32[usize::from(byte)] = false);
                let first = self.state();
                self.edge(start, range(b'0'..=b'7'), first);
                self.runs(first, &[25], &base_32)
            }
            Shape::Date => self.hir(start, &DAYS, &|_| true).unwrap_or(start),
            Shape::Pattern(pattern) => {
                let built =
                    self.hir(start, pattern.hir(), &|byte| letters.plain[usize::from(byte)]);
                built.unwrap_or(start)
            }
            Shape::Number { min, max } => self.number(start, min, max),
        }
    }

    fn word(&mut self, start: usize, word: &str) -> usize {
        word.bytes().fold(start, |at, byte| {
            let next = self.state();
            self.edge(at, only(byte), next);
            next
        })
    }

    fn any_of<'w>(&mut self, start: usize, words: impl Iterator<Item = &'w str>) -> usize {
        let end = self.state();
        for word in words {
            let last = self.word(start, word);
            self.states[last].free.push(end);
        }
        end
    }

    /// A number in a range, in its one decimal form.
    ///
    /// Numbers with fewer digits than `max` and more than `min` are free after their first digit. Those with as many
    /// follow the digits of the limit until one differs.
    fn number(&mut self, start: usize, min: u64, max: u64) -> usize {
        let (low, high) = (min.to_string().into_bytes(), max.to_string().into_bytes());
        // At `free[n]`, any n digits follow.
        let free: Vec<usize> = (0..high.len()).map(|_| self.state()).collect();
        for n in 1..free.len() {
            self.edge(free[n], range(b'0'..=b'9'), free[n - 1]);
        }
        let limits = |n_digits: usize| {
            let low = (n_digits == low.len()).then_some(low.as_slice());
            let high = (n_digits == high.len()).then_some(high.as_slice());
            (low, high)
        };
        for n_digits in low.len()..=high.len() {
            let (low, high) = limits(n_digits);
            self.digits(start, &free[..n_digits], low, high);
        }
        free[0]
    }

    /// As many digits as there are free states, from `low` to `high` where these are given.
    fn digits(&mut self, start: usize, free: &[usize], low: Option<&[u8]>, high: Option<&[u8]>) {
        let mut open = vec![(start, 0, low, high)];
        while let Some((at, i, low, high)) = open.pop() {
            let Some(after) = free.len().checked_sub(i + 1) else { continue };
            let smallest = if i == 0 && free.len() > 1 { b'1' } else { b'0' };
            let first = low.map_or(smallest, |low| low[i]);
            let last = high.map_or(b'9', |high| high[i]);
            let tight_low = low.filter(|_| after > 0);
            let tight_high = high.filter(|_| after > 0);
            // Where the digit is that of a limit, the limit holds for the next one too.
            let mut limited = |digit, low, high| {
                let next = self.state();
                self.edge(at, only(digit), next);
                open.push((next, i + 1, low, high));
            };
            let (mut from, mut to) = (first, last);
            if first == last && (tight_low.is_some() || tight_high.is_some()) {
                limited(first, tight_low, tight_high);
                continue;
            }
            if tight_low.is_some() {
                limited(first, tight_low, None);
                from += 1;
            }
            if tight_high.is_some() {
                limited(last, None, tight_high);
                to -= 1;
            }
            if from <= to {
                self.edge(at, range(from..=to), free[after]);
            }
        }
    }

    /// Runs of so many bytes of a set, with hyphens between them.
    fn runs(&mut self, start: usize, lengths: &[usize], bytes: &Bytes) -> usize {
        let mut at = start;
        for (i, length) in lengths.iter().enumerate() {
            if i > 0 {
                at = self.word(at, "-");
            }
            for _ in 0..*length {
                let next = self.state();
                self.edge(at, *bytes, next);
                at = next;
            }
        }
        at
    }

    fn fields(&mut self, start: usize, fields_min: usize, letters: &Letters) -> usize {
        let mut at = start;
        for field in 1..=fields_min {
            at = self.text(at, &[], letters);
            if field < fields_min {
                at = self.word(at, ":");
            }
        }
        let next = self.word(at, ":");
        let again = self.text(next, &[], letters);
        self.states[again].free.push(at);
        at
    }

    /// Coded text that is none of the excepted words: follows the words' common tree, and is free once it has left it.
    fn text(&mut self, start: usize, except: &[&str], letters: &Letters) -> usize {
        let (first, outside, end) = (self.state(), self.state(), self.state());
        self.states[start].free.push(first);
        let start = first;
        self.coded(outside, letters, outside);
        self.states[outside].free.push(end);
        let mut nodes: Vec<(usize, &str)> = vec![(start, "")];
        while let Some((node, prefix)) = nodes.pop() {
            let mut leaves = *letters;
            for word in
                except.iter().filter(|word| word.len() > prefix.len() && word.starts_with(prefix))
            {
                let byte = word.as_bytes()[prefix.len()];
                if std::mem::take(&mut leaves.plain[usize::from(byte)]) {
                    let child = self.state();
                    self.edge(node, only(byte), child);
                    nodes.push((child, &word[..=prefix.len()]));
                }
            }
            self.coded(node, &leaves, outside);
            if node != start && !except.contains(&prefix) {
                self.states[node].free.push(end);
            }
        }
        end
    }

    /// One plain byte of the set, or one coded byte.
    fn coded(&mut self, from: usize, letters: &Letters, to: usize) {
        self.edge(from, letters.plain, to);
        if !letters.coded {
            return;
        }
        let mut hex = range(b'0'..=b'9');
        hex[usize::from(b'A')..=usize::from(b'F')].fill(true);
        let (high, low) = (self.state(), self.state());
        self.edge(from, only(b'%'), high);
        self.edge(high, hex, low);
        self.edge(low, hex, to);
    }

    pub(crate) fn state(&mut self) -> usize {
        self.states.push(State::default());
        self.states.len() - 1
    }

    pub(crate) fn edge(&mut self, from: usize, bytes: Bytes, to: usize) {
        self.states[from].edges.push((bytes, to));
    }
}

/// The bytes that text of a kind may have inside a key.
#[derive(Clone, Copy)]
struct Letters {
    /// Those that stand as they are.
    plain: Bytes,
    /// Whether others are written as `%` and two digits.
    coded: bool,
}

impl Letters {
    fn of(kind: &Kind) -> Self {
        match kind.escape {
            Escape::Percent => {
                let mut plain = PLAIN;
                plain[usize::from(b':')] = kind.holds_colons();
                Self { plain, coded: true }
            }
            Escape::Raw { without } => {
                let mut plain = [true; 256];
                without.bytes().for_each(|byte| plain[usize::from(byte)] = false);
                Self { plain, coded: false }
            }
        }
    }

    fn without(mut self, byte: u8) -> Self {
        self.plain[usize::from(byte)] = false;
        self
    }
}

/// The text as it stands in a key.
fn coded(kind: &Kind, text: &str) -> String {
    let mut out = String::new();
    kind.encode(text, &mut out);
    out
}

fn hex_digits() -> Bytes {
    let mut hex = range(b'0'..=b'9');
    hex[usize::from(b'a')..=usize::from(b'f')].fill(true);
    hex[usize::from(b'A')..=usize::from(b'F')].fill(true);
    hex
}

fn only(byte: u8) -> Bytes {
    range(byte..=byte)
}

pub(crate) fn range(bytes: std::ops::RangeInclusive<u8>) -> Bytes {
    let mut set = [false; 256];
    bytes.for_each(|byte| set[usize::from(byte)] = true);
    set
}

#[cfg(test)]
mod tests;
