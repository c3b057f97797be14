//! A rewrite: the keyspace as it was at one moment replaces everything that led there.
//!
//! The moment is when the rewrite begins: from there on changes go to a new incr file. The engine
//! then hands over the keyspace of that moment in its own time, and only when all of it is on disk
//! does the manifest forget the old files. A rewrite that is dropped, fails or dies with the process
//! leaves a valid log with one more incr file.

use std::{
    fs::{self, File},
    io::Write,
    path::PathBuf,
    sync::{
        Arc,
        atomic::Ordering::{AcqRel, Release},
    },
};

use parking_lot::{Condvar, Mutex};

use super::{
    Error,
    folder::ManifestError,
    frame::{self, HEADER_LEN},
    log::{Files, Shared},
    manifest::{Entry, Kind, Manifest},
};

/// How large a batch of the base file gets before it is written.
const BATCH_LEN: usize = 256 * 1024;

/// How much of the base file may wait for a sync.
///
/// Syncing it all at the end would hold up the log's own syncs for as long as that takes.
const UNSYNCED_LEN_MAX: u64 = 16 * 1024 * 1024;

/// The writer's answer: the number of the first file behind the rewrite's moment.
#[derive(Default)]
pub(super) struct Switch {
    answer: Mutex<Option<Result<u64, Error>>>,
    answered: Condvar,
}

impl Switch {
    pub(super) fn settle(&self, answer: Result<u64, Error>) {
        *self.answer.lock() = Some(answer);
        self.answered.notify_all();
    }

    fn wait(&self) -> Result<u64, Error> {
        let mut answer = self.answer.lock();
        loop {
            match answer.take() {
                Some(answer) => return answer,
                None => self.answered.wait(&mut answer),
            }
        }
    }
}

/// A rewrite under way; dropping it gives it up.
pub(crate) struct Rewrite {
    shared: Arc<Shared>,
    switch: Arc<Switch>,
    /// Room for a batch header, then units.
    batch: Vec<u8>,
    temp: Option<Temp>,
    /// Set while a step is under way, and left set by one that failed: part of the base file may
    /// be lost, and trying again would hide it.
    spoiled: bool,
}

/// The new base file before it has its name; deleted unless it gets one.
struct Temp {
    path: PathBuf,
    file: File,
    len: u64,
    unsynced: u64,
}

impl Rewrite {
    pub(super) fn new(shared: Arc<Shared>, switch: Arc<Switch>) -> Rewrite {
        Rewrite { shared, switch, batch: vec![0; HEADER_LEN], temp: None, spoiled: false }
    }

    /// Adds whole commands to the base file.
    ///
    /// Writes to disk now and then, so it is not for threads that must not block.
    pub(crate) fn write(&mut self, commands: &[u8]) -> Result<(), Error> {
        self.batch.extend_from_slice(commands);
        if self.batch.len() >= BATCH_LEN { self.flush() } else { Ok(()) }
    }

    /// Puts the base file in force and deletes what it replaces.
    ///
    /// Blocks until everything is on disk.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let first_seq = self.switch.wait()?;
        self.flush()?;
        let shared = Arc::clone(&self.shared);
        let temp = self.open_temp()?;
        temp.file.sync_all().map_err(Error::io("sync", &temp.path))?;
        let len = temp.len;
        let mut files = shared.files.lock();
        if files.closed {
            return Err(Error::Closed);
        }
        let base = Entry::base(files.manifest.next_base_seq(), len);
        let path = files.folder.path(&base.name);
        fs::rename(&temp.path, &path).map_err(Error::io("create", path))?;
        self.temp = None;
        self.replace(&mut files, base, first_seq)
    }

    /// Makes `base` the base file; files before the incr file `first_seq` become history and go.
    fn replace(&self, files: &mut Files, base: Entry, first_seq: u64) -> Result<(), Error> {
        let size = base.size.unwrap_or(0);
        let (old, incrs): (Vec<_>, Vec<_>) =
            files.manifest.incrs.iter().cloned().partition(|incr| incr.seq < first_seq);
        let replaced = files.manifest.base.iter().cloned().chain(old);
        let history: Vec<_> =
            replaced.map(|entry| Entry { kind: Kind::History, ..entry }).collect();
        let with_history = Manifest { base: Some(base.clone()), incrs, history: history.clone() };
        if let Err(error) = files.folder.write_manifest(&with_history) {
            match &error {
                ManifestError::Kept(_) => files.folder.remove(&[base]),
                ManifestError::Unsynced(error) => {
                    self.shared.fatal(&format!("could not sync the log: {error}"));
                }
            }
            return Err(error.into());
        }
        let n_replaced: u64 = history.iter().map(|entry| files.len_of(entry)).sum();
        files.manifest = with_history;
        self.shared.base_size.store(size, Release);
        self.shared.size.fetch_add(size, AcqRel);
        self.shared.size.fetch_sub(n_replaced, AcqRel);
        files.folder.remove(&history);
        let done = Manifest { history: Vec::new(), ..files.manifest.clone() };
        // The old files are gone or will be deleted at the next start; either way the rewrite holds.
        if files.folder.write_manifest(&done).is_ok() {
            files.manifest = done;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.spoiled, true) {
            return Err(Error::RewriteFailed);
        }
        let mut batch = std::mem::take(&mut self.batch);
        let temp = self.open_temp()?;
        if batch.len() > HEADER_LEN {
            temp.write(&mut batch)?;
        }
        batch.truncate(HEADER_LEN);
        self.batch = batch;
        self.spoiled = false;
        Ok(())
    }

    fn open_temp(&mut self) -> Result<&mut Temp, Error> {
        if self.temp.is_none() {
            let files = self.shared.files.lock();
            if files.closed {
                return Err(Error::Closed);
            }
            let name = Entry::base(files.manifest.next_base_seq(), 0).name;
            let path = files.folder.path(&format!("temp-{name}"));
            let file = File::create(&path).map_err(Error::io("create", &path))?;
            self.temp = Some(Temp { path, file, len: 0, unsynced: 0 });
        }
        Ok(self.temp.as_mut().expect("it was made above"))
    }
}

impl Temp {
    fn write(&mut self, batch: &mut [u8]) -> Result<(), Error> {
        frame::seal(batch, self.len);
        self.file.write_all(batch).map_err(Error::io("write", &self.path))?;
        self.len += batch.len() as u64;
        self.unsynced += batch.len() as u64;
        if self.unsynced >= UNSYNCED_LEN_MAX {
            self.file.sync_data().map_err(Error::io("sync", &self.path))?;
            self.unsynced = 0;
        }
        Ok(())
    }
}

impl Files {
    /// Adds a new incr file behind the current one, which is complete with `closed_len` bytes.
    pub(super) fn begin_incr(&mut self, closed_len: u64) -> Result<(u64, File), ManifestError> {
        let (entry, file) = self.folder.create_incr(&self.manifest).map_err(ManifestError::Kept)?;
        let mut manifest = self.manifest.clone();
        if let Some(last) = manifest.incrs.last_mut() {
            last.size = Some(closed_len);
        }
        manifest.incrs.push(entry.clone());
        self.folder.write_manifest(&manifest).inspect_err(|error| {
            if let ManifestError::Kept(_) = error {
                self.folder.remove(std::slice::from_ref(&entry));
            }
        })?;
        self.manifest = manifest;
        Ok((entry.seq, file))
    }

    fn len_of(&self, entry: &Entry) -> u64 {
        fs::metadata(self.folder.path(&entry.name)).map_or(0, |found| found.len())
    }
}

impl Drop for Rewrite {
    fn drop(&mut self) {
        if let Some(temp) = &self.temp {
            let _ = fs::remove_file(&temp.path);
        }
        self.shared.rewriting.store(false, Release);
    }
}
