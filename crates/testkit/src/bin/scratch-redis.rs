//! Keeps one throw-away Redis open until its input ends, for trying things by hand.

#![expect(clippy::print_stdout, reason = "a program's output is its purpose")]

use std::io::{self, Read};

use keyrack_testkit::RedisServer;

fn main() -> io::Result<()> {
    let server = RedisServer::start();
    println!("{} process {}", server.url(), server.process_id());
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
