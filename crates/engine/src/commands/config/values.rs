//! Values of settings as text, and Redis' words for those that do not fit.

use std::{fmt::Display, ops::RangeInclusive};

use crate::num::parse_int;

/// A whole number in `range`, none of it negative.
pub(super) fn integer(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    in_range(u64::try_from(whole(text)?).ok(), range)
}

/// A whole number in `range`.
pub(super) fn signed(text: &str, range: RangeInclusive<i64>) -> Result<i64, String> {
    in_range(Some(whole(text)?), range)
}

fn whole(text: &str) -> Result<i64, String> {
    parse_int(text.as_bytes())
        .ok_or_else(|| "argument couldn't be parsed into an integer".to_owned())
}

/// `yes` or `no`.
pub(super) fn yes_or_no(text: &str) -> Result<&'static str, String> {
    let words = ["yes", "no"];
    let found = words.into_iter().find(|word| word.eq_ignore_ascii_case(text));
    found.ok_or_else(|| "argument must be 'yes' or 'no'".to_owned())
}

/// One of several words.
pub(super) fn one_of(text: &str, words: &[&'static str]) -> Result<&'static str, String> {
    let found = words.iter().find(|word| word.eq_ignore_ascii_case(text));
    found
        .copied()
        .ok_or_else(|| format!("argument(s) must be one of the following: {}", words.join(", ")))
}

/// A number of bytes, which may have a unit: `64mb`.
pub(super) fn memory(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let no_memory = || "argument must be a memory value".to_owned();
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(unit_at);
    let unit: u64 = match &*unit.to_ascii_lowercase() {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return Err(no_memory()),
    };
    // Redis takes no digits at all for 0.
    let n = if digits.is_empty() { Some(0) } else { digits.parse::<u64>().ok() };
    let n = n.and_then(|n| n.checked_mul(unit)).ok_or_else(no_memory)?;
    in_range(Some(n), range)
}

fn in_range<N: PartialOrd + Display>(n: Option<N>, range: RangeInclusive<N>) -> Result<N, String> {
    n.filter(|n| range.contains(n)).ok_or_else(|| {
        format!("argument must be between {} and {} inclusive", range.start(), range.end())
    })
}

/// The hard limit for pub/sub in `class hard soft seconds …`, if it is among them.
pub(super) fn pubsub_output_limit(text: &str) -> Result<Option<u64>, String> {
    const WRONG_NUMBER: &str = "Wrong number of arguments in buffer limit configuration.";
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    if !words.len().is_multiple_of(4) {
        return Err(WRONG_NUMBER.into());
    }
    let mut limit = None;
    for class in words.chunks(4) {
        let amounts: Result<Vec<u64>, String> =
            class[1..].iter().map(|amount| memory(amount, 0..=i64::MAX as u64)).collect();
        let amounts = amounts.map_err(
            |_| "Error in hard, soft or soft_seconds setting in buffer limit configuration.",
        )?;
        match &*class[0].to_ascii_lowercase() {
            "normal" | "replica" | "slave" => {}
            "pubsub" => limit = Some(amounts[0]),
            _ => return Err("Invalid client class specified in buffer limit configuration.".into()),
        }
    }
    Ok(limit)
}
