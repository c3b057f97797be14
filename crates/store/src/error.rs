//! What can go wrong between a program and its data, by what the program can do about it.

#![allow(missing_docs, reason = "the message of each variant describes it and its fields")]

use redis::{ErrorKind, RedisError};

use crate::{
    reply::{self, ErrorMeaning},
    url::UrlError,
};

/// Why the store could not do something.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the store URL is not valid")]
    Url(#[from] UrlError),

    #[error("could not open the data folder \"{dir}\": {reason}")]
    Folder { dir: String, reason: String, in_use: bool },

    #[error("cannot reach {target}: {reason}")]
    Unreachable { target: String, reason: String },

    #[error("{target} refused the user or the password: {reason}")]
    Auth { target: String, reason: String },

    #[error("{target} has no database {db}: {reason}")]
    NoSuchDatabase { target: String, db: i64, reason: String },

    #[error(
        "{target} runs version {version}, but keyrack needs Redis {} or later, or any Valkey",
        Error::VERSION_MIN
    )]
    TooOld { target: String, version: String },

    #[error("{target} is a node of a cluster; write redis+cluster:// in place of its scheme")]
    IsCluster { target: String },

    #[error("{target} is read-only: {reason}")]
    ReadOnly { target: String, reason: String },

    #[error(
        "the connection was lost while a command was under way; whether it was carried out is not known"
    )]
    Lost(#[source] RedisError),

    /// The server cannot do this now and has changed nothing: it loads, is full, fails over. Later it may.
    #[error("the store cannot do this now: {why}")]
    Unavailable {
        why: &'static str,
        #[source]
        source: RedisError,
    },

    #[error(
        "saved on the primary only: {acknowledged} of {wanted} replicas have it; repeat it with the same id"
    )]
    NotReplicated { acknowledged: u32, wanted: u32 },

    #[error("{target} cannot wait for replicas: {reason}")]
    NoReplicas { target: String, reason: &'static str },

    #[error(
        "the store's user may not do this; \"keyrack keys acl\" prints the rights that it needs"
    )]
    Denied(#[source] RedisError),

    #[error("{}{}", .word, .detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default())]
    Refused { word: String, detail: Option<String> },

    #[error("{0}")]
    Server(RedisError),
}

impl Error {
    /// The oldest Redis that has every command keyrack uses.
    pub const VERSION_MIN: &'static str = "6.2";

    /// The error as it comes from opening `target`.
    pub(crate) fn opening(target: &str, error: &RedisError) -> Error {
        let (target, reason) = (target.to_owned(), text(error));
        match reply::meaning(error) {
            Some(ErrorMeaning::Login | ErrorMeaning::Denied) => Error::Auth { target, reason },
            _ => Error::Unreachable { target, reason },
        }
    }

    /// Whether the same call may well succeed a little later.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Error::Unreachable { .. }
                | Error::Lost(_)
                | Error::Unavailable { .. }
                | Error::NotReplicated { .. }
                // A user can be let in again, and a password file can be changed.
                | Error::Auth { .. }
        )
    }
}

impl From<RedisError> for Error {
    fn from(error: RedisError) -> Error {
        if error.is_connection_dropped() || error.is_timeout() || error.is_io_error() {
            return Error::Lost(error);
        }
        match reply::meaning(&error) {
            Some(ErrorMeaning::Transient(why)) => return Error::Unavailable { why, source: error },
            Some(ErrorMeaning::Login) => {
                return Error::Auth { target: "the store".into(), reason: text(&error) };
            }
            Some(ErrorMeaning::Denied) => return Error::Denied(error),
            None => {}
        }
        match error.kind() {
            ErrorKind::ClusterConnectionNotFound => {
                Error::Unavailable { why: "no node of the cluster can be reached", source: error }
            }
            // A code that Redis does not have is a word of one of our scripts.
            ErrorKind::Extension => Error::Refused {
                word: error.code().unwrap_or_default().to_owned(),
                detail: error.detail().map(str::to_owned),
            },
            _ => Error::Server(error),
        }
    }
}

/// What an error says, with its causes.
pub(crate) fn text(error: &RedisError) -> String {
    let detail = error.detail().map(str::to_owned);
    detail.filter(|detail| !detail.is_empty()).unwrap_or_else(|| error.to_string())
}
