//! The Python wheel: the package, its native module, and the program as a command.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::{Made, built, copy, demo, elf, stage, tarball, version, write};
use crate::shell::{command, output, run, workspace};
use crate::{python, setup};

pub(super) fn make() -> Result<Made> {
    setup::run_python()?;
    let (stage, version) = (stage("wheel")?, version());
    let content = stage.join("content");
    python::copy_package(&built("lib_keyrack.so"), &content.join("keyrack"))?;
    // What lies under `scripts` becomes a command of the environment.
    let scripts = content.join(format!("keyrack-{version}.data/scripts"));
    copy(&built("keyrack"), &scripts.join("keyrack"))?;
    let info = content.join(format!("keyrack-{version}.dist-info"));
    write(&info.join("METADATA"), metadata()?)?;
    write(&info.join("WHEEL"), wheel(&tag()?))?;
    for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&workspace().join(file), &info.join("licenses").join(file))?;
    }
    let mut pack = Command::new(setup::python_package().join("bin/wheel"));
    run(pack.arg("pack").arg(&content).arg("--dest-dir").arg(&stage))?;
    let file = stage.join(format!("keyrack-{version}-{}.whl", tag()?));
    let first_job = Some(try_it(&stage, &file)?);
    Ok(Made { file, first_job })
}

/// Which Pythons and systems can use it: any from 3.10 on, with this version of glibc or a newer one.
fn tag() -> Result<String> {
    let (major, minor) = elf::glibc(&[&built("keyrack"), &built("lib_keyrack.so")])?;
    Ok(format!("cp310-abi3-manylinux_{major}_{minor}_{}", std::env::consts::ARCH))
}

fn wheel(tag: &str) -> String {
    format!(
        "Wheel-Version: 1.0\nGenerator: cargo xtask package\nRoot-Is-Purelib: false\nTag: {tag}\n"
    )
}

fn metadata() -> Result<String> {
    let version = version();
    let readme = std::fs::read_to_string(workspace().join("docs/python.md"))?;
    Ok(format!(
        "Metadata-Version: 2.4\n\
         Name: keyrack\n\
         Version: {version}\n\
         Summary: Job queues, progress bars and rate limits, on Redis or with no Redis at all\n\
         License-Expression: MIT OR Apache-2.0\n\
         License-File: LICENSE-APACHE\n\
         License-File: LICENSE-MIT\n\
         Requires-Python: >=3.10\n\
         Description-Content-Type: text/markdown\n\n{readme}"
    ))
}

/// Installs it into a new environment without a compiler's help, runs a job in Python, one with the command, and the demo.
/// Returns how long the first took from the start.
fn try_it(stage: &Path, file: &Path) -> Result<Duration> {
    let place = tempfile::tempdir_in(stage)?;
    let start = Instant::now();
    let environment = place.path().join("venv");
    run(command("python3", "-m venv").arg(&environment))?;
    let bin = environment.join("bin");
    run(command(bin.join("pip"), "install --quiet --no-index --disable-pip-version-check")
        .arg(file))?;
    let mut program = Command::new(bin.join("python"));
    program.args(["-c", FIRST_JOB]).current_dir(place.path());
    let said = output(&mut program)?;
    let first_job = start.elapsed();
    ensure!(said.trim() == "15", "the first job of a new environment gave {said}");
    let program = |arguments: &[&str]| {
        let mut program = Command::new(bin.join("keyrack"));
        program.args(arguments).current_dir(place.path());
        program
    };
    tarball::run_a_job(program)?;
    demo::try_it(program(&["demo", "--http", "127.0.0.1:0", "--resp", "127.0.0.1:0"]))?;
    Ok(first_job)
}

/// The first program of docs/python.md.
const FIRST_JOB: &str = r#"
import keyrack

app = keyrack.App("memory")

@app.task(queue="mail")
def send(to: str, copies: int = 1) -> int:
    return len(to) * copies

with app.worker():
    print(send.submit("ada@example.com").wait(timeout=10))
"#;
