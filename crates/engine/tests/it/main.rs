//! The engine from outside: through its doors, against the real Redis, and through crashes.

mod clients;
mod corruption;
mod crash;
mod differential;
mod disk_full;
mod harness;
mod hostile;
mod interop;
mod keyspace;
mod memory;
mod random;
mod server;
mod wire;

/// Shows what a test has measured or how to repeat it.
#[expect(clippy::print_stderr, reason = "this is where a test's remarks go")]
fn say(remark: &str) {
    eprintln!("{remark}");
}
