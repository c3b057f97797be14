//! The `keyrack` program; everything it does is in the library half, where tests reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    keyrack::main()
}
