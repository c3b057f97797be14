//! Servers under measurement: pinned to a core, on a free port, in a temporary folder.

use std::ffi::OsString;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::shell;

const START_POLLS: u32 = 1_000;
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Which part of a benchmark a program is.
#[derive(Clone, Copy)]
pub(super) enum Role {
    /// Has a core of its own.
    Server,
    /// Has another core of its own.
    Load,
    /// Runs wherever the system puts it.
    Anywhere,
}

impl Role {
    fn core(self) -> Option<usize> {
        match self {
            Self::Server => Some(0),
            Self::Load => Some(1),
            Self::Anywhere => None,
        }
    }
}

/// A command pinned to the core of its role, where the machine can do that.
pub(super) fn pinned(program: impl Into<OsString>, role: Role) -> Command {
    let cores = thread::available_parallelism().map_or(1, |count| count.get());
    let core = role.core().filter(|core| *core < cores && shell::find("taskset").is_some());
    let Some(core) = core else { return Command::new(program.into()) };
    let mut command = Command::new("taskset");
    command.arg("-c").arg(core.to_string()).arg(program.into());
    command
}

/// A running server, killed when dropped.
pub(super) struct Server {
    name: String,
    port: u16,
    child: Child,
    _folder: TempDir,
}

impl Server {
    /// Starts the redis-server to compare with, without persistence.
    pub(super) fn redis() -> Result<Self> {
        Self::redis_as(Role::Server, &[])
    }

    /// Starts a redis-server with more arguments, as which part it is.
    pub(super) fn redis_as(role: Role, more: &[&str]) -> Result<Self> {
        let program = pinned("redis-server", role);
        Self::spawn("redis-server", program, |command, port, folder| {
            command.args(["--save", "", "--bind", "127.0.0.1", "--port", &port.to_string()]);
            command.arg("--dir").arg(folder).args(more);
        })
    }

    /// Starts a server; `arguments` gets the port it has to listen on and a folder for its data.
    pub(super) fn start(
        name: &str,
        program: impl Into<OsString>,
        arguments: impl FnOnce(&mut Command, u16, &Path),
    ) -> Result<Self> {
        Self::start_as(Role::Server, name, program, arguments)
    }

    /// The same, as which part it is.
    pub(super) fn start_as(
        role: Role,
        name: &str,
        program: impl Into<OsString>,
        arguments: impl FnOnce(&mut Command, u16, &Path),
    ) -> Result<Self> {
        Self::spawn(name, pinned(program, role), arguments)
    }

    fn spawn(
        name: &str,
        mut command: Command,
        arguments: impl FnOnce(&mut Command, u16, &Path),
    ) -> Result<Self> {
        let folder = tempfile::tempdir().context("could not create a temporary folder")?;
        let port = free_port().context("could not find a free port")?;
        arguments(&mut command, port, folder.path());
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("could not start \"{name}\""))?;
        let mut server = Self { name: name.to_owned(), port, child, _folder: folder };
        server.wait_until_listening()?;
        Ok(server)
    }

    /// The name for tables.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The port it listens on.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// What redis-cli prints for a command.
    pub(super) fn ask(&self, words: &[&str]) -> Result<String> {
        let mut command = pinned("redis-cli", Role::Load);
        command.args(["-p", &self.port.to_string()]).args(words);
        Ok(shell::output(&mut command)?.trim_end().to_owned())
    }

    /// A number out of INFO.
    pub(super) fn info(&self, field: &str) -> Result<f64> {
        let info = self.ask(&["INFO"])?;
        let value = info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let value = value.with_context(|| format!("\"{}\" has no \"{field}\"", self.name))?;
        value.trim().parse().with_context(|| format!("\"{value}\" is no number"))
    }

    /// Sends commands, a line each, through the quickest way in.
    pub(super) fn feed(&self, lines: impl Iterator<Item = String>) -> Result<()> {
        let mut command = pinned("redis-cli", Role::Load);
        command.args(["-p", &self.port.to_string(), "--pipe"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().context("could not start redis-cli")?;
        let mut input = BufWriter::new(child.stdin.take().context("redis-cli takes no input")?);
        for line in lines {
            writeln!(input, "{line}").context("could not feed redis-cli")?;
        }
        drop(input);
        let status = child.wait()?;
        if !status.success() {
            bail!("redis-cli --pipe ended with {status}");
        }
        Ok(())
    }

    /// The processor time it has used, in ticks of the system; `None` where the system does not tell.
    pub(super) fn cpu_ticks(&self) -> Option<u64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        parse_ticks(&stat)
    }

    fn wait_until_listening(&mut self) -> Result<()> {
        for _ in 0..START_POLLS {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok() {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("\"{}\" ended at its start with {status}", self.name);
            }
            thread::sleep(POLL_INTERVAL);
        }
        bail!("\"{}\" does not listen on port {}", self.name, self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that has already ended is what we want.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Adds up the time in the program and in the kernel for it. The program's name stands before and can hold anything.
pub(super) fn parse_ticks(stat: &str) -> Option<u64> {
    const USER: usize = 11;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks =
        fields.split_whitespace().skip(USER).map_while(|field| field.parse::<u64>().ok());
    Some(ticks.next()? + ticks.next()?)
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_server_is_gone() {
        let server = Server::redis().unwrap();
        let addr = (Ipv4Addr::LOCALHOST, server.port());
        assert!(TcpStream::connect(addr).is_ok());
        drop(server);
        assert!(TcpStream::connect(addr).is_err());
    }

    #[test]
    fn fed_commands_are_there_and_cost_time() {
        let server = Server::redis().unwrap();
        server.feed((0..100_000).map(|n| format!("SET key:{n} {n}"))).unwrap();
        assert_eq!(server.ask(&["GET", "key:99999"]).unwrap(), "99999");
        assert!(server.info("used_memory").unwrap() > 1e6);
        assert!(server.cpu_ticks().unwrap() > 0);
    }

    #[test]
    fn ticks_are_found_behind_any_name() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 40 2 13 14";
        assert_eq!(parse_ticks(stat), Some(42));
        assert_eq!(parse_ticks("7 (a) S 1"), None);
    }

    #[test]
    fn server_that_ends_at_once_is_reported() {
        let error = Server::start("short", "false", |_, _, _| {}).err().unwrap();
        assert!(error.to_string().starts_with("\"short\" ended at its start"), "{error}");
    }
}
