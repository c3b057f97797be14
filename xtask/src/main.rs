//! The project's own commands, run as `cargo xtask <command>`.
//!
//! Automation lives here in Rust, so that it needs nothing but the toolchain and reads like the
//! rest of the code. It knows how the project is built and tested and nothing of what it does.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "commands report to a terminal")]

mod test;

mod setup;

mod docs;

mod bench;

mod fuzz;

mod campaign;

mod python;

mod node;

mod package;

mod shell;
mod step;

use std::env;
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
usage: cargo xtask <command>

  test            install what the tests need, then check everything
  test --quick    only format, clippy and unit tests, for everyday work
  test python     only build and test the Python package
  test node       only build and test the Node package
  setup           only install what the tests need
  docs [--check]  write the generated files under docs/, or fail if one is out of date
  docs --pictures
                  take the pictures in docs/ anew
  bench [NAME]    measure against redis-server; without a name, list what there is
  fuzz [--seconds N] [--memory] [TARGET]
                  feed all fuzz targets, or one of them, for some seconds each;
                  with --memory, also look for misuse of memory
  package [NAME...]
                  make tarball, wheel, npm, deb and image, or the named ones, and try each in a clean place;
                  manifests only checks those for containers, and workflows
  campaign [--minutes N] [--seed S] [--write] [--list] [FAULT|STORE...]
                  inject faults into real stores while clients submit jobs, and count what was lost";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["test"] => test::run(),
        ["test", "--quick"] => test::quick(),
        ["test", "python"] => {
            setup::run_npm()?;
            setup::run_python()?;
            python::test(python::ALONE)
        }
        ["test", "node"] => setup::run_npm().and_then(|()| node::test(node::ALONE)),
        ["setup"] => setup::run(),
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        ["docs", "--pictures"] => docs::pictures(),
        ["bench", rest @ ..] => bench::run(rest),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["package", names @ ..] => package::package(names),
        ["campaign", rest @ ..] => campaign::run(rest),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => bail!("unknown command \"{}\"\n\n{USAGE}", arguments.join(" ")),
    }
}
