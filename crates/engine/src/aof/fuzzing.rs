//! What the fuzz target of the log needs of its insides.

use super::{
    frame::{HEADER_LEN, seal},
    manifest::Manifest,
    resp::Unit,
    scan::scan,
};

/// The first batch of a log, holding `payload`, with the right checksums: mutations seldom hit on those.
pub(crate) fn sealed(payload: &[u8]) -> Vec<u8> {
    let mut batch = vec![0; HEADER_LEN];
    batch.extend_from_slice(payload);
    seal(&mut batch, 0);
    batch
}

/// Hands every unit of a log file to `apply`, up to the first that it refuses.
pub(crate) fn replay_bytes(bytes: &[u8], apply: &mut dyn FnMut(&Unit<'_>) -> Result<(), String>) {
    // Memory can always be read, and how the log ends is for others to check.
    let _ = scan(bytes, bytes.len() as u64, apply);
}

/// Reads a manifest, and what it is written as.
///
/// # Panics
/// When the two differ.
pub(crate) fn read_and_write_manifest(bytes: &[u8]) {
    let Ok(manifest) = Manifest::parse(bytes) else { return };
    let again = Manifest::parse(manifest.to_string().as_bytes());
    assert_eq!(again.as_ref(), Ok(&manifest), "a manifest changes when it is written");
}
