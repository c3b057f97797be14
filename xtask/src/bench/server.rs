//! Servers under measurement: pinned to a core, on a free port, in a temporary folder.

use std::ffi::OsString;
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

/// Which part of a benchmark a program is; each part has a core of its own.
#[derive(Clone, Copy)]
pub(super) enum Role {
    Server,
    Load,
}

impl Role {
    fn core(self) -> usize {
        match self {
            Self::Server => 0,
            Self::Load => 1,
        }
    }
}

/// A command pinned to the core of its role, where the machine can do that.
pub(super) fn pinned(program: impl Into<OsString>, role: Role) -> Command {
    let cores = thread::available_parallelism().map_or(1, |count| count.get());
    if role.core() >= cores || shell::find("taskset").is_none() {
        return Command::new(program.into());
    }
    let mut command = Command::new("taskset");
    command.arg("-c").arg(role.core().to_string()).arg(program.into());
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
        Self::start("redis-server", "redis-server", |command, port, folder| {
            command.args(["--save", "", "--bind", "127.0.0.1", "--port", &port.to_string()]);
            command.arg("--dir").arg(folder);
        })
    }

    /// Starts a server; `arguments` gets the port it has to listen on and a folder for its data.
    pub(super) fn start(
        name: &str,
        program: impl Into<OsString>,
        arguments: impl FnOnce(&mut Command, u16, &Path),
    ) -> Result<Self> {
        let folder = tempfile::tempdir().context("could not create a temporary folder")?;
        let port = free_port().context("could not find a free port")?;
        let mut command = pinned(program, Role::Server);
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
    fn server_that_ends_at_once_is_reported() {
        let error = Server::start("short", "false", |_, _, _| {}).err().unwrap();
        assert!(error.to_string().starts_with("\"short\" ended at its start"), "{error}");
    }
}
