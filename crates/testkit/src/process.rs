//! Child processes that never outlive the test.
//!
//! Dropping a [`Process`] kills it, also while a panic unwinds. When the test process itself is
//! killed nothing is dropped, so the child is started through `setpriv --pdeathsig`, which has the
//! system kill it. That signal is tied to the thread that started the child and not to the whole
//! process; therefore one thread that never ends starts all children.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::{OnceLock, mpsc};
use std::thread;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// A running program that is killed when this value is dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
}

impl Process {
    /// Lets a program see the time as `file` says, such as `+300s`; a test writes it anew to set the clock of that program.
    ///
    /// # Panics
    /// When libfaketime is missing, which `cargo xtask setup` installs.
    pub fn fake_time(command: &mut Command, file: &std::path::Path) {
        let folder = std::fs::read_dir("/usr/lib").expect("/usr/lib").filter_map(Result::ok);
        let library = folder
            .map(|entry| entry.path().join("faketime/libfaketime.so.1"))
            .find(|library| library.exists())
            .unwrap_or_else(|| panic!("libfaketime is missing; run: cargo xtask setup"));
        command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", file);
        command.env("FAKETIME_NO_CACHE", "1").env("DONT_FAKE_MONOTONIC", "1");
    }

    /// A command for `program` to add arguments to and then pass to [`Process::spawn`].
    ///
    /// Where the system can do it, the program dies with the test process.
    pub fn command(program: impl AsRef<OsStr>) -> Command {
        let Some(setpriv) = find_program("setpriv") else { return Command::new(program) };
        let mut command = Command::new(setpriv);
        command.args(["--pdeathsig", "KILL", "--"]).arg(program);
        command
    }

    /// Starts a command; `name` is for messages.
    ///
    /// # Panics
    /// When the command cannot be started.
    #[track_caller]
    pub fn spawn(name: impl Into<String>, command: Command) -> Self {
        let name = name.into();
        let child = spawn_on_lasting_thread(command)
            .unwrap_or_else(|error| panic!("could not start \"{name}\": {error}"));
        Self { name, child }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The child itself, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// How the process ended, or `None` while it runs.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap_or_else(|error| self.failed("wait for", error))
    }

    /// Ends the process with SIGKILL, as a crash or a power cut would. Twice is fine.
    pub fn kill(&mut self) {
        self.child.kill().unwrap_or_else(|error| self.failed("kill", error));
        self.child.wait().unwrap_or_else(|error| self.failed("wait for", error));
    }

    /// Asks the process to end with SIGTERM, waits until it has, and returns how it ended.
    pub fn terminate(&mut self) -> ExitStatus {
        if let Some(status) = self.exit_status() {
            return status;
        }
        self.signal(Signal::TERM);
        self.child.wait().unwrap_or_else(|error| self.failed("wait for", error))
    }

    /// Stops the process in its tracks with SIGSTOP; its connections stay open and silent.
    pub fn pause(&mut self) {
        self.signal(Signal::STOP);
        // The signal is only delivered some time after the call; wait until it has worked.
        waitid(WaitId::Pid(self.pid()), WaitIdOptions::STOPPED)
            .unwrap_or_else(|error| self.failed("pause", error.into()));
    }

    /// Lets a paused process go on.
    pub fn resume(&mut self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal)
            .unwrap_or_else(|error| self.failed("signal", error.into()));
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn failed(&self, verb: &str, error: io::Error) -> ! {
        panic!("could not {verb} \"{}\": {error}", self.name)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A process that has already ended is what we want; a panic here would abort the test run.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The first executable of this name in `PATH`.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|program| is_executable(program))
}

pub(crate) fn is_executable(program: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    program.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn spawn_on_lasting_thread(command: Command) -> io::Result<Child> {
    type Job = (Command, mpsc::SyncSender<io::Result<Child>>);
    static SPAWNER: OnceLock<mpsc::Sender<Job>> = OnceLock::new();

    let spawner = SPAWNER.get_or_init(|| {
        let (sender, jobs) = mpsc::channel::<Job>();
        thread::spawn(move || {
            for (mut command, reply) in jobs {
                // The receiver waits below for exactly this one message.
                let _ = reply.send(command.spawn());
            }
        });
        sender
    });
    let (reply, result) = mpsc::sync_channel(1);
    spawner.send((command, reply)).expect("the spawning thread never ends");
    result.recv().expect("the spawning thread answers every job")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper() -> Process {
        let mut command = Process::command("sleep");
        command.arg("600");
        Process::spawn("sleep", command)
    }

    #[test]
    fn process_outlives_the_thread_that_started_it() {
        let mut process = thread::spawn(sleeper).join().unwrap();
        // Had the death signal been tied to that thread, it would have been sent by now.
        process.pause();
        process.resume();
        assert_eq!(process.exit_status(), None);
    }

    #[test]
    fn killed_process_can_be_killed_again() {
        let mut process = sleeper();
        process.kill();
        process.kill();
        assert!(process.exit_status().is_some());
    }

    #[test]
    fn terminate_reports_the_signal() {
        use std::os::unix::process::ExitStatusExt;
        let status = sleeper().terminate();
        assert_eq!(status.signal(), Some(Signal::TERM.as_raw()));
    }

    #[test]
    #[should_panic(expected = "could not start \"nothing\"")]
    fn missing_program_is_named() {
        Process::spawn("nothing", Command::new("/does/not/exist"));
    }
}
