//! A server with a queue, a folder, and workers on it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use keyrack_testkit::{Process, RedisServer, wait_for, wait_until};
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::program::{Run, keyrack};

/// A server and a folder for one test. The queue is called `q`.
pub(crate) struct World {
    pub(crate) server: RedisServer,
    dir: TempDir,
}

impl World {
    pub(crate) fn new() -> World {
        World { server: RedisServer::start(), dir: TempDir::new().expect("a folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The program on this server, with the arguments of a line.
    pub(crate) fn keyrack(&self, line: &str) -> Command {
        let mut command = keyrack(self.dir.path());
        command.args(line.split_whitespace()).args(["--store", &self.server.url()]);
        command
    }

    /// Runs the program on this server to its end.
    pub(crate) fn run(&self, line: &str) -> Run {
        Run::of(self.keyrack(line))
    }

    /// What the program prints; it must go well and say nothing else.
    #[track_caller]
    pub(crate) fn printed(&self, line: &str) -> String {
        let run = self.run(line);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
        run.stdout
    }

    /// What the program prints as JSON.
    #[track_caller]
    pub(crate) fn json(&self, line: &str) -> Json {
        serde_json::from_str(&self.printed(&format!("{line} --json"))).expect("JSON")
    }

    /// Submits a job with the options of a line; returns its id.
    #[track_caller]
    pub(crate) fn submit(&self, line: &str) -> String {
        self.printed(&format!("jobs submit q {line}")).trim().to_owned()
    }

    /// A job as it is now.
    #[track_caller]
    pub(crate) fn job(&self, jid: &str) -> Json {
        self.json(&format!("jobs show {jid}"))
    }

    pub(crate) fn status(&self, jid: &str) -> String {
        self.job(jid)["status"].as_str().expect("a status").to_owned()
    }

    /// Runs a command for all jobs of the queue, until none is left.
    #[track_caller]
    pub(crate) fn drain(&self, options: &str, exec: &str) -> Run {
        let mut command = self.keyrack(&format!("work q --drain {options}"));
        command.args(["--exec", exec]);
        let run = Run::of(command);
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{run:?}");
        run
    }

    /// Starts a worker.
    pub(crate) fn work(&self, options: &str, exec: &str) -> Work {
        let log = self.path("worker.log");
        let mut command = self.keyrack(&format!("work q {options}"));
        command.args(["--exec", exec]).stderr(fs::File::create(&log).expect("a log"));
        Work { process: Process::spawn("keyrack work", command), log }
    }

    /// Starts a worker on a machine whose clock is off by what the file `time` says.
    pub(crate) fn work_in_other_time(&self, exec: &str) -> Work {
        let log = self.path("other.log");
        let mut command = self.keyrack("work q");
        command.args(["--exec", exec]).stderr(fs::File::create(&log).expect("a log"));
        Process::fake_time(&mut command, &self.path("time"));
        Work { process: Process::spawn("keyrack work", command), log }
    }

    /// What a command has written to a file; waits until it has.
    pub(crate) fn written(&self, name: &str) -> String {
        let path = self.path(name);
        let what = format!("\"{name}\" to be written");
        wait_for(&what, || fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n')))
    }
}

/// A running worker.
pub(crate) struct Work {
    pub(crate) process: Process,
    log: PathBuf,
}

impl Work {
    /// What it has said so far.
    pub(crate) fn words(&self) -> String {
        fs::read_to_string(&self.log).expect("the log")
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), pid.as_str()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Waits for its end; returns the exit code.
    pub(crate) fn code(&mut self) -> Option<i32> {
        wait_until("the worker to end", || self.process.exit_status().is_some());
        self.process.exit_status().and_then(|status| status.code())
    }
}

/// Waits until a process is gone, or is only still listed.
pub(crate) fn wait_until_gone(pid: &str) {
    let stat = Path::new("/proc").join(pid).join("stat");
    wait_until("a process to be gone", || {
        let stat = fs::read_to_string(&stat).unwrap_or_default();
        stat.is_empty() || stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z"))
    });
}
