//! Open files: every client is one, and some have to be left for the rest of the process.

use std::fs::File;

use rustix::process::{Resource, getrlimit};

/// Files that are no clients: the log, the data folder, the port, and what the runtime needs.
const RESERVED: usize = 64;

/// How many clients the system has files for.
pub(super) fn clients_max() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    limit.saturating_sub(RESERVED).max(1)
}

/// A file that is open for nothing, so that it can be closed when one is needed.
pub(super) fn spare() -> Option<File> {
    File::open("/dev/null").ok()
}
