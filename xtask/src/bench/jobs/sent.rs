//! Which commands came from a client and which from a script, as MONITOR tells them apart.
//!
//! MONITOR slows a server down, so this is counted in a run of its own that nobody times.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use anyhow::{Context, Result};

use super::super::server::{Role, Server, pinned};

/// Sent after the last command that counts.
const END: &str = "the last command has been counted";

/// How many commands clients sent while `action` ran; those of scripts are not among them.
pub(super) fn count(server: &Server, action: impl FnOnce() -> Result<()>) -> Result<u64> {
    let mut command = pinned("redis-cli", Role::Load);
    command.args(["-p", &server.port().to_string(), "MONITOR"]).stdout(Stdio::piped());
    let mut monitor = Monitor(command.spawn().context("could not start redis-cli")?);
    let output = monitor.0.stdout.take().context("redis-cli gives no output")?;
    let mut lines = BufReader::new(output).lines();
    // The first line says that it listens.
    lines.next().context("MONITOR was refused")??;
    let counting = std::thread::spawn(move || -> Result<u64> {
        let mut n_sent = 0;
        for line in lines {
            let line = line?;
            if line.contains(END) {
                return Ok(n_sent);
            }
            n_sent += u64::from(!is_of_script(&line));
        }
        anyhow::bail!("MONITOR ended early")
    });
    action()?;
    server.ask(&["ECHO", END])?;
    counting.join().expect("counting lines does not panic")
}

/// `1700000000.000001 [0 lua] "SET" …` against `1700000000.000001 [0 127.0.0.1:7000] "SET" …`.
fn is_of_script(line: &str) -> bool {
    line.split_once(']').is_some_and(|(source, _)| source.ends_with(" lua"))
}

/// Killed when dropped, as it never ends by itself.
struct Monitor(Child);

impl Drop for Monitor {
    fn drop(&mut self) {
        // One that has already ended is what we want.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_inside_scripts_are_not_counted() {
        let server = Server::redis().unwrap();
        let script = "for n = 1, 9 do redis.call('SET', KEYS[1], n) end";
        let n_sent = count(&server, || {
            server.ask(&["SET", "key", "[0 lua] is only a value"])?;
            server.ask(&["EVAL", script, "1", "key"])?;
            Ok(())
        });
        // redis-cli asks for COMMAND DOCS only where it talks to people.
        assert_eq!(n_sent.unwrap(), 2);
    }
}
