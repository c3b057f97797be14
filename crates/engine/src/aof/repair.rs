//! Bringing a damaged folder back to the last state that is certainly right.
//!
//! A log is a story: what comes after a hole may depend on what was in it. So everything before the
//! first damage is kept, everything after it is set aside, and nothing is thrown away.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use super::{
    Error,
    check::{Damage, Report, check_files},
    folder::Folder,
    manifest::{Entry, Kind, Manifest},
};

/// What [`repair`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repair {
    /// What was found before the repair.
    pub found: Report,
    /// What was set aside; empty if there was nothing to do.
    pub saved: Vec<RemovedBytes>,
}

/// Bytes that are no longer part of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedBytes {
    /// The file they come from.
    pub file: String,
    /// Where in that file they began.
    pub offset: u64,
    /// How many there are.
    pub bytes: u64,
    /// The file beside it that holds them now.
    pub saved_as: String,
}

/// Cuts the log of the data folder `dir` at its first damage and keeps what is cut in files beside
/// it.
///
/// A crash in the middle is harmless: run it again. A lost manifest is made anew if the files leave
/// no doubt about it.
pub fn repair(dir: &Path) -> Result<Repair, Error> {
    let folder = Folder::create_locked(dir)?;
    let mut repair = Repair::default();
    let (mut manifest, rebuilt) = match folder.read_manifest() {
        Ok(manifest) => (manifest.unwrap_or_default(), false),
        Err(error) => {
            repair.found.damage.push(Damage::from_error(error)?);
            (rebuild(&folder)?, true)
        }
    };
    check_files(&folder, &manifest, &mut repair.found)?;
    if rebuilt && folder.manifest_path().exists() {
        repair.saved.push(set_aside(&folder, &manifest_name(&folder))?);
    }
    let first = manifest
        .live()
        .position(|entry| repair.found.damage.iter().any(|damage| damage.file == entry.name));
    match first {
        Some(first) => cut(&folder, manifest, first, &mut repair)?,
        None if rebuilt => {
            close_all_but_last(&folder, &mut manifest)?;
            folder.write_manifest(&manifest)?;
        }
        None => {}
    }
    Ok(repair)
}

/// Cuts the live file number `first` where it is damaged and sets those after it aside.
fn cut(
    folder: &Folder,
    mut manifest: Manifest,
    first: usize,
    repair: &mut Repair,
) -> Result<(), Error> {
    let live: Vec<Entry> = manifest.live().cloned().collect();
    let entry = &live[first];
    let missing = !folder.path(&entry.name).exists();
    if missing && first == 0 {
        let reason = format!("\"{}\", which everything else builds on, is missing", entry.name);
        return Err(Error::Unrepairable { dir: folder.log_dir().to_owned(), reason });
    }
    let offset = repair.found.damage.iter().find(|damage| damage.file == entry.name);
    let offset = offset.map_or(0, |damage| damage.offset);
    if !missing {
        repair.saved.extend(cut_file(folder, &entry.name, offset)?);
    }
    let n_kept = if missing { first } else { first + 1 };
    let dropped: Vec<_> = live[n_kept..].iter().map(|entry| entry.name.clone()).collect();
    manifest.incrs.retain(|incr| !dropped.contains(&incr.name));
    close_all_but_last(folder, &mut manifest)?;
    folder.write_manifest(&manifest)?;
    for name in dropped {
        if folder.path(&name).exists() {
            repair.saved.push(set_aside(folder, &name)?);
        }
    }
    folder.sync()
}

/// Notes the lengths of all files that will not be written to any more.
fn close_all_but_last(folder: &Folder, manifest: &mut Manifest) -> Result<(), Error> {
    let len_of = |entry: &Entry| -> Result<Option<u64>, Error> {
        Ok(folder.open_for_read(&entry.name)?.map(|(_, len)| len))
    };
    if let Some(base) = &mut manifest.base {
        base.size = len_of(base)?;
    }
    if let Some((last, closed)) = manifest.incrs.split_last_mut() {
        last.size = None;
        for entry in closed {
            entry.size = len_of(entry)?;
        }
    }
    Ok(())
}

/// Copies what stands from `offset` on to a file beside it, then cuts it off.
fn cut_file(folder: &Folder, name: &str, offset: u64) -> Result<Option<RemovedBytes>, Error> {
    let Some((mut file, len)) = folder.open_for_read(name)? else { return Ok(None) };
    if offset >= len {
        return Ok(None);
    }
    let saved_as = free_name(folder, name, offset);
    let path = folder.path(&saved_as);
    let mut copy = || -> io::Result<()> {
        let mut side = File::create_new(&path)?;
        file.seek(SeekFrom::Start(offset))?;
        io::copy(&mut file.by_ref().take(len - offset), &mut side)?;
        side.sync_all()
    };
    copy().map_err(Error::io("write", &path))?;
    folder.sync()?;
    let cut = |file: File| file.set_len(offset).and_then(|()| file.sync_all());
    cut(folder.open_for_write(name)?).map_err(Error::io("cut", folder.path(name)))?;
    Ok(Some(RemovedBytes { file: name.to_owned(), offset, bytes: len - offset, saved_as }))
}

/// Renames a whole file out of the way.
fn set_aside(folder: &Folder, name: &str) -> Result<RemovedBytes, Error> {
    let path = folder.path(name);
    let bytes = fs::metadata(&path).map_err(Error::io("read", &path))?.len();
    let saved_as = free_name(folder, name, 0);
    fs::rename(&path, folder.path(&saved_as)).map_err(Error::io("rename", path))?;
    Ok(RemovedBytes { file: name.to_owned(), offset: 0, bytes, saved_as })
}

/// A name for what is cut off `name` at `offset` that no file has yet.
fn free_name(folder: &Folder, name: &str, offset: u64) -> String {
    let first = format!("{name}.cut-{offset}");
    let others = (2..).map(|n| format!("{name}.cut-{offset}-{n}"));
    let mut names = std::iter::once(first.clone()).chain(others);
    names.find(|name| !folder.path(name).exists()).unwrap_or(first)
}

fn manifest_name(folder: &Folder) -> String {
    let path = folder.manifest_path();
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Makes a manifest from the files that are there.
///
/// With one base file all incr files follow it, because a rewrite deletes the old ones before it
/// deletes the old base. With two, nobody can tell which incr files the newer one contains.
fn rebuild(folder: &Folder) -> Result<Manifest, Error> {
    let unrepairable = |reason: &str| {
        let reason = format!("the manifest is lost and {reason}");
        Error::Unrepairable { dir: folder.log_dir().to_owned(), reason }
    };
    let files = folder.find_log_files()?.into_iter().map(|(entry, _)| entry);
    let (mut bases, incrs): (Vec<_>, Vec<_>) = files.partition(|entry| entry.kind == Kind::Base);
    if bases.is_empty() && incrs.is_empty() {
        return Err(unrepairable("so are all log files"));
    }
    if bases.len() > 1 {
        return Err(unrepairable("there are several base files"));
    }
    if incrs.windows(2).any(|pair| pair[0].seq + 1 != pair[1].seq) {
        return Err(unrepairable("there are incr files missing"));
    }
    let base = bases.pop();
    if base.is_none() && incrs.first().is_some_and(|first| first.seq > 1) {
        return Err(unrepairable("there is no base file"));
    }
    Ok(Manifest { base, incrs, history: Vec::new() })
}
