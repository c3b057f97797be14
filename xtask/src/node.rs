//! The Node package: builds its native module, compiles it, runs its tests.
//!
//! The module is a plain `cargo build` that is copied to its name, and its types are written by hand:
//! it has a dozen functions, which a test compares with the types, and no tool of npm has to be installed
//! to build it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::setup::npm_package;
use crate::shell::{cargo, run, target, workspace};
use crate::step::step;

/// For those who work on the package: nothing but it and the program is built.
pub(crate) const ALONE: &str = "build -p keyrack-node -p keyrack-cli --quiet";

/// Builds the package and the program as told, and tests the package with both.
pub(crate) fn test(build: &str) -> Result<()> {
    step("node: build", || run(&mut cargo(build)))?;
    step("node: compile", || {
        let to = npm_package().join("node_modules/keyrack");
        compile(&to)?;
        let module = target().join("debug/libkeyrack_node.so");
        fs::copy(&module, to.join("keyrack.node"))
            .with_context(|| format!("could not copy \"{}\"", module.display()))?;
        for folder in ["examples", "tests"] {
            clear(&npm_package().join(folder))?;
            tsc(&format!("{folder}/tsconfig.json"), &npm_package().join(folder))?;
        }
        Ok(())
    })?;
    step("node: tests", || {
        let mut tests = Command::new("node");
        let built = target().join("debug").canonicalize()?;
        tests
            .args(["--test", "--test-reporter", "dot"])
            .args(test_files(&npm_package().join("tests"))?)
            .current_dir(npm_package())
            .env("KEYRACK_REPOSITORY", workspace())
            .env("KEYRACK_PROGRAM", built.join("keyrack"))
            .env_remove("KEYRACK_STORE");
        run(&mut tests)
    })
}

pub(crate) fn package() -> PathBuf {
    workspace().join("clients/node")
}

/// Puts the package without its native module into a folder, as npm would.
pub(crate) fn compile(to: &Path) -> Result<()> {
    clear(to)?;
    let dist = to.join("dist");
    tsc("tsconfig.json", &dist)?;
    // Browsers and edge runtimes know no other modules.
    tsc("tsconfig.http.json", &dist.join("esm"))?;
    fs::write(dist.join("esm/package.json"), "{ \"type\": \"module\" }\n")?;
    fs::create_dir_all(to.join("bin"))?;
    for file in ["package.json", "bin/keyrack.js"] {
        fs::copy(package().join(file), to.join(file))
            .with_context(|| format!("could not copy \"{file}\""))?;
    }
    Ok(())
}

fn test_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files: Vec<_> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(".test.mjs"));
    files.sort_unstable();
    ensure!(!files.is_empty(), "\"{}\" has no tests", folder.display());
    Ok(files)
}

/// Compiles a project of the package into a folder.
pub(crate) fn tsc(project: &str, to: &Path) -> Result<()> {
    let mut tsc = Command::new(npm_package().join("node_modules/.bin/tsc"));
    run(tsc.arg("-p").arg(package().join(project)).arg("--outDir").arg(to))
}

fn clear(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("could not empty \"{}\"", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("could not make \"{}\"", folder.display()))
}
