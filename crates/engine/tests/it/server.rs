//! The engine as a program of its own, to be killed, stopped, starved and started again.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{ChildStdout, Command, ExitStatus, Stdio},
};

use keyrack_testkit::{Process, RedisServer};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tempfile::TempDir;

use crate::wire::Wire;

/// As many databases as redis-server has by default, so that both open each other's folders.
pub(crate) const DATABASES: usize = 16;

/// A running `keyrack-engine`.
pub(crate) struct Server {
    process: Process,
    address: SocketAddr,
    /// Kept open: the program ends badly when it cannot print.
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    /// Starts the engine on a folder and waits until it listens.
    pub(crate) fn start(dir: &Path, fsync: &str) -> Server {
        Server::start_with(Server::command(dir, fsync))
    }

    /// Starts the engine in memory.
    pub(crate) fn in_memory() -> Server {
        let mut command = Process::command(env!("CARGO_BIN_EXE_keyrack-engine"));
        command.args(["--port", "0"]);
        Server::start_with(command)
    }

    /// The command that [`Server::start`] runs.
    pub(crate) fn command(dir: &Path, fsync: &str) -> Command {
        let mut command = Process::command(env!("CARGO_BIN_EXE_keyrack-engine"));
        command.args(["--port", "0", "--appendfsync", fsync, "--dir"]).arg(dir);
        command.arg(format!("--databases={DATABASES}"));
        command
    }

    pub(crate) fn start_with(mut command: Command) -> Server {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process::spawn("keyrack-engine", command);
        let stdout = process.child().stdout.take().expect("a pipe was asked for");
        let mut stdout = BufReader::new(stdout);
        let mut greeting = String::new();
        loop {
            let mut line = String::new();
            if stdout.read_line(&mut line).expect("the engine prints text") == 0 {
                panic!("the engine did not start: {greeting}{}", errors(&mut process));
            }
            if let Some(address) = line.strip_prefix("listening on ") {
                let address = address.trim().parse().expect("an address");
                return Server { process, address, _stdout: stdout };
            }
            greeting += &line;
        }
    }

    /// Starts the engine and kills it as soon as it has begun to read the folder.
    pub(crate) fn start_and_kill(dir: &Path) {
        let mut command = Server::command(dir, "always");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = Process::spawn("keyrack-engine", command);
        let pid = process.id().to_string();
        keyrack_testkit::wait_until("the engine to take the folder", || {
            let holder = fs::read_to_string(dir.join("keyrack.lock")).unwrap_or_default();
            holder.trim() == pid || process.exit_status().is_some()
        });
        process.kill();
    }

    /// Runs the engine on a folder that it refuses, and returns what it says about it.
    pub(crate) fn refusal(dir: &Path) -> String {
        let output = Server::command(dir, "always").output().expect("the engine starts");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stderr).expect("the engine prints text")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn connect(&self) -> Wire {
        Wire::connect(self.address)
    }

    /// Ends the engine with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.process.kill();
    }

    /// Ends the engine with SIGTERM.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        self.process.terminate()
    }

    /// Freezes the engine with SIGSTOP.
    pub(crate) fn pause(&mut self) {
        self.process.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.process.resume();
    }

    /// Sets how long files of the engine may get from now on; `None` for no limit.
    pub(crate) fn limit_files(&self, len_max: Option<u64>) {
        let pid = Pid::from_raw(self.process.id() as i32);
        let maximum = rustix::process::getrlimit(Resource::Fsize).maximum;
        prlimit(pid, Resource::Fsize, Rlimit { current: len_max, maximum })
            .expect("a limit of a process of our own can be set");
    }
}

fn errors(process: &mut Process) -> String {
    let mut text = String::new();
    if let Some(stderr) = &mut process.child().stderr {
        // Whatever can be read of it helps.
        let _ = stderr.read_to_string(&mut text);
    }
    text
}

/// A redis-server that has loaded a copy of the engine's folder `dir`.
pub(crate) fn redis_on_copy(dir: &Path) -> RedisServer {
    let mut redis = RedisServer::builder().append_only().start();
    redis.kill();
    fs::remove_dir_all(log_dir(redis.dir())).expect("redis made a log");
    copy_log(dir, redis.dir());
    redis.restart();
    redis
}

/// A copy of the data folder `dir`.
pub(crate) fn copy_folder(dir: &Path) -> TempDir {
    let copy = tempfile::tempdir().expect("a temporary folder");
    copy_log(dir, copy.path());
    copy
}

fn copy_log(from: &Path, to: &Path) {
    let (from, to) = (log_dir(from), log_dir(to));
    fs::create_dir_all(&to).expect("a folder");
    for file in fs::read_dir(from).expect("a log") {
        let file = file.expect("a file");
        fs::copy(file.path(), to.join(file.file_name())).expect("a copy");
    }
}

/// Where the log files of a data folder are.
pub(crate) fn log_dir(dir: &Path) -> PathBuf {
    dir.join("appendonlydir")
}
