//! What can go wrong with a data folder, in the words its operator needs.

use std::{io, path::PathBuf};

/// Why a data folder cannot be opened, written or repaired.
///
/// Each message names the file and what to do next. An input/output failure keeps the reason the
/// system gave as its source.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process has the folder open.
    #[error(
        "data folder \"{}\" is in use by another process{}; stop it first or use another folder",
        .dir.display(),
        .pid.as_ref().map(|pid| format!(" (pid {pid})")).unwrap_or_default()
    )]
    InUse {
        /// The data folder.
        dir: PathBuf,
        /// The process that holds it, if it left its number.
        pid: Option<String>,
    },

    /// The system refused a file operation.
    #[error("could not {action} \"{}\"", .path.display())]
    Io {
        /// What was attempted, as a verb.
        action: &'static str,
        /// The file or folder it was attempted on.
        path: PathBuf,
        /// The reason the system gave.
        source: io::Error,
    },

    /// The bytes of a file are not what was written.
    #[error(
        "\"{}\" is damaged at byte {offset}: {reason}; restore it from a backup, or run \
         \"keyrack store repair\" to keep everything before the damage",
        .path.display()
    )]
    Damaged {
        /// The damaged file.
        path: PathBuf,
        /// Where the first damaged batch, command or line begins.
        offset: u64,
        /// What is wrong there.
        reason: String,
    },

    /// A file that belongs to the folder is not there.
    #[error(
        "\"{}\" is missing: {reason}; restore it from a backup, or run \"keyrack store repair\"",
        .path.display()
    )]
    Missing {
        /// The file that should exist.
        path: PathBuf,
        /// How we know that it should.
        reason: &'static str,
    },

    /// The base file is an RDB snapshot, which only Redis can read.
    #[error(
        "\"{}\" is an RDB snapshot, which only redis-server reads; start redis-server on this \
         folder, run \"CONFIG SET aof-use-rdb-preamble no\" and \"BGREWRITEAOF\", wait until it \
         is done, stop it, then try again",
        .path.display()
    )]
    RdbBase {
        /// The snapshot.
        path: PathBuf,
    },

    /// The log is sound, but the engine cannot carry out a command in it.
    #[error("could not replay the command at byte {offset} of \"{}\": {reason}", .path.display())]
    Rejected {
        /// The file that holds the command.
        path: PathBuf,
        /// Where the command, or its transaction, begins.
        offset: u64,
        /// The engine's answer to it.
        reason: String,
    },

    /// The folder lost too much for an automatic repair to be right.
    #[error("cannot repair \"{}\": {reason}; restore it from a backup", .dir.display())]
    Unrepairable {
        /// The folder with the log files.
        dir: PathBuf,
        /// What is missing or ambiguous.
        reason: String,
    },

    /// A second rewrite was asked for while one is under way.
    #[error("a rewrite of the log is already in progress")]
    RewriteInProgress,

    /// A step of a rewrite failed; the log itself is as it was.
    #[error("the rewrite of the log failed in an earlier step; begin another one")]
    RewriteFailed,

    /// A write is not known to be on disk.
    ///
    /// Its outcome is open: the bytes are kept and tried again, so the write may still become
    /// durable, unless the process ends first.
    #[error("the write is not saved yet and its outcome is unknown: {reason}")]
    Unsaved {
        /// What the disk said.
        reason: String,
    },

    /// The log was closed.
    #[error("the log is closed")]
    Closed,
}

impl Error {
    /// Wraps the system's refusal of `action` on `path`; made for `map_err`.
    pub(super) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { action, path, source }
    }
}
