//! What can go wrong with journeys, by what the caller can do about it.

#![allow(missing_docs, reason = "the message of each variant describes it and its fields")]

use keyrack_keys::PartError;
use keyrack_store::{Class, ErrorInfo, ServiceError};

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Part(#[from] PartError),

    #[error("{field}: {reason}")]
    Invalid { field: &'static str, reason: String },

    #[error("there is no journey \"{uid}\"")]
    NoSuchJourney { uid: String },

    #[error("{}", .0.words())]
    Refused(Refusal),

    #[error(
        "there are {max} sessions of this user, as many as one may have within a day; the first is gone in {retry_after_s} s: go on \
         with one of those, or have \"quota-sessions\" raised"
    )]
    TooManySessions { max: u64, retry_after_s: u32 },

    /// The ticket is not good for this journey. Why is for the log, not for whoever sent it.
    #[error("the ticket is not valid")]
    BadTicket { reason: &'static str },

    #[error(transparent)]
    Store(#[from] keyrack_store::Error),
}

/// The rules an event can break, in the order in which they are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such session, or it is somebody else's.
    SessionNotFound,
    /// The first event has to be `join`.
    SessionNotStarted,
    /// Only the first event can be `join`.
    SessionAlreadyStarted,
    /// Nothing follows a `leave`.
    SessionAlreadyEnded,
    /// Events come in the order of the journey.
    SessionHasLaterEvent,
    /// Nobody does the same twice at the same time.
    SessionHasSameEventAtSameTime,
    /// The journey asks something else, or they are pressing already, or not at all.
    ImpossibleEvent,
    /// There is no such answer.
    ImpossibleEventData,
    /// The journey has no such time.
    ImpossibleJourneyTime,
}

impl Refusal {
    /// All of them, in the order in which they are looked at.
    pub const ALL: [Refusal; 9] = [
        Refusal::SessionNotFound,
        Refusal::SessionNotStarted,
        Refusal::SessionAlreadyStarted,
        Refusal::SessionAlreadyEnded,
        Refusal::SessionHasLaterEvent,
        Refusal::SessionHasSameEventAtSameTime,
        Refusal::ImpossibleEvent,
        Refusal::ImpossibleEventData,
        Refusal::ImpossibleJourneyTime,
    ];

    /// The short word by which programs tell it.
    pub fn word(self) -> &'static str {
        match self {
            Refusal::SessionNotFound => "session_not_found",
            Refusal::SessionNotStarted => "session_not_started",
            Refusal::SessionAlreadyStarted => "session_already_started",
            Refusal::SessionAlreadyEnded => "session_already_ended",
            Refusal::SessionHasLaterEvent => "session_has_later_event",
            Refusal::SessionHasSameEventAtSameTime => "session_has_same_event_at_same_time",
            Refusal::ImpossibleEvent => "impossible_event",
            Refusal::ImpossibleEventData => "impossible_event_data",
            Refusal::ImpossibleJourneyTime => "impossible_journey_time",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Refusal::SessionNotFound => "there is no such session of yours; start one",
            Refusal::SessionNotStarted => "the session has not started; join first",
            Refusal::SessionAlreadyStarted => "the session has started; join only once",
            Refusal::SessionAlreadyEnded => "the session has ended; start another",
            Refusal::SessionHasLaterEvent => "the session has a later event; send events in order",
            Refusal::SessionHasSameEventAtSameTime => {
                "the session has the same event at that time; send each once"
            }
            Refusal::ImpossibleEvent => "this cannot happen on that journey now",
            Refusal::ImpossibleEventData => "that is no answer to what the journey asks",
            Refusal::ImpossibleJourneyTime => {
                "the journey has no such time; give seconds from 0 to its duration"
            }
        }
    }

    /// The rule that a script's word stands for.
    pub(crate) fn of(word: &str) -> Option<Refusal> {
        Refusal::ALL.into_iter().find(|refusal| refusal.word().eq_ignore_ascii_case(word))
    }
}

impl ServiceError for Error {
    fn info(&self) -> ErrorInfo {
        match self {
            Error::Part(_) => ErrorInfo::BAD_NAME,
            Error::Invalid { field, .. } => ErrorInfo::invalid(field),
            Error::NoSuchJourney { .. } => {
                ErrorInfo::new(Class::NotFound, "not_found", "there is no such journey")
            }
            Error::Refused(refusal) => {
                ErrorInfo::new(Class::Conflict, refusal.word(), "the event breaks a rule")
            }
            Error::TooManySessions { retry_after_s, .. } => {
                ErrorInfo::over_quota("too_many_sessions", *retry_after_s)
            }
            Error::BadTicket { .. } => {
                ErrorInfo::new(Class::Denied, "invalid", "the ticket is not valid")
            }
            Error::Store(error) => error.info(),
        }
    }

    fn detail(&self) -> String {
        match self {
            Error::BadTicket { .. } => "it has expired, or is not for this journey".into(),
            _ => self.to_string(),
        }
    }

    fn store_error(&self) -> Option<&keyrack_store::Error> {
        match self {
            Error::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<redis::RedisError> for Error {
    fn from(error: redis::RedisError) -> Error {
        Error::Store(error.into())
    }
}
