//! What the end of a command means for its job.

use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus};

use keyrack_jobs::bee::{Failure, RESULT_BYTES_MAX};
use serde_json::value::RawValue;

use super::stderr::{Again, Said};

/// The exit code that says that trying again is pointless: `EX_DATAERR` of sysexits.h.
const FATAL: i32 = 65;

/// What a command wrote to stdout, as far as it may be a result.
#[derive(Debug, Default)]
pub(super) struct Stdout {
    pub(super) bytes: Vec<u8>,
    /// Whether there was more.
    pub(super) cut: bool,
}

/// The exit code that says that the job cannot be done now: `EX_TEMPFAIL` of sysexits.h.
const NOT_NOW: i32 = 75;

/// The result, or why there is none.
pub(super) fn of(
    status: ExitStatus,
    stdout: Stdout,
    said: &Said,
) -> Result<Box<RawValue>, Failure> {
    if status.success() {
        return result(stdout);
    }
    let mut message = ending(status);
    if !said.last_words.is_empty() {
        message = format!("{message}: {}", said.last_words);
    }
    Err(match (status.code(), said.again) {
        (Some(FATAL), _) => Failure::fatal(message),
        (Some(NOT_NOW), Some(Again::Snooze(time))) => Failure::snooze(time),
        (_, Some(Again::RetryIn(wait))) => Failure::new(message).retry_in(wait),
        _ => Failure::new(message),
    })
}

/// How a command ended, in words.
pub(super) fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("the command ended with exit code {code}"),
        (None, Some(signal)) => match signal_name(signal) {
            Some(name) => format!("the command was ended by {name}"),
            None => format!("the command was ended by signal {signal}"),
        },
        (None, None) => "the command ended".into(),
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return None,
    })
}

/// Reads stdout as the result, without a change to its digits.
fn result(stdout: Stdout) -> Result<Box<RawValue>, Failure> {
    if stdout.cut {
        // The same again next time, so trying again is pointless.
        let message = format!(
            "stdout has more than {RESULT_BYTES_MAX} bytes; write the result elsewhere and print its name"
        );
        return Err(Failure::fatal(message));
    }
    let text = String::from_utf8(stdout.bytes).map_err(|_| {
        Failure::new("stdout is not UTF-8; print the result as JSON, and words to stderr")
    })?;
    let text = if text.trim().is_empty() { "null".into() } else { text };
    serde_json::from_str(&text).map_err(|error| {
        let start: String = text.trim().chars().take(SHOWN_MAX).collect();
        let dots = if start.len() < text.trim().len() { "…" } else { "" };
        Failure::new(format!(
            "stdout is not JSON ({error}): \"{start}{dots}\"; print the result as JSON, and words to stderr"
        ))
    })
}

/// As much of a wrong result as a message shows.
const SHOWN_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ended(code: i32, stdout: &str, said: &str) -> Result<String, Failure> {
        let stdout = Stdout { bytes: stdout.into(), cut: false };
        let said = Said { last_words: said.into(), again: None };
        of(ExitStatus::from_raw(code << 8), stdout, &said).map(|result| result.get().to_owned())
    }

    #[test]
    fn a_command_may_say_when_the_job_is_to_be_run_again() {
        let ended = |code: i32, again| {
            let said = Said { again: Some(again), ..Said::default() };
            of(ExitStatus::from_raw(code << 8), Stdout::default(), &said).expect_err("no result")
        };
        let time = Duration::from_secs(90);
        let snoozed = ended(75, Again::Snooze(time));
        assert_eq!(snoozed.snooze_ms, Some(90_000.0));
        assert_eq!(ended(1, Again::Snooze(time)).snooze_ms, None, "only with code 75");
        let later = ended(1, Again::RetryIn(time));
        assert_eq!((later.retry, later.retry_delay), (true, Some(90_000.0)));
        assert!(!ended(65, Again::RetryIn(time)).retry, "never is never");
    }

    #[test]
    fn exit_code_0_completes_with_the_json_of_stdout() {
        assert_eq!(
            ended(0, " {\"z\": 1.0000000000000000001}\n", "x"),
            Ok("{\"z\": 1.0000000000000000001}".into())
        );
        assert_eq!(ended(0, "", ""), Ok("null".into()));
        assert_eq!(ended(0, " \n", ""), Ok("null".into()));
    }

    #[test]
    fn stdout_that_is_no_result_fails_with_what_it_was() {
        let failure = ended(0, "done!\n", "").expect_err("no JSON");
        assert!(failure.retry);
        assert!(
            failure.message.starts_with("stdout is not JSON (expected value at line 1"),
            "{failure:?}"
        );
        assert!(failure.message.contains("\"done!\""), "{failure:?}");
        assert!(ended(0, "1 2", "").is_err(), "two values are no result");
        let stdout = Stdout { bytes: vec![0xff], cut: false };
        assert!(of(ExitStatus::from_raw(0), stdout, &Said::default()).is_err());
    }

    #[test]
    fn too_long_a_result_is_not_tried_again() {
        let stdout = Stdout { bytes: b"1".into(), cut: true };
        let failure = of(ExitStatus::from_raw(0), stdout, &Said::default()).expect_err("too long");
        assert!(!failure.retry);
    }

    #[test]
    fn exit_code_65_is_fatal_and_all_others_are_tried_again() {
        for (code, retry) in [(1, true), (64, true), (65, false), (75, true), (127, true)] {
            let failure = ended(code, "1", "").expect_err("a failure");
            assert_eq!(failure.retry, retry, "{code}");
            assert_eq!(failure.message, format!("the command ended with exit code {code}"));
        }
    }

    #[test]
    fn a_failure_tells_the_last_words_of_the_command() {
        let failure = ended(3, "", "no such file").expect_err("a failure");
        assert_eq!(failure.message, "the command ended with exit code 3: no such file");
    }

    #[test]
    fn a_signal_is_told_by_its_name() {
        let told = |signal| ending(ExitStatus::from_raw(signal));
        assert_eq!(told(9), "the command was ended by SIGKILL");
        assert_eq!(told(40), "the command was ended by signal 40");
    }
}
