//! Open files: every client is one, and systems allow few until they are asked for more.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are no clients: the log, the data folder, the port, and what the runtime needs.
const OWN_FILES: usize = 64;

/// Asks the system for room for `clients_max` clients, and returns how many there is room for.
pub(super) fn make_room(clients_max: usize) -> usize {
    let wanted = (clients_max + OWN_FILES) as u64;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(current) = current.filter(|current| *current < wanted) else { return clients_max };
    let raised = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let limit = Rlimit { current: Some(raised), maximum };
    let allowed = if setrlimit(Resource::Nofile, limit).is_ok() { raised } else { current };
    usize::try_from(allowed).unwrap_or(usize::MAX).saturating_sub(OWN_FILES).max(1)
}
