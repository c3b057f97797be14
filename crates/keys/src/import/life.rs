//! What the words beside a name say about how long its keys live.

use crate::family::Ttl;

/// The TTL that the words speak of, and what is not sure about it.
pub(super) fn ttl(words: &str) -> (Ttl, Option<&'static str>) {
    let words: Vec<&str> = words
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let Some(at) = words.iter().position(|word| is_about_ttl(word)) else {
        return (Ttl::Undeclared, Some("the page does not say whether keys expire"));
    };
    let before = &words[at.saturating_sub(2)..at];
    let after = &words[at + 1..words.len().min(at + 1 + REACH)];
    let denied = |words: &[&str]| {
        words.iter().any(|word| ["no", "never", "not", "none", "without"].contains(word))
    };
    if denied(before) || after.first().is_some_and(|word| denied(&[word])) {
        return (Ttl::Never, Some("the page speaks of no expiry; \"never\" is a guess"));
    }
    match (0..after.len()).find_map(|i| duration(&after[i..])) {
        Some(secs) => (Ttl::Within(secs), Some("the page speaks of expiry; the time is a guess")),
        None => (Ttl::Required, Some("the page speaks of expiry; \"always\" is a guess")),
    }
}

/// So many words after "TTL" or "expires" may tell how long.
const REACH: usize = 6;

fn is_about_ttl(word: &str) -> bool {
    word == "ttl" || word.starts_with("expir")
}

/// The seconds that words begin with: `30d`, `7 days`, `an hour`.
fn duration(words: &[&str]) -> Option<u64> {
    let first = words.first()?;
    let digits = first.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let (count, unit) = match digits {
        "" if ["a", "an", "one"].contains(first) => (1, *words.get(1)?),
        "" => return None,
        digits if digits.len() < first.len() => (digits.parse().ok()?, &first[digits.len()..]),
        digits => (digits.parse().ok()?, *words.get(1)?),
    };
    let unit: u64 = match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => 1,
        "m" | "min" | "mins" | "minute" | "minutes" => 60,
        "h" | "hour" | "hours" => 3_600,
        "d" | "day" | "days" => 86_400,
        "w" | "week" | "weeks" => 7 * 86_400,
        _ => return None,
    };
    unit.checked_mul(count).filter(|secs| *secs > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_words() {
        for (words, expected) in [
            ("a set of orders, ttl 1 day", Ttl::Within(86_400)),
            ("ttl: 30d", Ttl::Within(30 * 86_400)),
            ("the string '1'; expires after a day", Ttl::Within(86_400)),
            ("expires an hour after the last visit", Ttl::Within(3_600)),
            ("expiry of 90 seconds", Ttl::Within(90)),
            ("expires when the user leaves", Ttl::Required),
            ("never expires", Ttl::Never),
            ("has no ttl", Ttl::Never),
            ("ttl: none", Ttl::Never),
            ("one order of 7 items", Ttl::Undeclared),
            ("ttl 99999999999999999999 days", Ttl::Required),
        ] {
            assert_eq!(ttl(words).0, expected, "{words}");
        }
    }
}
