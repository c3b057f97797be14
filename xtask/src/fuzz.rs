//! `cargo xtask fuzz`: feeds the fuzz targets for a few seconds each.
//!
//! Stable Rust is enough: coverage comes from compiler flags that cargo-fuzz would pass as well, and `fuzz/` has the layout
//! that cargo-fuzz expects, for those who have it and want more. Before anything else, a target that must fail is made to
//! fail: a fuzzer that sees no coverage would find nothing and call that a success.

mod build;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell::{self, succeeds, workspace};
use crate::step::step;

/// The targets, as they are named in `fuzz/Cargo.toml`.
const TARGETS: [&str; 4] = ["resp", "log", "script", "commands"];

/// What the canary takes is a fraction of this.
const CANARY_RUNS: u32 = 2_000_000;

/// How long each target runs where nothing else is asked for.
pub(crate) const SECONDS: u32 = 5;

/// Runs with the arguments of the command line: `[--seconds N] [TARGET]`.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let (seconds, targets) = match arguments {
        ["--seconds", n, rest @ ..] => {
            (n.parse().with_context(|| format!("\"{n}\" is not a number of seconds"))?, rest)
        }
        rest => (SECONDS, rest),
    };
    match targets {
        [] => smoke(seconds),
        [target] if TARGETS.contains(target) => {
            let programs = step("fuzz: build", build::targets)?;
            fuzz(&programs, target, seconds)
        }
        _ => bail!("the fuzz targets are {}", TARGETS.join(", ")),
    }
}

/// Builds the targets, proves that the fuzzer works, and runs each target for some seconds.
pub(crate) fn smoke(seconds: u32) -> Result<()> {
    let programs = step("fuzz: build", build::targets)?;
    step("fuzz: canary", || canary(&programs))?;
    TARGETS.iter().try_for_each(|target| {
        step(&format!("fuzz: {target}"), || fuzz(&programs, target, seconds))
    })
}

fn canary(programs: &Path) -> Result<()> {
    let artifacts = tempfile::tempdir()?;
    let mut command = fuzzer(programs, "canary", artifacts.path());
    command.arg(format!("-runs={CANARY_RUNS}"));
    if succeeds(&mut command) {
        bail!("the fuzzer did not find the canary: it does not see which branches an input takes");
    }
    let mut found = fs::read_dir(artifacts.path())?;
    match found.any(|file| {
        file.is_ok_and(|file| file.file_name().as_encoded_bytes().starts_with(b"crash-"))
    }) {
        true => Ok(()),
        false => bail!("the canary could not be run"),
    }
}

fn fuzz(programs: &Path, target: &str, seconds: u32) -> Result<()> {
    let (corpus, artifacts) = (folder("corpus", target), folder("artifacts", target));
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder)
            .with_context(|| format!("could not create \"{}\"", folder.display()))?;
    }
    let mut command = fuzzer(programs, target, &artifacts);
    command.arg(format!("-max_total_time={seconds}")).arg(&corpus).arg(folder("seeds", target));
    let output =
        command.output().with_context(|| format!("could not run the fuzz target \"{target}\""))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        println!("    {}", tally(&said).unwrap_or("done"));
        return Ok(());
    }
    bail!(
        "{said}\nthe fuzz target \"{target}\" failed; the input is named above, and this runs it again:\n  {} {}",
        programs.join(target).display(),
        artifact(&said).unwrap_or("FILE")
    )
}

/// A target with what all of them are run with. The seed is always the same, so that a test run can be repeated.
fn fuzzer(programs: &Path, target: &str, artifacts: &Path) -> Command {
    let mut command = shell::command(programs.join(target), "-seed=1 -timeout=20 -max_len=4096");
    // Not more than a quarter of this is asked for, but memory that was freed counts for a while.
    command.arg("-rss_limit_mb=2048").arg(format!("-artifact_prefix={}/", artifacts.display()));
    command
}

/// A folder of one target; all but the seeds are left alone by git.
fn folder(kind: &str, target: &str) -> PathBuf {
    workspace().join("fuzz").join(kind).join(target)
}

/// The line in which libFuzzer says how much it has done.
fn tally(said: &str) -> Option<&str> {
    said.lines().rev().find(|line| line.starts_with("Done "))
}

/// The file that libFuzzer has put the failing input into.
fn artifact(said: &str) -> Option<&str> {
    said.split_once("Test unit written to ")?.1.lines().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_declared_and_has_seeds() {
        let manifest = fs::read_to_string(workspace().join("fuzz/Cargo.toml")).unwrap();
        for target in TARGETS {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
            assert!(fs::read_dir(folder("seeds", target)).unwrap().count() > 0, "{target}");
        }
    }

    #[test]
    fn failing_input_is_found_in_what_the_fuzzer_says() {
        let said = "artifact_prefix='a/'; Test unit written to a/crash-1\nBase64: eA==\n";
        assert_eq!(artifact(said), Some("a/crash-1"));
        assert_eq!(artifact("Done 10 runs in 1 second(s)"), None);
    }

    #[test]
    fn unknown_target_is_answered_with_those_there_are() {
        let error = run(&["no-such-target"]).unwrap_err().to_string();
        assert_eq!(error, "the fuzz targets are resp, log, script, commands");
    }
}
