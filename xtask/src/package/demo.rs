//! Tries `keyrack demo`, the first thing that many people start.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// How long it runs.
const RUNS_FOR: Duration = Duration::from_secs(5);
/// How long it may take to start, and to clean up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs it for some seconds, asks its server for a page, and stops it as Ctrl-C does.
pub(super) fn try_it(mut program: Command) -> Result<()> {
    let mut demo = program.stderr(Stdio::piped()).spawn().context("could not start the demo")?;
    let tried = watch(&mut demo);
    if tried.is_err() {
        // It may have ended by itself.
        let _ = demo.kill();
        let _ = demo.wait();
    }
    tried.context("keyrack demo")
}

fn watch(demo: &mut Child) -> Result<()> {
    let stderr = demo.stderr.take().context("what it says is ours")?;
    let mut lines = BufReader::new(stderr).lines();
    let mut address = None;
    for line in lines.by_ref() {
        let line = line?;
        address = address.or_else(|| http_address(&line).map(str::to_owned));
        if line.starts_with("ready") {
            break;
        }
    }
    // A pipe that nobody reads would stop it.
    let complaints = thread::spawn(move || {
        let said: Vec<String> = lines.map_while(Result::ok).collect();
        said.join("\n")
    });
    let address = address.context("it did not say where its server is")?;
    // It is in the middle of its work when it is looked at.
    thread::sleep(RUNS_FOR);
    for path in ["/readyz", "/jobs"] {
        let status = status(&address, path)?;
        ensure!(status == "200", "{path} answered {status}");
    }
    ensure!(demo.try_wait()?.is_none(), "it ended by itself");
    let interrupted = Command::new("kill").args(["-INT", &demo.id().to_string()]).status()?;
    ensure!(interrupted.success(), "it could not be interrupted");
    let start = Instant::now();
    let ended = loop {
        if let Some(status) = demo.try_wait()? {
            break status;
        }
        ensure!(start.elapsed() < PATIENCE, "it did not end within {} s", PATIENCE.as_secs());
        thread::sleep(Duration::from_millis(50));
    };
    let complaints = complaints.join().unwrap_or_default();
    if !ended.success() || complaints.contains(" ERROR ") {
        bail!("it ended with {ended}, and said: {complaints}");
    }
    Ok(())
}

/// The address in the line that names it.
fn http_address(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("http://")?;
    rest.split_whitespace().next()
}

/// The status with which a path of a server answers.
fn status(address: &str, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    line.split(' ').nth(1).map(str::to_owned).with_context(|| format!("no answer to {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_found_in_what_the_program_prints() {
        let line = "  http   http://127.0.0.1:45203 (the dashboard)";
        assert_eq!(http_address(line), Some("127.0.0.1:45203"));
        assert_eq!(http_address("  resp   127.0.0.1:39247"), None);
    }

    #[test]
    fn program_that_is_no_demo_fails() {
        let mut program = Command::new("sh");
        program.args(["-c", "echo ready >&2; exit 3"]);
        let error = format!("{:#}", try_it(program).unwrap_err());
        assert!(error.contains("did not say where its server is"), "{error}");
    }
}
