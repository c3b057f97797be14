//! What the command line asks of the benchmark.

use anyhow::{Context, Result, bail};

/// Jobs a round.
const JOBS: u32 = 100_000;
const ROUNDS: u32 = 5;

/// `[--only SECTION] [--jobs N] [--rounds N] [--before PROGRAM] [--write]`.
#[derive(Debug, PartialEq)]
pub(super) struct Options<'a> {
    /// All sections where none is named.
    pub(super) only: Option<&'a str>,
    pub(super) jobs: u32,
    pub(super) rounds: u32,
    /// An earlier `keyrack`, with its `examples/contender` beside it, that is measured beside this one where a section can.
    pub(super) before: Option<&'a str>,
    /// Whether the results replace those in `docs/benchmarks.md`.
    pub(super) write: bool,
}

impl<'a> Options<'a> {
    pub(super) fn parse(arguments: &[&'a str]) -> Result<Options<'a>> {
        let mut options =
            Options { only: None, jobs: JOBS, rounds: ROUNDS, before: None, write: false };
        let mut rest = arguments;
        loop {
            rest = match rest {
                ["--only", section, rest @ ..] => {
                    options.only = Some(section);
                    rest
                }
                ["--jobs", n, rest @ ..] => {
                    options.jobs = positive(n)?;
                    rest
                }
                ["--rounds", n, rest @ ..] => {
                    options.rounds = positive(n)?;
                    rest
                }
                ["--before", program, rest @ ..] => {
                    options.before = Some(program);
                    rest
                }
                ["--write", rest @ ..] => {
                    options.write = true;
                    rest
                }
                [] => break,
                [flag @ ("--only" | "--jobs" | "--rounds" | "--before")] => {
                    bail!("\"{flag}\" needs a value")
                }
                [other, ..] => bail!(
                    "unknown argument \"{other}\"; there are --only SECTION, --jobs N, --rounds N, --before PROGRAM and --write"
                ),
            }
        }
        if options.write && options.only.is_some() {
            bail!("\"--write\" replaces the results of all sections, so leave out \"--only\"");
        }
        Ok(options)
    }
}

fn positive(text: &str) -> Result<u32> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.with_context(|| format!("\"{text}\" is no number above 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_in_any_order() {
        let options = Options::parse(&["--rounds", "3", "--only", "latency"]).unwrap();
        let expected =
            Options { only: Some("latency"), jobs: JOBS, rounds: 3, before: None, write: false };
        assert_eq!(options, expected);
    }

    #[test]
    fn bad_options_are_answered_with_what_is_wrong() {
        let refused = |arguments: &[&str]| Options::parse(arguments).unwrap_err().to_string();
        assert_eq!(refused(&["--jobs", "0"]), "\"0\" is no number above 0");
        assert_eq!(refused(&["--jobs"]), "\"--jobs\" needs a value");
        assert!(refused(&["--fast"]).starts_with("unknown argument \"--fast\""));
        assert!(refused(&["--write", "--only", "kill"]).contains("leave out \"--only\""));
    }
}
