//! Looking at a data folder without changing it.

use std::path::Path;

use super::{
    Error,
    folder::Folder,
    load::{Loading, scan_entry},
    manifest::{Entry, Kind, Manifest},
    scan::{End, Scan, ScanCounts, scan},
};

/// What [`check`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Whether another process has the folder open; if so, the last write may look torn.
    pub in_use: bool,
    /// The files of the log, in the order they are replayed.
    pub files: Vec<FileReport>,
    /// What is not as it was written, at most one place per file.
    pub damage: Vec<Damage>,
}

impl Report {
    /// Whether the engine will open the folder; a torn end of the log does not stop it.
    pub fn is_sound(&self) -> bool {
        self.damage.iter().all(|damage| damage.torn)
    }
}

/// What one file holds, up to the first damage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileReport {
    /// The file's name in the log folder.
    pub name: String,
    /// Whether this is the base file.
    pub base: bool,
    /// Its length.
    pub bytes: u64,
    /// How much of it no checksum covers, because Redis wrote it.
    pub bytes_unchecked: u64,
    /// Batches with their checksums.
    pub batches: u64,
    /// Commands, without MULTI and EXEC.
    pub commands: u64,
}

impl FileReport {
    fn new(entry: &Entry, bytes: u64, tally: ScanCounts) -> FileReport {
        FileReport {
            name: entry.name.clone(),
            base: entry.kind == Kind::Base,
            bytes,
            bytes_unchecked: tally.loose_bytes,
            batches: tally.batches,
            commands: tally.commands,
        }
    }
}

/// A place from which a file is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file's name in the log folder.
    pub file: String,
    /// Where the first damaged batch, command or line begins.
    pub offset: u64,
    /// How many bytes there are from `offset` to the end of the file.
    pub bytes: u64,
    /// What is wrong.
    pub reason: String,
    /// Whether this is the torn end of the last file, which the next start cuts by itself.
    pub torn: bool,
}

/// Verifies the log of the data folder `dir`, every file of it, and changes nothing.
pub fn check(dir: &Path) -> Result<Report, Error> {
    let folder = Folder::at(dir);
    let mut report = Report { in_use: folder.is_in_use(), ..Report::default() };
    match folder.read_manifest() {
        Ok(manifest) => check_files(&folder, &manifest.unwrap_or_default(), &mut report)?,
        Err(error) => report.damage.push(Damage::from_error(error)?),
    }
    Ok(report)
}

/// Verifies the bytes of one log file, as if it were the last one.
pub fn check_bytes(bytes: &[u8]) -> (FileReport, Option<Damage>) {
    match scan(bytes, bytes.len() as u64, &mut |_| Ok(())) {
        Ok(found) => {
            let entry = Entry::incr(1);
            (FileReport::new(&entry, found.len, found.tally), Damage::from_scan(&entry, &found))
        }
        Err(error) => unreachable!("reading memory failed: {error}"),
    }
}

pub(super) fn check_files(
    folder: &Folder,
    manifest: &Manifest,
    report: &mut Report,
) -> Result<(), Error> {
    for entry in manifest.live() {
        let is_last = manifest.incrs.last() == Some(entry);
        match scan_entry(folder, entry, is_last, &Loading::default(), &mut |_| Ok(())) {
            Ok(found) => {
                report.files.push(FileReport::new(entry, found.len, found.tally));
                report.damage.extend(Damage::from_scan(entry, &found));
            }
            Err(error) => report.damage.push(Damage::from_error(error)?),
        }
    }
    Ok(())
}

impl Damage {
    fn from_scan(entry: &Entry, found: &Scan) -> Option<Damage> {
        let (reason, torn) = match &found.end {
            End::Whole => return None,
            End::Torn(reason) => (*reason, true),
            End::Damaged(reason) => (*reason, false),
            End::Rejected { reason, .. } => (reason.as_str(), false),
        };
        let (file, reason) = (entry.name.clone(), reason.to_owned());
        let bytes = found.len.saturating_sub(found.valid);
        Some(Damage { file, offset: found.valid, bytes, reason, torn })
    }

    /// Damage that was met as an error; other errors are none.
    pub(super) fn from_error(error: Error) -> Result<Damage, Error> {
        let (path, offset, reason) = match &error {
            Error::Damaged { path, offset, reason } => (path, *offset, reason.clone()),
            Error::Missing { path, reason } => (path, 0, format!("the file is missing: {reason}")),
            _ => return Err(error),
        };
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = path.metadata().map_or(0, |found| found.len().saturating_sub(offset));
        Ok(Damage { file, offset, bytes, reason, torn: false })
    }
}
