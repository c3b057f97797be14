//! The data folder on disk: its lock, its manifest, and the files that come and go.
//!
//! Every change of the manifest is a new file renamed over the old one, with the folder synced
//! before and after, so that a crash leaves either the old list or the new one, and every file the
//! list names is there.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::{
    Error,
    manifest::{Entry, Kind, Manifest, STEM},
};

/// The folder Redis keeps its log in, below the data folder.
const LOG_DIR: &str = "appendonlydir";

/// Locked while a process uses the data folder; holds that process' number.
const LOCK_NAME: &str = "keyrack.lock";

/// How long a lock has to be held by others before the folder counts as in use.
///
/// A lock outlives its holder for a moment while a child process, just forked, has not yet become
/// another program, and whoever looks whether a folder is in use locks it too.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Files that a crash left half made start with one of these: ours, and Redis' new manifest.
const TEMP_PREFIXES: [&str; 2] = ["temp-appendonly.aof.", "temp_appendonly.aof."];

/// A manifest is a handful of lines; whatever is longer is not one.
const MANIFEST_LEN_MAX: u64 = 1024 * 1024;

/// A data folder.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
    log_dir: PathBuf,
    /// Kept for its lock, which ends with it.
    lock: Option<File>,
}

impl Folder {
    /// Names the folder without touching it.
    pub(super) fn at(root: &Path) -> Folder {
        Folder { root: root.to_owned(), log_dir: root.join(LOG_DIR), lock: None }
    }

    /// Creates what is missing of the folder and makes it ours alone.
    pub(super) fn create_locked(root: &Path) -> Result<Folder, Error> {
        let mut folder = Folder::at(root);
        let is_new = !root.exists();
        fs::create_dir_all(&folder.log_dir).map_err(Error::io("create", &folder.log_dir))?;
        folder.take_lock()?;
        folder.sync_dir(root)?;
        if is_new
            && let Some(parent) = fs::canonicalize(root).ok().as_deref().and_then(Path::parent)
        {
            // A parent that we may not read has to make its own names durable.
            let _ = folder.sync_dir(parent);
        }
        Ok(folder)
    }

    fn take_lock(&mut self) -> Result<(), Error> {
        let path = self.root.join(LOCK_NAME);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(Error::io("open", &path))?;
        match lock_until_deadline(|| file.try_lock()) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(self.in_use()),
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", path)(source)),
        }
        // The number only makes a message better; a full disk must not keep us from starting.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        self.lock = Some(file);
        Ok(())
    }

    /// Lets the next process in.
    pub(super) fn unlock(&mut self) {
        self.lock = None;
    }

    /// Whether another process has the folder open right now.
    pub(super) fn is_in_use(&self) -> bool {
        let is_held = |file: File| {
            let locked = lock_until_deadline(|| file.try_lock_shared());
            matches!(locked, Err(TryLockError::WouldBlock))
        };
        File::open(self.root.join(LOCK_NAME)).is_ok_and(is_held)
    }

    fn in_use(&self) -> Error {
        let pid = fs::read_to_string(self.root.join(LOCK_NAME)).unwrap_or_default();
        let pid = pid.trim().parse::<u32>().ok().map(|pid| pid.to_string());
        Error::InUse { dir: self.root.clone(), pid }
    }

    /// The folder that holds the log files.
    pub(super) fn log_dir(&self) -> &Path {
        &self.log_dir
    }

    /// Where the log file `name` stands.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.log_dir.join(name)
    }

    /// Where the manifest stands.
    pub(super) fn manifest_path(&self) -> PathBuf {
        self.path(&format!("{STEM}.manifest"))
    }

    /// Reads the manifest; `None` if there is none and no data either.
    pub(super) fn read_manifest(&self) -> Result<Option<Manifest>, Error> {
        let path = self.manifest_path();
        let damaged = |offset, reason: &str| Error::Damaged {
            path: path.clone(),
            offset,
            reason: reason.into(),
        };
        match fs::metadata(&path) {
            Ok(found) if found.len() > MANIFEST_LEN_MAX => {
                return Err(damaged(MANIFEST_LEN_MAX, "too long for a manifest"));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match self.find_log_files()?.iter().any(|(_, len)| *len > 0) {
                    true => Err(Error::Missing { path, reason: "there are log files beside it" }),
                    false => Ok(None),
                };
            }
            Err(error) => return Err(Error::io("read", &path)(error)),
        }
        let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
        Manifest::parse(&bytes).map(Some).map_err(|error| damaged(error.offset, error.reason))
    }

    /// Replaces the manifest.
    ///
    /// On an error the old manifest is in force, except after [`ManifestError::Unsynced`].
    pub(super) fn write_manifest(&self, manifest: &Manifest) -> Result<(), ManifestError> {
        let path = self.manifest_path();
        let temp = self.path(&format!("temp-{STEM}.manifest"));
        let write = || -> io::Result<()> {
            let mut file = File::create(&temp)?;
            file.write_all(manifest.to_string().as_bytes())?;
            file.sync_all()
        };
        write().map_err(Error::io("write", &temp)).map_err(ManifestError::Kept)?;
        // Files that the new manifest names must not appear after it.
        self.sync_dir(&self.log_dir).map_err(ManifestError::Kept)?;
        fs::rename(&temp, &path)
            .map_err(Error::io("replace", &path))
            .map_err(ManifestError::Kept)?;
        self.sync_dir(&self.log_dir).map_err(ManifestError::Unsynced)
    }

    /// Creates the incr file that follows those of `manifest`.
    ///
    /// A file of that name that the manifest does not know is left alone and its number skipped.
    pub(super) fn create_incr(&self, manifest: &Manifest) -> Result<(Entry, File), Error> {
        let mut seq = manifest.next_incr_seq();
        loop {
            let entry = Entry::incr(seq);
            let path = self.path(&entry.name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((entry, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => seq += 1,
                Err(error) => return Err(Error::io("create", path)(error)),
            }
        }
    }

    /// Opens the log file `name` for writing.
    pub(super) fn open_for_write(&self, name: &str) -> Result<File, Error> {
        let path = self.path(name);
        OpenOptions::new().write(true).open(&path).map_err(Error::io("open", path))
    }

    /// Opens the log file `name` for reading; `None` if it does not exist.
    pub(super) fn open_for_read(&self, name: &str) -> Result<Option<(File, u64)>, Error> {
        let path = self.path(name);
        let open = || File::open(&path).and_then(|file| file.metadata().map(|m| (file, m.len())));
        match open() {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", path)(error)),
        }
    }

    /// Deletes log files; the manifest must not name them any more as live.
    ///
    /// Incr files go first: as long as two base files exist, nobody who lost the manifest takes
    /// the incr files that are left for changes to the newer one.
    pub(super) fn remove(&self, entries: &[Entry]) {
        let is_base = |entry: &&Entry| {
            entry.kind == Kind::Base
                || Entry::from_name(&entry.name).is_some_and(|named| named.kind == Kind::Base)
        };
        let (bases, incrs): (Vec<_>, Vec<_>) = entries.iter().partition(is_base);
        for entry in incrs.into_iter().chain(bases) {
            // What cannot be deleted now stays in the manifest's history for the next start.
            let _ = fs::remove_file(self.path(&entry.name));
        }
    }

    /// Deletes what a crash left half made, by us or by Redis.
    pub(super) fn remove_temps(&self) -> Result<(), Error> {
        for name in self.names()? {
            if TEMP_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
                let path = self.path(&name);
                fs::remove_file(&path).map_err(Error::io("delete", path))?;
            }
        }
        Ok(())
    }

    /// Every file with the name of a log file, and its length, whether the manifest knows it or not.
    pub(super) fn find_log_files(&self) -> Result<Vec<(Entry, u64)>, Error> {
        let mut found = Vec::new();
        for entry in self.names()?.iter().filter_map(|name| Entry::from_name(name)) {
            let path = self.path(&entry.name);
            let len = fs::metadata(&path).map_err(Error::io("read", path))?.len();
            found.push((entry, len));
        }
        found.sort_by_key(|(entry, _)| entry.seq);
        Ok(found)
    }

    fn names(&self) -> Result<Vec<String>, Error> {
        let io = || Error::io("list", &self.log_dir);
        let listing = match fs::read_dir(&self.log_dir) {
            Ok(listing) => listing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io()(error)),
        };
        let mut names = Vec::new();
        for item in listing {
            names.extend(item.map_err(io())?.file_name().into_string().ok());
        }
        Ok(names)
    }

    /// Makes the names in the log folder durable.
    pub(super) fn sync(&self) -> Result<(), Error> {
        self.sync_dir(&self.log_dir)
    }

    fn sync_dir(&self, dir: &Path) -> Result<(), Error> {
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(Error::io("sync", dir))
    }
}

/// Tries to lock until it works, or [`LOCK_TIMEOUT`] is over.
fn lock_until_deadline(
    try_lock: impl Fn() -> Result<(), TryLockError>,
) -> Result<(), TryLockError> {
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                thread::sleep(LOCK_RETRY_INTERVAL);
            }
            outcome => return outcome,
        }
    }
}

/// Why the manifest could not be replaced.
#[derive(Debug)]
pub(super) enum ManifestError {
    /// The old manifest is still in force.
    Kept(Error),
    /// The new manifest is in force, but may not survive a power loss.
    Unsynced(Error),
}

impl From<ManifestError> for Error {
    fn from(error: ManifestError) -> Error {
        match error {
            ManifestError::Kept(error) | ManifestError::Unsynced(error) => error,
        }
    }
}
