//! Putting numbers where their names stand.
//!
//! A function holds on to every `local` of the script that it uses, and Lua searches for each of them in every call of
//! the script: for 33 named numbers that took the server a quarter of an empty call. So `local MOST = 10` at the left
//! margin, and `local FIRST, SECOND = 1, 2`, only say what the names stand for.

use std::collections::HashMap;

/// The script with its named numbers written out.
pub(super) fn with_numbers(body: &str) -> String {
    let mut numbers = HashMap::new();
    let mut text = String::with_capacity(body.len());
    for line in body.lines() {
        if let Some(named) = named_numbers(line) {
            numbers.extend(named);
            continue;
        }
        for token in tokens(line) {
            text.push_str(numbers.get(token).unwrap_or(&token));
        }
        text.push('\n');
    }
    text
}

/// The names and numbers of a line that declares nothing else.
fn named_numbers(line: &str) -> Option<Vec<(&str, &str)>> {
    let (names, values) = line.strip_prefix("local ")?.split_once(" = ")?;
    let (names, values) = (names.split(", "), values.split(", "));
    let is_even = names.clone().count() == values.clone().count();
    let named: Vec<(&str, &str)> = names.zip(values).collect();
    let is_named = |&(name, value): &(&str, &str)| is_in_capitals(name) && is_number(value);
    (is_even && named.iter().all(is_named)).then_some(named)
}

fn is_in_capitals(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

fn is_number(value: &str) -> bool {
    value.starts_with(|c: char| c.is_ascii_digit()) && value.parse::<f64>().is_ok()
}

/// The words of a line, and what is between them. A string is one of them, and so is a remark at the end.
pub(super) fn tokens(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = match first {
            '\'' | '"' => string_length(rest, first),
            _ if rest.starts_with("--") => rest.len(),
            _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        Some(token)
    })
}

fn string_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let end = text[1..].find(|c| {
        let ends = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |at| at + 2)
}

pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str) {
        assert_eq!(with_numbers(before), format!("{after}\n"));
    }

    #[test]
    fn named_numbers_stand_where_they_are_used() {
        check("local MOST = 1000\nreturn math.min(#KEYS, MOST)", "return math.min(#KEYS, 1000)");
        check(
            "local JID, QUEUE_2 = 1, 0.5\nreturn job[JID] + {[QUEUE_2]=JID}",
            "return job[1] + {[0.5]=1}",
        );
    }

    #[test]
    fn a_name_stands_for_the_last_number_above_it() {
        check("local N = 1\nlocal x = N\nlocal N = 2\nreturn x + N", "local x = 1\nreturn x + 2");
    }

    #[test]
    fn strings_and_remarks_and_longer_words_are_not_touched() {
        let line = r#"call('N', "N", 'it\'s N', '\\', N_MAX, MIN_N, xN) -- N isn't N"#;
        check(&format!("local N = 1\n{line}"), line);
        check("local N = 1\nf('\\\\', N, 'é', N)", "f('\\\\', 1, 'é', 1)");
    }

    #[test]
    fn whatever_else_is_declared_stays() {
        for line in [
            "local most = 1000",
            "local A, B = 1",
            "local A, b = 1, 2",
            "local A = -1",
            "local A = 1 + 2",
            "local A = 0x10",
            "local A = 'x'",
            "local A = {}",
            "  local A = 1",
        ] {
            check(line, line);
        }
    }
}
