//! Building the fuzz targets with the compiler flags that let libFuzzer see which branches an input takes.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::shell::{cargo, command, output, run, workspace};

/// What makes every branch and every comparison report to libFuzzer.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// What the targets look out for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watch {
    /// Panics, endless loops and too much memory.
    Panics,
    /// Also reads and writes of memory that is not theirs, in Rust and in Lua's C.
    Memory,
}

/// Builds all targets and returns the folder with their programs.
pub(super) fn targets(watch: Watch) -> Result<PathBuf> {
    let host = host()?;
    let mut folder = workspace().join("fuzz/target");
    // With a target named, the flags do not reach build scripts, which libFuzzer is not linked to.
    let mut build = cargo("build --quiet --locked --release --manifest-path fuzz/Cargo.toml");
    build.args(["--target", &host]);
    match watch {
        Watch::Panics => build.env("RUSTFLAGS", FLAGS),
        Watch::Memory => {
            folder.push("memory");
            // The sanitizer comes with every compiler, though it is stable in none.
            build.env("RUSTC_BOOTSTRAP", "1").env("CFLAGS", "-fsanitize=address");
            // The engine does not change the stack then.
            build.env("KEYRACK_SANITIZED", "1");
            build.env("RUSTFLAGS", format!("{FLAGS} -Zsanitizer=address"))
        }
    };
    run(build.arg("--target-dir").arg(&folder))?;
    Ok(folder.join(host).join("release"))
}

/// What the compiler calls this machine.
fn host() -> Result<String> {
    let said = output(&mut command("rustc", "--version --verbose"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc did not say what machine it runs on")
}
