//! `cargo xtask campaign`: faults on real stores, and a count of what was lost.
//!
//! `crates/campaign` is the program; this builds and starts it.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::shell::{self, cargo, target};
use crate::step::step;

/// How long the part of `cargo xtask test` takes: one round of all faults.
const CUT_MINUTES: &str = "2";

/// Builds release programs and runs the campaign with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    shell::run(&mut cargo("build --release --quiet -p keyrack-cli -p keyrack-campaign"))?;
    shell::run(Command::new(program("release")).args(arguments))
}

/// A short campaign with the programs that the tests have built, and a proof that it notices losses.
pub(crate) fn cut() -> Result<()> {
    let program = program("debug");
    ensure!(program.is_file(), "the tests have not built \"{}\"", program.display());
    step("campaign: canary", || canary(&program))?;
    step("campaign", || shell::run(Command::new(&program).args(["--minutes", CUT_MINUTES])))
}

/// A server that forgets its data has to fail a campaign: one that finds nothing would look like a success.
fn canary(program: &PathBuf) -> Result<()> {
    let output = Command::new(program)
        .args(["--minutes", "0", "flush-data"])
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("could not run \"{}\"", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let noticed = !output.status.success() && text.contains("acknowledged jobs lost");
    ensure!(noticed, "a server that lost its data passed the campaign:\n{text}");
    Ok(())
}

fn program(profile: &str) -> PathBuf {
    target().join(profile).join("keyrack-campaign")
}
