//! `keyrack calc import` of one key with everything that can be calculated.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
    time::Instant,
};

use anyhow::{Context, Result};

use super::{
    super::server::{Role, Server, pinned},
    Place,
    http::EVERYTHING,
};
use crate::shell;

/// Values a second of a file with so many.
pub(super) fn rate(keyrack: &Path, place: Place, values: u64) -> Result<f64> {
    let folder = tempfile::tempdir().context("could not create a temporary folder")?;
    let redis = Server::redis()?;
    let data = folder.path().join("data");
    std::fs::create_dir_all(&data)?;
    let store = match place {
        Place::Embedded => format!("embedded:{}", data.display()),
        Place::Redis => format!("redis://127.0.0.1:{}", redis.port()),
    };
    let lines = folder.path().join("values.ndjson");
    let mut file = BufWriter::new(File::create(&lines)?);
    for n in 0..values {
        let at = moment(n);
        writeln!(
            file,
            "{{\"account\":\"7\",\"project\":\"2\",\"dimension\":\"bench\",\"key\":\"one\",\"value\":\"{}.5\",\"created_at\":\"{at}\",{EVERYTHING}}}",
            n % 97
        )?;
    }
    file.into_inner().context("could not write the values")?.sync_all()?;
    // The engine is in the same process: one core each for reading the file and for storing, as with a server.
    let role = match place {
        Place::Embedded => Role::Anywhere,
        Place::Redis => Role::Load,
    };
    let mut import = pinned(keyrack, role);
    import.args(["calc", "import", "--store", &store]).arg(&lines);
    let started = Instant::now();
    shell::run(&mut import)?;
    Ok(values as f64 / started.elapsed().as_secs_f64())
}

/// A moment a second after the one before.
pub(super) fn moment(n: u64) -> String {
    let (day, second) = (n / 86_400, n % 86_400);
    let (year, month, day) = (2000 + day / 336, day / 28 % 12 + 1, day % 28 + 1);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} +0000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_a_second_apart_and_never_the_same() {
        assert_eq!(moment(0), "2000-01-01 00:00:00 +0000");
        assert_eq!(moment(86_399), "2000-01-01 23:59:59 +0000");
        assert_eq!(moment(28 * 86_400), "2000-02-01 00:00:00 +0000");
        assert_eq!(moment(336 * 86_400), "2001-01-01 00:00:00 +0000");
    }
}
