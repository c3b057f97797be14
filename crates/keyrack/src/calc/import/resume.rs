//! Where an import of a file has got to, in a small file beside it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

/// How far an import has got.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// Bytes of the file that are done with.
    pub(super) bytes: u64,
    /// The last line that is done with.
    pub(super) line: u64,
    pub(super) stored: u64,
    pub(super) refused: u64,
    /// How many bytes the file had, to notice when it is another.
    file_bytes: u64,
}

/// The place, and where it is noted.
#[derive(Debug)]
pub(super) struct Resume {
    pub(super) place: Place,
    /// None for what cannot be read again.
    note: Option<PathBuf>,
}

impl Resume {
    /// Where an interrupted import of the file was; at its start if there was none.
    pub(super) fn load(file: &Path, bytes: Option<u64>, restart: bool) -> anyhow::Result<Resume> {
        let Some(file_bytes) = bytes else {
            return Ok(Resume { place: Place::default(), note: None });
        };
        let mut note = file.as_os_str().to_owned();
        note.push(".import");
        let note = PathBuf::from(note);
        let fresh = Place { file_bytes, ..Place::default() };
        let place = match fs::read(&note) {
            Ok(_) if restart => fresh,
            // A file that has grown is the same with more lines; one that has shrunk is another.
            Ok(text) => serde_json::from_slice::<Place>(&text)
                .ok()
                .filter(|place| place.file_bytes <= file_bytes && place.bytes <= file_bytes)
                .unwrap_or(fresh),
            Err(error) if error.kind() == io::ErrorKind::NotFound => fresh,
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("could not read \"{}\"", note.display()));
            }
        };
        Ok(Resume { place: Place { file_bytes, ..place }, note: Some(note) })
    }

    /// Notes the place.
    pub(super) fn save(&self) -> anyhow::Result<()> {
        let Some(note) = &self.note else { return Ok(()) };
        let text = serde_json::to_vec(&self.place)?;
        fs::write(note, text).with_context(|| format!("could not write \"{}\"", note.display()))
    }

    /// Forgets it: the import has come to its end.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        let Some(note) = &self.note else { return Ok(()) };
        match fs::remove_file(note) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("could not remove \"{}\"", note.display()))
            }
            _ => Ok(()),
        }
    }
}
