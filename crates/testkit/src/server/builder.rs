//! How a throw-away server is configured: a `redis.conf` in its own folder.

use std::fs;
use std::path::{Path, PathBuf};

use super::RedisServer;
use crate::process::{find_program, is_executable};

/// Settings of a [`RedisServer`], made by [`RedisServer::builder`].
#[derive(Clone, Debug, Default)]
pub struct RedisServerBuilder {
    binary: Option<PathBuf>,
    lines: Vec<(String, String)>,
    pub(super) password: Option<String>,
    unix_socket: bool,
    sentinel: bool,
}

impl RedisServerBuilder {
    /// Adds a line to `redis.conf`: `config("appendonly", "yes")`.
    ///
    /// Values are written as they are, so a value with spaces is several arguments and an empty
    /// one is `"\"\""`.
    pub fn config(mut self, name: &str, value: &str) -> Self {
        self.lines.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Asks clients for a password; [`RedisServer::url`] carries it.
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self.config("requirepass", password)
    }

    /// Writes an append-only file and syncs it before every reply.
    pub fn append_only(self) -> Self {
        self.config("appendonly", "yes").config("appendfsync", "always")
    }

    /// Gives a command another name; an empty one takes the command away.
    pub fn rename_command(self, command: &str, name: &str) -> Self {
        self.config("rename-command", &format!("{command} \"{name}\""))
    }

    /// Listens on a Unix socket as well; see [`RedisServer::unix_url`].
    pub fn unix_socket(mut self) -> Self {
        self.unix_socket = true;
        self
    }

    /// Follows `master` and refuses writes.
    pub fn replica_of(self, master: &RedisServer) -> Self {
        let this = match &master.settings.password {
            Some(password) => self.config("masterauth", password),
            None => self,
        };
        this.config("replicaof", &format!("127.0.0.1 {}", master.port()))
    }

    /// Runs another server program than the `redis-server` in `PATH`.
    pub fn binary(mut self, binary: impl Into<PathBuf>) -> Self {
        self.binary = Some(binary.into());
        self
    }

    /// Runs as a Sentinel.
    pub(crate) fn sentinel(mut self) -> Self {
        self.sentinel = true;
        self
    }

    /// Starts the server and waits until it answers.
    ///
    /// # Panics
    /// When the server program is missing or does not come up; the message has the log's end.
    #[track_caller]
    pub fn start(self) -> RedisServer {
        RedisServer::start_with(self)
    }

    /// The program to run.
    ///
    /// # Panics
    /// When it is not installed: a test without its server has failed.
    #[track_caller]
    pub(super) fn program(&self) -> PathBuf {
        match &self.binary {
            Some(binary) if is_executable(binary) => binary.clone(),
            Some(binary) => panic!("\"{}\" is not a program", binary.display()),
            None => find_program("redis-server")
                .expect("redis-server is not installed; run `cargo xtask setup`"),
        }
    }

    /// Writes the configuration for this folder and port.
    pub(super) fn write_config(&self, folder: &Path, port: u16) {
        let path = config_path(folder);
        fs::write(&path, self.config_text(folder, port))
            .unwrap_or_else(|error| panic!("could not write \"{}\": {error}", path.display()));
    }

    /// The arguments for a server whose configuration lies in this folder.
    pub(super) fn start_arguments(&self, folder: &Path) -> Vec<String> {
        let mut arguments = vec![config_path(folder).display().to_string()];
        if self.sentinel {
            arguments.push("--sentinel".to_owned());
        }
        arguments
    }

    fn config_text(&self, folder: &Path, port: u16) -> String {
        let mut lines = vec![
            format!("port {port}"),
            "bind 127.0.0.1".to_owned(),
            format!("dir \"{}\"", folder.display()),
            "save \"\"".to_owned(),
            // Replicas of a test have nothing to wait for; the default is five seconds.
            "repl-diskless-sync-delay 0".to_owned(),
            "repl-ping-replica-period 1".to_owned(),
        ];
        if self.unix_socket {
            lines.push(format!("unixsocket \"{}\"", socket_path(folder).display()));
        }
        lines.extend(self.lines.iter().map(|(name, value)| format!("{name} {value}")));
        lines.join("\n") + "\n"
    }
}

fn config_path(folder: &Path) -> PathBuf {
    folder.join("redis.conf")
}

pub(super) fn socket_path(folder: &Path) -> PathBuf {
    folder.join("redis.sock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "\"/does/not/exist\" is not a program")]
    fn missing_server_program_fails_the_test() {
        RedisServer::builder().binary("/does/not/exist").start();
    }

    #[test]
    fn later_settings_follow_the_defaults_so_they_win() {
        let text = RedisServer::builder()
            .rename_command("FLUSHALL", "")
            .config("save", "60 1")
            .config_text(Path::new("/folder"), 1234);
        assert!(text.starts_with("port 1234\n"));
        assert!(text.ends_with("rename-command FLUSHALL \"\"\nsave 60 1\n"));
    }
}
