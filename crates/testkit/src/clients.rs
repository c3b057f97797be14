//! Where `cargo xtask setup` puts the client libraries of other languages.
//!
//! Tests run small Python and Node programs against our servers with the real packages. They are
//! installed into `target/clients` of the workspace and nowhere else on the machine.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python with `redis` (redis-py) installed.
///
/// # Panics
/// When the set-up has not run.
#[track_caller]
pub fn python() -> Command {
    Command::new(present(folder().join("python/bin/python")))
}

/// A Python with a server that speaks S3 installed.
///
/// # Panics
/// When the set-up has not run.
#[track_caller]
pub(crate) fn s3_python() -> PathBuf {
    present(folder().join("s3/bin/python"))
}

/// A Node that finds `ioredis` and `redis` (node-redis) with `require`.
///
/// # Panics
/// When the set-up has not run.
#[track_caller]
pub fn node() -> Command {
    let mut command = Command::new("node");
    command.env("NODE_PATH", present(folder().join("node/node_modules")));
    command
}

/// A Go that finds go-redis (`gopkg.in/redis.v5`), and the packages under `src` of a folder.
///
/// # Panics
/// When the set-up has not run.
#[track_caller]
pub fn go(folder: &Path) -> Command {
    present(Path::new(GO_LIBRARIES).join("src/gopkg.in/redis.v5"));
    let mut command = Command::new("go");
    // No module proxy: packages are those of the folder and of the system.
    command.env("GO111MODULE", "off").env("GOFLAGS", "");
    command.env("GOPATH", format!("{}:{GO_LIBRARIES}", folder.display()));
    command.env("GOCACHE", self::folder().join("go"));
    command
}

/// Where Debian puts libraries of Go.
const GO_LIBRARIES: &str = "/usr/share/gocode";

/// The script that looks through a page for barriers.
///
/// # Panics
/// When the set-up has not run.
#[track_caller]
pub(crate) fn axe() -> String {
    let path = present(folder().join("axe/node_modules/axe-core/axe.min.js"));
    std::fs::read_to_string(path).expect("the script can be read")
}

fn folder() -> PathBuf {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.nth(2).expect("this crate lies in the workspace").join("target/clients")
}

#[track_caller]
fn present(path: PathBuf) -> PathBuf {
    assert!(path.exists(), "\"{}\" is missing; run `cargo xtask setup`", path.display());
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn succeeds(mut command: Command, args: &[&str]) {
        let output = command.args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    #[test]
    fn python_imports_redis_py_8() {
        succeeds(python(), &["-c", "import redis; assert redis.__version__.startswith('8.')"]);
    }

    #[test]
    fn node_requires_both_clients() {
        succeeds(node(), &["-e", "require('ioredis'); require('redis').createClient()"]);
    }
}
