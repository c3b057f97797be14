//! Running the servers of real databases, which refuse to run as root.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use keyrack_testkit::Process;

/// A command that runs as the user whom Debian's package has made for its server, where we are root.
pub(crate) fn run_as(user: &str, program: &Path) -> Command {
    if !is_root() {
        return Process::command(program);
    }
    let mut command = Command::new("setpriv");
    let (uid, gid) = (format!("--reuid={user}"), format!("--regid={user}"));
    command.args([&uid, &gid, "--clear-groups", "--pdeathsig", "KILL"]);
    command.arg(program);
    command
}

/// Lets that user write into a folder.
pub(crate) fn give_to(user: &str, folder: &Path) {
    if is_root() {
        output(Command::new("chown").arg(user).arg(folder));
    }
}

/// Where a program lies: in one of these folders, or in the path.
pub(crate) fn program(name: &str, folders: &[PathBuf], package: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = folders.iter().cloned().chain(std::env::split_paths(&path));
    let found = all.map(|folder| folder.join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| {
        panic!("\"{name}\" is needed: install Debian's package \"{package}\", or run `cargo xtask setup`")
    })
}

/// What a command prints; it has to succeed.
#[track_caller]
pub(crate) fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn is_root() -> bool {
    output(Command::new("id").arg("-u")).trim() == "0"
}
