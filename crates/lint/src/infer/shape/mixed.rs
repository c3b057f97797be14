//! Short ids that mix letters and digits: `7f3a`, `ub20`, `k9x2`.
//!
//! One alone looks like a number with fixed letters around it. Many of them, with ever other letters, are ids.

use std::collections::BTreeMap;

use super::{FIRST_WORDS_MAX, Grouper, KEYS_PER_WORD, WORDS_MAX, WORDS_MIN};

type Words<'r> = BTreeMap<&'r str, Vec<usize>>;
type Varying<'r> = BTreeMap<(&'r str, &'r str), Vec<usize>>;

impl<'r> Grouper<'r, '_> {
    /// Joins numbers with letters around them into one group, if the letters are part of ids.
    pub(super) fn join_mixed_ids(
        &self,
        at: usize,
        words: &mut Words<'r>,
        varying: &mut Varying<'r>,
    ) {
        let mixed = || varying.iter().filter(|(around, _)| is_attached(around));
        // People write "page1" and "item1" for different things, but hardly "1page" and "1item".
        let n_suffixed = mixed().filter(|((_, suffix), _)| starts_with_letter(suffix)).count();
        let suffixed_min = if at == 0 { FIRST_WORDS_MAX } else { WORDS_MIN };
        let (n_mixed, n_keys) =
            (mixed().count(), mixed().map(|(_, keys)| keys.len()).sum::<usize>());
        let are_scattered = at > 0 && n_mixed > WORDS_MAX && n_keys < n_mixed * KEYS_PER_WORD;
        if n_suffixed < suffixed_min && !are_scattered {
            return;
        }
        let Some(common) = self.common_signature(at, mixed().map(|(_, members)| members)) else {
            return;
        };
        let prefix = common_start(mixed().map(|((prefix, _), _)| *prefix));
        let suffix = common_end(mixed().map(|((_, suffix), _)| *suffix));
        let fits = |text: &str| {
            text.len() > prefix.len() + suffix.len()
                && text.starts_with(prefix)
                && text.ends_with(suffix)
        };
        let length = self.common_length(at, mixed().flat_map(|(_, members)| members));
        let is_one_of_them = |text: &str, members: &Vec<usize>| {
            fits(text) && Some(text.len()) == length && self.signatures(at, members) == common
        };
        let mut members: Vec<usize> = Vec::new();
        let numbers = varying.extract_if(.., |(before, after), _| {
            before.starts_with(prefix) && after.ends_with(suffix)
        });
        members.extend(numbers.flat_map(|(_, members)| members));
        // Some ids have no digit. They have the length of the others, if all of those have the same.
        let texts = words.extract_if(.., |word, members| is_one_of_them(word, members));
        members.extend(texts.flat_map(|(_, members)| members));
        varying.insert((prefix, suffix), members);
    }

    /// The length of the segments of these names, if all have the same.
    fn common_length<'m>(
        &self,
        at: usize,
        mut members: impl Iterator<Item = &'m usize>,
    ) -> Option<usize> {
        let length = |i: &usize| self.rows[*i].segments[at].len();
        let first = length(members.next()?);
        members.all(|i| length(i) == first).then_some(first)
    }
}

/// Whether a letter stands right before or after what varies.
pub(super) fn is_attached((prefix, suffix): &(&str, &str)) -> bool {
    prefix.ends_with(|letter: char| letter.is_ascii_alphabetic()) || starts_with_letter(suffix)
}

fn starts_with_letter(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

/// What all begin with, up to the last separator: letters after it are part of the ids.
fn common_start<'t>(mut texts: impl Iterator<Item = &'t str>) -> &'t str {
    let first = texts.next().unwrap_or("");
    let length = texts.fold(first.len(), |length, text| {
        let same = first.bytes().zip(text.bytes()).take_while(|(a, b)| a == b);
        length.min(same.count())
    });
    let common = first.get(..length).unwrap_or("");
    &common[..common.rfind(is_separator).map_or(0, |at| at + 1)]
}

/// What all end with, from the first separator on.
fn common_end<'t>(mut texts: impl Iterator<Item = &'t str>) -> &'t str {
    let first = texts.next().unwrap_or("");
    let length = texts.fold(first.len(), |length, text| {
        let same = first.bytes().rev().zip(text.bytes().rev()).take_while(|(a, b)| a == b);
        length.min(same.count())
    });
    let common = first.get(first.len() - length..).unwrap_or("");
    &common[common.find(is_separator).unwrap_or(common.len())..]
}

fn is_separator(letter: char) -> bool {
    letter.is_ascii() && !letter.is_ascii_alphanumeric()
}
