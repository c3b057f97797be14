//! Values of settings as text, and Redis' words for those that do not fit.

use std::ops::RangeInclusive;

/// A whole number in `range`.
pub(super) fn integer(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let n: i64 =
        text.parse().map_err(|_| "argument couldn't be parsed into an integer".to_owned())?;
    in_range(u64::try_from(n).ok(), range)
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
    let n = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).ok_or_else(no_memory)?;
    in_range(Some(n), range)
}

fn in_range(n: Option<u64>, range: RangeInclusive<u64>) -> Result<u64, String> {
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
