//! The driver's process, its session, and JSON over plain HTTP.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
    process::Stdio,
    time::Duration,
};

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::{Port, Process, process::find_program, wait_until};

/// How long one command may take; a page that loads for longer is broken.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The driver and the session in it.
#[derive(Debug)]
pub(super) struct Driver {
    link: Link,
    // In this order: the browser ends before its driver, and both before their folder.
    _process: Process,
    _profile: TempDir,
    _port: Port,
}

/// Where commands go.
#[derive(Debug, Clone)]
pub(super) struct Link {
    port: u16,
    session: String,
}

impl Driver {
    pub(super) fn start() -> Driver {
        for (program, package) in [("chromedriver", "chromium-driver"), ("chromium", "chromium")] {
            let is_there = find_program(program).is_some();
            assert!(
                is_there,
                "\"{program}\" is missing; run `cargo xtask setup` or install {package}"
            );
        }
        let (port, profile) = (Port::lease(), TempDir::new().expect("a folder for the profile"));
        let mut command = Process::command("chromedriver");
        command.arg(format!("--port={}", port.number()));
        // Whatever the browser writes must go with the test.
        command.env("HOME", profile.path()).env("TMPDIR", profile.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = Process::spawn("chromedriver", command);
        let mut link = Link { port: port.number(), session: String::new() };
        wait_until("the browser's driver", || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, link.port)).is_ok()
        });
        let session = link.call("/session", &capabilities(profile.path()));
        let session = session.unwrap_or_else(|error| panic!("no browser starts: {error:#}"));
        link.session = session["sessionId"].as_str().expect("a session").to_owned();
        Driver { link, _process: process, _profile: profile, _port: port }
    }

    pub(super) fn link(&self) -> Link {
        self.link.clone()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The driver ends its browser only when asked to. A panic here would abort the test run.
        let path = format!("/session/{}", self.link.session);
        let _ = self.link.exchange("DELETE", &path, "");
    }
}

fn capabilities(profile: &std::path::Path) -> Json {
    let arguments = [
        "--headless=new".to_owned(),
        // The tests may run as root in a container, where the sandbox cannot.
        "--no-sandbox".to_owned(),
        "--disable-dev-shm-usage".to_owned(),
        "--disable-gpu".to_owned(),
        "--hide-scrollbars".to_owned(),
        "--no-first-run".to_owned(),
        "--disable-background-networking".to_owned(),
        "--window-size=1280,900".to_owned(),
        // With a pipe to its driver the browser ends when the driver does, however that comes.
        "--remote-debugging-pipe".to_owned(),
        format!("--user-data-dir={}", profile.join("profile").display()),
    ];
    json!({ "capabilities": { "alwaysMatch": {
        "browserName": "chrome",
        "goog:chromeOptions": { "args": arguments, "binary": find_program("chromium") },
        "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
    } } })
}

impl Link {
    /// A command of the session, or what the driver says about why it could not be carried out.
    pub(super) fn session(&self, path: &str, body: &Json) -> Result<Json, Json> {
        self.call(&format!("/session/{}{path}", self.session), body)
    }

    fn call(&self, path: &str, body: &Json) -> Result<Json, Json> {
        let answer = self
            .exchange("POST", path, &body.to_string())
            .unwrap_or_else(|error| panic!("the browser's driver: {path}: {error}"));
        let mut answer: Json = serde_json::from_str(&answer)
            .unwrap_or_else(|error| panic!("the browser's driver says {answer:?}: {error}"));
        let value = answer["value"].take();
        if value.get("error").is_some() { Err(value) } else { Ok(value) }
    }

    fn exchange(&self, method: &str, path: &str, body: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut reader = BufReader::new(stream);
        // The driver says that it closes the connection, and does not.
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().map_err(std::io::Error::other)?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        String::from_utf8(body).map_err(std::io::Error::other)
    }
}
