//! What a command may say about its progress.

use keyrack_progress::{ITERATIONS_MAX, NAME_CHARS_MAX};

/// A line about progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProgressReport {
    /// A step begins.
    Step {
        /// Its name.
        name: String,
        /// How many iterations it has; none for a one-off step.
        iterations: Option<u64>,
    },
    /// So many more iterations are done.
    Tick(u64),
}

const STEP: &str = "step ";
const TICK: &str = "tick";
/// Longer lines say nothing about progress.
const BYTES_MAX: usize = 2_048;

impl ProgressReport {
    /// What a whole line says, if it is about progress.
    pub(super) fn parse(line: &[u8]) -> Option<ProgressReport> {
        let line = std::str::from_utf8(line).ok()?.trim_end();
        if let Some(rest) = line.strip_prefix(TICK) {
            let count = if rest.is_empty() { "1" } else { rest.strip_prefix(' ')?.trim() };
            return count.parse().ok().map(ProgressReport::Tick);
        }
        let rest = line.strip_prefix(STEP)?.trim();
        let (name, iterations) = match rest.rsplit_once(' ') {
            Some((name, n)) if is_number(n) => (name.trim_end(), Some(number(n))),
            _ => (rest, None),
        };
        let name: String = name.chars().take(NAME_CHARS_MAX).collect();
        (!name.is_empty()).then_some(ProgressReport::Step { name, iterations })
    }

    /// Whether a line that has begun like this may become one about progress.
    pub(super) fn may_begin_with(begun: &[u8]) -> bool {
        let fits = |word: &[u8]| begun.starts_with(word) || word.starts_with(begun);
        begun.len() < BYTES_MAX && (fits(STEP.as_bytes()) || fits(TICK.as_bytes()))
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A step that turns out to have nothing to do is still one that has iterations, or it would be another step.
fn number(digits: &str) -> u64 {
    digits.parse().unwrap_or(ITERATIONS_MAX).clamp(1, ITERATIONS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, iterations: Option<u64>) -> Option<ProgressReport> {
        Some(ProgressReport::Step { name: name.into(), iterations })
    }

    #[test]
    fn steps_have_a_name_and_may_have_iterations() {
        for (line, expected) in [
            ("step build", step("build", None)),
            ("step build 12\r", step("build", Some(12))),
            ("step copy all files 12", step("copy all files", Some(12))),
            ("step 2", step("2", None)),
            ("step nothing 0", step("nothing", Some(1))),
            ("step much 99999999999999999999", step("much", Some(ITERATIONS_MAX))),
            ("step down -5", step("down -5", None)),
            ("step größe 3", step("größe", Some(3))),
        ] {
            assert_eq!(ProgressReport::parse(line.as_bytes()), expected, "{line}");
        }
        let long = format!("step {}", "x".repeat(1_000));
        assert_eq!(ProgressReport::parse(long.as_bytes()), step(&"x".repeat(NAME_CHARS_MAX), None));
    }

    #[test]
    fn ticks_count_one_or_more() {
        assert_eq!(ProgressReport::parse(b"tick"), Some(ProgressReport::Tick(1)));
        assert_eq!(ProgressReport::parse(b"tick 25\r"), Some(ProgressReport::Tick(25)));
    }

    #[test]
    fn everything_else_is_output() {
        for line in [
            "", "step", "step ", "steps 3", " step x", "Step x", "ticks", "tick x", "tick -1",
            "tick 1 2", "tock",
        ] {
            assert_eq!(ProgressReport::parse(line.as_bytes()), None, "{line}");
        }
        assert_eq!(ProgressReport::parse(b"step \xff"), None);
    }

    #[test]
    fn beginning_of_a_line_tells_whether_to_wait_for_its_end() {
        for begun in ["", "s", "step", "step x", "t", "tick", "tick 1"] {
            assert!(ProgressReport::may_begin_with(begun.as_bytes()), "{begun}");
        }
        for begun in ["x", "stop", "ste ", "to", "Password: "] {
            assert!(!ProgressReport::may_begin_with(begun.as_bytes()), "{begun}");
        }
        assert!(!ProgressReport::may_begin_with(
            &[b"step ".to_vec(), vec![b'x'; BYTES_MAX]].concat()
        ));
    }
}
