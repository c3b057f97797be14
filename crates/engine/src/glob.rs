//! Glob patterns as KEYS, SCAN and PSUBSCRIBE have them: `*`, `?`, `[a-z]`, `[^a]`, `\` to escape.

/// Whether `pattern` matches the whole of `text`.
///
/// Backtracks to the last `*` only, so the time is at most the product of the two lengths.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p + 1, t));
            p += 1;
            continue;
        }
        let step = match (pattern.get(p), text.get(t)) {
            (None, None) => return true,
            (None, Some(_)) => None,
            (Some(_), None) => return false,
            (Some(_), Some(byte)) => match_one(&pattern[p..], *byte),
        };
        match (step, star) {
            (Some(n), _) => {
                p += n;
                t += 1;
            }
            (None, Some((after_star, from))) => {
                p = after_star;
                t = from + 1;
                star = Some((after_star, t));
            }
            (None, None) => return false,
        }
    }
}

/// How many pattern bytes match `byte`, if they do. `pattern` is not empty and starts with no `*`.
fn match_one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern[0] {
        b'?' => Some(1),
        b'[' => match_class(pattern, byte),
        b'\\' if pattern.len() > 1 => (pattern[1] == byte).then_some(2),
        literal => (literal == byte).then_some(1),
    }
}

/// `[abc]`, `[a-z]`, `[^…]`. A class that is not closed ends with the pattern, as in Redis.
fn match_class(pattern: &[u8], byte: u8) -> Option<usize> {
    let mut i = 1;
    let negated = pattern.get(i) == Some(&b'^');
    if negated {
        i += 1;
    }
    let mut found = false;
    loop {
        match pattern[i..] {
            [] => break,
            [b'\\', literal, ..] => {
                found |= literal == byte;
                i += 2;
            }
            [b']', ..] => {
                i += 1;
                break;
            }
            [low, b'-', high, ..] => {
                let (low, high) = (low.min(high), low.max(high));
                found |= (low..=high).contains(&byte);
                i += 3;
            }
            [literal, ..] => {
                found |= literal == byte;
                i += 1;
            }
        }
    }
    (found != negated).then_some(i)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[track_caller]
    fn check(pattern: &str, text: &str, expected: bool) {
        assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
    }

    #[test]
    fn stars_questions_classes_and_escapes_match_as_in_redis() {
        check("*", "", true);
        check("a*c", "abbc", true);
        check("a*c*d", "acxcxd", true);
        check("a*c", "abbd", false);
        check("h?llo", "hllo", false);
        check("h[a-e]llo", "hallo", true);
        check("h[e-a]llo", "hallo", true);
        check("h[^e]llo", "hello", false);
        check("h\\*llo", "h*llo", true);
        check("h\\*llo", "hxllo", false);
        check("[abc", "c", true);
        check("x[", "x[", false);
        check("", "a", false);
        check("a\\", "a\\", true);
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let pattern = "a*".repeat(50) + "b";
        check(&pattern, &"a".repeat(2000), false);
    }
}
