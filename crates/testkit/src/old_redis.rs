//! Something that says it is a Redis of long ago.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Its version, one before the oldest that keyrack works with.
pub const OLD_VERSION: &str = "6.0.16";

/// Listens on a free port until the test process ends, and tells every client its version.
///
/// No distribution ships a server this old any more, so this one only says that it is one.
///
/// # Panics
/// When no port is free.
pub fn old_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || listener.incoming().flatten().for_each(answer));
    address
}

/// Knows no CLIENT subcommand, as servers of that time did not, and of the rest only INFO.
fn answer(mut socket: TcpStream) {
    let info = format!("redis_version:{OLD_VERSION}\r\n");
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = socket.read(&mut buffer) {
        let text = String::from_utf8_lossy(&buffer[..n]).into_owned();
        for _ in 0..text.matches("CLIENT").count() {
            let _ = socket.write_all(b"-ERR unknown subcommand\r\n");
        }
        if text.contains("INFO\r\n") {
            let _ = write!(socket, "${}\r\n{info}\r\n", info.len());
        }
    }
}
