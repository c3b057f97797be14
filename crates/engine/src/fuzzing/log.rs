//! The loader of the log.

use super::engine;
use crate::aof::{self, check_bytes};

/// Reads bytes as a log file, as the contents of a batch whose checksum is right, and as a manifest.
///
/// # Panics
/// When what is reported as whole is not, or when a manifest that was read cannot be written and read again.
pub fn load_log(bytes: &[u8]) {
    load(bytes);
    load(&aof::sealed(bytes));
    aof::read_and_write_manifest(bytes);
}

/// Everything before the damage must be a whole log, which holds what the damaged one was said to hold.
fn load(bytes: &[u8]) {
    let (report, damage) = check_bytes(bytes);
    let valid = damage.map_or(bytes.len(), |damage| damage.offset as usize);
    let (whole, no_damage) = check_bytes(&bytes[..valid]);
    assert_eq!(no_damage, None, "the part before the damage is damaged");
    assert_eq!((whole.commands, whole.batches), (report.commands, report.batches));
    let (mut state, _, _inbox) = engine();
    state.replay(|apply| {
        aof::replay_bytes(&bytes[..valid], &mut |unit| {
            // A script in a log may run as long as it likes.
            let is_script = |words: &[&[u8]]| words[0].to_ascii_lowercase().starts_with(b"eval");
            if unit.commands().any(is_script) { Err("a script".into()) } else { apply(unit) }
        });
    });
}
