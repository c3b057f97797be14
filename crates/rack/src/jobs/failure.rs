//! How a handler fails, and what is done about it.

use std::{error::Error as StdError, fmt, time::Duration};

use keyrack_jobs::bee::{Failure, with_sources};

/// Any error. Handlers may return it, or whatever becomes one: an error of `anyhow`, of `thiserror`, a text.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// An error with what is to be done about the job. It may be the source of another error: the outermost counts.
///
/// ```
/// use keyrack::prelude::*;
///
/// async fn charge(cents: u64) -> Result<(), BoxError> {
///     if cents == 0 {
///         return Err(TaskError::fatal("there is nothing to charge").into());
///     }
///     if is_closed_now() {
///         return Err(TaskError::snooze(hours(1)).into());
///     }
///     check(cents).fatal()?;
///     call_bank(cents).await.retry_in(mins(5))?;
///     Ok(())
/// }
/// # fn is_closed_now() -> bool { false }
/// # fn check(_: u64) -> Result<(), std::fmt::Error> { Ok(()) }
/// # async fn call_bank(_: u64) -> Result<(), std::io::Error> { Ok(()) }
/// ```
pub struct TaskError(Directive);

/// What is to be done, beneath the error that says so: errors that wrap others may hide the outer type, but not their sources.
struct Directive {
    action: Action,
    error: BoxError,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Fatal,
    RetryIn(Duration),
    Snooze(Duration),
}

impl TaskError {
    /// The job has failed for good: trying again would not mend it.
    pub fn fatal(error: impl Into<BoxError>) -> TaskError {
        TaskError(Directive { action: Action::Fatal, error: error.into() })
    }

    /// The attempt has failed, and the next one is made in this time, whatever the job says.
    pub fn retry_in(time: Duration, error: impl Into<BoxError>) -> TaskError {
        TaskError(Directive { action: Action::RetryIn(time), error: error.into() })
    }

    /// No failure: the job cannot be run now, and is to be run again in this time. No retry is used up.
    pub fn snooze(time: Duration) -> TaskError {
        TaskError(Directive { action: Action::Snooze(time), error: "snoozed".into() })
    }
}

/// What to do about the job, said where the error comes up.
pub trait ResultExt<T> {
    /// The job has failed for good: trying again would not mend it.
    ///
    /// # Errors
    /// The error, marked.
    fn fatal(self) -> Result<T, TaskError>;

    /// The attempt has failed, and the next one is made in this time, whatever the job says.
    ///
    /// # Errors
    /// The error, marked.
    fn retry_in(self, time: Duration) -> Result<T, TaskError>;
}

impl<T, E: Into<BoxError>> ResultExt<T> for Result<T, E> {
    fn fatal(self) -> Result<T, TaskError> {
        self.map_err(TaskError::fatal)
    }

    fn retry_in(self, time: Duration) -> Result<T, TaskError> {
        self.map_err(|error| TaskError::retry_in(time, error))
    }
}

/// What is stored of an error of a handler: its message, those of its sources, and what is to be done.
pub(super) fn failure(error: &(dyn StdError + 'static)) -> Failure {
    let message = with_sources(error);
    match action(error) {
        None => Failure::new(message),
        Some(Action::Fatal) => Failure::fatal(message),
        Some(Action::RetryIn(time)) => Failure::new(message).retry_in(time),
        Some(Action::Snooze(time)) => Failure::snooze(time),
    }
}

fn action(error: &(dyn StdError + 'static)) -> Option<Action> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(directive) = error.downcast_ref::<Directive>() {
            return Some(directive.action);
        }
        next = error.source();
    }
    None
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskError")
            .field("action", &self.0.action)
            .field("error", &self.0.error)
            .finish()
    }
}

impl StdError for TaskError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

impl fmt::Display for Directive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl fmt::Debug for Directive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.error, f)
    }
}

impl StdError for Directive {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;
    use crate::secs;

    fn refused() -> std::io::Error {
        let cause = std::io::Error::other("the card is blocked");
        std::io::Error::new(std::io::ErrorKind::PermissionDenied, Outer(cause))
    }

    #[derive(Debug, thiserror::Error)]
    #[error("the bank refuses")]
    struct Outer(#[source] std::io::Error);

    fn stored(error: impl Into<BoxError>) -> Failure {
        failure(&*error.into())
    }

    #[test]
    fn the_whole_chain_is_stored() {
        assert_eq!(stored(Outer(refused())).message, "the bank refuses: the card is blocked");
        let anyhow = anyhow::Error::from(Outer(std::io::Error::other("no"))).context("charging");
        assert_eq!(stored(anyhow).message, "charging: the bank refuses: no");
        assert_eq!(stored("a text").message, "a text");
    }

    #[test]
    fn what_is_to_be_done_is_found_beneath_other_errors() {
        let fatal: Result<(), TaskError> = Err(refused()).fatal();
        let wrapped = fatal.context("charging").expect_err("an error");
        let failure = stored(wrapped);
        assert!(!failure.retry);
        assert!(failure.message.starts_with("charging: the bank refuses"), "{}", failure.message);

        let later: Result<(), TaskError> = Err("busy").retry_in(secs(5));
        let failure = stored(anyhow::Error::from(later.expect_err("an error")));
        assert_eq!((failure.retry, failure.retry_delay), (true, Some(5_000.0)));

        let boxed: BoxError = TaskError::snooze(secs(7)).into();
        assert_eq!(stored(boxed).snooze_ms, Some(7_000.0));
        assert!(stored(refused()).retry);
    }
}
