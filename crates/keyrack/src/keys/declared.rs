//! The declarations that a command works with: keyrack's own, or those of keys files.

use std::path::{Path, PathBuf};

use keyrack_keys::Family;
use keyrack_keys::file::{Document, FileError, Source, read};

use crate::{Exit, Failure, Globals, settings::KEYS};

/// What stands for keyrack's own declarations among files.
pub(super) const OWN: &str = "keyrack";

/// What was read.
pub(super) struct Declared {
    /// The files; none if keyrack's own declarations hold.
    pub(super) documents: Vec<Document>,
}

impl Declared {
    /// Where a family is declared.
    pub(super) fn place(&self, id: &str) -> Option<(&str, usize)> {
        let found = self.documents.iter().find(|document| document.lines.contains_key(id))?;
        Some((&found.source, found.lines[id]))
    }
}

/// Makes the declarations of these files, or of those that the settings name, the ones that hold.
pub(super) fn install(files: &[PathBuf], globals: &Globals) -> Result<Declared, Failure> {
    let named: Vec<PathBuf> = match files {
        [] => setting(globals),
        files => files.to_vec(),
    };
    if named.is_empty() {
        return Ok(Declared { documents: Vec::new() });
    }
    let (own, files): (Vec<PathBuf>, Vec<PathBuf>) =
        named.into_iter().partition(|file| file.as_os_str() == OWN);
    let documents = read_files(&files)?;
    let mut families: Vec<&[&'static Family]> =
        documents.iter().map(|document| document.families.as_slice()).collect();
    let ours = keyrack_contract::own();
    if !own.is_empty() {
        families.extend(ours);
    }
    keyrack_contract::declare(&families);
    Ok(Declared { documents })
}

/// The files that the settings name.
pub(super) fn setting(globals: &Globals) -> Vec<PathBuf> {
    let value = globals.settings.get(&KEYS).value.as_deref().unwrap_or_default();
    value.split(',').map(str::trim).filter(|file| !file.is_empty()).map(PathBuf::from).collect()
}

/// Reads keys files, which may refer to each other.
pub(super) fn read_files(files: &[impl AsRef<Path>]) -> Result<Vec<Document>, Failure> {
    let mut texts = Vec::new();
    for file in files {
        texts.push((file.as_ref().display().to_string(), read_text(file.as_ref())?));
    }
    let sources: Vec<Source<'_>> = texts.iter().map(|(name, text)| Source { name, text }).collect();
    read(&sources).map_err(|errors| wrong(&errors))
}

pub(super) fn read_text(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| {
        let message = format!("could not read \"{}\": {error}", file.display());
        let exit = match error.kind() {
            std::io::ErrorKind::NotFound => Exit::NotFound,
            _ => Exit::Usage,
        };
        Failure::new(exit, message)
    })
}

/// Everything that is wrong with files, a line for each.
pub(super) fn wrong(errors: &[FileError]) -> Failure {
    let mut lines = errors.iter().map(ToString::to_string);
    let failure = Failure::new(Exit::Usage, lines.next().unwrap_or_default()).more(lines.collect());
    failure.hint("\"keyrack keys schema\" prints what a keys file may hold")
}
