//! The three things the log asks of a file, so that tests can stand in for a slow or failing disk.

use std::{fs::File, io, os::unix::fs::FileExt};

/// A file that a log is written to.
pub(super) trait Disk: Send + Sync {
    /// Writes all of `bytes` at `offset`, or fails having written some of them.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Cuts the file to `len` bytes.
    fn truncate(&self, len: u64) -> io::Result<()>;

    /// Returns when everything written is on stable storage.
    fn sync(&self) -> io::Result<()>;
}

impl Disk for File {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
