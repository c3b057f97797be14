//! The npm packages: one in TypeScript for all systems, and one for this system with the native module
//! and the program. npm installs the second because the first names it among its optional dependencies.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::{Made, built, copy, elf, stage, tarball, version, write};
use crate::shell::{output, run, workspace};
use crate::{node, setup};

pub(super) fn make() -> Result<Made> {
    setup::run_npm()?;
    let stage = stage("npm")?;
    let everywhere = stage.join("keyrack");
    node::compile(&everywhere)?;
    let manifest = std::fs::read_to_string(everywhere.join("package.json"))?;
    ensure!(
        manifest.contains(&format!("\"version\": \"{}\"", version())),
        "clients/node/package.json has another version than {}",
        version()
    );
    copy(&workspace().join("docs/typescript.md"), &everywhere.join("README.md"))?;
    let system = stage.join("system");
    copy(&built("keyrack"), &system.join("keyrack"))?;
    copy(&built("libkeyrack_node.so"), &system.join("keyrack.node"))?;
    write(&system.join("package.json"), manifest_of_system()?)?;
    for folder in [&everywhere, &system] {
        for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
            copy(&workspace().join(file), &folder.join(file))?;
        }
    }
    let (everywhere, system) = (pack(&stage, "keyrack")?, pack(&stage, "system")?);
    let first_job = Some(try_it(&stage, &[&everywhere, &system])?);
    // The one that can be too large.
    Ok(Made { file: system, first_job })
}

/// npm's word for this machine.
fn arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn manifest_of_system() -> Result<String> {
    let (version, arch) = (version(), arch());
    let (major, minor) = elf::glibc(&[&built("keyrack"), &built("libkeyrack_node.so")])?;
    Ok(format!(
        "{{\n  \"name\": \"@keyrack/linux-{arch}-gnu\",\n  \"version\": \"{version}\",\n  \
         \"description\": \"keyrack for Linux on {arch}, glibc {major}.{minor} or later\",\n  \
         \"license\": \"MIT OR Apache-2.0\",\n  \"os\": [\"linux\"],\n  \"cpu\": [\"{arch}\"],\n  \
         \"libc\": [\"glibc\"]\n}}\n"
    ))
}

/// Packs a folder of the stage, and returns the file.
fn pack(stage: &Path, folder: &str) -> Result<PathBuf> {
    let mut pack = Command::new("npm");
    pack.args(["pack", "--silent", "--pack-destination"]).arg(stage).arg(format!("./{folder}"));
    let name = output(pack.current_dir(stage))?;
    let name = name.lines().last().context("npm pack prints the name of its file")?;
    Ok(stage.join(name.trim()))
}

/// Installs them into an empty folder without a compiler's help, runs a job in JavaScript and one with the command.
/// Returns how long the first took from the start.
fn try_it(stage: &Path, files: &[&Path]) -> Result<Duration> {
    let place = tempfile::tempdir_in(stage)?;
    let start = Instant::now();
    let mut took = None;
    write(&place.path().join("package.json"), "{ \"private\": true }\n")?;
    let mut install = Command::new("npm");
    install.args(["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error"]);
    run(install.args(files).current_dir(place.path()))?;
    for (name, kind) in [("first.mjs", "import"), ("first.cjs", "require")] {
        write(&place.path().join(name), first_job(kind))?;
        let mut program = Command::new("node");
        let said = output(program.arg(name).current_dir(place.path()))?;
        took.get_or_insert_with(|| start.elapsed());
        ensure!(said.trim() == "15", "the first job of a new folder gave {said}");
    }
    tarball::run_a_job(|arguments| {
        let mut program = Command::new(place.path().join("node_modules/.bin/keyrack"));
        program.args(arguments).current_dir(place.path());
        program
    })?;
    Ok(took.unwrap_or_else(|| start.elapsed()))
}

/// The first program of docs/typescript.md.
fn first_job(kind: &str) -> String {
    let open = match kind {
        "import" => "import { open } from \"keyrack\";",
        _ => "const { open } = require(\"keyrack\");",
    };
    format!(
        r#"{open}
const app = open("memory");
const mail = app.task("mail", async (input) => input.to.length * (input.copies ?? 1));
const worker = app.worker();
mail
  .submit({{ to: "ada@example.com" }})
  .then((job) => job.result({{ timeout: 10_000 }}))
  .then((result) => console.log(result))
  .then(() => app.close());
"#
    )
}
