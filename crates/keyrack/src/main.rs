//! The `keyrack` program; everything it does is in the library half, where tests reach it.

use std::process::ExitCode;

use keyrack_engine::{Allocator, CountingAllocator, counted_bytes, set_allocator};
use mimalloc::MiMalloc;

/// The embedded engine allocates for every key and every Lua string, from several threads; the system's allocator takes a
/// third of its time for that.
#[global_allocator]
static ALLOCATOR: CountingAllocator<MiMalloc> = CountingAllocator(MiMalloc);

fn main() -> ExitCode {
    set_allocator(Allocator { name: "mimalloc", used: counted_bytes, release });
    keyrack_cli::main()
}

/// Gives pages back that nothing is in: by itself mimalloc does so only when something is allocated again.
#[expect(unsafe_code, reason = "the crate does not declare this function of its library")]
fn release() {
    unsafe extern "C" {
        /// Frees what can be, and with `force` gives pages back at once.
        safe fn mi_collect(force: bool);
    }
    mi_collect(true);
}
