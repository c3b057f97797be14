//! `keyrack serve` as a process.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use keyrack_testkit::{Port, Process, wait_until};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

/// How to start the server of one deployment, always on the same port.
#[derive(Debug)]
pub(crate) struct Serve {
    process: Process,
    settings: ServeSettings,
    http: Port,
}

#[derive(Debug)]
pub(crate) struct ServeSettings {
    /// `--store URL`, or `--data DIR --resp ADDR`.
    pub(crate) arguments: Vec<String>,
    pub(crate) log: PathBuf,
}

impl Serve {
    /// Starts it and waits until it is ready.
    pub(crate) fn start(settings: ServeSettings) -> Serve {
        let http = Port::lease();
        let process = launch(&settings, &http, None);
        let serve = Serve { process, settings, http };
        serve.wait_until_ready();
        serve
    }

    pub(crate) fn http(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.http.number()).into()
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again, after killing it if it still runs. With a file it has the time that the file says.
    pub(crate) fn restart(&mut self, fake_time: Option<&Path>) {
        self.process.kill();
        self.process = launch(&self.settings, &self.http, fake_time);
        self.wait_until_ready();
    }

    /// Ends it in good order and starts it again.
    pub(crate) fn restart_in_good_order(&mut self, fake_time: Option<&Path>) {
        self.process.terminate();
        self.restart(fake_time);
    }

    /// Lets no file grow beyond this length, as on a full disk; `None` lifts the limit.
    pub(crate) fn limit_files(&self, length_max: Option<u64>) {
        limit_files(self.process.id(), length_max);
    }

    fn wait_until_ready(&self) {
        let address = self.http();
        wait_until("keyrack serve to be ready", || is_ready(address).unwrap_or(false));
    }
}

/// Limits the length of the files that a process may write.
pub(crate) fn limit_files(process: u32, length_max: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    prlimit(
        Pid::from_raw(process as i32),
        Resource::Fsize,
        Rlimit { current: length_max, maximum },
    )
    .expect("a limit of a process of our own can be set");
}

fn launch(settings: &ServeSettings, http: &Port, fake_time: Option<&Path>) -> Process {
    // A process that ignores the signal gets an error in place of it when a file must not grow.
    let mut command = Process::command("sh");
    command.args(["-c", "trap '' XFSZ && exec \"$@\"", "sh"]).arg(program());
    command.args(["serve", "--http", &format!("127.0.0.1:{}", http.number())]);
    command.args(&settings.arguments).stdin(Stdio::null()).stdout(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("KEYRACK_") {
            command.env_remove(name);
        }
    }
    let log = File::options().create(true).append(true).open(&settings.log).expect("a log");
    command.stderr(log);
    if let Some(file) = fake_time {
        Process::fake_time(&mut command, file);
    }
    Process::spawn("keyrack serve", command)
}

/// The program beside this one, or the one that `KEYRACK_BIN` names.
fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("KEYRACK_BIN") {
        return named.into();
    }
    let own = std::env::current_exe().expect("this program has a path");
    let path = own.with_file_name("keyrack");
    assert!(path.is_file(), "\"{}\" is missing; run: cargo build -p keyrack-cli", path.display());
    path
}

fn is_ready(address: SocketAddr) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.starts_with("HTTP/1.1 200 "))
}
