//! The `keyrack` program; everything it does is in the library half, where tests reach it.

use std::process::ExitCode;

/// The embedded engine allocates for every key and every Lua string, from several threads; the system's allocator takes a
/// third of its time for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    keyrack::main()
}
