//! How a command ends: the exit codes, and failures that carry one.

use std::process::ExitCode;

/// How the program ended, as its caller sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Ok = 0,
    /// It did not work out.
    Failed = 1,
    /// The arguments or settings make no sense.
    Usage = 2,
    /// What was asked for does not exist.
    NotFound = 3,
    /// Somebody else has it, or it has changed.
    Conflict = 4,
    /// Wrong user, password or rights.
    Auth = 5,
    /// The store does not answer.
    Unreachable = 6,
    /// The lint found problems.
    Findings = 10,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// A failure that knows its exit code, with what the user can do about it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    exit: Exit,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// A failure with its message.
    pub fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure { exit, message: message.into(), hint: None }
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// Its exit code.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// What the user can do about it.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}
