//! How a command ends: the exit codes, and failures that carry one.

use std::process::ExitCode;

use keyrack_store::Class;

/// How the program ended, as its caller sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Ok,
    /// It did not work out.
    Failed,
    /// The arguments or settings make no sense.
    Usage,
    /// What was asked for does not exist.
    NotFound,
    /// Somebody else has it, or it has changed.
    Conflict,
    /// Wrong user, password or rights.
    Auth,
    /// The store does not answer.
    Unreachable,
    /// The lint found problems.
    Findings,
    /// Whatever a command ended with that was run for the caller.
    Command(u8),
}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::NotFound => 3,
            Exit::Conflict => 4,
            Exit::Auth => 5,
            Exit::Unreachable => 6,
            Exit::Findings => 10,
            Exit::Command(code) => code,
        }
    }
}

impl From<Class> for Exit {
    fn from(class: Class) -> Exit {
        match class {
            Class::Invalid => Exit::Usage,
            Class::NotFound => Exit::NotFound,
            Class::Conflict | Class::Limited | Class::Busy => Exit::Conflict,
            Class::Unauthenticated | Class::Denied => Exit::Auth,
            Class::Unavailable => Exit::Unreachable,
            Class::Internal => Exit::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// A failure that knows its exit code, with what the user can do about it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    exit: Exit,
    message: String,
    more: Vec<String>,
    hint: Option<String>,
}

impl Failure {
    /// A failure with its message.
    pub fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure { exit, message: message.into(), more: Vec::new(), hint: None }
    }

    /// Adds what else is wrong, a line for each.
    #[must_use]
    pub fn more(mut self, more: Vec<String>) -> Failure {
        self.more = more;
        self
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

    /// What else is wrong.
    pub fn more_texts(&self) -> &[String] {
        &self.more
    }

    /// What the user can do about it.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}
