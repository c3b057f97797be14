//! What a program needs of the system it runs on.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The newest version of glibc that one of these programs or libraries asks for, as `(2, 34)`.
pub(super) fn glibc(files: &[&Path]) -> Result<(u32, u32)> {
    let mut newest = (2, 17);
    for file in files {
        let bytes =
            fs::read(file).with_context(|| format!("could not read \"{}\"", file.display()))?;
        newest = newest.max(newest_version(&bytes));
    }
    Ok(newest)
}

/// Symbol versions stand in the file as text, each behind a zero byte: `\0GLIBC_2.34\0`.
fn newest_version(bytes: &[u8]) -> (u32, u32) {
    const NAME: &[u8] = b"\0GLIBC_";
    let starts = bytes.windows(NAME.len()).enumerate().filter(|(_, window)| *window == NAME);
    let versions = starts.filter_map(|(at, _)| {
        let text = bytes[at + NAME.len()..].split(|byte| *byte == 0).next()?;
        let mut numbers = std::str::from_utf8(text).ok()?.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    });
    versions.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_version_counts_by_number() {
        let bytes = b"..\0GLIBC_2.4\0x\0GLIBC_2.34\0GLIBC_2.2.5\0GLIBC_PRIVATE\0GLIBC_2.9\0";
        assert_eq!(newest_version(bytes), (2, 34));
        assert_eq!(newest_version(b"GLIBC_9.9"), (0, 0));
    }
}
