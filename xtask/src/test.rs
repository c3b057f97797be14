//! `cargo xtask test`: everything that must hold before a change is merged.

use anyhow::Result;

use crate::shell::{self, cargo, succeeds};
use crate::step::{step, summary};
use crate::{campaign, fuzz, node, python, setup};

/// What builds the native modules of packages, and the program, without building their crates once more.
const WITH_ALL: &str = "build --workspace --lib --bins --tests --quiet";

/// Runs all checks, the quick ones first, and stops at the first that fails.
pub(crate) fn run() -> Result<()> {
    setup::run()?;
    format_and_clippy()?;
    step("tests", || shell::run(&mut tests("")))?;
    step("doc tests", || shell::run(&mut cargo("test --workspace --doc --quiet")))?;
    // The same crates with the same features as all other tests, so only the modules themselves are new.
    python::test(WITH_ALL)?;
    node::test(WITH_ALL)?;
    campaign::cut()?;
    fuzz::smoke()?;
    println!("{}everything passed", summary());
    Ok(())
}

/// Runs the checks for everyday work: no set-up, no integration tests, no faults, no fuzzing.
pub(crate) fn quick() -> Result<()> {
    format_and_clippy()?;
    step("unit tests", || shell::run(&mut tests(" --lib --bins")))?;
    println!("{}the quick checks passed; \"cargo xtask test\" runs all of them", summary());
    Ok(())
}

fn format_and_clippy() -> Result<()> {
    step("format", || shell::run(&mut cargo("fmt --all --check")))?;
    step("clippy", || {
        shell::run(&mut cargo("clippy --workspace --all-targets --quiet -- -D warnings"))
    })
}

/// nextest when it is there: it runs the tests of all crates side by side and stops hanging ones.
fn tests(selection: &str) -> std::process::Command {
    if succeeds(&mut cargo("nextest --version")) {
        cargo(&format!("nextest run --workspace{selection}"))
    } else {
        let selection = if selection.is_empty() { " --all-targets" } else { selection };
        cargo(&format!("test --workspace{selection} --no-fail-fast"))
    }
}
