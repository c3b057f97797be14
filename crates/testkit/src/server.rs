//! One throw-away `redis-server`.

mod builder;

pub use builder::RedisServerBuilder;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;

use crate::port::Port;
use crate::process::Process;
use crate::wait::{wait_at_most, wait_until};

/// A start takes about 20 ms; the rest is for a machine with other things to do.
const START_PATIENCE: Duration = Duration::from_secs(30);
/// How often another port is tried when somebody outside our tests took the leased one.
const START_ATTEMPTS: u32 = 5;
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// A Redis server with its own port and folder, killed when dropped.
///
/// ```
/// use keyrack_testkit::RedisServer;
///
/// let mut server = RedisServer::builder().password("secret").append_only().start();
/// redis::cmd("SET").arg("key").arg(1).exec(&mut server.connection()).unwrap();
/// server.kill();
/// server.restart();
/// let value: i64 = redis::cmd("GET").arg("key").query(&mut server.connection()).unwrap();
/// assert_eq!(value, 1);
/// ```
// The fields are dropped in this order: nothing may hold the port or the folder when they go.
#[derive(Debug)]
pub struct RedisServer {
    process: Process,
    port: Port,
    folder: TempDir,
    settings: RedisServerBuilder,
}

impl RedisServer {
    /// Starts a server without persistence or password.
    ///
    /// # Panics
    /// When `redis-server` is missing or does not come up.
    #[track_caller]
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// Settings for a server that is not plain.
    pub fn builder() -> RedisServerBuilder {
        RedisServerBuilder::default()
    }

    #[track_caller]
    fn start_with(settings: RedisServerBuilder) -> Self {
        let program = settings.program();
        for _ in 0..START_ATTEMPTS {
            let port = Port::lease();
            let folder = TempDir::with_prefix("keyrack-redis-")
                .unwrap_or_else(|error| panic!("could not create a temporary folder: {error}"));
            settings.write_config(folder.path(), port.number());
            let arguments = settings.start_arguments(folder.path());
            let process = launch(&program, &arguments, folder.path());
            let mut server = Self { process, port, folder, settings: settings.clone() };
            match server.wait_ready() {
                Ok(()) => return server,
                Err(log) if log.contains("Address already in use") => {}
                Err(log) => panic!("\"{}\" did not come up; its log:\n{log}", program.display()),
            }
        }
        panic!("no port stayed free long enough to start \"{}\"", program.display())
    }

    /// The port it listens on, which stays the same over restarts.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The address it listens on.
    pub fn addr(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port()).into()
    }

    /// `redis://…` with the password, if there is one.
    pub fn url(&self) -> String {
        match &self.settings.password {
            Some(password) => format!("redis://:{password}@{}", self.addr()),
            None => format!("redis://{}", self.addr()),
        }
    }

    /// `redis+unix://…`, for a server built with [`RedisServerBuilder::unix_socket`].
    pub fn unix_url(&self) -> String {
        let path = builder::socket_path(self.dir());
        let password = self.settings.password.as_ref().map(|pass| format!("?pass={pass}"));
        format!("redis+unix://{}{}", path.display(), password.unwrap_or_default())
    }

    /// Its folder, with the data and `redis.conf`; removed when the server is dropped.
    pub fn dir(&self) -> &Path {
        self.folder.path()
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        fs::read_to_string(log_path(self.dir())).unwrap_or_default()
    }

    /// The process id of the running server.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// A new blocking connection, for looking at the server from a test.
    ///
    /// # Panics
    /// When the server cannot be reached.
    #[track_caller]
    pub fn connection(&self) -> redis::Connection {
        redis::Client::open(self.url())
            .and_then(|client| client.get_connection())
            .unwrap_or_else(|error| panic!("could not connect to \"{}\": {error}", self.url()))
    }

    /// The value of a field in the reply to INFO, such as `master_link_status`.
    #[track_caller]
    pub fn info(&self, field: &str) -> Option<String> {
        let info: String = redis::cmd("INFO")
            .query(&mut self.connection())
            .unwrap_or_else(|error| panic!("could not read INFO of \"{}\": {error}", self.url()));
        info_field(&info, field).map(str::to_owned)
    }

    /// The same; `None` also for a server that does not answer now.
    pub fn try_info(&self, field: &str) -> Option<String> {
        let mut connection = redis::Client::open(self.url()).ok()?.get_connection().ok()?;
        let info: String = redis::cmd("INFO").query(&mut connection).ok()?;
        info_field(&info, field).map(str::to_owned)
    }

    /// Waits until a replica has its master's data and follows it.
    pub fn wait_until_in_sync(&self) {
        wait_until("the replica to be in sync", || {
            self.info("master_link_status").as_deref() == Some("up")
        });
    }

    /// Ends the server with SIGKILL, as a crash would; port and folder stay.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Ends the server in good order; port and folder stay.
    pub fn stop(&mut self) {
        self.process.terminate();
    }

    /// Whether the server process is there, paused or not.
    pub fn is_running(&mut self) -> bool {
        self.process.exit_status().is_none()
    }

    /// Starts the server again on the same port and folder, after killing it if it still runs.
    ///
    /// # Panics
    /// When it does not come up.
    #[track_caller]
    pub fn restart(&mut self) {
        self.process.kill();
        // A Sentinel keeps what it learned in its configuration file, so that file is not rewritten.
        let arguments = self.settings.start_arguments(self.dir());
        self.process = launch(&self.settings.program(), &arguments, self.dir());
        if let Err(log) = self.wait_ready() {
            panic!("the server did not come up again; its log:\n{log}")
        }
    }

    /// Freezes the server with SIGSTOP: connections stay open and nothing is answered.
    pub fn pause(&mut self) {
        self.process.pause();
    }

    /// Lets a frozen server go on.
    pub fn resume(&mut self) {
        self.process.resume();
    }

    /// Waits until the server answers; otherwise returns its log.
    fn wait_ready(&mut self) -> Result<(), String> {
        let (addr, password) = (self.addr(), self.settings.password.clone());
        let ready = wait_at_most(START_PATIENCE, || {
            if !self.is_running() {
                return Some(false);
            }
            answers(addr, password.as_deref()).then_some(true)
        });
        if ready == Some(true) { Ok(()) } else { Err(self.log()) }
    }
}

fn launch(program: &Path, arguments: &[String], folder: &Path) -> Process {
    let log = File::options()
        .create(true)
        .append(true)
        .open(log_path(folder))
        .unwrap_or_else(|error| panic!("could not open the server's log: {error}"));
    let stderr = log.try_clone().expect("a file just opened can be cloned");
    let mut command = Process::command(program);
    command.args(arguments).stdin(Stdio::null()).stdout(log).stderr(stderr);
    Process::spawn(program.display().to_string(), command)
}

fn log_path(folder: &Path) -> PathBuf {
    folder.join("server.log")
}

/// Whether the server serves commands. While it loads its data it refuses a password too, so it has to be asked with it.
fn answers(addr: SocketAddr, password: Option<&str>) -> bool {
    let ping = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&addr, PROBE_TIMEOUT)?;
        stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
        let mut replies = BufReader::new(stream.try_clone()?);
        let mut reply = String::new();
        if let Some(password) = password {
            stream.write_all(format!("AUTH {password}\r\n").as_bytes())?;
            replies.read_line(&mut reply)?;
            reply.clear();
        }
        stream.write_all(b"PING\r\n")?;
        replies.read_line(&mut reply)?;
        Ok(reply)
    };
    // Without a password of ours, an ACL file may keep us out of a server that is ready.
    let kept_out = if password.is_some() { "-NOPERM" } else { "-NO" };
    ping().is_ok_and(|reply| reply.starts_with("+PONG") || reply.starts_with(kept_out))
}

/// The value of `field:value` in the text of INFO or CLUSTER INFO.
pub(crate) fn info_field<'a>(info: &'a str, field: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).map(str::trim)
}
