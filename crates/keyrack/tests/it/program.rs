//! Running the program: once to its end, or as a server.
//!
//! It is the one that was built for these tests, or another that `KEYRACK_BIN` names: a release has to pass them too.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use keyrack_testkit::{Exchange, Process, wait_for};
use tempfile::TempDir;

/// The program, in a folder of its own and with no settings from outside.
pub(crate) fn keyrack(dir: &Path) -> Command {
    let mut command = Process::command(program());
    command.current_dir(dir).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if ["KEYRACK_", "OTEL_", "TRACE"]
            .iter()
            .any(|start| name.to_string_lossy().starts_with(start))
        {
            command.env_remove(name);
        }
    }
    command
}

/// Where the program is.
pub(crate) fn program() -> PathBuf {
    let Some(named) = std::env::var_os("KEYRACK_BIN") else {
        return env!("CARGO_BIN_EXE_keyrack").into();
    };
    // Tests run in the folder of their crate, and whoever names a program means the folder of the workspace.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(named);
    assert!(path.is_file(), "KEYRACK_BIN: there is no program \"{}\"", path.display());
    path
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn of(mut command: Command) -> Run {
        Run::from(command.output().expect("the program starts"))
    }

    /// Runs with the arguments of a line, in a fresh folder.
    pub(crate) fn line(arguments: &str) -> Run {
        let dir = TempDir::new().expect("a folder");
        Run::line_in(dir.path(), arguments)
    }

    /// Runs with the arguments of a line.
    pub(crate) fn line_in(dir: &Path, arguments: &str) -> Run {
        let mut command = keyrack(dir);
        command.args(arguments.split_whitespace());
        Run::of(command)
    }

    /// The one error line and the hint, if there is one; anything else on stderr is a failed test.
    #[track_caller]
    pub(crate) fn failure(&self) -> (&str, Option<&str>) {
        let mut lines = self.stderr.lines().skip_while(|line| !line.starts_with("error: "));
        let error = lines.next().unwrap_or_else(|| panic!("no error line in {self:?}"));
        let hint = lines.next();
        assert!(hint.is_none_or(|hint| hint.starts_with("hint: ")), "{self:?}");
        assert_eq!(lines.next(), None, "{self:?}");
        (error, hint)
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Run {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program prints UTF-8");
        Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// A running `keyrack serve`.
pub(crate) struct Serve {
    pub(crate) process: Process,
    log: PathBuf,
    _log_dir: TempDir,
}

impl Serve {
    /// Serves the folder `data` in `dir` on free ports, and waits until it is ready.
    pub(crate) fn start(dir: &Path) -> Serve {
        Serve::start_with(dir, "", &[])
    }

    /// The same with more arguments and variables.
    pub(crate) fn start_with(dir: &Path, more: &str, env: &[(&str, &str)]) -> Serve {
        let serve = Serve::spawn(dir, more, env);
        serve.wait_until_ready();
        serve
    }

    /// The same where no more than so many files can be open.
    pub(crate) fn start_with_files(dir: &Path, files: u32) -> Serve {
        Serve::start_after(dir, &format!("ulimit -n {files}"))
    }

    /// The same after a command of the shell, whose process it becomes.
    pub(crate) fn start_after(dir: &Path, line: &str) -> Serve {
        let mut command = Process::command("sh");
        command.current_dir(dir).stdin(Stdio::null());
        let line = format!("{line} && exec \"$0\" \"$@\"");
        command.arg("-c").arg(line).arg(program());
        let serve = Serve::spawn_as(command, "", &[]);
        serve.wait_until_ready();
        serve
    }

    pub(crate) fn wait_until_ready(&self) {
        wait_for("the server to be ready", || {
            let words = self.words();
            assert!(!words.contains("error: "), "the server did not start:\n{words}");
            words.contains("ready; ").then_some(())
        });
    }

    /// The same without waiting.
    pub(crate) fn spawn(dir: &Path, more: &str, env: &[(&str, &str)]) -> Serve {
        Serve::spawn_as(keyrack(dir), more, env)
    }

    fn spawn_as(mut command: Command, more: &str, env: &[(&str, &str)]) -> Serve {
        let log_dir = TempDir::new().expect("a folder");
        let log = log_dir.path().join("stderr");
        command.args(["serve", "--resp", "127.0.0.1:0"]);
        if !more.contains("--http ") {
            command.args(["--http", "127.0.0.1:0"]);
        }
        command.args(more.split_whitespace()).envs(env.iter().copied());
        command.stderr(fs::File::create(&log).expect("a log file"));
        Serve { process: Process::spawn("keyrack serve", command), log, _log_dir: log_dir }
    }

    /// What it has said so far.
    pub(crate) fn words(&self) -> String {
        fs::read_to_string(&self.log).expect("the log file")
    }

    pub(crate) fn http(&self) -> SocketAddr {
        self.address("http   http://")
    }

    pub(crate) fn resp(&self) -> SocketAddr {
        self.address("resp   ")
    }

    fn address(&self, label: &str) -> SocketAddr {
        let words = self.words();
        let line = words.lines().find_map(|line| line.trim().strip_prefix(label));
        let line = line.unwrap_or_else(|| panic!("no \"{label}\" in:\n{words}"));
        line.split(' ').next().expect("an address").parse().expect("an address")
    }

    /// A Redis connection to its store.
    pub(crate) fn redis(&self) -> redis::Connection {
        let client = redis::Client::open(format!("redis://{}", self.resp())).expect("a good URL");
        client.get_connection().expect("the RESP port answers")
    }

    /// `GET path`: status line and headers, then the body.
    pub(crate) fn get(&self, path: &str) -> (String, String) {
        self.send("GET", path, "")
    }

    /// `POST path` with a body.
    pub(crate) fn post(&self, path: &str, body: &str) -> (String, String) {
        self.send("POST", path, body)
    }

    fn send(&self, method: &str, path: &str, body: &str) -> (String, String) {
        self.send_as(None, method, path, body)
    }

    /// A request with somebody's token, if any.
    pub(crate) fn send_as(
        &self,
        token: Option<&str>,
        method: &str,
        path: &str,
        body: &str,
    ) -> (String, String) {
        let mut stream = TcpStream::connect(self.http()).expect("the HTTP port answers");
        let (length, token) =
            (body.len(), token.map(|token| format!("Authorization: bearer {token}\r\n")));
        let token = token.unwrap_or_default();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{token}Content-Length: {length}\r\n\r\n{body}"
        )
        .expect("the request is sent");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a whole response");
        let (head, body) = response.split_once("\r\n\r\n").expect("headers end");
        conforms(method, path, head, body);
        (head.to_owned(), body.to_owned())
    }
}

/// The description of the API has to know of the answer.
#[track_caller]
fn conforms(method: &str, path: &str, head: &str, body: &str) {
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let header = |name: &str| {
        head.lines()
            .filter_map(|line| line.split_once(": "))
            .find_map(|(known, value)| known.eq_ignore_ascii_case(name).then_some(value))
    };
    // What comes in pieces is a stream, which the tests of the server look at.
    if header("transfer-encoding").is_some() {
        return;
    }
    let content_type = header("content-type");
    Exchange { method, path, status: status.expect("a status"), content_type, body }.conforms();
}
