//! The cursor file: how far a copy has come, so that one that was stopped goes on.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Exit, Failure};

/// What the file holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Position {
    /// Both URLs, without passwords.
    pub(super) from: String,
    pub(super) to: String,
    /// Whether the second store was empty at first, so that everything in it was copied.
    pub(super) mirrors: bool,
    /// Passes that went to the end.
    pub(super) passes: u64,
    /// Where the pass is that was stopped.
    pub(super) at: Option<Place>,
}

/// A place in the walk over the first store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Place {
    /// The parts of the store that are done.
    pub(super) done: Vec<String>,
    /// The part that is being walked.
    pub(super) keyspace: String,
    /// Which run of which server; a cursor is of no use to another one.
    pub(super) run_id: String,
    pub(super) cursor: u64,
}

/// The file, and what it holds.
pub(super) struct PositionFile {
    path: PathBuf,
    pub(super) position: Position,
}

impl PositionFile {
    /// What an earlier copy between these stores has left in the file, if there was one.
    ///
    /// # Errors
    /// When it holds something else, or tells of other stores.
    pub(super) fn read(path: &Path, from: &str, to: &str) -> Result<Option<Position>, Failure> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refused(path, &error)),
        };
        let hint = "name another file by --cursor, or remove this one";
        let position: Position = serde_json::from_str(&text).map_err(|error| {
            let message = format!("\"{}\" is no cursor file: {error}", path.display());
            Failure::new(Exit::Usage, message).hint(hint)
        })?;
        if (position.from.as_str(), position.to.as_str()) != (from, to) {
            let Position { from, to, .. } = &position;
            let message = format!("\"{}\" belongs to the copy from {from} to {to}", path.display());
            return Err(Failure::new(Exit::Conflict, message).hint(hint));
        }
        Ok(Some(position))
    }

    pub(super) fn new(path: PathBuf, position: Position) -> PositionFile {
        PositionFile { path, position }
    }

    /// Notes a place, as a whole or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn save(&self) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(&self.position).unwrap_or_default();
        let beside = self.path.with_extension("new");
        std::fs::write(&beside, text + "\n")
            .and_then(|()| std::fs::rename(&beside, &self.path))
            .map_err(|error| refused(&self.path, &error))
    }
}

fn refused(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cursor file \"{}\": {error}", path.display());
    Failure::new(Exit::Failed, message).hint("name another file by --cursor")
}
