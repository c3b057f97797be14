//! Clients that mean harm, or know no better: the engine answers clearly, stays within its memory, and serves the others.

mod arguments;
mod bytes;
mod crowds;
mod nesting;
mod readers;
mod scripts;

use std::{
    fs,
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    time::Duration,
};

use crate::{
    server::Server,
    wire::{Frame, Wire},
};

const MIB: u64 = 1 << 20;

/// An engine in a process of its own, whose memory can be looked at.
struct Victim {
    server: Server,
    /// A client that does nothing wrong.
    honest: Wire,
    pid: String,
}

impl Victim {
    fn start() -> Victim {
        Victim::of(Server::in_memory())
    }

    fn of(server: Server) -> Victim {
        let mut honest = server.connect();
        let pid = info(&mut honest, "process_id");
        Victim { server, honest, pid }
    }

    fn connect(&self) -> Wire {
        self.server.connect()
    }

    fn connect_raw(&self) -> Raw {
        Raw::connect(self)
    }

    #[track_caller]
    fn set(&mut self, name: &str, value: &str) {
        assert_eq!(self.honest.call(&["CONFIG", "SET", name, value]), Frame::Status("OK".into()));
    }

    /// What INFO says.
    fn info(&mut self, field: &str) -> u64 {
        info(&mut self.honest, field).parse().expect("a number")
    }

    /// Fails unless old and new clients are served.
    #[track_caller]
    fn assert_sound(&mut self) {
        let pong = Frame::Status("PONG".into());
        assert_eq!(self.honest.call(&["PING"]), pong);
        assert_eq!(self.connect().call(&["PING"]), pong);
    }

    /// Bytes of memory that the process has now.
    fn memory(&self) -> u64 {
        self.status("VmRSS")
    }

    /// By how many bytes the memory of the process grew at most while `attack` ran.
    fn growth(&mut self, attack: impl FnOnce(&mut Victim)) -> u64 {
        // What the system counts as the most so far starts over.
        fs::write(format!("/proc/{}/clear_refs", self.pid), "5").expect("a process of our own");
        let before = self.memory();
        attack(self);
        self.status("VmHWM").saturating_sub(before)
    }

    fn status(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid));
        let status = status.expect("the engine is alive");
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let size = line.and_then(|line| line.split_whitespace().next()).expect("a size");
        size.parse::<u64>().expect("a number") * 1024
    }
}

fn info(wire: &mut Wire, field: &str) -> String {
    let text = wire.call(&["INFO", "everything"]);
    let text = String::from_utf8_lossy(text.bytes()).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("INFO has no {field}")).to_owned()
}

/// A connection that sends bytes, right or wrong.
struct Raw(TcpStream);

impl Raw {
    fn connect(victim: &Victim) -> Raw {
        let stream = TcpStream::connect(victim.server.address()).expect("the engine accepts");
        let patience = Some(Duration::from_secs(20));
        stream.set_read_timeout(patience).expect("a TCP option");
        stream.set_write_timeout(patience).expect("a TCP option");
        stream.set_nodelay(true).expect("a TCP option");
        Raw(stream)
    }

    /// Sends bytes; false if the engine has hung up meanwhile.
    fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.0.write_all(bytes.as_ref()).is_ok()
    }

    /// Says that there is nothing more to come.
    fn finish(&self) {
        // The engine may have hung up first.
        let _ = self.0.shutdown(Shutdown::Write);
    }

    /// Everything up to the end of the connection. A reset is an end too: the engine had more to read.
    fn read_all(&mut self) -> String {
        let mut received = Vec::new();
        let _ = self.0.read_to_end(&mut received);
        String::from_utf8_lossy(&received).into_owned()
    }
}

#[track_caller]
fn assert_error(frame: &Frame, expected: &str) {
    match frame {
        Frame::Error(text) => assert!(text.contains(expected), "{text:?} is not {expected:?}"),
        other => panic!("expected {expected:?}, got {:.200}", other.to_string()),
    }
}
