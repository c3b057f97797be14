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

use self::build::Watch;
use crate::shell::{self, succeeds, workspace};
use crate::step::step;

/// The targets, as they are named in `fuzz/Cargo.toml`.
const TARGETS: [&str; 5] = ["resp", "log", "script", "program", "commands"];

/// What the canary takes is a fraction of this.
const CANARY_RUNS: u32 = 2_000_000;

/// An input that takes longer is a finding. The slowest are scripts that fill their memory: 8 s of one core under
/// AddressSanitizer, and more where others want the core too.
const INPUT_SECONDS_MAX: u32 = 120;

/// How long each target runs where nothing else is asked for.
const SECONDS: u32 = 5;

/// What to do, as the command line says it: `[--seconds N] [--memory] [TARGET]`.
#[derive(Debug, PartialEq)]
struct Order<'a> {
    seconds: u32,
    watch: Watch,
    /// All of them where none is named.
    target: Option<&'a str>,
}

impl<'a> Order<'a> {
    fn parse(arguments: &[&'a str]) -> Result<Order<'a>> {
        let mut order = Order { seconds: SECONDS, watch: Watch::Panics, target: None };
        let mut rest = arguments;
        loop {
            rest = match rest {
                ["--seconds", n, rest @ ..] => {
                    let not_a_number = || format!("\"{n}\" is not a number of seconds");
                    order.seconds = n.parse().with_context(not_a_number)?;
                    rest
                }
                ["--memory", rest @ ..] => {
                    order.watch = Watch::Memory;
                    rest
                }
                [target] if TARGETS.contains(target) => {
                    order.target = Some(target);
                    &[]
                }
                [] => return Ok(order),
                _ => {
                    bail!("no fuzz target \"{}\": there are {}", rest.join(" "), TARGETS.join(", "))
                }
            }
        }
    }
}

/// Runs with the arguments of the command line.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    carry_out(&Order::parse(arguments)?)
}

/// Runs each target for a moment, as a test.
pub(crate) fn smoke() -> Result<()> {
    carry_out(&Order::parse(&[])?)
}

fn carry_out(order: &Order<'_>) -> Result<()> {
    let programs = step("fuzz: build", || build::targets(order.watch))?;
    step("fuzz: canary", || canary(&programs))?;
    for target in TARGETS {
        if order.target.is_none_or(|wanted| wanted == target) {
            step(&format!("fuzz: {target}"), || fuzz(&programs, target, order.seconds))?;
        }
    }
    Ok(())
}

fn canary(programs: &Path) -> Result<()> {
    let artifacts = tempfile::tempdir()?;
    let mut command = fuzzer(programs, "canary", artifacts.path());
    command.arg(format!("-runs={CANARY_RUNS}"));
    if succeeds(&mut command) {
        bail!("the fuzzer did not find the canary: it does not see which branches an input takes");
    }
    // Whatever fails otherwise leaves no input behind.
    match fs::read_dir(artifacts.path())?.count() {
        1 => Ok(()),
        _ => bail!("the canary could not be run"),
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
    // Lines of progress begin with a number sign.
    let said: Vec<&str> = said.lines().filter(|line| !line.starts_with('#')).collect();
    let said = said.join("\n");
    bail!(
        "{said}\nthe fuzz target \"{target}\" failed; the input is named above, and this runs it again:\n  {} {}",
        programs.join(target).display(),
        artifact(&said).unwrap_or("FILE")
    )
}

/// A target with what all of them are run with. The seed is always the same, so that a test run can be repeated.
fn fuzzer(programs: &Path, target: &str, artifacts: &Path) -> Command {
    let mut command = shell::command(programs.join(target), "-seed=1 -max_len=4096");
    command.arg(format!("-timeout={INPUT_SECONDS_MAX}"));
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
    fn failed_target_says_how_to_run_it_again() {
        use std::os::unix::fs::PermissionsExt;
        let programs = tempfile::tempdir().unwrap();
        let program = programs.path().join("resp");
        fs::write(&program, "#!/bin/sh\necho Test unit written to a/crash-1 >&2\nexit 77\n")
            .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let error = fuzz(programs.path(), "resp", 1).unwrap_err().to_string();
        assert!(error.ends_with(&format!("{} a/crash-1", program.display())), "{error}");
    }

    #[test]
    fn arguments_may_come_in_any_number() {
        let all = Order { seconds: SECONDS, watch: Watch::Panics, target: None };
        assert_eq!(Order::parse(&[]).unwrap(), all);
        let one = Order { seconds: 60, watch: Watch::Memory, target: Some("log") };
        assert_eq!(Order::parse(&["--memory", "--seconds", "60", "log"]).unwrap(), one);
        let error = Order::parse(&["no-such"]).unwrap_err().to_string();
        assert_eq!(
            error,
            "no fuzz target \"no-such\": there are resp, log, script, program, commands"
        );
    }
}
