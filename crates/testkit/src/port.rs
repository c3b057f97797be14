//! Ports that no other test takes.
//!
//! Asking the system for port 0 and giving it back is not enough: another test, or any outgoing
//! connection, can take the port before the server binds it or while the server is restarted. So
//! ports come from below the ephemeral range, and each is held by a file lock that all test
//! processes of the user respect and that the system frees when a process dies.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

/// Where leased ports lie. Both this range and the bus ports above it stay below Linux' default
/// ephemeral range, which starts at 32768, and do not overlap.
const FIRST: u16 = 11_000;
const COUNT: u16 = 10_000;

/// A cluster node listens here too, at a fixed distance from its port.
const BUS_OFFSET: u16 = 10_000;

/// A TCP port on loopback that belongs to this value until it is dropped.
///
/// The port ten thousand above it belongs to the value as well, for a cluster bus.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _lock: File,
}

impl Port {
    /// Leases a port on which nothing listens.
    ///
    /// # Panics
    /// When no port is free or the lock files cannot be written.
    pub fn lease() -> Self {
        let folder = lock_folder();
        fs::create_dir_all(&folder).unwrap_or_else(|error| {
            panic!("could not create \"{}\" for port locks: {error}", folder.display())
        });
        // A random start keeps test processes from queueing up for the same low ports.
        let start = RandomState::new().hash_one("port") % u64::from(COUNT);
        (0..COUNT)
            .map(|step| FIRST + (start as u16 + step) % COUNT)
            .find_map(|number| Self::try_lease(&folder, number))
            .unwrap_or_else(|| panic!("no free port from {FIRST} to {}", FIRST + COUNT - 1))
    }

    /// The number of the port.
    pub fn number(&self) -> u16 {
        self.number
    }

    fn try_lease(folder: &std::path::Path, number: u16) -> Option<Self> {
        let path = folder.join(number.to_string());
        let lock = File::options().create(true).append(true).open(path).ok()?;
        lock.try_lock().ok()?;
        let free = bindable(number) && bindable(number + BUS_OFFSET);
        free.then_some(Self { number, _lock: lock })
    }
}

/// One folder per user, so that nobody meets lock files that they may not open.
fn lock_folder() -> PathBuf {
    let user = rustix::process::getuid().as_raw();
    std::env::temp_dir().join(format!("keyrack-test-ports-{user}"))
}

fn bindable(number: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn leased_ports_are_distinct_and_free() {
        let ports: Vec<Port> = (0..200).map(|_| Port::lease()).collect();
        let distinct: HashSet<u16> = ports.iter().map(Port::number).collect();
        assert_eq!(distinct.len(), ports.len());
        assert!(ports.iter().all(|port| bindable(port.number())));
    }

    #[test]
    fn held_port_is_not_leased_again_until_dropped() {
        let folder = lock_folder();
        let port = Port::lease();
        let number = port.number();
        assert!(Port::try_lease(&folder, number).is_none());
        drop(port);
        assert!(Port::try_lease(&folder, number).is_some());
    }

    #[test]
    fn port_somebody_listens_on_is_not_leased() {
        let folder = lock_folder();
        let port = Port::lease();
        let number = port.number();
        let bus = TcpListener::bind((Ipv4Addr::LOCALHOST, number + BUS_OFFSET)).unwrap();
        drop(port);
        assert!(Port::try_lease(&folder, number).is_none());
        drop(bus);
    }
}
