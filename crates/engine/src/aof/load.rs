//! Starting: replays the log, repairs what a crash may leave, and opens it for appending.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    Error, Log, Options, Unit,
    folder::Folder,
    log::Sizes,
    manifest::{Entry, Kind, Manifest},
    scan::{Apply, End, Scan, scan},
};

/// What every RDB snapshot begins with.
const RDB_MARK: &[u8] = b"REDIS";

/// How much of a log has been replayed. Whoever waits for it looks here meanwhile.
#[derive(Debug, Default)]
pub struct Loading {
    bytes: AtomicU64,
    bytes_all: AtomicU64,
}

impl Loading {
    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes to be read; 0 until that is known.
    pub fn bytes_all(&self) -> u64 {
        self.bytes_all.load(Ordering::Relaxed)
    }
}

/// A reader that tells how much it has read.
struct Counted<'l, R> {
    reader: R,
    loading: &'l Loading,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        self.loading.bytes.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// What was found at the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Files replayed.
    pub files: u64,
    /// Bytes replayed.
    pub bytes: u64,
    /// Commands replayed.
    pub commands: u64,
    /// What was cut off the end of the log, if a crash left it torn.
    pub cut: Option<TruncatedTail>,
}

/// An incomplete write that was cut off the end of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TruncatedTail {
    /// The file that was cut.
    pub path: PathBuf,
    /// The length it has now.
    pub offset: u64,
    /// How many bytes were cut.
    pub bytes: u64,
    /// What was wrong with them.
    pub reason: String,
}

/// Opens the log of the data folder `dir`, creating it if there is none.
///
/// Every unit goes to `apply` in order. Each file begins with the unit `SELECT 0`, because that is
/// where Redis starts each file, whatever the one before it ended with. For the same reason the
/// first unit appended must select its database.
///
/// A torn end of the last file is cut and reported. Anything else that is not as it was written is
/// an error, and the folder is left as it was.
pub(crate) fn open(
    dir: &Path,
    options: Options,
    apply: &mut dyn FnMut(&Unit<'_>) -> Result<(), String>,
) -> Result<(Log, Recovery), Error> {
    let folder = Folder::create_locked(dir)?;
    let found = folder.read_manifest()?;
    let manifest = found.clone().unwrap_or_default();
    let mut recovery = Recovery::default();
    let mut sizes = Sizes { base: 0, last: 0, all: 0 };
    let len = |entry: &Entry| fs::metadata(folder.path(&entry.name)).map_or(0, |file| file.len());
    let loading = options.loading.clone();
    loading.bytes_all.store(manifest.live().map(len).sum(), Ordering::Relaxed);
    for entry in manifest.live() {
        let is_last = manifest.incrs.last() == Some(entry);
        let valid = replay(&folder, entry, is_last, &loading, apply, &mut recovery)?;
        sizes.all += valid;
        match entry.kind {
            Kind::Base => sizes.base = valid,
            Kind::Incr | Kind::History => sizes.last = valid,
        }
    }
    if let Some(cut) = &recovery.cut {
        cut_tail(cut)?;
    }
    let (manifest, disk) = settle(&folder, found, manifest)?;
    let log = Log::start(folder, manifest, Arc::new(disk), sizes, options)?;
    Ok((log, recovery))
}

/// Replays one file and returns its valid length.
fn replay(
    folder: &Folder,
    entry: &Entry,
    is_last: bool,
    loading: &Loading,
    apply: &mut Apply<'_>,
    recovery: &mut Recovery,
) -> Result<u64, Error> {
    let path = folder.path(&entry.name);
    apply(&Unit::of(&[b"SELECT", b"0"])).map_err(|reason| Error::Rejected {
        path: path.clone(),
        offset: 0,
        reason,
    })?;
    let Scan { valid, len, tally, end } = scan_entry(folder, entry, is_last, loading, apply)?;
    match end {
        End::Whole => {}
        End::Torn(reason) => {
            let reason = reason.to_owned();
            recovery.cut = Some(TruncatedTail { path, offset: valid, bytes: len - valid, reason });
        }
        End::Damaged(reason) => {
            return Err(Error::Damaged { path, offset: valid, reason: reason.to_owned() });
        }
        End::Rejected { offset, reason } => return Err(Error::Rejected { path, offset, reason }),
    }
    recovery.files += 1;
    recovery.bytes += valid;
    recovery.commands += tally.commands;
    Ok(valid)
}

/// Reads one file of the log; only the last one can come back torn.
pub(super) fn scan_entry(
    folder: &Folder,
    entry: &Entry,
    is_last: bool,
    loading: &Loading,
    apply: &mut Apply<'_>,
) -> Result<Scan, Error> {
    let path = folder.path(&entry.name);
    let Some((mut file, len)) = folder.open_for_read(&entry.name)? else {
        return Err(Error::Missing { path, reason: "the manifest names it" });
    };
    let io = || Error::io("read", &path);
    let mut start = [0; RDB_MARK.len()];
    let n = read_start(&mut file, &mut start).map_err(io())?;
    if &start[..n] == RDB_MARK {
        return Err(Error::RdbBase { path });
    }
    let whole = Counted { reader: (&start[..n]).chain(file), loading };
    let mut found = scan(whole, len, apply).map_err(io())?;
    if let End::Torn(reason) = found.end
        && !is_last
    {
        found.end = End::Damaged(reason);
    }
    if found.end == End::Whole
        && let Some(size) = entry.size
        && size != len
    {
        found.end = End::Damaged("the file does not have the length that the manifest says");
        found.valid = found.valid.min(size);
    }
    Ok(found)
}

/// Reads until `start` is full or the file ends.
fn read_start(file: &mut File, start: &mut [u8]) -> io::Result<usize> {
    let mut n = 0;
    while n < start.len() {
        match file.read(&mut start[n..])? {
            0 => break,
            more => n += more,
        }
    }
    Ok(n)
}

fn cut_tail(cut: &TruncatedTail) -> Result<(), Error> {
    let cut_file = || {
        let file = OpenOptions::new().write(true).open(&cut.path)?;
        file.set_len(cut.offset)?;
        file.sync_all()
    };
    cut_file().map_err(Error::io("cut the torn end of", &cut.path))
}

/// Brings the folder into the state appending starts from: no leftovers, and an incr file at the
/// end of the manifest that is open for writing.
fn settle(
    folder: &Folder,
    found: Option<Manifest>,
    mut manifest: Manifest,
) -> Result<(Manifest, File), Error> {
    folder.remove_temps()?;
    folder.remove(&std::mem::take(&mut manifest.history));
    let disk = match manifest.incrs.last_mut() {
        Some(last) => {
            last.size = None;
            folder.open_for_write(&last.name)?
        }
        None => {
            let (entry, file) = folder.create_incr(&manifest)?;
            manifest.incrs.push(entry);
            file
        }
    };
    if found.as_ref() != Some(&manifest) {
        folder.write_manifest(&manifest)?;
    }
    Ok((manifest, disk))
}
