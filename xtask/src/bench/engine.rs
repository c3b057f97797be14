//! keyrack-engine against redis-server: as a server, inside the process, and in memory.
//!
//! Every figure that the engine promises is measured and required here; others are printed for information.

mod before;
mod growth;
mod in_process;
mod memory;
mod tcp;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::server::Server;
use crate::shell;

type Measure = fn(&Programs) -> Result<()>;

/// Name and how to measure it.
const PARTS: &[(&str, Measure)] = &[
    ("tcp", tcp::run),
    ("in-process", in_process::run),
    ("memory", memory::run),
    ("growth", growth::run),
];

/// Measures all parts, or the one named, or (`before PROGRAM`) against an earlier engine.
///
/// Fails at the end when a requirement was missed.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let parts: Vec<_> = match arguments {
        [] => PARTS.iter().collect(),
        ["before", program] => return before::run(&Programs::build()?, program.as_ref()),
        ["before"] => bail!("before what? Name the keyrack-engine program of an earlier build"),
        [name] => PARTS.iter().filter(|(known, _)| known == name).collect(),
        [_, other, ..] => bail!("unknown argument \"{other}\""),
    };
    if parts.is_empty() {
        let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
        bail!("no part \"{}\"; there are {}", arguments[0], names.join(", "));
    }
    let programs = Programs::build()?;
    let mut missed = Vec::new();
    for (_, measure) in parts {
        if let Err(error) = measure(&programs) {
            eprintln!("missed: {error:#}\n");
            missed.push(format!("{error:#}"));
        }
    }
    if !missed.is_empty() {
        bail!("{}", missed.join("; "));
    }
    Ok(())
}

/// What is measured, as users would build it.
struct Programs {
    folder: PathBuf,
}

impl Programs {
    fn build() -> Result<Programs> {
        let build =
            "build --release --package keyrack-engine --bin keyrack-engine --example script_rate";
        shell::run(&mut shell::cargo(build))?;
        Ok(Programs { folder: shell::target().join("release") })
    }

    /// The engine as a server, without persistence like the reference.
    fn engine(&self) -> Result<Server> {
        engine("keyrack-engine", &self.folder.join("keyrack-engine"))
    }

    /// The program that calls a script from many tasks.
    fn script_rate(&self) -> PathBuf {
        self.folder.join("examples/script_rate")
    }
}

fn engine(name: &str, program: &Path) -> Result<Server> {
    Server::start(name, program, |command, port, _| {
        command.args(["--port", &port.to_string()]);
    })
    .with_context(|| format!("{} does not start", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_part_is_answered_with_the_known_ones() {
        let error = run(&["disk"]).unwrap_err().to_string();
        assert_eq!(error, "no part \"disk\"; there are tcp, in-process, memory, growth");
    }
}
