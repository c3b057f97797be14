//! What can go wrong between a program and its data, by what the program can do about it.

use redis::{ErrorKind, RedisError};

use crate::{
    reply::{self, ErrorMeaning},
    url::UrlError,
};

/// Why the store could not do something.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store's URL cannot be understood.
    #[error("the store URL is not valid: {0}")]
    Url(#[from] UrlError),

    /// The embedded engine's data folder could not be opened.
    #[error("could not open the data folder \"{dir}\": {reason}")]
    Folder {
        /// The folder.
        dir: String,
        /// What is wrong with it, and what to do.
        reason: String,
        /// Whether another process has it open.
        in_use: bool,
    },

    /// Nothing answers at the store's address.
    #[error("cannot reach {target}: {reason}")]
    Unreachable {
        /// The store, without secrets.
        target: String,
        /// What the system said.
        reason: String,
    },

    /// The server did not accept the user or the password.
    #[error("{target} refused the user or the password: {reason}")]
    Auth {
        /// The store, without secrets.
        target: String,
        /// What the server said.
        reason: String,
    },

    /// The server has no database of this number.
    #[error("{target} has no database {db}: {reason}")]
    NoSuchDatabase {
        /// The store, without secrets.
        target: String,
        /// The number asked for.
        db: i64,
        /// What the server said, or what to do.
        reason: String,
    },

    /// The server is older than what keyrack's commands need.
    #[error(
        "{target} runs version {version}, but keyrack needs Redis {} or later, or any Valkey",
        Error::VERSION_MIN
    )]
    TooOld {
        /// The store, without secrets.
        target: String,
        /// What it runs.
        version: String,
    },

    /// The URL names a node of a cluster as if it stood alone.
    #[error("{target} is a node of a cluster; write redis+cluster:// in place of its scheme")]
    IsCluster {
        /// The store, without secrets.
        target: String,
    },

    /// The URL names a server that is a replica, which refuses writes.
    #[error("{target} is read-only: {reason}")]
    ReadOnly {
        /// The store, without secrets.
        target: String,
        /// Why, and what to do.
        reason: String,
    },

    /// The connection went away while a command was under way; whether it was carried out is not known.
    #[error(
        "the connection was lost while a command was under way; whether it was carried out is not known"
    )]
    Lost(#[source] RedisError),

    /// The server cannot do this now and has changed nothing: it loads, is full, fails over. Later it may.
    #[error("the store cannot do this now: {why}")]
    Unavailable {
        /// What keeps it from doing so.
        why: &'static str,
        /// What it said.
        #[source]
        source: RedisError,
    },

    /// The write is saved on the primary, and too few replicas have it: a failover may lose it.
    #[error(
        "saved on the primary only: {acknowledged} of {wanted} replicas have it; repeat it with the same id"
    )]
    NotReplicated {
        /// Replicas that have it for certain.
        acknowledged: u32,
        /// Replicas that should.
        wanted: u32,
    },

    /// `replicas-acknowledge` is set for a store that has no replicas to wait for.
    #[error("{target} cannot wait for replicas: {reason}")]
    NoReplicas {
        /// The store, without secrets.
        target: String,
        /// Why, and what to do.
        reason: &'static str,
    },

    /// The user has no right to this command or key.
    #[error(
        "the store's user may not do this; \"keyrack keys acl\" prints the rights that it needs"
    )]
    Denied(#[source] RedisError),

    /// A script refused, with one of the words that its header lists.
    #[error("{}{}", .word, .detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default())]
    Refused {
        /// The word, such as `QUEUE_PAUSED`.
        word: String,
        /// More about it.
        detail: Option<String>,
    },

    /// The server answered with an error.
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
