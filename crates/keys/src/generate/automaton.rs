//! Patterns as tables, so that all languages match what the lint matches: their regular expressions differ.

use std::collections::BTreeMap;

use crate::pattern::Pattern;

/// A state: whether a text may end here, and which bytes lead where.
#[derive(Debug)]
pub(super) struct State {
    pub(super) end: bool,
    /// First byte, last byte, next state.
    pub(super) edges: Vec<(u8, u8, usize)>,
}

/// The states of a pattern; the first is where it begins. A byte can lead to several states.
pub(super) fn table(pattern: &Pattern) -> Vec<State> {
    let automaton = pattern.automaton();
    let mut numbers = BTreeMap::from([(0, 0)]);
    let mut open = vec![0];
    let mut found: BTreeMap<usize, State> = BTreeMap::new();
    while let Some(at) = open.pop() {
        let reached = automaton.closure([at]);
        let mut edges = Vec::new();
        for (bytes, next) in reached.iter().flat_map(|&state| &automaton.states[state].edges) {
            let count = numbers.len();
            let number = *numbers.entry(*next).or_insert_with(|| {
                open.push(*next);
                count
            });
            edges.extend(ranges(bytes).into_iter().map(|(first, last)| (first, last, number)));
        }
        edges.sort_unstable();
        edges.dedup();
        found.insert(numbers[&at], State { end: reached.contains(&automaton.end), edges });
    }
    found.into_values().collect()
}

fn ranges(bytes: &[bool; 256]) -> Vec<(u8, u8)> {
    let mut found: Vec<(u8, u8)> = Vec::new();
    for byte in (0..=u8::MAX).filter(|&byte| bytes[usize::from(byte)]) {
        match found.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(byte) => *last = byte,
            _ => found.push((byte, byte)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(states: &[State], text: &str) -> bool {
        let mut at = vec![0];
        for byte in text.bytes() {
            let edges = at.iter().flat_map(|&state: &usize| &states[state].edges);
            at = edges
                .filter(|(first, last, _)| (*first..=*last).contains(&byte))
                .map(|(.., next)| *next)
                .collect();
        }
        at.iter().any(|&state| states[state].end)
    }

    #[test]
    fn table_matches_what_the_pattern_matches() {
        for source in ["[a-z]{2}-[0-9]+", "(ab|c)*d?", "a{2,3}", "ü.|\\d", "x(a*)y(a*)"] {
            let pattern = Pattern::new(source).unwrap();
            let states = table(&pattern);
            for text in ["", "de-1", "de-", "cabd", "d", "dd", "aa", "aaaa", "üx", "ü", "7", "xaya"]
            {
                assert_eq!(accepts(&states, text), pattern.is_match(text), "{source} {text:?}");
            }
        }
    }
}
