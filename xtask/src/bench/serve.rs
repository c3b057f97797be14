//! A `keyrack serve` under measurement, and the programs that take part, as users have them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::shell;

/// Builds something in release and returns where the program is.
pub(super) fn released(what: &str, path: &str) -> Result<PathBuf> {
    shell::run(&mut shell::cargo(&format!("build --release {what}")))?;
    Ok(shell::target().join("release").join(path))
}

/// A running `keyrack serve`, killed when dropped.
pub(super) struct Serve {
    child: Child,
    /// Where it answers HTTP.
    pub(super) http: String,
    /// Where it answers Redis clients; empty when the store is somewhere else.
    pub(super) resp: String,
    _folder: TempDir,
}

impl Serve {
    /// Starts it on a store, and waits until it answers.
    pub(super) fn start(program: &Path, store: &str) -> Result<Serve> {
        const POLLS: u32 = 1_000;
        const POLL_INTERVAL: Duration = Duration::from_millis(10);
        let folder = TempDir::new()?;
        let log = folder.path().join("log");
        let mut command = Command::new(program);
        command.args(["serve", "--store", store, "--http", "127.0.0.1:0"]);
        let is_embedded = store.starts_with("embedded:");
        if is_embedded {
            command.args(["--resp", "127.0.0.1:0"]);
        }
        command.current_dir(folder.path()).stdin(Stdio::null()).stderr(fs::File::create(&log)?);
        let mut serve = Serve {
            child: command.spawn().context("could not start keyrack")?,
            http: String::new(),
            resp: String::new(),
            _folder: folder,
        };
        for _ in 0..POLLS {
            let words = fs::read_to_string(&log)?;
            if words.contains("ready; ") {
                serve.http = address(&words, "http   http://")?;
                if is_embedded {
                    serve.resp = address(&words, "resp   ")?;
                }
                return Ok(serve);
            }
            thread::sleep(POLL_INTERVAL);
        }
        bail!("keyrack did not get ready:\n{}", fs::read_to_string(&log)?);
    }

    /// Its process.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What stands behind a label in what the server says.
fn address(words: &str, label: &str) -> Result<String> {
    let line = words.lines().find_map(|line| line.trim().strip_prefix(label));
    let word = line.and_then(|line| line.split(' ').next());
    word.map(str::to_owned).with_context(|| format!("no \"{label}\" in \"{words}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_from_what_the_server_says() {
        let words =
            "keyrack\n  http   http://127.0.0.1:7700\n  resp   127.0.0.1:7701 (redis-cli)\n";
        assert_eq!(address(words, "http   http://").unwrap(), "127.0.0.1:7700");
        assert_eq!(address(words, "resp   ").unwrap(), "127.0.0.1:7701");
        assert!(address(words, "auth").is_err());
    }
}
