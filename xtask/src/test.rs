//! `cargo xtask test`: everything that must hold before a change is merged.

use anyhow::Result;

use crate::shell::{self, cargo, succeeds};
use crate::step::step;
use crate::{campaign, fuzz, python, setup};

/// Runs all checks, the quick ones first, and stops at the first that fails.
pub(crate) fn run() -> Result<()> {
    setup::run()?;
    step("format", || shell::run(&mut cargo("fmt --all --check")))?;
    step("clippy", || {
        shell::run(&mut cargo("clippy --workspace --all-targets --quiet -- -D warnings"))
    })?;
    step("tests", || shell::run(&mut tests()))?;
    step("doc tests", || shell::run(&mut cargo("test --workspace --doc --quiet")))?;
    python::test(python::WITH_ALL)?;
    campaign::cut()?;
    fuzz::smoke()?;
    println!("everything passed");
    Ok(())
}

/// nextest when it is there: it runs the tests of all crates side by side and stops hanging ones.
fn tests() -> std::process::Command {
    if succeeds(&mut cargo("nextest --version")) {
        cargo("nextest run --workspace")
    } else {
        cargo("test --workspace --all-targets --no-fail-fast")
    }
}
